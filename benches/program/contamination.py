#!/usr/bin/env python3
"""Looks for planted benchmark items with `fpstore contamination`, and by shared 13-grams.

    FPSTORE=target/release/fpstore python3 benches/program/contamination.py
    FPSTORE=... python3 benches/program/contamination.py --short --texts COLLECTION

Generated documents contain generated items: verbatim, or with some words replaced, deleted or
inserted; as a separate document or within one of 2 000 words. Other items are not planted. For each
kind it prints how many items the program finds, and how many the usual practice finds: an item counts
as found if a document shares a run of 13 words with it (the whole item if it is shorter), ignoring
case and punctuation. Then it prints the processor seconds and the peak memory of both.

--short measures rules for items of few words: how many edited items are found, and how many questions
are mistaken for others that differ only in the last word. With --texts it also searches real texts of
one set for runs of words of unrelated sets: every match is a coincidence.
FPSTORE is the path of the program.
"""

import argparse
import itertools
import json
import os
import random
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

SEED = 5
GRAM = 13
PROGRAM = os.environ.get("FPSTORE", "target/release/fpstore")


class Words:
    """Words with the frequencies of a natural language."""

    def __init__(self, seed=SEED):
        self.rng = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        words = {"".join(self.rng.choices(letters, k=self.rng.randint(2, 9))) for _ in range(40_000)}
        self.words = sorted(words)
        self.rng.shuffle(self.words)
        ranks = range(len(self.words))
        self.weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in ranks))

    def text(self, count):
        return self.rng.choices(self.words, cum_weights=self.weights, k=count)

    def edited(self, words, part):
        """A copy of the words, some of them replaced, deleted, or followed by an inserted word."""
        out = []
        places = set(self.rng.sample(range(len(words)), max(1, round(part * len(words)))))
        for at, word in enumerate(words):
            way = self.rng.randrange(3) if at in places else None
            if way is None or way == 2:
                out.append(word)
            if way in (0, 2):
                out += self.text(1)
        return out


def shown(words, rng):
    """The words as a text with sentences and lines."""
    out = []
    for at, word in enumerate(words):
        out.append(word.capitalize() if at % 11 == 0 else word)
        out.append(rng.choice([" ", " ", " ", " ", ", ", ". ", "\n"]))
    return "".join(out)


def write(path, texts):
    with open(path, "w") as out:
        for number, text in enumerate(texts):
            out.write(json.dumps({"id": number, "text": text}) + "\n")


def contamination(against, corpus, *options):
    """The found items, each with its documents; processor seconds and megabytes."""
    command = [PROGRAM, "contamination", "--against", against, "--against-id-field", "id", "--docs"]
    run = subprocess.Popen([*command, corpus, "-q", *options], stdout=subprocess.PIPE, text=True)
    found = {}
    for line in run.stdout:
        item, _, _, document, *_ = line.rstrip("\n").split("\t")
        found.setdefault(int(item), set()).add(document)
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = status
    if status:
        raise SystemExit(f"{command}: status {status}")
    return found, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def by_grams(against, corpus):
    """Like contamination(), but by shared runs of words."""
    before = time.process_time()
    words_of = lambda line: re.findall(r"\w+", json.loads(line)["text"].lower())
    owners, found = {}, {}
    with open(against) as lines:
        for item, line in enumerate(lines):
            words = words_of(line)
            for start in range(max(1, len(words) - GRAM + 1)):
                owners.setdefault(tuple(words[start : start + GRAM]), []).append(item)
    lengths = {len(gram) for gram in owners}
    with open(corpus) as lines:
        for document, line in enumerate(lines):
            words = words_of(line)
            for length in lengths:
                for start in range(len(words) - length + 1):
                    for item in owners.get(tuple(words[start : start + length]), ()):
                        found.setdefault(item, set()).add(str(document))
    return found, time.process_time() - before


def planted(args):
    """Prints the number of planted items found, by kind."""
    words = Words()
    rng = words.rng
    kinds = {
        "word for word": 0.0,
        "5 % of the words": 0.05,
        "10 % of the words": 0.10,
        "20 % of the words": 0.20,
        "30 % of the words": 0.30,
        "not held": None,
    }
    print("items            edited             found  13-grams")
    with tempfile.TemporaryDirectory() as temporary:
        against, corpus = Path(temporary) / "items.jsonl", Path(temporary) / "corpus.jsonl"
        items, texts, of_kind = [], [], {}
        for length in ("8 to 15", "16 to 49", "50 to 200"):
            low, high = map(int, length.split(" to "))
            for kind, part in kinds.items():
                for number in range(args.items):
                    item = words.text(rng.randint(low, high))
                    of_kind.setdefault((length, kind), []).append(len(items))
                    items.append(shown(item, rng))
                    if part is None:
                        continue
                    own = words.edited(item, part) if part else item
                    if number % 2:
                        around = words.text(2_000)
                        at = rng.randrange(len(around))
                        own = around[:at] + own + around[at:]
                    texts.append(shown(own, rng))
        texts += [shown(words.text(rng.randint(100, 600)), rng) for _ in range(args.documents)]
        rng.shuffle(texts)
        write(against, items)
        write(corpus, texts)
        found, seconds, memory = contamination(against, corpus, "--threads", "1")
        grams, gram_seconds = by_grams(against, corpus)
        for (length, kind), numbers in of_kind.items():
            count = lambda which: sum(number in which for number in numbers)
            part = lambda which: f"{100 * count(which) / len(numbers):6.1f} %"
            print(f"{length:8} words   {kind:18} {part(found)}  {part(grams)}", flush=True)
        size = corpus.stat().st_size / 1e6
        print(f"{len(items)} items, {len(texts)} documents, {size:.0f} MB, one thread:")
        print(f"  fpstore  {seconds:7.1f} s of processor time, {memory:.0f} MB")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  13-grams {gram_seconds:7.1f} s of processor time in Python, {peak:.0f} MB")


