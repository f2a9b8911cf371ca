#!/usr/bin/env python3
"""Loads the extension into SQLite and compares its rows with `fpstore query`.

    check.py EXTENSION PROGRAM STORE HEX...

A new SQLite comes from the package apsw; the program sqlite3, if it is older than 3.45.3, must refuse
the extension with an error.
"""

import subprocess
import sys

import apsw

extension, program, store, *needles = sys.argv[1:]


def query(needle, *options):
    command = [program, "query", needle, "-s", store, "-k", "3", "--quiet", *options]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return [tuple(line.split("\t")[1:]) for line in lines]


database = apsw.Connection(":memory:")
database.enable_load_extension(True)
database.load_extension(extension)


def rows(statement, *values):
    return [tuple(map(str, row)) for row in database.execute(statement, values)]


def refused(statement, *values):
    try:
        rows(statement, *values)
    except apsw.Error as error:
        return str(error)
    raise AssertionError(f"not refused: {statement}")


NEAR = "SELECT fingerprint, distance, id FROM fpstore(?, ?, 3)"
expected = []
for needle in needles:
    signed = int.from_bytes(bytes.fromhex(needle), "big", signed=True)
    assert rows(NEAR, store, needle) == query(needle), needle
    assert rows(NEAR, store, signed) == query(needle), needle
    assert rows(NEAR.replace("3)", "3, 1)"), store, needle) == query(needle, "--limit", "1"), needle
    expected += [(needle, *row) for row in query(needle)]
assert expected

# A join: the needles come from a table. The last one is not stored yet.
added = "0fedcba987654321"
database.execute("CREATE TABLE pages(number INTEGER PRIMARY KEY, fingerprint)")
database.executemany("INSERT INTO pages(fingerprint) VALUES (?)", [(needle,) for needle in [*needles, added]])
joined = rows(
    "SELECT pages.fingerprint, near.fingerprint, distance, id FROM pages, fpstore(?, pages.fingerprint, 3) AS near"
    " ORDER BY number, distance, near.fingerprint",
    store,
)
assert joined == expected, (joined, expected)
assert rows(NEAR, store, None) == []
assert rows("SELECT DISTINCT cut FROM fpstore(?, ?, 64, 1)", store, needles[0]) == [("1",)]

# A statement reads one state of the store, also while the next one reads the changed store.
reading = database.execute("SELECT id FROM pages CROSS JOIN fpstore(?, pages.fingerprint, 3)", (store,))
first = next(reading)
subprocess.run([program, "add", "-", "-s", store, "--quiet"], input=f"{added}\tadded\n", text=True, check=True)
assert rows(NEAR, store, added) == [(added, "0", "added")]
assert [first, *reading] == [(row[-1],) for row in expected]

for words, statement, *values in [
    ("missing.fps", NEAR, "missing.fps", needles[0]),
    ("hex", NEAR, store, "no fingerprint"),
    ("65", "SELECT 1 FROM fpstore(?, ?, 65)", store, needles[0]),
    ("expected fpstore(", "SELECT 1 FROM fpstore(?)", store),
]:
    message = refused(statement, *values)
    assert words in message, message

version = subprocess.run(["sqlite3", "--version"], capture_output=True, text=True, check=True).stdout.split()[0]
if tuple(map(int, version.split("."))) < (3, 45, 3):
    load = ["sqlite3", ":memory:", f".load {extension}"]
    old = subprocess.run(load, capture_output=True, text=True, check=False)
    said = old.stdout + old.stderr
    assert old.returncode == 1 and "fpstore needs SQLite 3.45.3 or later" in said, (old.returncode, said)
print(f"SQLite: same answers as the program; {version} refuses or loads the extension")
