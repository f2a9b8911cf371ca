"""Makes the hostile files of check_copies.py, and the commands that read them."""

import dataclasses
import gzip
import json

import copy_model as model
from copy_model import Rules, pyarrow

JOBS = ["file", "file", "annotate", "size", "list", "add", "contamination", "cut", "drop:0.5"]
PASSAGES = ("cut", "drop:0.5")
SNIPPETS = [
    b"\r", b"\n", b"\r\n", b"\r\r\n", b"\n\n \n", b"\0", b"\xff", b'"', b'""', b",", b"\t", b"\\",
    model.MARK, b"WARC/1.0\r\n", b"{}", b"[", b"\x1a",
]


@dataclasses.dataclass
class File:
    """A generated file: its pieces, `every` pieces per compressed member, and the damage applied last."""

    name: str
    format: str
    pieces: list
    pack: str = ""
    every: int = 1000
    damage: tuple = ("none", 0)

    def bytes(self):
        if self.format == "parquet":
            return self.table()
        groups = [self.pieces[at:at + self.every] for at in range(0, len(self.pieces), self.every)]
        members = [b"".join(group) for group in groups] or [b""]
        how, number = self.damage
        if self.pack == "gz":
            members = [gzip.compress(member, mtime=0) for member in members]
        elif self.pack == "zst":
            members = [model.zstd_frame(member) for member in members]
            if self.name.endswith(".zst"):
                # A skippable frame, whose first bytes do not identify the file as zstd.
                members.insert(number % len(members), model.SKIPPABLE_FRAME)
        if how == "flip":
            # The flipped bit is in one member, often in its header.
            at = number % len(members)
            member = bytearray(members[at])
            member[number // 8 % (len(member) if number % 3 else 4)] ^= 1 << number % 8
            members[at] = bytes(member)
        whole = b"".join(members)
        if how == "cut":
            return whole[:-(number % 200 + 1)]
        return whole + {"nul": bytes(number), "tail": b"tail"}.get(how, b"")

    def table(self):
        columns = zip(*self.pieces) if self.pieces else ((), (), ())
        kinds = pyarrow.string(), pyarrow.string(), pyarrow.int64()
        arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, kinds)]
        table = pyarrow.table(arrays, names=["id", "text", "more"])
        table = table.replace_schema_metadata({"made": "here"})
        sink = pyarrow.BufferOutputStream()
        how = {"compression": self.pack or "none", "use_dictionary": self.every % 2 == 0}
        pyarrow.parquet.write_table(table, sink, row_group_size=self.every, **how)
        whole = bytearray(sink.getvalue().to_pybytes())
        how, number = self.damage
        if how == "flip":
            # Two of three flips are in the footer, where most faults are found.
            at = len(whole) - 8 - number // 8 % 800 if number % 3 else number // 8
            whole[at % len(whole)] ^= 1 if number % 2 else 1 + number // 8 % 255
        return bytes(whole)


@dataclasses.dataclass
class Case:
    """A corpus and a command."""

    job: str
    files: list
    rules: Rules
    # Whether the files are named one by one, and not by their folder.
    is_named: bool
    threads: int
    out_end: str = ""
    # The texts of the compared store, or of the benchmark.
    known: list = dataclasses.field(default_factory=list)


