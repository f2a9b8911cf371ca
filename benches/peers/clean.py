#!/usr/bin/env python3
"""Cleans one corpus with `fpstore dedup --docs` and with Python packages, side by side.

    python3 -m venv peers && peers/bin/pip install text-dedup datatrove spacy "xxhash<4"
    peers/bin/python benches/peers/clean.py --documents 100000 [--only fpstore]
    peers/bin/python benches/peers/clean.py --set docs.jsonl.zst --near near.tsv.zst

It makes a corpus of documents about 5 KB long, in ten files of JSON Lines. A fifth of them are
copies of an earlier document: a quarter of these are exact, the others have 1 to 10 % of their words
changed. Words follow Zipf's law. For each tool it prints documents and MB a second, the peak memory
of all its processes, the working space on disk beside input and output, and what was found:

* recall: copies of which all features have a Jaccard similarity of 0.85 or more with the original
  (so that the threshold of 0.8 cannot decide by chance) and that were removed, of all such;
* precision: removed documents that are copies or originals of copies, of all removed.

With --set it takes the documents of a file with fields id and text, and the truth from a file of
pairs: two ids and a label, 1 for near-duplicates, -1 for pairs that do not count. Recall is then the
share of near pairs of which not both documents are kept, precision that of removed documents that
are in a near pair.

text-dedup keeps one document of each connected component, datatrove too; a copy counts as removed if
of its family any but one is left out. FPSTORE names the program.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

SEED = 7
FILES = 10
WORDS = 60_000


def make(folder, count):
    """Writes the corpus; returns for each id the id of its original, and the share of words changed."""
    rng = np.random.default_rng(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choice(list(letters), size=rng.integers(2, 10))) for _ in range(WORDS)]
    weights = 1 / np.arange(1, WORDS + 1)
    cumulated = np.cumsum(weights / weights.sum())
    draw = lambda size: np.searchsorted(cumulated, rng.random(size)).clip(max=WORDS - 1)
    families, kept = {}, []
    folder.mkdir()
    per_file = -(-count // FILES)
    number = 0
    for part in range(FILES):
        with open(folder / f"part-{part}.jsonl", "w") as out:
            for _ in range(min(per_file, count - number)):
                rate = 0.0
                if kept and rng.random() < 0.2:
                    original, text = kept[rng.integers(len(kept))]
                    text = text.copy()
                    if rng.random() > 0.25:
                        rate = float(rng.uniform(0.01, 0.1))
                        changed = rng.random(len(text)) < rate
                        text[changed] = draw(int(changed.sum()))
                    families[number] = (original, rate)
                else:
                    text = draw(int(rng.integers(400, 1200)))
                    if len(kept) < 20_000:
                        kept.append((number, text))
                    else:
                        kept[rng.integers(len(kept))] = (number, text)
                # A text: datatrove leaves out the number 0.
                line = {"id": str(number), "text": " ".join(map(words.__getitem__, text))}
                out.write(json.dumps(line) + "\n")
                number += 1
    return families


def similarity(one, other):
    """The Jaccard similarity of two texts, given as numbers of words, by shingles of three words."""
    sets = [
        np.unique((words[:-2] * WORDS + words[1:-1]) * WORDS + words[2:]) for words in (one, other)
    ]
    shared = len(np.intersect1d(*sets, assume_unique=True))
    return shared / max(1, len(sets[0]) + len(sets[1]) - shared)


def near_copies(folder, families):
    """The copies that are near enough to their originals to be found for sure."""
    texts, number_of = {}, {}
    number = lambda word: number_of.setdefault(word, len(number_of))
    wanted = set(families) | {original for original, _ in families.values()}
    for path in sorted(folder.iterdir()):
        for line in path.open():
            record = json.loads(line)
            if int(record["id"]) in wanted:
                words = map(number, record["text"].split())
                texts[int(record["id"])] = np.fromiter(words, dtype=np.uint32)
    return {
        copy
        for copy, (original, _) in families.items()
        if similarity(texts[copy].astype(np.int64), texts[original].astype(np.int64)) >= 0.85
    }


class MadeUp:
    """The truth about a corpus that was made up."""

    def __init__(self, folder, families):
        self.near = near_copies(folder, families)
        self.copies = set(families)
        self.originals = {copy: original for copy, (original, _) in families.items()}
        self.members = self.copies | set(self.originals.values())

    def __str__(self):
        return f"{len(self.copies)} copies, {len(self.near)} with a similarity of 0.85 or more"

    def measure(self, kept, removed):
        """Recall and precision. Of each family one may stay, whichever it is."""
        family_of = lambda number: self.originals.get(number, number)
        left = {}
        for number in kept:
            left.setdefault(family_of(number), []).append(number)
        found = 0
        for copy in self.near:
            others = [one for one in left.get(family_of(copy), []) if one != copy]
            found += copy in removed or not others
        right = sum(family_of(number) in left and number in self.members for number in removed)
        return found / max(1, len(self.near)), right / max(1, len(removed))


class Labelled:
    """The truth from labelled pairs."""

    def __init__(self, path, number_of):
        self.near, self.grey = [], set()
        for line in lines_of(path):
            one, other, label = line.split("\t")[:3]
            if one in number_of and other in number_of:
                pair = number_of[one], number_of[other]
                if label == "1":
                    self.near.append(pair)
                elif label == "-1":
                    self.grey.update(pair)

    def __str__(self):
        return f"{len(self.near)} near pairs"

    def measure(self, kept, removed):
        """Recall and precision. Documents in pairs that do not count are left out."""
        found = sum(one not in kept or other not in kept for one, other in self.near)
        members = {number for pair in self.near for number in pair}
        counted = [number for number in removed if number in members or number not in self.grey]
        right = sum(number in members for number in counted)
        return found / max(1, len(self.near)), right / max(1, len(counted))


def lines_of(path):
    """The lines of a file, which may be compressed."""
    command = ["zstd", "-dcq", path] if path.endswith(".zst") else ["cat", path]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return out.decode().rstrip("\n").split("\n")


def copy_set(folder, path):
    """Writes the documents of a set with numbers as ids; returns the number of each id."""
    folder.mkdir()
    number_of, lines = {}, lines_of(path)
    for part in range(FILES):
        with open(folder / f"part-{part}.jsonl", "w") as out:
            for line in lines[len(lines) * part // FILES : len(lines) * (part + 1) // FILES]:
                record = json.loads(line)
                number = number_of.setdefault(record["id"], len(number_of))
                out.write(json.dumps({"id": str(number), "text": record["text"]}) + "\n")
    return number_of


class Watch(threading.Thread):
    """The largest memory of a process and its children, and of their working files. What will be
    output is no working space, even before it has its name."""

    def __init__(self, process, folders, out):
        super().__init__(daemon=True)
        self.process, self.folders, self.memory, self.space = process, folders, 0, 0
        self.out = str(out)

    def run(self):
        while self.process.poll() is None:
            pids = self.tree(self.process.pid)
            self.memory = max(self.memory, sum(map(self.rss, pids)))
            self.space = max(self.space, self.disk(pids))
            time.sleep(0.1)

    def disk(self, pids):
        """The bytes of all files in the folders, and of open files without names."""
        found = {}
        paths = [path for folder in self.folders for path in folder.rglob("*")]
        for pid in pids:
            paths += Path(f"/proc/{pid}/fd").glob("*")
        for path in paths:
            try:
                stat = path.stat()
                link = os.readlink(path) if path.parts[1] == "proc" else ""
                is_output = link.startswith(f"{self.out}/") and "/.fpstore-dedup/" not in link
                if not link or link.endswith("(deleted)") and not is_output:
                    found[stat.st_dev, stat.st_ino] = stat.st_blocks * 512
            except OSError:
                pass
        return sum(found.values())

    @staticmethod
    def tree(pid):
        pids = [pid]
        for one in pids:
            try:
                for task in os.listdir(f"/proc/{one}/task"):
                    with open(f"/proc/{one}/task/{task}/children") as children:
                        pids += map(int, children.read().split())
            except OSError:
                pass
        return pids

    @staticmethod
    def rss(pid):
        try:
            with open(f"/proc/{pid}/smaps_rollup") as lines:
                return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
        except (OSError, StopIteration):
            return 0


def kept_ids(folder):
    """The ids in all JSON Lines below a folder."""
    ids = set()
    for path in folder.rglob("*.jsonl*"):
        opened = path.open("rb")
        if path.suffix == ".gz":
            import gzip

            opened = gzip.open(path)
        for line in opened:
            ids.add(int(json.loads(line)["id"]))
    return ids


def fpstore(corpus, out, work, options):
    program = os.environ.get("FPSTORE", "fpstore")
    command = [program, "dedup", "--docs", str(corpus), "-o", f"{out}/", "--temp-dir", str(work)]
    return command + options, lambda: kept_ids(out)


def text_dedup(corpus, out, work, module, options):
    command = [sys.executable, "-m", f"text_dedup.{module}", "--path", "json"]
    command += ["--data_files", str(corpus / "*.jsonl"), "--split", "train", "--column", "text"]
    command += ["--cache_dir", str(work), "--output", str(out)] + options

    def kept():
        import datasets

        return set(map(int, datasets.load_from_disk(str(out))["id"]))

    return command, kept


def datatrove(corpus, out, work):
    """The four steps of its MinHash, with one worker for each core."""
    script = work.parent / "datatrove_steps.py"
    script.write_text(
        f"""
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster
from datatrove.pipeline.dedup import MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
if __name__ == "__main__":
    config, work = MinhashConfig(n_grams=3), {str(work)!r}
    reader = JsonlReader({str(corpus)!r}, id_key="id")
    steps = [
        ([reader, MinhashDedupSignature(f"{{work}}/signatures", config=config)], {FILES}),
        ([MinhashDedupBuckets(f"{{work}}/signatures", f"{{work}}/buckets", config=config)],
         config.num_buckets),
        ([MinhashDedupCluster(f"{{work}}/buckets", f"{{work}}/remove", config=config)], 1),
        ([reader, MinhashDedupFilter(f"{{work}}/remove"), JsonlWriter({str(out)!r})], {FILES}),
    ]
    for number, (pipeline, tasks) in enumerate(steps):
        LocalPipelineExecutor(pipeline, tasks=tasks, workers={os.cpu_count()},
                              logging_dir=f"{{work}}/logs{{number}}").run()
