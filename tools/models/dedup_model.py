"""The corpus of kill_dedup.py, and a model of the permitted results of `fpstore clean`.

The model has its own readers, record by record, and does not compute fingerprints: the program's list
reports which documents were removed, and which were kept in their place.
"""

import gzip
import json
import re
import tempfile
import zlib
from pathlib import Path

# A file without text that is longer than one unit of work, so that the files after it are in the
# next unit.
LONG = "m.txt"
LONG_LEN = 66 << 20
# The kinds of changes of files.
HOW = ["bit", "cut", "empty", "gone", "swap", "tail", "old", "link"]
# The kinds of changes of inputs. Reading inputs with other damage is outside the scope of this
# test.
HOW_INPUT = ["cut", "empty", "gone", "tail", "more", "more"]


def documents(count, source):
    """Ids and texts; a third are near earlier ones."""
    made = []
    for _ in range(count):
        if made and source.random() < 0.33:
            words = list(source.choice(made))
            for _ in range(source.randrange(4)):
                words[source.randrange(len(words))] = f"x{source.randrange(999)}"
        else:
            words = [f"w{source.randrange(5000)}" for _ in range(source.randrange(40, 300))]
        made.append(words)
    return [(f"d{number}", " ".join(words)) for number, words in enumerate(made)]


def lines(part):
    return "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in part).encode()


def page(id, text):
    block = text.encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {id}\r\n"
        f"Content-Type: text/plain\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def write(folder, made):
    """Writes the documents to files of all formats in turn, before and after the long file."""
    folder.mkdir()
    parts = [made[at::10] for at in range(10)]
    # A document without text and a bad record, which must be kept in place.
    rest = b'{"id":"no text","text":""}\nno document\n'
    for number, part in enumerate(parts[:4]):
        name = f"{'a' if number % 2 else 'z'}{number}.jsonl"
        (folder / name).write_bytes(lines(part) + (rest if number == 0 else b""))
    for number, part in enumerate(parts[4:6]):
        name = f"{'n' if number else 'c'}.jsonl.gz"
        (folder / name).write_bytes(gzip.compress(lines(part), mtime=0))
    for name, part, by in [("b.csv", parts[6], ","), ("p.csv", parts[7], ","), ("c.tsv", parts[8], "\t")]:
        rows = "".join(f"{i}{by}{t}\n" for i, t in part)
        (folder / name).write_text(f"id{by}text\n{rows}")
    (folder / "d.warc").write_bytes(b"".join(page(*one) for one in parts[9][5:]))
    for number, (_, text) in enumerate(parts[9][:5]):
        (folder / f"{'e' if number % 2 else 'x'}{number}.txt").write_text(text)
    with open(folder / LONG, "wb") as long:
        long.truncate(LONG_LEN)


def one_more(path, source):
    """Appends another document to a file."""
    id, text = f"more-{source.getrandbits(40):x}", " ".join(f"y{source.randrange(999)}" for _ in range(50))
    if path.name.endswith(".gz"):
        return gzip.compress(lines([(id, text)]), mtime=0)
    if path.suffix == ".warc":
        return page(id, text)
    by = {".csv": ",", ".tsv": "\t"}.get(path.suffix)
    if by:
        return f"{id}{by}{text}\n".encode()
    return lines([(id, text)]) if path.suffix == ".jsonl" else f" {text}".encode()


def damage(rng, how, one, other, older, folder):
    """Changes a file; `how` "link" moves it into `folder` and leaves a link. Returns whether the
    file is different now."""
    before = one.read_bytes()
    if how == "gone":
        one.unlink()
        return True
    if how == "link":
        behind = Path(tempfile.mkdtemp(dir=folder)) / one.name
        one.rename(behind)
        one.symlink_to(behind)
        return True
    after = bytearray(before)
    if how == "swap":
        one.write_bytes(other.read_bytes())
        other.write_bytes(before)
    elif how == "old":
        after = older.get(one.name, before)
    elif how == "bit" and before:
        after[rng.randrange(len(before))] ^= 1 << rng.randrange(8)
    elif how == "cut":
        after = before[:rng.randrange(len(before) + 1)]
    elif how == "empty":
        after = b""
    elif how == "tail":
        after += bytes(rng.randrange(1, 40))
    elif how == "more":
        after += one_more(one, rng)
    if how != "swap":
        one.write_bytes(after)
    older.setdefault(one.name, before)
    return one.read_bytes() != before


def is_whole_page(record):
    """Whether a record of a web archive is complete: a truncated record is damaged, and never copied."""
    head, end, block = record.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return bool(end and length) and len(block) >= int(length[1])


