#!/usr/bin/env python3
"""Checks that the jobs of .github/workflows call existing scripts with existing options.

This keeps every job repeatable on any other machine.

    python3 tools/checks/check_workflows.py

A command of a job is a script of tools or .ci, or begins with one of `OTHERS`. An option of a script
must occur in the text of the script. Needs only the standard library, so it parses only the lines
`run:` and the blocks below them, and no other YAML.
"""

import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OTHERS = (
    ["cargo", "build"],
    ["cargo", "test"],
    ["cargo", "install"],
    ["sudo", "apt-get", "update"],
    ["gh", "release", "create"],
)
RUN = re.compile(r"^(\s*)(?:- )?run: *(.*)$")


def commands_of(lines):
    """The commands of a workflow, each with its line number."""
    block = None
    for number, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent > block:
            yield number, line.strip()
            continue
        block = None
        if found := RUN.match(line):
            if found[2] in ("|", ">"):
                block = len(found[1])
            else:
                yield number, found[2]


def fault_of(command):
    """The fault of a command, or None."""
    words = shlex.split(command)
    script = words[1] if words[0] in ("sh", "bash", "python3") and len(words) > 1 else words[0]
    if not script.startswith(("tools/", ".ci/")):
        return None if any(words[: len(of)] == of for of in OTHERS) else "it is not a script of the project"
    path = ROOT / script
    if not path.is_file():
        return f"{script} does not exist"
    if script == words[0] and not path.stat().st_mode & 0o100:
        return f"{script} cannot be executed; call it with sh or python3"
    text = path.read_text()
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    unknown = [option for option in options if not re.search(re.escape(option) + r"(?![\w-])", text)]
    return f"{script} has no option {unknown[0]}" if unknown else None


def main():
    count, faults = 0, []
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        for number, command in commands_of(path.read_text().splitlines()):
            count += 1
            if fault := fault_of(command):
                faults.append(f"{path.relative_to(ROOT)}:{number}: '{command}': {fault}")
    print("\n".join(faults) if faults else f"check_workflows: {count} commands exist, with their options")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
