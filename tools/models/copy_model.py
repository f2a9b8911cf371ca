"""The independent reader of check_copies.py: the records of a file of documents, by the rules of
docs/texts.md and docs/clean.md, and the expected result of cleaning.

A record is a piece of the decompressed file. The concatenation of all pieces is the whole file.
"""

import collections
import dataclasses
import io
import itertools
import json
import re
import shutil
import subprocess
import zlib

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None

MARK = b"\xef\xbb\xbf"
HEAD_LEN = 1 << 16
ID_LEN_MAX = 65535
# The length of a raw block of zstd.
BLOCK_LEN = 1 << 16


GZIP_HEAD = re.compile(rb"\x1f\x8b\x08[\0-\x1f]")


class Unreadable(Exception):
    """The file cannot be read to its end."""


ZSTD = b"\x28\xb5\x2f\xfd"


class Ambiguous(Exception):
    """The expected output is undefined, for example for two moderately similar texts."""


class Unknown(Exception):
    """The expected result for a file with damage that readers may or may not detect."""


@dataclasses.dataclass
class Record:
    """`kind` is one of:

    * "doc", a document;
    * "empty", a document without text;
    * "bad", a bad record that is copied;
    * "damaged", a damaged record that is dropped;
    * "between", bytes outside of documents.
    """

    raw: bytes
    kind: str = "between"
    id: object = None
    text: str = ""
    reason: str = ""
    # The passages of the document, if passages are compared.
    passages: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Rules:
    """The options that control reading."""

    max_len: int = 64 << 20
    encoding: str = "utf-8"
    skip_bad: bool = False
    line_ids: bool = False
    new_field: str = ""
    # Whether records are copied, and not only read.
    copies: bool = True


# Compression.


def zstd_frame(plain):
    """A zstd frame of raw blocks, which needs no compressor."""
    blocks = [plain[at:at + BLOCK_LEN] for at in range(0, len(plain), BLOCK_LEN)] or [b""]
    head = lambda at, block: (len(block) << 3 | (at == len(blocks) - 1)).to_bytes(3, "little")
    body = b"".join(head(at, block) + block for at, block in enumerate(blocks))
    return ZSTD + b"\xa0" + len(plain).to_bytes(4, "little") + body


SKIPPABLE_FRAME = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"


def gunzip(raw, is_resumed=False):
    """The decompressed members; NUL bytes may follow them. With `is_resumed`, a damaged member is
    None."""
    members = []
    while True:
        unpack = zlib.decompressobj(31)
        try:
            members.append(unpack.decompress(raw))
            reason = None if unpack.eof else "gzip is cut"
        except zlib.error as fault:
            members.append(None)
            reason = str(fault)
        if reason and not is_resumed:
            raise Unreadable(reason)
        if reason:
            members[-1] = None
            raw = raw[head.start():] if (head := GZIP_HEAD.search(raw, 1)) else b""
        else:
            raw = unpack.unused_data.lstrip(b"\0")
        if not raw:
            return members


def has_zstd():
    return pyarrow or shutil.which("zstd")


def unzstd(raw):
    """All frames of zstd, decompressed by pyarrow or by the program zstd."""
    if not raw:
        raise Unreadable("an empty file is no zstd")
    if pyarrow:
        try:
            return pyarrow.input_stream(io.BytesIO(raw), compression="zstd").read()
        except (OSError, pyarrow.ArrowInvalid) as fault:
            raise Unreadable(str(fault)) from fault
    done = subprocess.run(["zstd", "-dcq"], input=raw, capture_output=True)
    if done.returncode != 0:
        raise Unreadable(done.stderr.decode())
    return done.stdout


def compression_of(name, raw):
    """The compression, determined from the name or from the first bytes."""
    if name.endswith(".gz") or raw.startswith(b"\x1f\x8b\x08"):
        return "gz"
    return "zst" if name.endswith(".zst") or raw.startswith(ZSTD) else ""


def unpacked(name, raw, is_resumed=False):
    """The compression, and the decompressed members or frames."""
    compression = compression_of(name, raw)
    if compression == "gz":
        return compression, gunzip(raw, is_resumed)
    return compression, [unzstd(raw) if compression else raw]


# Encodings.


