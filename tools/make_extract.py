#!/usr/bin/env python3
"""Makes the extract in tests/data from the full collection of real fingerprints.

    python3 tools/make_extract.py DATA_FOLDER OUT_FOLDER

DATA_FOLDER contains fingerprints/ and licences/. The output does not depend on time, machine or file
order, so the same collection yields the same lines; with the same zstd program it yields the same
bytes. Files of the same name in OUT_FOLDER are overwritten; other files are left unchanged.
"""

import shutil
import subprocess
import sys
from pathlib import Path

STORE_LINES = 8000
FIRST_QUERIES = 500
HEX_LINES = 3000

# The licences: the name of each file in tests/data, and its name in the collection.
LICENCES = {
    "Apache-2.0.txt": "kubevela+kubevela.io.LICENSE",
    "chinese-poetry+chinese-poetry.LICENSE": "chinese-poetry+chinese-poetry.LICENSE",
    "facebook+ThreatExchange.vpdq_LICENSE.txt": "facebook+ThreatExchange.vpdq_LICENSE.txt",
    "trendmicro+tlsh.LICENSE": "trendmicro+tlsh.LICENSE",
}


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: make_extract.py DATA_FOLDER OUT_FOLDER")
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    fingerprints = data / "fingerprints"
    extract_tang(fingerprints, out)
    extract_pairs(fingerprints, out, "tlsh_malware_w0", "pairs_le3", None)
    extract_pairs(fingerprints, out, "pdq_video_frames_a", "pairs_le3", HEX_LINES)
    extract_pairs(fingerprints, out, "noto_emoji_phash64", "pairs_le6", HEX_LINES)
    copy_licences(data / "licences", out / "licences")
    total = sum(path.stat().st_size for path in out.glob("*.zst"))
    print(f"{total:7} bytes in all")


def extract_tang(data: Path, out: Path) -> None:
    """The first lines of the store, with the queries and answers for these lines."""
    stored = read(data / "tang_store.tsv.zst")[:STORE_LINES]
    stored_ids = {line.split("\t")[1] for line in stored}
    header, *answers = read(data / "tang_answers_le10.tsv.zst")
    answers = [line for line in answers if line.split("\t")[1] in stored_ids]
    answered = {line.split("\t")[0] for line in answers}
    # The first queries are kept even if they have no answer: an empty answer is a test case, too.
    queries = [
        line
        for number, line in enumerate(read(data / "tang_queries.tsv.zst"))
        if number < FIRST_QUERIES or line.split("\t")[1] in answered
    ]
    write(out / "tang_store.tsv.zst", stored)
    write(out / "tang_queries.tsv.zst", queries)
    write(out / "tang_answers_le10.tsv.zst", [header, *answers])


def extract_pairs(data: Path, out: Path, name: str, pairs: str, line_count: int | None) -> None:
    """The first `line_count` lines of a file, or all, and the pairs whose values are both in
    them."""
    values = read(data / f"{name}.hex.zst")[:line_count]
    header, *rows = read(data / f"{name}.{pairs}.tsv.zst")
    kept = set(values)
    rows = [row for row in rows if kept.issuperset(row.split("\t")[:2])]
    write(out / f"{name}.hex.zst", values)
    write(out / f"{name}.{pairs}.tsv.zst", [header, *rows])


def copy_licences(data: Path, out: Path) -> None:
    out.mkdir(exist_ok=True)
    for name, origin in LICENCES.items():
        # Copies only the contents and not the permissions, because the collection may be read-only.
        shutil.copyfile(data / origin, out / name)


def read(path: Path) -> list[str]:
    done = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode("utf-8").removesuffix("\n").split("\n")


def write(path: Path, lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode("utf-8")
    # The bytes of the frame depend on the number of workers and on the known length.
    command = ["zstd", "-19", "-T1", "-cq", f"--stream-size={len(text)}"]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True)
    path.write_bytes(done.stdout)
    print(f"{len(done.stdout):7} bytes, {len(lines):6} lines  {path.name}")


if __name__ == "__main__":
    main()
