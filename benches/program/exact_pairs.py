#!/usr/bin/env python3
"""Compares similar pairs and kept documents with an independent computation over all pairs.

    python3 benches/program/exact_pairs.py [--program target/release/fpstore] [--documents 200000]
                                   [--similarity 0.8] [--only KIND...] [--set NAME=FILE.jsonl...]

Features are pairs of words, computed by tools/readers/fpstore_recipe.py, and each document is compared with all others
by a product of sparse matrices, in integers. Kinds of made-up documents, from a fixed seed:

* `edits`: 60 words, a fifth of them copies with some words changed;
* `short`: 1 to 8 words; `spread`: 3 to 3 000 words, with copies and parts of others (a tenth of the
  documents);
* `signs`: Chinese signs without spaces;
* `template`: 200 words with 3 replaced, `unequal`: the same with 0 to 60 words added, and `giant`: one
  page with a changed word (a fortieth of the documents, since pairs grow with the square).

For each kind it prints the documents, the true pairs, the recall and precision of `pairs --docs
--confirm`, whether `clean` keeps the same documents as the definition (a document is removed if it is
similar to an earlier kept one), and seconds of the processor. Kinds with more than --max-pairs pairs
are compared by kept documents alone. Needs numpy, scipy and uniseg.
"""

import argparse
import fractions
import itertools
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import numpy
import scipy.sparse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/readers"))
import fpstore_recipe

SEED = 61
# The number of rows of the matrix product that are computed at a time.
ROWS = 1000


def drawn(rng, count, words=20_000, prefix="w"):
    return [f"{prefix}{rng.randrange(words)}" for _ in range(count)]


def changed(rng, text, count):
    """A copy with some words replaced."""
    text = list(text)
    for _ in range(count):
        text[rng.randrange(len(text))] = f"n{rng.randrange(20_000)}"
    return text


def with_copies(rng, count, make, changes):
    texts = []
    for _ in range(count):
        is_copy = texts and rng.random() < 0.2
        texts.append(changed(rng, rng.choice(texts), rng.randrange(changes)) if is_copy else make())
    return texts