class Maker:
    """Generates cases."""

    def __init__(self, rng):
        self.rng = rng
        self.count = 0

    def words(self, key):
        return " ".join(f"{key}w{at}" for at in range(60 + sum(key.encode()) % 30))

    def variant(self, key, is_exact):
        """A variant of a text: equal, with the same words, or near."""
        text, kind = self.words(key), self.rng.random()
        if kind < 0.1:
            return text.upper()
        if kind < 0.25 and not is_exact:
            self.count += 1
            return f"{text} n{self.count}"
        return text

    def case(self):
        rng = self.rng
        job = rng.choice(["folder"] * 4 + JOBS)
        rules = Rules(skip_bad=rng.random() < 0.8, line_ids=rng.random() < 0.15)
        rules.max_len = rng.choice([64 << 20, 64 << 20, 700, 1200, 2000])
        rules.copies = job != "list"
        rules.new_field = "mark" if job in ("annotate", "size") else ""
        formats = ["jsonl", "csv"] * 4 + ["tsv"] * 4 * (job not in PASSAGES)
        # The jobs annotate, size and cut reject text files and web archives, so few are made.
        is_fit = job not in ("annotate", "size", "cut")
        formats += ["warc"] * (3 if is_fit else 1)
        formats += ["text"] * (3 if is_fit and job != "file" and not rules.line_ids else 0)
        if pyarrow and rules.max_len > 2000 and job not in PASSAGES:
            formats += ["parquet"] * 3
        if rng.random() < 0.15 and not rules.new_field and job not in PASSAGES:
            # An option sets the format for all files.
            formats, rules.line_ids = ["lines"], False
        self.keys = [f"k{rng.randrange(1000)}" for _ in range(rng.randrange(2, 8))]
        if rng.random() < 0.2 and job not in PASSAGES:
            rules.encoding = rng.choice(["gb18030", "windows-1252"])
            formats = [format for format in formats if format in ("jsonl", "csv", "tsv", "lines")]
        case = Case(job, [], rules, rng.random() < 0.3 or job == "file", rng.choice([1, 2, 4]))
        for number in range(1 if job == "file" else rng.randrange(1, 4)):
            case.files.append(self.file(number, rng.choice(formats), case))
        if job == "file":
            case.out_end = "." + case.files[0].name.split(".")[1]
            case.out_end += "" if case.files[0].format == "parquet" else rng.choice(["", ".gz", ".zst"])
        if job in ("add", "contamination"):
            keys = dict.fromkeys(self.keys[:3])
            case.known = [(f"known{at}", self.words(key)) for at, key in enumerate(keys)]
        return case

    def file(self, number, format, case):
        rng, rules = self.rng, case.rules
        count = rng.choice([0, 1, 2, 5, 10, 20])
        pieces = [getattr(self, format)(case) for _ in range(count)]
        end = {"lines": "jsonl", "text": "txt"}.get(format, format)
        name = f"{rng.choice(['', '', 'b/'])}{rng.choice('abcz')}{number}.{end}"
        if format == "parquet":
            pack = rng.choice(["", "snappy", "gzip", "zstd", "lz4"])
            is_damaged = rng.random() < 0.25 and rules.skip_bad
            damage = ("flip", rng.randrange(1 << 30)) if is_damaged else ("none", 0)
            return File(name, format, pieces, pack, rng.randrange(1, 9), damage)
        if format in ("csv", "tsv"):
            by = b"," if format == "csv" else b"\t"
            pieces.insert(0, by.join([b"id", b"text", b"more"]) + self.line_end(rules))
        if format != "warc" or rng.random() < 0.3:
            self.spoil(pieces, format, rules)
        if format == "jsonl" and rng.random() < 0.03:
            # A JSON array, in which no line is a document.
            pieces[:] = [b"[\n", *(piece.rstrip(b"\r\n") + b",\n" for piece in pieces), b"]\n"]
        is_utf16 = rng.random() < 0.03 and format != "warc" and rules.encoding == "utf-8"
        if is_utf16 and rules.copies:
            # UTF-16 can be read, but not copied byte by byte.
            pieces[:] = [b"".join(pieces).decode(errors="replace").encode("utf-16")]
        pack = rng.choice(["", "", "gz", "zst"])
        if pack and rng.random() < 0.9:
            name += f".{pack}"
        every = rng.choice([1, 1, 1, 3, 1000]) if format == "warc" else rng.choice([1, 2, 7, 1000])
        hows = {"gz": ["nul", "cut", "flip", "flip", "tail"], "zst": ["cut"], "": ["cut"]}[pack]
        damage = (rng.choice(hows), rng.randrange(1, 5000)) if rng.random() < 0.2 else ("none", 0)
        return File(name, format, pieces, pack, every, damage)

    def spoil(self, pieces, format, rules):
        """Inserts hostile bytes in some places."""
        rng = self.rng
        if format != "warc" and rng.random() < 0.1:
            pieces.insert(0, model.MARK)
        for _ in range(rng.choice([0, 0, 0, 1, 2]) if pieces else 0):
            at = rng.randrange(len(pieces))
            place = rng.randrange(len(pieces[at]) + 1) if rng.random() < 0.5 else 0
            pieces[at] = pieces[at][:place] + rng.choice(SNIPPETS) + pieces[at][place:]
        if pieces and rng.random() < 0.3:
            pieces[-1] = pieces[-1].rstrip(b"\r\n")
        if pieces and rng.random() < 0.03:
            pieces.insert(rng.randrange(len(pieces) + 1), rng.choice([b"\n", b"\r\n", b"\r"]) * (1 << 18))

    def line_end(self, rules):
        rng = self.rng
        kind = rng.random()
        if kind < 0.6:
            return b"\n"
        if kind < 0.8:
            return b"\r\n"
        if kind < 0.9:
            return rng.choice([b"\r\r\n", b"\n\n", b"\n \n", b"\r", b"\n\r\n"])
        return b"\r" * rng.randrange(1, 2 * min(rules.max_len, 3000)) + b"\n"

    def id(self, case):
        self.count += 1
        kind = self.rng.random()
        # Jobs that add nothing to a store accept ids that a store would reject.
        if kind < 0.7 or case.job in ("contamination", *PASSAGES):
            return f"d{self.count}"
        return self.rng.choice([
            self.count, -self.count, "same", "", "a\tb", "c,d", 'e"f', "\u4e2d\u00ff", "n\nn", "z\0", None,
            "\\", "x" * 70_000,
        ])

    def content(self, case):
        """A text, or None."""
        kind = self.rng.random()
        if kind < 0.85 and case.job in PASSAGES:
            return self.paragraphs()
        if kind < 0.85:
            text = self.variant(self.rng.choice(self.keys), case.job == "add")
            if kind < 0.1:
                # In GBK, the last byte of two of these signs is a backslash, and that of one sign a
                # bar.
                is_western = case.rules.encoding == "windows-1252"
                sign = self.rng.choice("\u00ff" if is_western else "\u00ff\u4e2d\u4e57\u8c4c")
                text += (" " + sign * 5) * self.rng.choice([1, 60])
            return text
        long = " ".join(self.words(key) for key in ["l1", "l2", "l3", "l4"])
        return self.rng.choice([None, "", "  ", "!!!", long])

    def paragraphs(self):
        rng = self.rng
        parts = []
        for _ in range(rng.randrange(1, 5)):
            self.count += 1
            parts.append(self.words(rng.choice([*self.keys, f"own{self.count}"]))[:200])
            parts.append(rng.choice(["\n\n", "\n \n", "\n\n\n", "\n"]))
        return rng.choice(["", "", "\n"]) + "".join(parts[:-1]) + rng.choice(["", "", "\n\n"])

    def line(self, text, case):
        return text.encode(case.rules.encoding, errors="replace") + self.line_end(case.rules)

    def jsonl(self, case):
        rng = self.rng
        pairs = [("id", self.id(case)), ("text", self.content(case))]
        if rng.random() < 0.2:
            pairs.append(rng.choice([("more", [{"id": 1}]), ("mark", 1), ("id", 2), ("text", "t")]))
        if rng.random() < 0.05:
            pairs.pop(rng.randrange(2))
        if rng.random() < 0.5:
            pairs.reverse()
        colon = rng.choice([":", ": "])
        is_ascii = rng.random() < 0.3
        dump = lambda value: json.dumps(value, ensure_ascii=is_ascii)
        line = ", ".join(dump(name) + colon + dump(value) for name, value in pairs)
        line = "{" + line + "}" + rng.choice(["", "", " "])
        if rng.random() < 0.05:
            line = rng.choice(["", "  ", "{}", "[1]", "no JSON", '{"id":"t","text":5}', f"[{line}]", line[:-2]])
        return self.line(line, case)

    def csv(self, case):
        return self.row(",", case)

    def tsv(self, case):
        return self.row("\t", case)

    def row(self, by, case):
        rng = self.rng
        fields = [self.id(case), self.content(case), rng.choice(["", "1", "two words"])]
        fields = ["" if field is None else str(field) for field in fields]
        if rng.random() < 0.05:
            fields = rng.choice([fields[:2], [*fields, "4"], fields[:1]])
        if by == ",":
            if rng.random() < 0.5:
                special = rng.choice(["\n", "\r\n", '"', ", "])
                fields[1:2] = [text.replace(" ", special, 1) for text in fields[1:2]]
            needs = lambda field: set(field) & set('\r\n",') or rng.random() < 0.2
            fields = ['"' + field.replace('"', '""') + '"' if needs(field) else field for field in fields]
        return self.line(by.join(fields), case)

    def lines(self, case):
        return self.line(self.content(case) or "", case)

    def text(self, case):
        return (self.content(case) or "").encode()

    def warc(self, case):
        rng = self.rng
        kind, media = rng.choice([("conversion", "text/plain")] * 5 + [
            ("response", "application/http"), ("request", "application/http"), ("resource", "image/png"),
        ])
        block = (self.content(case) or "").encode()
        if kind == "response":
            status, of = rng.choice([("200 OK", "text/plain"), ("404 No", "text/plain"), ("200 OK", "image/png")])
            block = f"HTTP/1.1 {status}\r\nContent-Type: {of}\r\n\r\n".encode() + block
        length = len(block) + (rng.choice([-3, 5, 400]) if rng.random() < 0.05 else 0)
        uri = "" if rng.random() < 0.05 else f"WARC-Target-URI: http://a.example/{self.id(case)!r:.200}\r\n"
        head = f"WARC/1.{rng.randrange(2)}\r\nWARC-Type: {kind}\r\n{uri}Content-Type: {media}\r\n"
        head += f"Content-Length: {max(length, 0)}\r\n\r\n"
        return head.encode() + block + rng.choice([b"\r\n\r\n"] * 4 + [b"", b"\n", b"\r\n\r\n\r\n"])

    def parquet(self, case):
        id = self.id(case)
        return (None if id is None else str(id), self.content(case), self.rng.randrange(1 << 40))