def short(args):
    """Prints the correct and false matches of rules for short items."""
    words = Words()
    rules = [(shingle, part) for shingle in (2, 3, 4) for part in (0.6, 0.7, 0.8, 0.9, 1.0)]
    lengths = [6, 8, 10, 14, 20, 30, 40]
    count = args.items
    print("one word of the item exchanged: found; and another question that differs in the last word")
    print("rule          " + "".join(f"{length:>14}" for length in lengths))
    with tempfile.TemporaryDirectory() as temporary:
        against = Path(temporary) / "items.jsonl"
        edited, other = Path(temporary) / "edited.jsonl", Path(temporary) / "other.jsonl"
        items, near, last = [], [], []
        for length in lengths:
            for _ in range(count):
                item = words.text(length)
                at = words.rng.randrange(length)
                around = lambda own: " ".join(words.text(30) + own + words.text(30))
                items.append(" ".join(item))
                near.append(around(item[:at] + words.text(1) + item[at + 1 :]))
                last.append(around(item[:-1] + words.text(1)))
        for path, texts in ((against, items), (edited, near), (other, last)):
            write(path, texts)
        for shingle, part in rules:
            options = ["--short-shingle", str(shingle), "--short-contains", str(part)]
            parts = []
            for corpus in (edited, other):
                found, _, _ = contamination(against, corpus, *options)
                held = [sum(n in found for n in range(at * count, (at + 1) * count))
                        for at in range(len(lengths))]
                parts.append([round(100 * some / count) for some in held])
            cells = "".join(f"{one:7} %{two:3} %" + " " for one, two in zip(*parts))
            print(f"{shingle} words, {part:<4} {cells}", flush=True)
        parts = []
        for corpus in (edited, other):
            found, _ = by_grams(against, corpus)
            held = [sum(n in found for n in range(at * count, (at + 1) * count))
                    for at in range(len(lengths))]
            parts.append([round(100 * some / count) for some in held])
        cells = "".join(f"{one:7} %{two:3} %" + " " for one, two in zip(*parts))
        print(f"13-grams      {cells}", flush=True)


def by_chance(args):
    """Prints how many sentences of one set are found in unrelated sets."""
    rng = random.Random(SEED)
    texts = lambda name: [
        json.loads(line)["text"]
        for line in subprocess.check_output(
            ["zstd", "-dcq", Path(args.texts) / name / "docs.jsonl.zst"], text=True
        ).split("\n")
        if line
    ][:3000]
    source = texts("wikisplit_a")
    others = [text for name in ("versioned_docs_a", "cve_1999_2020", "bible_en_a_chapters",
                                "license_texts_a", "bib_records_a") for text in texts(name)]
    lengths = [2, 3, 4, 5, 6, 7, 8, 10, 14]
    print("runs of words of one set, found in others by chance")
    print("rule          " + "".join(f"{length:>9}" for length in lengths))
    with tempfile.TemporaryDirectory() as temporary:
        against, corpus = Path(temporary) / "items.jsonl", Path(temporary) / "corpus.jsonl"
        items = []
        for length in lengths:
            while len(items) % 2000 or len(items) // 2000 <= lengths.index(length):
                words = re.findall(r"\w+", rng.choice(source))
                if len(words) >= length:
                    at = rng.randrange(len(words) - length + 1)
                    items.append(" ".join(words[at : at + length]))
                    if len(items) == 2000 * (lengths.index(length) + 1):
                        break
        write(against, items)
        write(corpus, others)
        for shingle, part in ((2, 0.8), (3, 0.6), (3, 0.7), (3, 0.8), (3, 1.0)):
            options = ["--short-shingle", str(shingle), "--short-contains", str(part)]
            found, _, _ = contamination(against, corpus, *options, "--min-words", "1")
            held = [sum(n in found for n in range(at * 2000, (at + 1) * 2000))
                    for at in range(len(lengths))]
            cells = "".join(f"{100 * some / 2000:7.2f} %" for some in held)
            print(f"{shingle} words, {part:<4} {cells}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=200, help="items of each kind")
    parser.add_argument("--documents", type=int, default=20_000, help="documents without items")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--texts", help="the folder `text` of a collection of real texts")
    args = parser.parse_args()
    short(args) if args.short else planted(args)
    if args.texts:
        by_chance(args)


if __name__ == "__main__":
    main()
