"""The wheel contains the program, as a command and as a module."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import fpstore.__main__


def output(*arguments: str | Path) -> str:
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def test_the_command_is_the_program(program: str) -> None:
    command = Path(sysconfig.get_path("scripts")) / "fpstore"
    assert fpstore.__main__.program() == command.resolve()
    assert command.read_bytes() == Path(program).read_bytes()
    expected = output(program, "--version")
    assert output(command, "--version") == expected
    assert output(sys.executable, "-m", "fpstore", "--version") == expected


def test_status_and_streams_are_those_of_the_program(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "fpstore"]
    store = tmp_path / "store.fps"
    build = [*run, "build", "-", "-s", str(store), "-q"]
    subprocess.run(build, input="00000000000000ff\ta\n", text=True, check=True)
    assert output(*run, "query", "00fe", "-s", store).split()[-1] == "a"
    nothing = subprocess.run([*run, "query", "ff00ff00ff00ff00", "-s", store], capture_output=True)
    assert (nothing.returncode, nothing.stdout) == (1, b"")
    wrong = subprocess.run([*run, "query", "-s", tmp_path / "none"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.startswith("fpstore: there is no store at ")


def test_an_installation_without_the_program_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.files", lambda name: None)
    with pytest.raises(SystemExit, match="only the library"):
        fpstore.__main__.main()
