#!/usr/bin/env python3
"""Cleans one corpus with `fpstore clean` and with Python packages, and compares the results.

    python3 -m venv peers && peers/bin/pip install text-dedup datatrove orjson spacy tokenizers "xxhash<4"
    peers/bin/python benches/peers/clean.py --documents 100000 [--only fpstore]
    peers/bin/python benches/peers/clean.py --set docs.jsonl.zst --near near.tsv.zst

It makes a corpus of documents about 5 KB long, in ten files of JSON Lines. A fifth of them are
copies of an earlier document: a quarter of these are exact, the others have 1 to 10 % of their words
changed. Words follow Zipf's law. For each tool it prints documents and MB a second, the peak memory
of all its processes, the temporary disk space in addition to input and output, and:

* recall: among all copies whose features have a Jaccard similarity of 0.85 or more to the original,
  the share of removed copies (0.85, so that chance near the threshold of 0.8 has no effect);
* precision: among the removed documents, the share of copies and of originals that have copies.

With --exact the truth is the set of all pairs of documents whose word pairs have a Jaccard similarity
of 0.8 or more, found by exact comparison, and all tools use word pairs. Recall is then the share of
near pairs that lost at least one document, precision the share of removed documents that belong to a
near pair.

With --template 0.25 a quarter of the documents, before copies are made, are one text of 600 words
with 1.5 % of them changed, like product and error pages of a crawl. With --before an older fpstore
takes part in the comparison.

With --set it reads the documents from a file with fields id and text, and the truth from a file of
pairs: two ids and a label, 1 for near-duplicates, -1 for pairs that are ignored. Recall and precision
are defined as with --exact.

Packages that find pairs (datasketch, rensa, FAISS) run in a loop that keeps a document unless it is
near an earlier kept one. These packages and fpstore use --threads threads; text-dedup and datatrove
start a process for each core. With --rounds N the tools run N times in turn, and the medians are
printed.

text-dedup and datatrove keep one document of each connected component; a copy counts as removed if at
most one document of its family is kept. FPSTORE is the path of the program.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from clean_truth import WORDS, Exact, Labelled, MadeUp, lines_of

SEED = 7
FILES = 10
# The share of changed words in each copy of a template.
TEMPLATE_RATE = 0.015
CONTENDERS = Path(__file__).with_name("clean_contenders.py")


def make(folder, count, of_template):
    """Writes the corpus; for each id returns the id of its original and the share of changed words."""
    rng = np.random.default_rng(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choice(list(letters), size=rng.integers(2, 10))) for _ in range(WORDS)]
    weights = 1 / np.arange(1, WORDS + 1)
    cumulated = np.cumsum(weights / weights.sum())
    draw = lambda size: np.searchsorted(cumulated, rng.random(size)).clip(max=WORDS - 1)

    def edited(text, rate):
        text = text.copy()
        changed = rng.random(len(text)) < rate
        text[changed] = draw(int(changed.sum()))
        return text

    families, kept, template = {}, [], None
    folder.mkdir()
    per_file = -(-count // FILES)
    number = 0
    for part in range(FILES):
        with open(folder / f"part-{part}.jsonl", "w") as out:
            for _ in range(min(per_file, count - number)):
                rate = 0.0
                if of_template and rng.random() < of_template:
                    template = template or (number, draw(600))
                    original, text = template
                    if number > original:
                        rate = TEMPLATE_RATE
                        text = edited(text, rate)
                        families[number] = (original, rate)
                elif kept and rng.random() < 0.2:
                    original, text = kept[rng.integers(len(kept))]
                    if rng.random() > 0.25:
                        rate = float(rng.uniform(0.01, 0.1))
                        text = edited(text, rate)
                    families[number] = (original, rate)
                else:
                    text = draw(int(rng.integers(400, 1200)))
                    if len(kept) < 20_000:
                        kept.append((number, text))
                    else:
                        kept[rng.integers(len(kept))] = (number, text)
                # A string, because datatrove drops the number 0.
                line = {"id": str(number), "text": " ".join(map(words.__getitem__, text))}
                out.write(json.dumps(line) + "\n")
                number += 1
    return families


def copy_set(folder, path):
    """Writes the documents of a set with numbers as ids; returns the number of each original id."""
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
    """Peak memory of a process and its children, and peak size of their temporary files. Output files
    are not counted, even before they get their final name."""

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
        """The bytes of all files in the folders, and of open unlinked files."""
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
    """The ids in all JSON Lines files below a folder."""
    ids = set()
    for path in folder.rglob("*.jsonl*"):
        opened = path.open("rb")
        if path.suffix == ".gz":
            import gzip

            opened = gzip.open(path)
        for line in opened:
            ids.add(int(json.loads(line)["id"]))
    return ids


def in_python(name):
    """A contender of clean_contenders.py."""

    def prepare(corpus, out, work, threads):
        command = [sys.executable, str(CONTENDERS), name, str(corpus), str(out), str(threads)]
        return command, lambda: kept_ids(out)

    return prepare


def fpstore(corpus, out, work, options, program=None):
    program = program or os.environ.get("FPSTORE", "fpstore")
    command = [program, "clean", str(corpus), "-o", f"{out}/", "--temp-dir", str(work)]
    return command + options, lambda: kept_ids(out)


def text_dedup(corpus, out, work, module, options):
    command = [sys.executable, "-m", f"text_dedup.{module}", "--path", "json"]
    command += ["--data_files", str(corpus / "*.jsonl"), "--split", "train", "--column", "text"]
    command += ["--cache_dir", str(work), "--output", str(out)] + options

    def kept():
        import datasets

        return set(map(int, datasets.load_from_disk(str(out))["id"]))

    return command, kept


def datatrove(corpus, out, work, shingle):
    """The four steps of datatrove's MinHash, with one worker for each core."""
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
    config, work = MinhashConfig(n_grams={shingle}), {str(work)!r}
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


