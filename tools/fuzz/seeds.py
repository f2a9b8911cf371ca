"""Makes the seeds in tools/fuzz/corpus from the golden stores, from tests/data and from scratch.

The folder also contains inputs found by the fuzzer; this script replaces only the files `seed-*`.
Takes the path of the program, which writes segments with recipes and df tables. Parquet needs pyarrow.

    python3 tools/fuzz/seeds.py target/debug/fpstore
"""

import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

program = os.path.abspath(sys.argv[1])
root = pathlib.Path(__file__).parent.parent.parent
corpus = root / "tools/fuzz/corpus"
golden = root / "tests/golden"
folder = pathlib.Path(tempfile.mkdtemp())


def seed(target, name, content):
    if isinstance(content, str):
        content = content.encode()
    (corpus / target).mkdir(parents=True, exist_ok=True)
    (corpus / target / f"seed-{name}").write_bytes(content)


def run(*args, text=""):
    return subprocess.run([program, *args], cwd=folder, input=text, check=True, capture_output=True,
                          text=True).stdout


for old in corpus.glob("*/seed-*"):
    old.unlink()

# Stores.
for store in sorted(golden.glob("*.fps")):
    seed("manifest", store.stem, (store / "MANIFEST").read_bytes())
    for file in sorted(store.iterdir()):
        if file.suffix == ".fps":
            seed("segment", f"{store.stem}-{int(file.stem[-4:], 16)}", file.read_bytes())
        if file.suffix == ".fpd":
            seed("deletions", f"{store.stem}-{int(file.stem[-4:], 16)}", file.read_bytes())

# Inputs of the kernels: a needle, positions of blocks, and gaps as varints.
rng = random.Random(1)
for number in range(6):
    gaps = bytes(rng.choice([rng.randrange(128), rng.randrange(128), 0x80 | rng.randrange(128)])
                 for _ in range(300)) + b"\x01" * 64
    count = 1 + number
    places = b"".join(struct.pack(">HHBB", rng.randrange(200), 1 + rng.randrange(100),
                                  rng.randrange(4), rng.randrange(8)) for _ in range(count))
    needle = struct.pack(">QQBB", 2**64 - 1 if number % 2 else 0xfff, rng.randrange(2000), 3, count)
    seed("kernels", number, needle + places + gaps)

# Fingerprint files; the first byte selects options.
lines = "# comment\n0123456789abcdef\tpage 1\n\n0xfedcba9876543210,17\r\n1111111111111111:a b\n2\n"
seed("records", "hex", "0" + lines)
seed("records", "dec", "1" + "18446744073709551615\tx\n0 0\n17,y\n")
seed("records", "bad", "0" + lines + "no fingerprint\n" + "f" * 17 + "\n\t102\n")
seed("binary", "u64", b"0" + struct.pack("<5Q", 0, 1, 2**63, 2**64 - 1, 7) + b"rest")
seed("binary", "u64-id", b"1" + struct.pack("<6Q", 0, 1, 2**63, 2**64 - 1, 7, 9))

# Recipes: one for each tokenizer, extracted from segments.
options = [[], ["--recipe", "simhash"], ["--recipe", "code"], ["--recipe", "1e0ng"]]
for number, option in enumerate(options):
    (folder / "texts.txt").write_text("one text of six words here\nanother text of six words\n")
    store = folder / f"{number}.fps"
    done = subprocess.run([program, "build", "--docs", "texts.txt", "-s", store] + option,
                          cwd=folder, capture_output=True)
    if done.returncode != 0:
        continue
    segment = next(store.glob("segment-*")).read_bytes()
    header_len, tables = struct.unpack_from("<I", segment, 12)[0], struct.unpack_from("<H", segment, 44)[0]
    entry = 80 + 16 * tables
    offset, length = struct.unpack_from("<QQ", segment, entry + 8)
    seed("recipe", number, segment[offset:offset + length])
seed("recipe", "name", "1e0ng")

seed("weights", "weights", "# weights\nfish\t5\ntwo words\t3\n\nx\t1\n")
seed("weights", "bad", "fish\t5\nfish\t4\nno tab\n")
(folder / "texts.txt").write_text("one fish two fish\nred fish blue fish\none two three four\n")
run("df", "texts.txt", "--recipe", "simhash", "-o", "df.fpf")
seed("df", "small", (folder / "df.fpf").read_bytes())