def check_head(content, rules):
    """Returns the encoding of a file and the length of its byte order mark."""
    if content.startswith(MARK):
        return "utf-8", len(MARK)
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Unreadable("UTF-16")
    if rules.encoding not in ("utf-8", "detect"):
        return rules.encoding, 0
    head = content[:HEAD_LEN]
    nul_count = head.count(0)
    if nul_count and (nul_count * 10 >= len(head) or not is_utf8(head)):
        raise Unreadable("NUL bytes")
    return "utf-8", 0


def is_utf8(head):
    try:
        head.decode()
    except UnicodeDecodeError as fault:
        return fault.reason == "unexpected end of data"
    return True


def recoded(content, encoding):
    """Returns a function that converts bytes of the file to UTF-8. UTF-8 input is validated record by
    record, other encodings as a whole."""
    if encoding == "utf-8":
        return lambda raw: raw
    try:
        content.decode(encoding)
    except UnicodeDecodeError as fault:
        raise Unreadable(str(fault)) from fault
    return lambda raw: raw.decode(encoding).encode()


# Documents.


def document(raw, id, text):
    """A record with an id and a text, both as UTF-8 bytes or JSON values."""
    try:
        id = id.decode() if isinstance(id, bytes) else id
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        return Record(raw, "bad", reason="not UTF-8")
    if isinstance(id, str) and (not 0 < len(id.encode()) <= ID_LEN_MAX or set(id) & set("\0\r\n")):
        return Record(raw, "bad", reason="bad id")
    return Record(raw, "doc" if text and text.strip() else "empty", id, text or "")


class Pairs(list):
    """A JSON object: pairs of names and values."""


def no_constant(name):
    raise ValueError(name)


def object_of(line):
    """The object on a line; None if the line is not an object."""
    try:
        value = json.loads(line.decode(), object_pairs_hook=Pairs, parse_constant=no_constant)
    except ValueError:
        return None
    return value if isinstance(value, Pairs) else None


def json_record(raw, line, line_id, rules):
    found = object_of(line)
    if found is None:
        return Record(raw, "bad", reason="no object")
    ids = [line_id] if line_id else [value for name, value in found if name == "id"]
    texts = [value for name, value in found if name == "text"]
    is_id = lambda id: isinstance(id, str) or type(id) is int and -1 << 63 <= id < 1 << 64
    is_there = rules.new_field and any(name == rules.new_field for name, _ in found)
    if len(ids) != 1 or len(texts) != 1 or not is_id(ids[0]) or is_there:
        return Record(raw, "bad", reason="fields")
    if not isinstance(texts[0], (str, type(None))):
        return Record(raw, "bad", reason="text")
    return document(raw, ids[0], texts[0])


def split_lines(content):
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", content)


def line_records(content, is_json, prefix, rules):
    """A document per line. CR and LF at the end are not part of it, and blank lines are skipped."""
    encoding, mark_len = check_head(content, rules)
    if mark_len:
        yield Record(content[:mark_len])
    to_utf8 = recoded(content[mark_len:], encoding)
    for number, raw in enumerate(split_lines(content[mark_len:]), 1):
        line = to_utf8(raw).rstrip(b"\r\n")
        if is_too_long(len(line), rules):
            yield Record(raw, "bad", reason="too long")
        elif not line.strip(b" \t\n\r\x0c"):
            yield Record(raw)
        elif is_json:
            yield json_record(raw, line, f"{prefix}{number}" if rules.line_ids else None, rules)
        else:
            yield document(raw, f"{prefix}{number}", line)


def is_too_long(length, rules):
    """Whether a record is too long; Ambiguous if it exceeds the limit by a few bytes."""
    if 0 < length - rules.max_len < 9:
        raise Ambiguous
    return length > rules.max_len


