#!/usr/bin/env python3
"""Measures how costs grow with the size of the work, in cases where a naive way is quadratic.

    python3 benches/program/growth.py --program OLDER --program target/release/fpstore

Each row has twice the work of the previous row; linear work then takes twice the processor time. A
cell is the processor time of the program in seconds, as the system accounts it, children included; a
case ends with the first row that takes longer than --most. The inputs come from a fixed seed.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import socket
import subprocess
import tempfile
import time

SEED = 20261125
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(command, folder):
    """Processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)[:200]}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def words(source, count):
    return " ".join(f"w{source.randrange(20_000)}" for _ in range(count))


def files(program, folder, count):
    """Cleans a folder of files with two documents each."""
    source = random.Random(SEED)
    (folder / "in").mkdir()
    for at in range(count):
        lines = [json.dumps({"id": f"{at}-{of}", "text": words(source, 30)}) for of in range(2)]
        (folder / "in" / f"{at}.jsonl").write_text("\n".join(lines) + "\n")
    return cpu_of([program, "clean", "in", "-k", "7", "-o", "out/", "-q"], folder)


def copies(program, folder, count):
    """Near copies of one template: 200 words, 3 of them different."""
    source = random.Random(SEED)
    template = words(source, 200).split()
    with open(folder / "in.jsonl", "w") as out:
        for at in range(count):
            text = template.copy()
            for _ in range(3):
                text[source.randrange(200)] = f"x{source.randrange(1 << 30)}"
            out.write(json.dumps({"id": str(at), "text": " ".join(text)}) + "\n")
    return cpu_of([program, "clean", "in.jsonl", "-k", "7", "-o", "out.jsonl", "-q"], folder)


def ordinary(program, folder, count, *options):
    """Documents of 200 words; a fifth are copies of an earlier one with 2 words changed."""
    source, made = random.Random(SEED), []
    with open(folder / "in.jsonl", "w") as out:
        for at in range(count):
            if made and source.random() < 0.2:
                text = source.choice(made).copy()
                for _ in range(2):
                    text[source.randrange(200)] = f"x{source.randrange(1 << 30)}"
            else:
                text = words(source, 200).split()
            if len(made) < 10_000:
                made.append(text)
            out.write(json.dumps({"id": str(at), "text": " ".join(text)}) + "\n")
    command = [program, "clean", "in.jsonl", *(options or ("-k", "7")), "-o", "out.jsonl", "-q"]
    return cpu_of(command, folder)


def confirmed(program, folder, count):
    return ordinary(program, folder, count, "--confirm", "0.8")


def segments(program, folder, count):
    """Commits segment files of one fingerprint each to a store, in one step."""
    source = random.Random(SEED)
    for at in range(count):
        (folder / "one.tsv").write_text(f"{source.getrandbits(64):016x}\t{at}\n")
        subprocess.run([program, "build", "one.tsv", "--segment-file", f"{at}.seg", "--scheme", "2",
                        "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    names = [f"{at}.seg" for at in range(count)]
    return cpu_of([program, "commit", *names, "-s", "store.fps", "-q"], folder)


def chunks(program, folder, count):
    """Sends one line to the stream of a server, in chunks of one byte."""
    (folder / "in.tsv").write_text("0000000000000001\ta\n")
    subprocess.run([program, "build", "in.tsv", "-s", "store.fps", "-q"], cwd=folder, check=True)
    server = subprocess.Popen([program, "serve", "-s", "store.fps", "--listen", "127.0.0.1:0"],
                              cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        host, port = server.stderr.readline().strip().rsplit(" at http://", 1)[-1].rsplit(":", 1)
        spent = lambda: sum(map(int, pathlib.Path(f"/proc/{server.pid}/stat").read_text()
                                .rsplit(") ", 1)[1].split()[11:13])) / TICKS
        time.sleep(0.3)
        before = spent()
        link = socket.create_connection((host, int(port)))
        link.sendall(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        link.sendall(b"1\r\n \r\n" * count + b"4\r\n\"1\"\n\r\n0\r\n\r\n")
        while link.recv(1 << 16):
            pass
        return spent() - before
    finally:
        server.kill()
        server.wait()


CASES = [
    ("files of a folder", files, 500),
    ("near copies of a template", copies, 2500),
    ("ordinary documents", ordinary, 80_000),
    ("ordinary documents, confirmed", confirmed, 80_000),
    ("segments of a commit", segments, 250),
    ("chunks of a line", chunks, 50_000),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", action="append", help="may be repeated")
    parser.add_argument("--case", action="append", help="run only this case; may be repeated")
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--most", type=float, default=60, help="a case ends after a row that takes longer")
    options = parser.parse_args()
    programs = [os.path.abspath(name) for name in options.program or ["target/release/fpstore"]]
    print("| work | size |" + "".join(f" program {at} |" for at in range(1, len(programs) + 1)))
    print("|---|---:|" + "---:|" * len(programs))
    for name, case, size in CASES:
        if options.case and name not in options.case:
            continue
        has_ended = [False] * len(programs)
        for row in range(options.rows):
            cells = []
            for at, program in enumerate(programs):
                if has_ended[at]:
                    cells.append("")
                    continue
                folder = pathlib.Path(tempfile.mkdtemp(dir="target"))
                try:
                    spent = case(program, folder, size << row)
                finally:
                    shutil.rmtree(folder)
                has_ended[at] = spent > options.most
                cells.append(f"{spent:.2f}")
            print(f"| {name} | {size << row} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