def made(kind, count, rng):
    """The documents of a kind, as lists of words."""
    if kind == "edits":
        return with_copies(rng, count, lambda: drawn(rng, 60), 6)
    if kind == "short":
        return [drawn(rng, rng.randint(1, 8), 40) for _ in range(count)]
    if kind == "signs":
        sign = lambda: [chr(0x4E00 + int(rng.paretovariate(0.4)) % 3000) for _ in range(100)]
        return [["".join(text)] for text in with_copies(rng, count, sign, 8)]
    if kind == "spread":
        texts = []
        for _ in range(count // 10):
            roll, text = rng.random(), rng.choice(texts) if texts else []
            if roll < 0.2 and text:
                texts.append(changed(rng, text, 1 + len(text) // 40))
            elif roll < 0.4 and text:
                texts.append(text[: max(1, int(len(text) * rng.random()))])
            else:
                texts.append(drawn(rng, int(3 * 1000 ** rng.random())))
        return texts
    page = drawn(rng, 200)
    if kind == "template":
        return [changed(rng, page, 3) for _ in range(count // 40)]
    if kind == "unequal":
        return [changed(rng, page, 3) + drawn(rng, rng.randrange(61)) for _ in range(count // 40)]
    return [changed(rng, page, 1) for _ in range(count // 40)]


def features(text, recipe):
    """The features of a text. ASCII letters and digits need no Unicode tables, which are slow."""
    words = text.split()
    if len(words) < 2 or not all(word.isascii() and word.isalnum() for word in words):
        return fpstore_recipe.features(text, recipe)
    return [f"{one} {other}" for one, other in itertools.pairwise(map(str.lower, words))]


def matrix(texts, recipe):
    """A sparse matrix with a row for each document, in which the columns of its features are 1."""
    number, columns, starts = {}, [], [0]
    for text in texts:
        found = {number.setdefault(f, len(number)) for f in features(text, recipe)}
        columns.extend(found)
        starts.append(len(columns))
    ones = numpy.ones(len(columns), dtype=numpy.int32)
    return scipy.sparse.csr_matrix((ones, columns, starts), shape=(len(texts), len(number)))


def truth(rows, least, max_pairs):
    """All similar pairs (None if there are too many), and the documents that cleaning must keep."""
    sizes = numpy.diff(rows.indptr).astype(numpy.int64)
    turned, pairs, kept = rows.T.tocsr(), [], numpy.ones(len(sizes), dtype=bool)
    for start in range(0, len(sizes), ROWS):
        shared = (rows[start : start + ROWS] @ turned[:, : start + ROWS]).tocoo()
        later, earlier, common = shared.row + start, shared.col, shared.data.astype(numpy.int64)
        union = sizes[later] + sizes[earlier] - common
        near = (earlier < later) & (common * least.denominator >= union * least.numerator)
        later, earlier = later[near], earlier[near]
        if pairs is not None:
            pairs.append(numpy.stack([earlier, later], 1))
            pairs = pairs if sum(map(len, pairs)) <= max_pairs else None
        order = numpy.argsort(later, kind="stable")
        later, earlier = later[order], earlier[order]
        ends = numpy.searchsorted(later, numpy.arange(start, start + ROWS + 1))
        for at, (low, high) in enumerate(zip(ends, ends[1:]), start):
            if high > low:
                kept[at] = not kept[earlier[low:high]].any()
    return None if pairs is None else numpy.concatenate(pairs), kept


def run(command, folder):
    """Processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    if status.returncode not in (0, 1):
        raise SystemExit(status.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(kind, texts, options, recipe, folder):
    with open(folder / "in.jsonl", "w") as out:
        for at, text in enumerate(texts):
            out.write(json.dumps({"id": f"{at}", "text": text}) + "\n")
    least = fractions.Fraction(str(options.similarity))
    pairs, kept = truth(matrix(texts, recipe), least, options.max_pairs)
    bound = ["--confirm", str(options.similarity)]
    seconds = run([options.program, "clean", "in.jsonl", *bound, "-f", "-o", "out.jsonl"], folder)
    with open(folder / "out.jsonl") as lines:
        found = {int(json.loads(line)["id"]) for line in lines}
    wanted = set(numpy.flatnonzero(kept).tolist())
    verdict = "equal" if found == wanted else f"{len(found - wanted)} more, {len(wanted - found)} less"
    cells = [kind, f"{len(texts)}", f"kept {len(wanted)}: {verdict}", f"{seconds:.1f} s"]
    if pairs is not None:
        command = [options.program, "pairs", "--docs", "in.jsonl", *bound, "-f", "-o", "pairs.tsv"]
        seconds = run(command, folder)
        found = set()
        with open(folder / "pairs.tsv") as lines:
            for line in lines:
                # The ids are the last two columns.
                one, other = sorted(map(int, line.rstrip("\n").split("\t")[-2:]))
                found.add((one, other))
        wanted = set(map(tuple, pairs.tolist()))
        both = len(found & wanted)
        recall, precision = both / max(1, len(wanted)), both / max(1, len(found))
        cells += [f"{len(wanted)} pairs: recall {recall:.4f}, precision {precision:.4f}", f"{seconds:.1f} s"]
    print(" | ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/fpstore", type=pathlib.Path)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--similarity", default="0.8")
    parser.add_argument("--max-pairs", type=int, default=15_000_000)
    parser.add_argument("--only", nargs="*", metavar="KIND", help="kinds of made-up documents")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=FILE", help="documents as JSON Lines")
    options = parser.parse_args()
    options.program = options.program.resolve()
    kinds = options.only
    if kinds is None:
        kinds = ["edits", "short", "spread", "signs", "template", "unequal", "giant"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [options.program, "fingerprint", "-v", "--docs-format", "text"]
        printed = subprocess.run(command, input="text", capture_output=True, text=True, check=True)
        lines = [line.removeprefix("fpstore: ") for line in printed.stderr.splitlines()]
        recipe = dict(line.split("=", 1) for line in lines if "=" in line)
        for kind in kinds:
            texts = [" ".join(words) for words in made(kind, options.documents, random.Random(SEED))]
            compare(kind, texts, options, recipe, folder)
        for name, path in (pair.split("=", 1) for pair in options.set):
            with open(path) as lines:
                compare(name, [json.loads(line)["text"] for line in lines], options, recipe, folder)


if __name__ == "__main__":
    main()