def split_rows(content, delimiter, has_quotes, rules, to_utf8):
    """The rows of a table by RFC 4180, as (bytes, fields or a fault, line number). A row ends in CR, LF
    or both. A row with a quoting fault extends to the end of its line."""
    at, line = 0, 1
    while at < len(content):
        start, first_line, fields, fault = at, line, [], ""
        if content[at] in b"\r\n":
            at += 2 if content.startswith(b"\r\n", at) else 1
            line += 1
            yield content[start:at], [], first_line
            continue
        while True:
            if has_quotes and content.startswith(b'"', at):
                end = re.compile(rb'"((?:[^"]|"")*)"(?!")').match(content, at)
                if not end:
                    at, fault = len(content), "quotes"
                    break
                line += end[1].count(b"\n")
                fields.append(end[1].replace(b'""', b'"'))
                at = end.end()
                if content[at:at + 1] not in (delimiter, b"\r", b"\n", b""):
                    at, fault = (content.find(b"\n", at) + 1) or len(content), "quotes"
                    break
            else:
                end = re.compile(rb"[^\r\n" + delimiter + rb"]*").match(content, at)
                fields.append(end[0])
                at = end.end()
            if content[at:at + 1] != delimiter:
                fault = "too long" if is_too_long(len(to_utf8(content[start:at])), rules) else ""
                at += 2 if content.startswith(b"\r\n", at) else min(1, len(content) - at)
                break
            at += 1
        line += 1
        yield content[start:at], fault or fields, first_line


def row_records(content, is_tsv, prefix, rules):
    """A document per row of a table whose first row is the header."""
    encoding, mark_len = check_head(content, rules)
    if mark_len:
        yield Record(content[:mark_len])
    to_utf8 = recoded(content[mark_len:], encoding)
    names = None
    delimiter = b"\t" if is_tsv else b","
    rows = split_rows(content[mark_len:], delimiter, not is_tsv, rules, to_utf8)
    for raw, fields, number in rows:
        if fields == []:
            yield Record(raw)
        elif names is None:
            names = [to_utf8(field) for field in fields] if isinstance(fields, list) else []
            needed = [b"text"] if rules.line_ids else [b"id", b"text"]
            is_there = rules.new_field and rules.new_field.encode() in names
            if is_there or any(names.count(name) != 1 for name in needed):
                raise Unreadable("the header")
            yield Record(raw, reason="header")
        elif isinstance(fields, str):
            yield Record(raw, "bad", reason=fields)
        elif len(fields) != len(names):
            yield Record(raw, "bad", reason="fields")
        else:
            id = f"{prefix}{number}" if rules.line_ids else to_utf8(fields[names.index(b"id")])
            yield document(raw, id, to_utf8(fields[names.index(b"text")]))
    if names is None:
        raise Unreadable("there is no header")


def archive_records(members, is_gzip, rules):
    """The records of a web archive. In a copy, one empty line follows each record, whatever number
    of empty lines follows it in the input."""
    content = b"".join(members)
    ends = set()
    for member in members:
        ends.add(len(member) + max(ends, default=0))
    at, has_header = 0, False

    def next_begin(at):
        found = re.compile(rb"\nWARC/1\.").search(content, at)
        return found.start() + 1 if found else len(content)

    def member_of(at):
        return sum(end <= at for end in ends)

    while True:
        while content[at:at + 1] in (b"\r", b"\n"):
            at += 1
        if at == len(content):
            break
        head = re.compile(rb"WARC/1\.[^\n]*\n(?:.*\S.*\n)*\s*?\n").match(content, at)
        fields = head and {
            name.lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in head[0].split(b"\n")[1:])
        }
        length = fields and fields.get(b"content-length", b"")
        if not length or not length.isdigit():
            start, at = at, next_begin(at)
            has_header or at < len(content) or fail("no archive")
            yield Record(content[start:at], "damaged")
            continue
        has_header = True
        start, at = head.start(), head.end() + int(length)
        block, behind = content[head.end():at], content[at:]
        is_cut = len(block) < int(length)
        follows = not is_cut and (not behind or behind[:1] in b"\r\nW")
        begin = len(content) - len(behind.lstrip(b"\r\n"))
        if follows and is_gzip and begin < len(content) and content[begin:begin + 1] != b"W":
            follows = member_of(begin) != member_of(start)
        if is_cut or rules.skip_bad and not follows:
            if int(length) > rules.max_len and rules.copies:
                fail("a damaged record is too long to be held")
            at = next_begin(at)
            yield Record(content[start:at], "damaged")
            continue
        yield archived(head[0] + block + b"\r\n\r\n", fields, block, rules)