# Documents.
seed("json", "lines", '{"id": "a", "text": "one two three"}\n{"text": "x\\u00e9\\ud83d\\ude00", "id": 7}\n'
     '\n{"id": "b", "more": [1, {"text": "no"}, null, -1e3], "text": ""}\n')
seed("json", "bad", '{"id": "a"}\n{"id": "a", "text": 7}\n[1]\n{"id": "a", "text": "cut\n')
seed("features", "lines", '{"id": "a", "features": ["x", "y"]}\n{"id": "b", "features": {"x": 2, "y": 1}}\n'
     '{"id": "c", "features": [["x", 3], ["y", 0.5]]}\n')
seed("csv", "rows", 'id,text,more\n1,"a ""quoted"" text\nof two lines",x\r\n2,plain,\n')
seed("csv", "bad", 'text,id\n"open,1\n2\n3,4,5\n')
seed("tsv", "rows", 'id\ttext\n1\ta "text\n2\tb\tc\n')
seed("html", "page", "<!doctype html><html><head><title>Title</title><style>p{}</style></head><body>"
     "<nav>menu</nav><article><h1>Head</h1><p>One paragraph of <b>text</b> that is long enough to be "
     "the main text of a page, with a comma, and a second one.</p><table><tr><td>x</table>"
     "<script>var a = '<p>';</script><!-- comment --><p>Another paragraph, &amp; more &#x263a;.</p>"
     "</article></body></html>")
seed("html", "broken", "<div><div><p>a<table><b>b<td>c</p></div></span><svg><math><mi>x</svg></body>d")
seed("plain", "text", "one text of some words\nanother line, \u9c7c \u0e01\u0e02 \U0001f41f\r\n\n")
# Copies: the format, the options (skip bad records, length limit of documents), the dropped
# documents, and the file.
conversion = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: %s\r\nContent-Type: text/plain\r\n" \
             "Content-Length: 7\r\n\r\none two\r\n\r\n"
for name, choice, content in [
        ("json", b"\0\4\1", '\ufeff{"text":"a"}\r\n\n{"text":"b"} \n{"text":"c"}\n{"text":"d"}'),
        ("json-cr", b"\0\2\1", '{"text":"a"}' + "\r" * 40 + '\n{"text":"b"}\n{"text":"c"}\n{"text":"d"}\n'),
        ("json-bad", b"\0\3\3", '{"text":"a"}\n{"text":7}\n{"text":"' + "x" * 40 + '"}\n[]\n{"text":"b"}\n'),
        ("lines-cr", b"\1\0\1", "one" + "\r" * 12 + "\ntwo\n\n\nthree\nfour"),
        ("csv", b"\2\4\1", 'text,x\r\n"a\n",1\r\n\r\nb,2\rc,"3"\n\n\nd,4'),
        ("csv-bad", b"\2\3\1", 'text\n"a" b\n' + "x" * 60 + '\n"' + "y\n" * 40 + '"\nc\nd\n'),
        ("tsv", b"\3\4\1", 'x\ttext\n"\ta\n\t\n1\tb\r1\tc\n'),
        ("warc", b"\4\6\1", "".join(conversion % name for name in "abcd")),
        ("warc-bad", b"\4\7\1", "".join(conversion % name for name in "abcd").replace(": 7", ": 5", 2))]:
    seed("copy", name, choice + content.encode())
try:
    import pyarrow
    import pyarrow.parquet
    table = pyarrow.table({"id": ["a", "b", None], "text": ["one two", "three", "four"]})
    pyarrow.parquet.write_table(table, folder / "a.parquet", compression="none")
    seed("parquet", "plain", (folder / "a.parquet").read_bytes())
    table = pyarrow.table({"id": list(range(40)), "text": [f"text {n % 3}" for n in range(40)]})
    pyarrow.parquet.write_table(table, folder / "b.parquet", compression="snappy", row_group_size=16)
    seed("parquet", "snappy", (folder / "b.parquet").read_bytes())
    pyarrow.parquet.write_table(table, folder / "c.parquet", compression="zstd", version="1.0",
                                use_dictionary=False)
    seed("parquet", "zstd", (folder / "c.parquet").read_bytes())
    seed("copy", "parquet", b"\5\6\1" + (folder / "b.parquet").read_bytes())
except ImportError:
    print("pyarrow is not installed: no seeds for parquet", file=sys.stderr)
subprocess.run(["rm", "-rf", folder], check=True)
