#!/usr/bin/env python3
"""Cleans and copies random hostile files, and compares each output byte with a model.

    python3 tools/models/check_copies.py PROGRAM [--rounds N] [--seed N]

Each round makes a small corpus: JSON Lines, CSV, TSV, lines, whole files, web archives and Parquet,
plain or of several members of gzip or zstd, with runs of carriage returns, byte order marks, blank
lines, truncations, damaged members, long records, odd quotes, nulls, bad ids and other encodings. One
command cleans or copies it. The model (tools/models/copy_model.py) has its own readers. Texts are
either nearly equal or share no word, so that the kept documents are known. The outputs, the list of
removed documents, the counts, the store and the status must match the model, and the outputs must
decompress. If they do not, the round prints its seed, and the smallest corpus that reproduces the
difference is left in a folder. Parquet needs pyarrow, and zstd pyarrow or the program zstd.
"""

import argparse
import collections
import dataclasses
import gzip
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import copy_model as model
from copy_model import Ambiguous, Record, Unknown, Unreadable, pyarrow
from hostile_files import PASSAGES, Maker

SECONDS_MAX = 120
# The number of bytes between two records in the memory test.
FLOOD_LEN = 32 << 20
PEAK_OF = """import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
status, usage = os.wait4(process, 0)[1:]
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Failed(Exception):
    """The program violated the model."""


def inputs(case, folder):
    """Writes the files; returns their arguments in reading order."""
    base = folder / "in"
    base.mkdir()
    names = sorted((file.name for file in case.files), key=lambda name: name.split("/"))
    for file in case.files:
        (base / file.name).parent.mkdir(exist_ok=True)
        (base / file.name).write_bytes(file.bytes())
    return [f"in/{name}" for name in names] if case.is_named else ["in"]


def model_of(case, folder, left_out):
    """The records of each file, by the name of the file in reading order; None for a skipped
    file."""
    files = sorted(case.files, key=lambda file: file.name.split("/"))
    corpus = {}
    for file in files:
        name = f"in/{file.name}" if case.is_named else file.name
        prefix = f"{name}:" if len(files) > 1 else ""
        try:
            if file.name in left_out:
                raise Unreadable("damaged elsewhere")
            raw = (folder / "in" / file.name).read_bytes()
            records = model.read(name, file.format, raw, prefix, case.rules)
        except Unreadable:
            records = None
        for record in records or [] if case.job in PASSAGES else []:
            model.split_passages(record)
        corpus[file.name] = records
    return corpus


def units_of(corpus):
    """The units that the program compares: all documents with a text, or their passages."""
    documents = [one for records in corpus.values() for one in records or [] if one.kind == "doc"]
    return [unit for one in documents for unit in one.passages or [one]]


class Run:
    """The run of a case in a folder."""

    def __init__(self, program, case, folder):
        self.program, self.case, self.folder = program, case, folder
        self.args = []

    def call(self, *args):
        try:
            how = {"cwd": self.folder, "capture_output": True, "timeout": SECONDS_MAX}
            done = subprocess.run([self.program, *args], **how)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"it has not ended after {SECONDS_MAX} s") from late
        out, told = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if done.returncode not in (0, 2) or "panicked" in told:
            raise Failed(f"status {done.returncode}: {told[-800:]}")
        return done.returncode, out, told

    def command(self):
        case, rules = self.case, self.case.rules
        self.paths = inputs(case, self.folder)
        args = ["clean", *self.paths, "--threads", str(case.threads)]
        if case.job == "contamination":
            args[0:1] = "contamination --against known.jsonl --against-id-field id --found found.tsv".split()
        if any(file.format == "lines" for file in case.files):
            args += ["--docs-format", "lines"]
        args += ["--skip-bad"] * rules.skip_bad + ["--line-ids"] * rules.line_ids
        if rules.encoding != "utf-8":
            args += ["--encoding", rules.encoding]
        if rules.max_len < 64 << 20:
            args += ["--max-document", str(rules.max_len)]
        if case.job == "list":
            args += ["--list"]
        else:
            args += ["-o", f"out{case.out_end}" if case.job == "file" else "out/"]
        if case.job != "contamination":
            args += ["--removed", "removed.tsv"]
        args += {
            "annotate": ["--annotate", "mark"], "size": ["--cluster-size", "mark"],
            "add": ["-s", "store.fps", "--within", "--add"],
        }.get(case.job, ["--unit", "paragraph", "--passages", case.job] if case.job in PASSAGES else [])
        self.args = args
        lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in case.known)
        (self.folder / "known.jsonl").write_text(lines)
        if case.job == "add":
            self.call("build", "--docs", "known.jsonl", "--sketch", "-s", "store.fps", "-q")
        return args

    def go(self):
        """Runs and compares the case; raises Failed, or Ambiguous for an inconclusive case."""
        case, folder = self.case, self.folder
        args = self.command()
        try:
            corpus = model_of(case, folder, set())
            self.decide(corpus)
        except Unknown as unknown:
            self.call(*args)
            raise Ambiguous from unknown
        status, out, told = self.call(*args)
        # In Parquet, damage outside of the id and text columns is found only during the copy.
        loose = [file.name for file in case.files if file.format == "parquet" and file.damage[0] == "flip"]
        left_out = {name for name in loose if status == 2 and not self.outputs(name)}
        if left_out:
            corpus = model_of(case, folder, left_out)
        self.compare(corpus, status, out, told)
        return status

    def outputs(self, name):
        """The paths of the copies of a file."""
        return [path for path in self.folder.glob("out*/**/*") if path.name == Path(name).name]

    def decide(self, corpus):
        """Decides about each document: a list of (record, fate)."""
        case = self.case
        documents = units_of(corpus)
        if case.job == "contamination":
            holds = lambda one: any(model.contains(one.text, text) for _, text in case.known)
            return {id(one): one if holds(one) else None for one in documents}
        stored = case.known if case.job == "add" else []
        fates = model.decide(documents, stored, 0.93 if case.job == "add" else 0.87)
        return {id(one): fate for one, fate in zip(documents, fates)}

    def compare(self, corpus, status, out, told):
        case = self.case
        records = [one for found in corpus.values() for one in found or []]
        if case.job in ("contamination", *PASSAGES) and any(one.reason == "bad id" for one in records):
            raise Ambiguous
        if case.job == "list" and None in corpus.values():
            # The program adds the documents before the fault to the store; the model does not.
            raise Ambiguous
        kinds = collections.Counter(one.kind for one in records)
        bad_count = kinds["bad"] + kinds["damaged"]
        unreadable = [name for name, found in corpus.items() if found is None]
        # Records of text files and web archives cannot be annotated or cut.
        takes_all = case.job not in ("annotate", "size", "cut")
        is_fit = takes_all or all(file.format not in ("text", "warc") for file in case.files)
        is_sound = not unreadable and (not bad_count or case.rules.skip_bad)
        is_refused = not is_fit or not is_sound and (case.is_named or not case.rules.skip_bad)
        if is_refused or status == 2 and not unreadable:
            if status != 2:
                raise Failed(f"status {status}, the model refuses: {kinds} {unreadable}")
            if not is_refused:
                raise Failed(f"refused, the model does not: {told[-800:]}")
            if left := list(self.folder.glob("out*")):
                files = [path for path in left[0].rglob("*") if path.is_file()]
                if any(".fpstore" not in str(path) for path in files) or left[0].is_file():
                    raise Failed(f"it was refused and wrote {left} {files}")
            return
        if unreadable and case.job != "list" and status != 2:
            raise Failed(f"status {status}, but nothing can be known of {unreadable}")
        for name in unreadable:
            if name not in told:
                raise Failed(f"{name} is left out and not named")
        fates = self.decide(corpus)
        # The count includes bad records of skipped files.
        skipped = sum(int(number) for number in re.findall(r"(\d+) bad records? skipped", told))
        if skipped < bad_count or skipped > bad_count and not unreadable:
            raise Failed(f"{skipped} records are bad, {bad_count} by the model: {told[-800:]}")
        self.check_counts(kinds, fates, told)
        self.check_lists(corpus, fates, out)
        if case.job != "list":
            self.check_outputs(corpus, fates)

    def check_counts(self, kinds, fates, told):
        removed = sum(fate is not None for fate in fates.values())
        counts = [len(fates), len(fates) - removed]
        if self.case.job == "contamination":
            return
        found = re.findall(r"(\d[\d ]*) (?:document|passage)s?: (\d[\d ]*) (?:document|passage)s? kept", told)
        if not found or [int(count.replace(" ", "")) for count in found[-1]] != counts:
            raise Failed(f"{found} are counted, {counts} by the model")

    def read(self, name):
        path = self.folder / name
        if not path.exists():
            raise Failed(f"{name} is not written")
        return path.read_bytes().decode()

    def check_lists(self, corpus, fates, out):
        case, folder = self.case, self.folder
        shown = lambda id: str(id).replace("\\", r"\\").replace("\t", r"\t")
        documents = units_of(corpus)
        if case.job == "contamination":
            pairs = itertools.product(case.known, documents)
            held = {(shown(item), shown(one.id)) for (item, text), one in pairs if model.contains(one.text, text)}
            rows = [line.split("\t") for line in self.read("found.tsv").split("\n") if line]
            # Rows of skipped files are not compared: the program searched these files up to the
            # fault.
            left_out = {name for name, records in corpus.items() if records is None}
            if {(row[0], row[3]) for row in rows if row[2] not in left_out} != held:
                raise Failed(f"found {rows}, by the model {held}")
            return
        rows = [tuple(line.split("\t")[4:7]) for line in self.read("removed.tsv").split("\n") if line]
        expected = []
        for one in documents:
            fate = fates[id(one)]
            if isinstance(fate, Record):
                expected.append((shown(one.id), shown(fate.id), "new"))
            elif fate is not None:
                expected.append((shown(one.id), shown(fate), "stored"))
        if rows != expected:
            raise Failed(f"removed {rows}, by the model {expected}")
        # In this output the id is the text after the first tab.
        kept = [str(one.id) for one in documents if fates[id(one)] is None]
        ids_of = lambda lines: [line.split("\t", 1)[1] for line in lines.split("\n") if line]
        if case.job == "list" and ids_of(out) != kept:
            raise Failed(f"listed {out}, by the model {kept}")
        if case.job == "add":
            dumped = sorted(ids_of(self.call("dump", "-s", "store.fps")[1]))
            if dumped != sorted([item for item, _ in case.known] + kept):
                raise Failed(f"the store has {dumped}, by the model {kept} more")

    def check_outputs(self, corpus, fates):
        case = self.case
        files = {file.name: file for file in case.files}
        # Names are relative to the common folder of all inputs.
        is_below = case.is_named and all(file.name.startswith("b/") for file in case.files)
        below = lambda name: name[2:] if is_below else name
        sizes = collections.Counter(id(fate) for fate in fates.values() if fate is not None)
        expected, lists = {}, []
        for name, records in corpus.items():
            file = files[name]
            if records is None:
                continue
            stays = [one for one in records if self.stays(one, fates)]
            if file.format == "text":
                lists += [f"in/{name}\n"] * len(stays)
            elif file.format == "parquet":
                marks = None
                if case.rules.new_field:
                    marks = [self.mark_of(one, fates, sizes) for one in stays]
                self.check_table(name, below(name), stays, marks, file.damage[0] == "flip")
                expected[below(name)] = None, file
            else:
                expected[below(name)] = self.parts(file, stays, fates, sizes), file
        if any(file.format == "text" for file in case.files):
            expected["kept-files.txt"] = ["".join(lists).encode()], None
        if case.job == "file":
            found = {below(case.files[0].name): self.folder / f"out{case.out_end}"}
        else:
            out = self.folder / "out"
            found = {str(path.relative_to(out)): path for path in out.rglob("*") if path.is_file()}
        if found.keys() != expected.keys():
            raise Failed(f"outputs {sorted(found)}, by the model {sorted(expected)}")
        for name, (parts, file) in expected.items():
            if parts is not None:
                self.check_bytes(found[name], parts, file)

    def stays(self, one, fates):
        """Whether a record is in the output, as a whole or in part."""
        is_removed = [fates.get(id(unit)) is not None for unit in one.passages]
        if one.kind == "damaged" or self.case.job == "cut" and is_removed and all(is_removed):
            return False
        if self.case.job == "drop:0.5":
            return not model.is_dropped(one, is_removed)
        return self.case.job == "annotate" or fates.get(id(one)) is None

    def parts(self, file, stays, fates, sizes):
        case = self.case
        if case.job == "cut":
            is_removed = lambda one: [fates.get(id(unit)) is not None for unit in one.passages]
            return [model.cut(one, file.format, is_removed(one)) for one in stays]
        if case.job not in ("annotate", "size"):
            return [one.raw for one in stays]
        content = b"".join(one.raw for one in stays)
        encoding = "utf-8" if content.startswith(model.MARK) else case.rules.encoding
        mark_of = lambda one: self.mark_of(one, fates, sizes)
        return [model.marked(one, file.format, "mark", mark_of(one), encoding) for one in stays]

    def mark_of(self, one, fates, sizes):
        fate = fates.get(id(one))
        if self.case.job == "size":
            return 1 + sizes[id(one)] if one.kind == "doc" else None
        own = fate.id if fate else None
        return str(own) if isinstance(own, int) and own < 0 else own

    def check_bytes(self, path, parts, file):
        raw = path.read_bytes()
        pack = model.compression_of(file.name, file.bytes()) if file else ""
        if self.case.job == "file":
            pack = {"gz": "gz", "zst": "zst"}.get(path.suffix[1:], "")
        try:
            compression, members = model.unpacked(path.name if pack else "", raw)
        except Unreadable as fault:
            raise Failed(f"{path.name} cannot be decompressed: {fault}") from fault
        if compression != pack:
            raise Failed(f"{path.name} is compressed as {compression!r}, expected {pack!r}")
        if b"".join(members) != b"".join(parts):
            one, other = b"".join(members), b"".join(parts)
            at = len(os.path.commonprefix([one, other]))
            around = slice(max(0, at - 40), at + 60)
            raise Failed(f"{path.name} differs at byte {at}: {one[around]!r}, by the model {other[around]!r}")
        if file and file.format == "warc" and pack == "gz" and parts and members != parts:
            raise Failed(f"{path.name} has {len(members)} members and {len(parts)} records")

    def check_table(self, name, below, stays, marks, is_damaged):
        case = self.case
        path = self.folder / (f"out{case.out_end}" if case.job == "file" else f"out/{below}")
        try:
            table = pyarrow.parquet.ParquetFile(self.folder / "in" / name).read()
        except (OSError, pyarrow.ArrowException):
            return
        found = pyarrow.parquet.ParquetFile(path).read()
        if marks is not None:
            if found.column("mark").to_pylist() != marks:
                raise Failed(f"{name} has the marks {found.column('mark').to_pylist()}, by the model {marks}")
            found = found.drop_columns(["mark"])
        expected = table.take(pyarrow.array([one.raw for one in stays], pyarrow.int64()))
        if found != expected or not found.schema.equals(table.schema, check_metadata=not is_damaged):
            raise Failed(f"{name} has other rows or another schema than by the model")


def check_memory(program):
    """Checks that blank lines and carriage returns between records are not buffered."""
    cases = [
        ("blank.csv.gz", b"id,text\n1,one two three\n" + b"\n" * FLOOD_LEN + b"2,four five six\n"),
        ("returns.jsonl.gz", b'{"id":1,"text":"one two three"}' + b"\r" * FLOOD_LEN + b"\n"),
    ]
    for name, content in cases:
        peaks = {}
        for kind, plain in [("small", content.replace(b"\n\n", b"").replace(b"\r", b"")), ("large", content)]:
            with tempfile.TemporaryDirectory(prefix="fpstore-copies-") as folder:
                (Path(folder) / name).write_bytes(gzip.compress(plain, mtime=0))
                args = [program, "clean", name, "-o", f"out-{name}", "--max-document", "1MiB", "-q"]
                # The peak memory of a child includes the memory of its parent before exec, so the
                # program is started by a small process.
                args[:0] = [sys.executable, "-SE", "-c", PEAK_OF]
                done = subprocess.run(args, cwd=folder, capture_output=True)
                out = Path(folder) / f"out-{name}"
                if done.returncode != 0 or gzip.decompress(out.read_bytes()) != plain:
                    sys.exit(f"{name}: its copy is another one: {done.stderr.decode()}")
                peaks[kind] = int(done.stdout) << 10
        if peaks["large"] > peaks["small"] + FLOOD_LEN // 2:
            large, small = peaks["large"] >> 20, peaks["small"] >> 20
            sys.exit(f"{name}: it takes {large} MiB of memory, and a small file {small} MiB")


def shrink(program, case, failed, limit=150):
    """The smallest case that fails in the same way."""
    kind = str(failed).split(" ")[0]

    def fails(other):
        with tempfile.TemporaryDirectory(prefix="fpstore-copies-") as folder:
            try:
                Run(program, other, Path(folder)).go()
            except Failed as new:
                return str(new).split(" ")[0] == kind
            except (Ambiguous, ValueError, IndexError):
                pass
            return False

    def smaller(case):
        for at in range(len(case.files)):
            if len(case.files) > 1:
                yield dataclasses.replace(case, files=case.files[:at] + case.files[at + 1:])
        for at, file in enumerate(case.files):
            step = max(1, len(file.pieces) // 2)
            while step:
                for start in range(0, len(file.pieces), step):
                    pieces = file.pieces[:start] + file.pieces[start + step:]
                    files = [*case.files[:at], dataclasses.replace(file, pieces=pieces), *case.files[at + 1:]]
                    yield dataclasses.replace(case, files=files)
                step //= 2
            if file.pack and file.format != "parquet":
                name = file.name.removesuffix(f".{file.pack}")
                plain = dataclasses.replace(file, pack="", damage=("none", 0), name=name)
                yield dataclasses.replace(case, files=[*case.files[:at], plain, *case.files[at + 1:]])

    tried = 0
    is_smaller = True
    while is_smaller and tried < limit:
        is_smaller = False
        for other in smaller(case):
            tried += 1
            if fails(other):
                case, is_smaller = other, True
                break
            if tried >= limit:
                break
    return case


def round(program, seed, count):
    """Runs the case of a seed; returns the failure."""
    case = Maker(random.Random(seed)).case()
    with tempfile.TemporaryDirectory(prefix="fpstore-copies-") as folder:
        run = Run(program, case, Path(folder))
        try:
            status = run.go()
        except Ambiguous:
            count["skipped, because a text was damaged too much"] += 1
            return None
        except Failed as failed:
            return case, failed
    count[f"{case.job}, status {status}"] += 1
    for file in case.files:
        count[f"files: {file.format}{' ' * bool(file.pack)}{file.pack}"] += 1
    return None


def report(program, seed, case, failed):
    case = shrink(program, case, failed)
    folder = Path(tempfile.mkdtemp(prefix="fpstore-copies-"))
    run = Run(program, case, folder)
    try:
        run.go()
    except Failed as smallest:
        failed = smallest
    print(f"seed {seed}: {failed}\nin {folder}: {program} {' '.join(run.args)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1, help="first seed; each round uses the next")
    parser.add_argument("--failures", type=int, default=1, help="stop after this number of failures")
    options = parser.parse_args()
    program = str(Path(options.program).resolve())
    if not pyarrow:
        print("pyarrow is not installed: no Parquet files are tested")
    if not model.has_zstd():
        sys.exit("zstd cannot be read: install pyarrow or the program zstd")
    check_memory(program)
    count = collections.Counter()
    failures = 0
    for seed in range(options.seed, options.seed + options.rounds):
        if found := round(program, seed, count):
            report(program, seed, *found)
            failures += 1
            if failures == options.failures:
                break
    for name, number in sorted(count.items()):
        print(f"{number:8} {name}")
    if failures:
        sys.exit(f"{failures} of {seed - options.seed + 1} rounds differ from the model")
    print(f"{options.rounds} rounds from seed {options.seed}: all outputs match the model")


if __name__ == "__main__":
    main()
