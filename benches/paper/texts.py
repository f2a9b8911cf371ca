"""Precision and recall by k: figure 1 of the paper, on labelled texts.

The paper sampled pairs of web pages at each distance from 1 to 10, and people judged them. Here
labels are the exact Jaccard similarity of the features of all pairs of a set, or known synthetic
edits.
"""

import json
import pathlib
import random
import subprocess

SEED = 20261126
# Sets of the full collection whose licences are shipped in the repository.
SETS = ("bible_en_a_chapters", "cve_1999_2020", "tang_two_editions_a", "tldr_en_zh")
RECIPES = ("simhash", "1e0ng", "minhash")
KS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
MADE_PAGES, MADE_WORDS, TEMPLATE_WORDS = 4000, 300, 120


def evaluate(program, documents, labels):
    """For each recipe, precision and recall by k."""
    command = [program, "evaluate", "--docs", documents, "--pairs", labels, "--unlisted-differ",
               "--keys", "1", "--format", "json", "-q"]
    for recipe in RECIPES:
        command += ["--recipe", recipe]
    said = subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout
    curves = {}
    for each in json.loads(said)["recipes"]:
        curves[each["recipe"]] = {p["k"]: (p["precision"], p["recall"]) for p in each["points"]}
    return curves


def unpacked(path):
    """The decompressed text of a zstd file."""
    return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout.decode()


def of_collection(program, data, name, folder):
    """A set of the full collection, without copies that have the same features."""
    source = pathlib.Path(data) / "text" / name
    rows = [line.split("\t") for line in unpacked(source / "near.tsv.zst").splitlines()[1:]]
    # A later copy is linked only to the first document, so that its other pairs have no label.
    copies = {row[1] for row in rows if row[4].startswith(("same-text", "same-shingles"))}
    documents, labels = folder / f"{name}.jsonl", folder / f"{name}.tsv"
    count = 0
    with open(documents, "w") as out:
        for line in unpacked(source / "docs.jsonl.zst").splitlines():
            one = json.loads(line)
            if one["id"] not in copies:
                out.write(json.dumps({"id": one["id"], "text": one["text"]}) + "\n")
                count += 1
    kept = [row[:3] for row in rows if row[0] not in copies and row[1] not in copies]
    labels.write_text("".join("\t".join(row) + "\n" for row in kept))
    pairs = sum(row[2] == "1" for row in kept)
    return count, pairs, evaluate(program, documents, labels)


def made(program, folder):
    """Pages of a synthetic site: a template and a text; some pages get a small edit.

    Half of the pages consist of a unique text inside one of 40 templates; each of them has a
    near-duplicate in which 1 to 12 words of the text are replaced, like a date, an advertisement or
    a counter. Two pages with the same template and different texts count as different.
    """
    source = random.Random(SEED)
    words = [f"w{at}" for at in range(30_000)]
    weights = [1 / (at + 10) for at in range(len(words))]
    templates = [source.choices(words, weights, k=TEMPLATE_WORDS) for _ in range(40)]
    documents, labels = folder / "made.jsonl", folder / "made.tsv"
    with open(documents, "w") as out, open(labels, "w") as pairs:
        for at in range(MADE_PAGES // 2):
            template, text = source.choice(templates), source.choices(words, weights, k=MADE_WORDS)
            edited = text.copy()
            for place in source.sample(range(MADE_WORDS), source.randint(1, 12)):
                edited[place] = f"n{source.randrange(10**9)}"
            for name, body in (("a", text), ("b", edited)):
                out.write(json.dumps({"id": f"{at}{name}", "text": " ".join(template + body)}) + "\n")
            pairs.write(f"{at}a\t{at}b\t1\n")
    return MADE_PAGES, MADE_PAGES // 2, evaluate(program, documents, labels)


def report(program, folder, data):
    """Prints a table for each set."""
    print("\n## Precision and recall by k\n")
    sets = [("made pages", made(program, folder))]
    if data:
        sets += [(name, of_collection(program, data, name, folder)) for name in SETS]
    print("| set | documents | pairs | recipe | " + " | ".join(f"k = {k}" for k in KS) + " |")
    print("|---|---:|---:|---|" + "---|" * len(KS))
    for name, (count, pairs, curves) in sets:
        for recipe, curve in curves.items():
            cells = [f"{curve[k][0]:.2f} {curve[k][1]:.2f}" for k in KS]
            print(f"| {name} | {count} | {pairs} | {recipe} | " + " | ".join(cells) + " |")