"""
    )
    return [sys.executable, str(script)], lambda: kept_ids(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--set", metavar="FILE", help="documents, instead of made-up ones")
    parser.add_argument("--near", metavar="FILE", help="with --set: its labelled pairs")
    parser.add_argument("--only", help="names of tools, separated by commas")
    parser.add_argument("--folder", help="where to work; it is emptied")
    args = parser.parse_args()
    root = Path(args.folder or tempfile.mkdtemp(prefix="clean-"))
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    corpus = root / "corpus"
    if args.set:
        number_of = copy_set(corpus, args.set)
        count, truth = len(number_of), Labelled(args.near, number_of)
    else:
        families = make(corpus, args.documents)
        count, truth = args.documents, MadeUp(corpus, families)
    size = sum(path.stat().st_size for path in corpus.iterdir())
    print(f"{count} documents, {size / 1e6:.0f} MB, {truth}\n")
    tools = {
        "fpstore --confirm 0.8": lambda out, work: fpstore(corpus, out, work, ["--confirm", "0.8"]),
        "fpstore -k 7": lambda out, work: fpstore(corpus, out, work, []),
        "text-dedup MinHash": lambda out, work: text_dedup(
            corpus, out, work, "minhash", ["--threshold", "0.8", "--ngram", "3", "--num_perm", "128"]
        ),
        "text-dedup SimHash": lambda out, work: text_dedup(
            corpus, out, work, "simhash", ["--bit_diff", "3", "--ngram", "3"]
        ),
        "datatrove MinHash": lambda out, work: datatrove(corpus, out, work),
    }
    print("| tool | s | documents/s | MB/s | memory, MB | working space | recall | precision |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, prepare in tools.items():
        if args.only and not any(name.startswith(only) for only in args.only.split(",")):
            continue
        out, work = root / "out", root / "work"
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        command, read = prepare(out, work)
        log = open(root / "log.txt", "w")
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=root)
        watch = Watch(process, [work, out / ".fpstore-dedup"], out)
        watch.start()
        status = process.wait()
        seconds = time.monotonic() - began
        watch.join()
        if status:
            print(f"| {name} | failed, see {root}/log.txt |")
            continue
        kept = read()
        recall, precision = truth.measure(kept, set(range(count)) - kept)
        space = watch.space / size
        print(
            f"| {name} | {seconds:.1f} | {count / seconds:.0f} | {size / 1e6 / seconds:.1f} "
            f"| {watch.memory / 1e6:.0f} | {space:.2f} of the input | {recall:.4f} | {precision:.4f} |",
            flush=True,
        )
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
