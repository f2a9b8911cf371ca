"""Compares the program with fpstore_reader.py, a reader written only from format-spec.md.

    python3 tools/readers/check_reader.py PROGRAM

Makes stores of many shapes and schemes. Both readers must print the same dumps and the same answers,
and verify each store as sound.
"""

import contextlib
import io
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import fpstore_reader

SCHEMES = ["1", "2", "4", "14", "halves-syndrome12", "14-syndrome6"]
NEEDLES = ["0000000000000000", "abcd000000000123", "8000000000000003"]


def inputs():
    """The lines of each input, by name."""
    rng = random.Random(20261121)
    spread = [rng.getrandbits(64) for _ in range(3000)]
    texts = enumerate(spread[:1500] + spread[:900])
    return {
        "bare": [f"{value:016x}" for value in spread],
        "numbers": [f"{value:016x}\t{rng.getrandbits(rng.choice([3, 40]))}" for value in spread + spread[:500]],
        "texts": [f"{value:016x}\tpage {i} \u4e2d\u6587" for i, value in texts]
        + ["0000000000000000", "ffffffffffffffff\tones"],
        "crowded": [f"{0xABCD << 48 | i:016x}\t{i}" for i in range(6000)]
        + [f"{value >> 20:016x}" for value in spread],
        "one": ["8000000000000001 x"],
        "none": [],
    }


def read(*words):
    """The output of the Python reader, and its exit status."""
    out = io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(out):
        status = fpstore_reader.main([str(word) for word in words])
    out.flush()
    return status, out.buffer.getvalue()


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, *words, stdin=b"", may_find_nothing=False):
        """The exit status, and the output of the program."""
        done = subprocess.run([self.path, *map(str, words)], input=stdin, capture_output=True, check=False)
        if done.returncode not in ((0, 1) if may_find_nothing else (0,)):
            sys.exit(f"{words}: status {done.returncode}\n{done.stderr.decode()}")
        return done.returncode, done.stdout

    def dump(self, store):
        return self.run("dump", "-s", store)

    def compare(self, store):
        same(self.dump(store), read("dump", store), f"dump of {store.name}")
        self.run("verify", "-s", store, "--quiet")
        status, found = read("verify", store)
        if status != 0:
            sys.exit(f"{store.name}: the reader finds {found.decode()}")


def same(ours, theirs, what):
    if ours != theirs:
        sys.exit(f"{what}: the program has status {ours[0]} and {len(ours[1])} bytes, the reader"
                 f" {theirs[0]} and {len(theirs[1])}, or different ones")


def check(program, folder, name, lines):
    file = folder / f"{name}.tsv"
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    for scheme in SCHEMES:
        store = folder / f"{name}-{scheme}.fps"
        program.run("build", file, "-s", store, "--scheme", scheme, "--radix", "hex", "--quiet")
        program.compare(store)
        for needle in NEEDLES:
            answer = program.run("query", needle, "-k", 9, "-s", store, may_find_nothing=True)
            same(answer, read("query", store, needle, 9), f"{needle} in {store.name}")
    # Records added and deleted: two segments with deletions, then one segment without.
    store = folder / f"{name}-grown.fps"
    half = len(lines) // 2
    text = lambda some: "".join(line + "\n" for line in some).encode()
    later = "halves-syndrome" if name == "texts" else "4"
    program.run("build", "-", "-s", store, "--scheme", 2, "--radix", "hex", "--quiet", stdin=text(lines[:half]))
    program.run("add", "-", "-s", store, "--scheme", later, "--label", "later", "--no-compact", "--radix", "hex",
                "--quiet", stdin=text(lines[max(half - 1, 0):]))
    ids, gone = folder / "gone-ids", folder / "gone"
    ids.write_bytes(text(line.partition("\t")[2] or line for line in lines[2::7]))
    gone.write_bytes(text(lines[4::9]))
    program.run("delete", "--ids", ids, "-s", store, "--quiet", may_find_nothing=True)
    program.run("delete", "--fingerprints", gone, "-s", store, "--quiet", may_find_nothing=True)
    program.compare(store)
    before = program.dump(store)
    program.run("compact", "--one", "-s", store, "--quiet")
    same(before, program.dump(store), f"{store.name}, compacted")
    print(f"{name}: same dumps and answers with schemes {', '.join(SCHEMES)}", flush=True)


def main():
    program = Program(str(Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in inputs().items():
            check(program, Path(folder), name, lines)


if __name__ == "__main__":
    main()