def members_records(members, is_gzip, rules):
    """The records of a web archive. A damaged member counts as a damaged record if each other
    member contains exactly one record."""
    if None not in members:
        return archive_records(members, is_gzip, rules)
    count_of = lambda member: sum(1 for _ in archive_records([member], True, rules))
    if rules.max_len < 64 << 20:
        # The damaged member may contain a record that exceeds the length limit.
        raise Ambiguous
    if len(members) == 1 or any(member is not None and count_of(member) != 1 for member in members):
        raise Unreadable("gzip is damaged")
    records = []
    for is_damaged, run in itertools.groupby(members, lambda member: member is None):
        run = list(run)
        records += [Record(b"", "damaged") for _ in run] if is_damaged else archive_records(run, True, rules)
    if sum(record.kind == "damaged" for record in records) > members.count(None):
        raise Ambiguous
    return records


def numbered(records, prefix, rules):
    """The records, with record numbers as the ids of documents if the rules require it."""
    for number, record in enumerate(records, 1):
        if rules.line_ids and record.kind in ("doc", "empty"):
            record.id = f"{prefix}{number}"
        yield record


def fail(reason):
    raise Unreadable(reason)


def archived(raw, fields, block, rules):
    kind, media = fields.get(b"warc-type"), fields.get(b"content-type", b"").split(b";")[0]
    is_answer = kind == b"response" and media == b"application/http"
    if not is_answer and (kind not in (b"conversion", b"resource") or media != b"text/plain"):
        return Record(raw)
    if len(block) > rules.max_len:
        return Record(raw, "bad", reason="too long")
    id = 0 if rules.line_ids else fields.get(b"warc-target-uri")
    if id is None:
        return Record(raw, "bad", reason="no id")
    if is_answer:
        head, _, block = block.partition(b"\r\n\r\n")
        if not re.match(rb"HTTP/1.1 2", head) or b"text/plain" not in head:
            return Record(raw)
    try:
        encoding, mark_len = check_head(block, rules)
        text = block[mark_len:].decode(encoding)
    except (Unreadable, UnicodeDecodeError):
        return Record(raw, "bad", reason="not UTF-8")
    return document(raw, id, text)


def table_records(raw, rules):
    """The rows of a Parquet file; `raw` of a record is its number."""
    try:
        table = pyarrow.parquet.ParquetFile(io.BytesIO(raw)).read(["id", "text"])
        ids, texts = (table.column(name).to_pylist() for name in ("id", "text"))
    except (OSError, ValueError, KeyError, pyarrow.ArrowException) as fault:
        raise Unknown from fault
    for number, (id, text) in enumerate(zip(ids, texts)):
        id = str(number) if rules.line_ids else id
        yield Record(number, "bad") if id is None else document(number, id, text)


def read(name, format, raw, prefix, rules):
    """The records of a file. Raises Unreadable."""
    if format == "parquet":
        return list(numbered(table_records(raw, rules), prefix, rules))
    try:
        compression, members = unpacked(name, raw, format == "warc" and rules.skip_bad)
    except Unreadable as fault:
        # The damage may be beyond the end of the part that is read.
        raise (Ambiguous if format == "text" and rules.max_len < 64 << 20 else fault) from fault
    if format == "warc":
        records = members_records(members, compression == "gz", rules)
        return list(numbered(records, prefix, rules))
    content = b"".join(members)
    if format == "text":
        try:
            is_utf16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
            encoding, mark_len = ("utf-16", 0) if is_utf16 else check_head(content, rules)
            text = content[mark_len:].decode(encoding)
        except (Unreadable, UnicodeDecodeError):
            return [Record(raw, "bad")]
        if len(content) > rules.max_len:
            return [Record(raw, "bad")]
        return [document(raw, name, text)]
    if format in ("csv", "tsv"):
        return list(row_records(content, format == "tsv", prefix, rules))
    return list(line_records(content, format == "jsonl", prefix, rules))


# Decisions.


def words(text):
    return tuple(re.findall(r"\w+", text.lower())) or (text.strip(),)


def shingles(words, count=2):
    return {words[at:at + count] for at in range(max(1, len(words) - count + 1))}


