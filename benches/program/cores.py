#!/usr/bin/env python3
"""Measures the speed-up of each command by a second core, and extrapolates to more cores.

    python3 benches/program/cores.py --program target/release/fpstore --folder DISK [-n 1e7]

Each command runs with one core and with two, in turn (`sched_setaffinity`: a command without
--threads uses the cores assigned to it). By Amdahl's law the two runs give the serial part, and this
part bounds the speed-up with 16 and 64 cores. The table also has other possible bottlenecks: voluntary
thread switches a second (waits for another thread or for a disk), and the input bytes that a command
reads a second. Needs Python 3, NumPy, 80 n bytes of disk and two cores.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "map"))

import measured
import numpy as np


def write_clustered(path, count):
    """Random fingerprints; a fifth are copies of an earlier one with 0 to 6 bits flipped."""
    source = np.random.default_rng(measured.SEED)
    values = source.integers(0, 1 << 64, count, dtype=np.uint64)
    copies = np.sort(source.choice(np.arange(1, count), count // 5, replace=False))
    origin = (source.random(len(copies)) * copies).astype(np.int64)
    flips = np.zeros(len(copies), dtype=np.uint64)
    for number in range(6):
        bits = np.uint64(1) << source.integers(0, 64, len(copies), dtype=np.uint64)
        flips ^= np.where(source.integers(0, 7, len(copies)) > number, bits, np.uint64(0))
    values[copies] = values[origin] ^ flips
    path.write_bytes(values.tobytes())


def write_documents(path, count):
    """Synthetic documents of 60 words; a fifth are copies of an earlier one with two words changed."""
    source = np.random.default_rng(measured.SEED)
    texts = []
    with open(path, "w", encoding="ascii") as out:
        for number in range(count):
            if number and source.random() < 0.2:
                words = texts[source.integers(len(texts))].copy()
                words[source.integers(0, len(words), 2)] = source.integers(0, 1 << 20, 2)
            else:
                words = (source.random(60) ** 3 * (1 << 20)).astype(np.int64)
            texts.append(words)
            text = " ".join(f"w{word:x}" for word in words.tolist())
            out.write(f'{{"id": "{number}", "text": "{text}"}}\n')


def write_records(path, values):
    """Writes a line for each value, with a text as its id."""
    with open(path, "w", encoding="ascii") as out:
        for number, value in enumerate(values.tolist()):
            out.write(f"{value:016x}\tdoc-{number}\n")


def run(command, cores, prepare):
    """Measures a command on the given cores."""
    prepare()
    return measured.run(command, stdout=subprocess.DEVNULL,
                        preexec_fn=lambda: os.sched_setaffinity(0, cores))


def commands(program, place, n):
    """The commands, each with its preparation."""
    values, store, grown, other = (place / name for name in ("all.u64", "all.fps", "grown.fps", "new.fps"))
    documents, questions, cleaned = place / "docs.jsonl", place / "q.u64", place / "clean.jsonl"
    records, binary = place / "ids.tsv", ["--input-format", "u64le"]
    nothing = lambda: None
    def fresh():
        shutil.rmtree(other, ignore_errors=True)
    def parts():
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(grown, other, copy_function=os.link)
    spare = ["--memory", "4GiB", "--temp-dir", place]
    yield "build", [program, "build", values, *binary, "-s", other, *spare, "-q"], fresh
    yield "build, ids, spilled", [program, "build", records, "-s", other, "--memory", "128MiB",
                                  "--temp-dir", place, "-q"], fresh
    yield "query --from, 10^6", [program, "query", "--from", questions, *binary, "-s", store], nothing
    yield "pairs", [program, "pairs", store, "-k", "3", *spare, "-q"], nothing
    yield "pairs, 4 bytes each", [program, "pairs", store, "-k", "3", "--memory", f"{max(4 * n, 1 << 26)}B",
                                  "--temp-dir", place, "-q"], nothing
    yield "cluster", [program, "cluster", store, "-k", "3", *spare, "-q"], nothing
    yield "dedup", [program, "dedup", values, *binary, "-k", "3", *spare, "-q"], nothing
    yield "clean", [program, "clean", documents, "--confirm", "0.8", "-o", cleaned,
                           "--force", "-q"], lambda: cleaned.unlink(missing_ok=True)
    yield "verify", [program, "verify", store], nothing
    yield "verify --samples 0", [program, "verify", store, "--samples", "0"], nothing
    yield "compact", [program, "compact", "--all", "-s", other, *spare, "-q"], parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/fpstore")
    parser.add_argument("--folder", help="folder for files")
    parser.add_argument("-n", type=float, default=1e7)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME",
                        help="only commands whose names begin with NAME")
    options = parser.parse_args()
    program, n = os.path.abspath(options.program), int(options.n)
    cores = sorted(os.sched_getaffinity(0))[:2]
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        place = pathlib.Path(scratch)
        write_clustered(place / "all.u64", n)
        write_documents(place / "docs.jsonl", options.documents)
        whole = np.fromfile(place / "all.u64", dtype=np.uint64)
        write_records(place / "ids.tsv", whole[: n // 2])
        np.random.default_rng(1).choice(whole, 1_000_000).tofile(place / "q.u64")
        binary = ["--input-format", "u64le", "-q"]
        subprocess.run([program, "build", place / "all.u64", *binary, "-s", place / "all.fps"], check=True)
        for number, part in enumerate(np.array_split(whole, 8)):
            part.tofile(place / "part.u64")
            command = "add" if number else "build"
            more = ["--no-compact"] if number else []
            subprocess.run([program, command, place / "part.u64", *binary, "-s", place / "grown.fps", *more],
                           check=True)
        print("| command | 1 core, s | 2 cores, s | times | more work | serial | 16 cores, at most |"
              " 64 cores | waits a second | MB/s of input |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for name, command, prepare in commands(program, place, n):
            if not name.startswith(tuple(options.only)):
                continue
            rounds = [[run(command, cores[:count], prepare) for count in (1, 2)]
                      for _ in range(options.rounds)]
            ratio = statistics.median(one["seconds"] / two["seconds"] for one, two in rounds)
            work = statistics.median(two["cpu"] / one["cpu"] for one, two in rounds)
            one, two = (statistics.median(each[at]["seconds"] for each in rounds) for at in (0, 1))
            serial = min(1.0, max(0.0, 2 / ratio - 1))
            most = [1 / (serial + (1 - serial) / count) for count in (16, 64)]
            waits = statistics.median(each[1]["waits"] / each[1]["seconds"] for each in rounds)
            inputs = [part for part in command[2:] if isinstance(part, pathlib.Path) and part.is_file()]
            size = inputs[0].stat().st_size if inputs else 8 * n
            print(f"| {name} | {one:.2f} | {two:.2f} | {ratio:.2f} | {work:.2f} | {serial:.2f} |"
                  f" {most[0]:.1f} | {most[1]:.1f} | {waits:.0f} | {size / two / 1e6:.0f} |", flush=True)


main()