def tools_of(corpus, shingle, threads, before):
    """For each tool, a function that returns its command and a reader of the kept ids."""
    own = ["--threads", str(threads)]
    words = ["--ngram", str(shingle)]
    minhash = ["--threshold", "0.8", "--num_perm", "128", *words]
    tools = {
        "fpstore --confirm 0.8": lambda out, work: fpstore(
            corpus, out, work, ["--confirm", "0.8", *own]
        ),
        "fpstore -k 7": lambda out, work: fpstore(corpus, out, work, ["-k", "7", *own]),
        "text-dedup MinHash": lambda out, work: text_dedup(corpus, out, work, "minhash", minhash),
        "text-dedup SimHash": lambda out, work: text_dedup(
            corpus, out, work, "simhash", ["--bit_diff", "3", *words]
        ),
        "datatrove MinHash": lambda out, work: datatrove(corpus, out, work, shingle),
    }
    if before:
        for options in ["--confirm 0.8", "-k 7"]:
            tools[f"before, {options}"] = lambda out, work, options=options: fpstore(
                corpus, out, work, [*options.split(), *own], before
            )
    names = {
        "fpstore.clean confirm 0.8": "clean",
        "fpstore.near_pairs k 7": "near_pairs",
        "FAISS MultiHash k 7": "faiss_hash",
        "FAISS Flat k 7": "faiss_flat",
        "datasketch MinHashLSH(128)": "datasketch",
        "rensa RMinHashLSH(128, 16)": "rensa",
    }
    for name, short in names.items():
        prepare = in_python(short)
        tools[name] = lambda out, work, prepare=prepare: prepare(corpus, out, work, threads)
    return tools


def measured(prepare, root, size):
    """The seconds, memory and temporary space of a tool, and the kept ids; `None` if it fails."""
    out, work = root / "out", root / "work"
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    command, read = prepare(out, work)
    with open(root / "log.txt", "w") as log:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=root)
        watch = Watch(process, [work, out / ".fpstore-dedup"], out)
        watch.start()
        status = process.wait()
        seconds = time.monotonic() - began
        watch.join()
    return None if status else (seconds, watch.memory, watch.space / size, read())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--set", metavar="FILE", help="documents, instead of synthetic ones")
    parser.add_argument("--near", metavar="FILE", help="with --set: its labelled pairs")
    parser.add_argument("--exact", action="store_true", help="compare all documents, by word pairs")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", help="names of tools, separated by commas")
    parser.add_argument("--template", type=float, default=0, metavar="PART", help="share of template pages")
    parser.add_argument("--before", metavar="PROGRAM", help="an older fpstore, for comparison")
    parser.add_argument("--folder", help="work folder; it is emptied")
    args = parser.parse_args()
    root = Path(args.folder or tempfile.mkdtemp(prefix="clean-"))
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    corpus = root / "corpus"
    if args.set:
        number_of = copy_set(corpus, args.set)
        count = len(number_of)
        truth = Exact(corpus) if args.exact else Labelled(args.near, number_of)
    else:
        families = make(corpus, args.documents, args.template)
        count = args.documents
        truth = Exact(corpus) if args.exact else MadeUp(corpus, families)
    size = sum(path.stat().st_size for path in corpus.iterdir())
    print(f"{count} documents, {size / 1e6:.0f} MB, {truth}\n", flush=True)
    tools = tools_of(corpus, 2 if args.exact else 3, args.threads, args.before)
    if args.only:
        only = args.only.split(",")
        tools = {name: of for name, of in tools.items() if any(map(name.startswith, only))}
    found = {name: [] for name in tools}
    for _ in range(args.rounds):
        for name, prepare in tools.items():
            found[name].append(measured(prepare, root, size))
            if found[name][-1] is None:
                shutil.copy(root / "log.txt", root / f"log-{name.split()[0]}.txt")
            else:
                print(f"{name}: {found[name][-1][0]:.1f} s", file=sys.stderr, flush=True)
    print("| tool | s | documents/s | MB/s | memory, MB | working space | recall | precision |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, rounds in found.items():
        if None in rounds:
            print(f"| {name} | failed, see the log in {root} |")
            continue
        seconds, memory, space = (statistics.median(of[at] for of in rounds) for at in range(3))
        kept = rounds[-1][3]
        recall, precision = truth.measure(kept, set(range(count)) - kept)
        print(
            f"| {name} | {seconds:.1f} | {count / seconds:.0f} | {size / 1e6 / seconds:.1f} "
            f"| {memory / 1e6:.0f} | {space:.2f} of the input | {recall:.4f} | {precision:.4f} |",
            flush=True,
        )
    if not any(None in rounds for rounds in found.values()):
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
