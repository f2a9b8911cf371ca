#!/usr/bin/env python3
"""Checks the Markdown pages of the project.

    python3 tools/checks/check_docs.py              # all tracked pages
    python3 tools/checks/check_docs.py README.md    # these pages only

It needs Python 3, git, bash and zstd. It builds the program with `cargo build --release --locked`,
unless the environment variable FPSTORE_BIN is the path of a program. It checks four things.

Lines: at most 100 characters. Table rows and fenced code may be longer, and so may a line that exceeds
the limit only because of the target of a link.

Links: the file of a relative link exists, and so does the heading after its `#`.

Length: README.md has at most 150 lines.

Commands of README.md and docs/*.md (without docs/measurements, which records past runs): each page
gets a fresh copy of the tracked files of the project. Its fenced blocks marked `sh` run there in
order, each by a new `bash -euo pipefail`, with `fpstore` on the path. Each must succeed. A block is
skipped if an HTML comment `<!-- not run: REASON -->` precedes it.

A block marked `text` after a block marked `sh` is the expected output of that block, standard error
included. The output must match line by line, with two exceptions:

* `...` on a line of its own matches any number of lines, within a line any text;
* a number before a unit of time or space (ns us ms s B KiB MiB GiB) matches any number with
  any unit of the same kind: `12.5 us` matches `3 ms`.

Other blocks must be marked `rust`, `toml` or `python`, so that no command remains unchecked.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WIDTH = 100
README_LINES = 150
SECONDS = 300
LANGUAGES = ("sh", "text", "rust", "toml", "python")

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*(\w*)")
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
LINK = re.compile(r"\]\(([^()\s]+)\)")
INLINE_CODE = re.compile(r"`[^`]*`")
HEADING = re.compile(r"^#{1,6} +(.*?)\s*$")
MEASURED = re.compile(r"\d[\d ]*(?:\.\d+)? (?:(ns|us|ms|s)|(B|KiB|MiB|GiB))(?!\w)")
NUMBER = r"\d[\d ]*(?:\.\d+)?"
TIME = NUMBER + r" (?:ns|us|ms|s)"
SPACE = NUMBER + r" (?:B|KiB|MiB|GiB)"


@dataclass
class Block:
    """One fenced block of a page."""

    line: int
    language: str
    text: str
    follows_block: bool  # only blank lines separate it from the previous block
    not_run: bool


def tracked(*patterns):
    """The files that git tracks, relative to the root of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, check=True, capture_output=True
    )
    names = listed.stdout.decode().split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def split(text):
    """The lines of a page outside of fences, as (number, line), and its fenced blocks."""
    prose, blocks = [], []
    between, fence, body, start = [], None, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        opening = FENCE.match(line)
        if fence is None and opening:
            fence, body, start = opening, [], number
        elif fence is None:
            prose.append((number, line))
            if line.strip():
                between.append(line.strip())
        elif line.strip() == fence[2]:
            indent = len(fence[1])
            lines = [each[indent:] if not each[:indent].strip() else each for each in body]
            blocks.append(Block(
                line=start,
                language=fence[3],
                text="\n".join(lines) + "\n",
                follows_block=bool(blocks) and not between,
                not_run=bool(between) and bool(NOT_RUN.fullmatch(between[-1])),
            ))
            fence, between = None, []
        else:
            body.append(line)
    return prose, blocks


def check_width(page, prose):
    for number, line in prose:
        if len(line) <= WIDTH or line.lstrip().startswith("|"):
            continue
        if len(LINK.sub("]()", line)) > WIDTH:
            yield f"{page}:{number}: {len(line)} characters, {WIDTH} are allowed"


def anchors(path):
    """The anchors of the headings of a page, as GitHub makes them."""
    found = set()
    for _, line in split(path.read_text(encoding="utf-8"))[0]:
        heading = HEADING.match(line)
        if heading:
            words = re.sub(r"[^\w\- ]", "", LINK.sub("]", heading[1]).lower())
            found.add(words.replace(" ", "-"))
    return found


def check_links(page, prose):
    for number, line in prose:
        for target in LINK.findall(INLINE_CODE.sub("``", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (ROOT / page).parent / name if name else ROOT / page
            if not path.exists():
                yield f"{page}:{number}: there is no {name}"
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                yield f"{page}:{number}: {name or page} has no heading #{anchor}"


def line_pattern(line):
    """The regular expression for one line of expected output."""
    parts, last = [], 0
    for found in re.finditer(r"\.\.\.|" + MEASURED.pattern, line):
        parts.append(re.escape(line[last:found.start()]))
        parts.append(".*" if found[0] == "..." else TIME if found[1] else SPACE)
        last = found.end()
    return "".join(parts) + re.escape(line[last:].rstrip())


def disagreement(shown, printed):
    """The first expected line that `printed` does not contain at its position, or None."""
    def pattern(lines):
        return "".join(
            r"(?:.*\n)*?" if line.strip() == "..." else line_pattern(line) + r"[ \t]*\n"
            for line in lines
        )

    lines = shown.splitlines()
    if re.fullmatch(pattern(lines), printed):
        return None
    for count in range(1, len(lines) + 1):
        if not re.match(pattern(lines[:count]), printed):
            return lines[count - 1]
    return "(the end: more lines are printed)"


def copy_project(folder):
    for name in tracked():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())


def run_block(text, folder, home, program):
    """Runs the lines of one block. Returns the exit status and the combined output."""
    environment = {key: value for key, value in os.environ.items() if "FPSTORE" not in key}
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    environment["HOME"] = str(home)
    for key in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        environment.pop(key, None)
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS} s", ""
    return done.returncode, done.stdout.decode(errors="replace")


def check_commands(page, blocks, program):
    """Runs the commands of one page; stops at the first failure, because later commands depend on it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch, "project"), Path(scratch, "home")
        home.mkdir()
        copy_project(folder)
        printed = None
        for block in blocks:
            place = f"{page}:{block.line}"
            if block.language not in LANGUAGES:
                yield f"{place}: a block is marked with one of {', '.join(LANGUAGES)}"
            elif block.language == "sh" and not block.not_run:
                status, printed = run_block(block.text, folder, home, program)
                if status != 0:
                    yield f"{place}: exit status {status}\n{block.text}{printed}"
                    return
            elif block.language == "text" and block.follows_block and printed is not None:
                line = disagreement(block.text, printed)
                if line is not None:
                    yield f"{place}: not printed here: {line}\nprinted is\n{printed}"
                printed = None
            else:
                printed = None


def built_program():
    if "FPSTORE_BIN" in os.environ:
        return Path(os.environ["FPSTORE_BIN"]).resolve()
    subprocess.run(["cargo", "build", "--release", "--locked"], cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "fpstore"


def main():
    pages = sys.argv[1:] or tracked("*.md")
    program = built_program()
    failures, blocks_run = 0, 0
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        prose, blocks = split(text)
        faults = [*check_width(page, prose), *check_links(page, prose)]
        if page == "README.md" and text.count("\n") > README_LINES:
            faults.append(f"{page}: more than {README_LINES} lines")
        if page == "README.md" or str(Path(page).parent) == "docs":
            faults += check_commands(page, blocks, program)
            blocks_run += sum(block.language == "sh" and not block.not_run for block in blocks)
        for fault in faults:
            print(fault, file=sys.stderr)
        failures += len(faults)
    print(f"{len(pages)} pages, {blocks_run} blocks of commands, {failures} faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