def decide(documents, stored=(), near_min=0.87):
    """For each document the first kept document that is near it and is kept in its place, or
    None."""
    kept = [(words(text), shingles(words(text)), id) for id, text in stored]
    by_word = collections.defaultdict(list)
    for number, (tokens, _, _) in enumerate(kept):
        for word in set(tokens):
            by_word[word].append(number)
    fates = []
    for one in documents:
        tokens = words(one.text)
        features = shingles(tokens)
        fate = None
        for number in sorted({number for word in tokens for number in by_word[word]}):
            other_tokens, others, other = kept[number]
            similarity = len(features & others) / len(features | others)
            if tokens == other_tokens or similarity > near_min:
                fate = other
                break
            if similarity > 0.6:
                raise Ambiguous
        if fate is None:
            for word in set(tokens):
                by_word[word].append(len(kept))
            kept.append((tokens, features, one))
        fates.append(fate)
    return fates


def contains(text, item):
    """Whether a text contains a benchmark item of 50 words or more."""
    asked = shingles(words(item), 5)
    part = len(asked & shingles(words(text), 5)) / len(asked)
    if 0.15 < part < 0.5:
        raise Ambiguous
    return part >= 0.5


# Passages.


def split_passages(record):
    """The paragraphs of a document, which are separated by blank lines."""
    found = re.finditer(r"\S(?:[^\n]|\n(?=[^\S\n]*\S))*(?<=\S)", record.text)
    record.passages = [
        Record(at.span(), record.kind, f"{record.id}#{number}", at[0]) for number, at in enumerate(found, 1)
    ]


def cut(record, format, is_removed):
    """The bytes of a record after some of its passages, but not all, are removed."""
    spans = [one.raw for one in record.passages]
    if not any(is_removed):
        return record.raw
    text = record.text
    for at in reversed(range(len(spans))):
        if is_removed[at]:
            # A removed passage takes the separator after it with it. Removed passages at the end of
            # the text take the separator before them.
            is_last = all(is_removed[at:])
            begin = spans[at - 1][1] if is_last else spans[at][0]
            end = spans[-1][1] if is_last else spans[at + 1][0]
            text = text[:begin] + text[end:] if not is_last or not is_removed[at - 1] else text
    if format == "jsonl":
        line = record.raw.decode()
        begin = re.search(r'"text": ?', line).end()
        _, end = json.decoder.scanstring(line, begin + 1)
        return (line[:begin] + json.dumps(text, ensure_ascii=False) + line[end:]).encode()
    quoted = lambda text: '"' + text.replace('"', '""') + '"'
    return record.raw.replace(quoted(record.text).encode(), quoted(text).encode())


def is_dropped(record, is_removed):
    """Whether the removed passages contain half of the characters of all passages."""
    lengths = [end - begin for begin, end in (one.raw for one in record.passages)]
    removed = sum(length for length, gone in zip(lengths, is_removed) if gone)
    return removed > 0 and 2 * removed >= sum(lengths)


# Marks.


def marked(record, format, name, value, encoding):
    """The bytes of a record with a new field at its end. A line that is too long is not
    annotated."""
    if record.reason == "too long" and encoding != "utf-8":
        raise Ambiguous
    if format == "jsonl":
        body = record.raw.rstrip(b" \t\n\r\x0c")
        if record.reason == "too long" or not is_object(body, encoding):
            return record.raw
        inside = body[:-1]
        comma = b"" if inside.strip(b" \t\n\r\x0c") == b"{" else b","
        field = json.dumps(name) + ":" + json.dumps(value, ensure_ascii=False)
        return inside + comma + field.encode(encoding) + b"}" + record.raw[len(body):]
    if record.kind == "between" and record.reason != "header" or record.reason in ("quotes", "too long"):
        return record.raw
    value = name if record.reason == "header" else "" if value is None else str(value)
    if format == "csv" and set(value) & set('\n\r",'):
        value = '"' + value.replace('"', '""') + '"'
    body = record.raw.rstrip(b"\r\n")
    delimiter = b"\t" if format == "tsv" else b","
    return body + delimiter + value.encode(encoding) + record.raw[len(body):]


def is_object(line, encoding):
    """Whether a line is a JSON object, even with characters that cannot be decoded."""
    return object_of(line.decode(encoding, errors="replace").encode()) is not None
