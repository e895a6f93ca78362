"""Runs the command: in this process for what it prints, or as the real program for how it behaves."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paimark.core.cli.main import run
from paimark.core.spark.launch.cds import SWITCH

PROGRAM = Path(sys.executable).with_name("paimark")


@dataclass(frozen=True)
class CommandResult:
    """`code` is the exit code."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> Any:
        return json.loads(self.out)


class Paimark:
    """Calls the command in this process, with an environment that nobody configured."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str | Path) -> CommandResult:
        self._capsys.readouterr()
        code = run([str(word) for word in words])
        out, err = self._capsys.readouterr()
        return CommandResult(code, out, err)


def program(
    *words: str | Path,
    environment: Mapping[str, str] | None = None,
    given: str | None = None,
    seconds: float = 240,
) -> CommandResult:
    """Run the installed `paimark` as a process without a terminal."""
    done = subprocess.run(
        [PROGRAM, *words],
        env=bare_environment(environment),
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def on_terminal(
    *words: str | Path, typed: str = "", columns: int = 80, environment: Mapping[str, str] | None = None
) -> CommandResult:
    """Run the installed `paimark` on a terminal that wide, where somebody types; both streams are `out`."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *words],
        env=bare_environment({"COLUMNS": str(columns), **(environment or {})}),
        stdin=child,
        stdout=child,
        stderr=child,
    )
    os.close(child)
    os.write(parent, typed.encode())
    written = b""
    try:
        while chunk := os.read(parent, 65536):
            written += chunk
    except OSError:
        # Linux reports the closed terminal as an I/O error.
        pass
    finally:
        os.close(parent)
        code = process.wait(timeout=240)
    return CommandResult(code, written.decode(), "")


def bare_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This environment without anything of Paimark's, and with no config file.

    No archive of classes either: it would be made after the program's end, with 40 s of CPU.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PAIMARK_")}
    return {**kept, SWITCH: "off", "XDG_CONFIG_HOME": "/nowhere", **(more or {})}


def loaded_modules(commands: Sequence[Sequence[str]]) -> set[str]:
    """The top-level modules that commands leave imported, in one process of their own."""
    script = (
        "import json, sys\n"
        "from paimark.core.cli.main import run\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    assert run(words) == 0, words\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(commands)],
        env=bare_environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())
