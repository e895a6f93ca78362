"""The README's commands are real: each runs on the demo warehouse, in the order they are told."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from core.actions.context import VERIFY_WAIT_OPTION
from core.cli.main import run
from core.demo.build import build_demo

README = (Path(__file__).parents[2] / "README.md").read_text()
COMMANDS = re.findall(r"`paimark ([a-z][^`]* [^`]*)`", README)


def test_every_command_on_tables_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_demo(tmp_path / "demo", lambda line: None)
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(tmp_path / "demo"))
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    # Spark's own tests run what reads or rewrites rows; these need none.
    commands = [
        command
        for command in COMMANDS
        if not command.startswith(("sql ", "diff ", "merge-branch", "rollback"))
    ]
    assert len(commands) > 5
    codes = {
        command: run([*shlex.split(command), "--yes", "--option", f"{VERIFY_WAIT_OPTION}=1 ms"])
        for command in commands
    }
    assert codes == dict.fromkeys(commands, 0)