def uri_of(record):
    return re.search(rb"Target-URI: ([^\r]*)", record)[1].decode()


def id_of(line):
    try:
        return json.loads(line)["id"]
    except (ValueError, KeyError, TypeError):
        return None


def records(name, raw):
    """The records of the undamaged part of a file, in order, each with its id; None for records without
    an id, such as a header."""
    if name.endswith(".gz"):
        unpack, raw_left, unpacked = zlib.decompressobj(31), raw, b""
        while raw_left.strip(b"\0"):
            try:
                unpacked += unpack.decompress(raw_left)
            except zlib.error:
                break
            raw_left, unpack = unpack.unused_data, zlib.decompressobj(31)
        raw = unpacked
    if name.endswith(".warc"):
        found = re.split(rb"(?=WARC/1\.0\r\n)", raw)
        return [(uri_of(one), one) for one in found if is_whole_page(one)]
    split = re.findall(rb"[^\n]*\n|[^\n]+\Z", raw)
    if ".jsonl" in name:
        return [(id_of(line), line) for line in split]
    by = b"," if name.endswith(".csv") else b"\t"
    rows = [(*line.rstrip(b"\n").split(by, 1), b"") for line in split]
    is_whole = lambda at: at > 0 and rows[at][1].strip(b" \0")
    return [(rows[at][0].decode() if is_whole(at) else None, line) for at, line in enumerate(split)]


def read(folder):
    """A list of the records of each file of a corpus; a text file is one record without bytes."""
    def of_file(path):
        if path.name == LONG:
            return [(None, None)]
        raw = path.read_bytes()
        if path.suffix != ".txt":
            return records(path.name, raw)
        return [(path.name if raw.strip(b"\0") else None, None)]

    return {path.name: of_file(path) for path in sorted(folder.iterdir())}


def check(corpus, folder, before, stored, said):
    """Checks the outputs in `folder` after any disturbance. `before` are the ids stored before the run,
    `stored` the ids stored now; None without a store. `said` is the whole output of the program."""
    out = folder / "out"
    assert not (out / ".fpstore-dedup").exists(), "the work has not ended"
    rows = [line.split("\t") for line in (folder / "out.tsv").read_text().splitlines()]
    removed = {row[4]: (row[5], row[6]) for row in rows}
    assert len(removed) == len(rows), "a document is removed twice"
    kept, left_out = set(), 0
    listed = (out / "kept-files.txt").read_text().splitlines()
    for name, found in corpus.items():
        ids = [id for id, _ in found if id]
        if name.endswith(".txt"):
            is_listed = f"in/{name}" in listed
            assert is_listed != (name in removed), f"{name} is both kept and removed, or neither"
            kept.update(ids if is_listed else [])
        elif (out / name).exists():
            left = records(name, (out / name).read_bytes())
            expected = [one for one in found if one[0] not in removed]
            if ".warc" in name:
                # NUL bytes after the last record are a separate damaged record, which is never copied, and
                # a missing line end is added.
                bare = lambda of: [(id, raw.rstrip(b"\r\n\0")) for id, raw in of]
                left, expected = bare(left), bare(expected)
            assert left == expected, f"{name} has {len(left)} records of {len(expected)} that are kept"
            kept.update(id for id in ids if id not in removed)
        else:
            assert f" {name}" in said, f"{name} is in no output, and was not named"
            left_out += len(ids)
            gone = [id for id in ids if id in removed or stored and id in stored]
            assert not gone, f"{gone[:3]} of {name} are removed or stored, and the file was not read"
    names = {path.name for path in out.iterdir()} - {"kept-files.txt"}
    more = names - {name for name in corpus if not name.endswith(".txt")}
    assert not more, f"outputs of nothing: {more}"
    assert set(removed) <= {id for found in corpus.values() for id, _ in found}, "removed from nowhere"
    for id, (other, side) in removed.items():
        assert other in (before if side == "stored" else kept), f"{id} is removed for {other}, which is gone"
    same = [id for id in kept if id != "no text"]
    # A killed command whose outputs are complete printed no summary.
    for counts in re.findall(r"(\d[\d ]*) documents?: (\d[\d ]*) documents? kept", said)[-1:]:
        counts = [int(count.replace(" ", "")) for count in counts]
        assert counts == [len(same) + len(removed), len(same)], f"{counts} are counted, {len(same)} kept"
    if stored is not None:
        assert sorted(stored) == sorted(before + same), "the store has lost or invented documents"
    return {"documents kept": len(same), "removed": len(removed), "in unreadable files": left_out}
