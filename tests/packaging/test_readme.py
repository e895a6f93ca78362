"""The README's commands and programs are real: each runs on the demo warehouse, in the order told."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from core.cli.main import run
from core.demo.build import build_demo
from core.storage.known_options import VERIFY_WAIT_OPTION

README = (Path(__file__).parents[2] / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"`paimark ([a-z][^`]* [^`]*)`", README)


def test_every_command_on_tables_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_demo(tmp_path / "demo", lambda line: None)
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(tmp_path / "demo"))
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    # Spark's own tests run what reads or rewrites rows, and fetch jars; these need none.
    commands = [
        command
        for command in COMMANDS
        if not command.startswith(("sql ", "diff ", "merge-branch", "rollback", "jars fetch"))
    ]
    assert len(commands) > 5
    codes = {
        command: run([*shlex.split(command), "--yes", "--option", f"{VERIFY_WAIT_OPTION}=1 ms"])
        for command in commands
    }
    assert codes == dict.fromkeys(commands, 0)


def test_programs_import_only_what_is_public() -> None:
    assert len(PROGRAMS) == 2
    assert [
        line for each in PROGRAMS for line in each.splitlines() if re.match(r"(from|import) (core|tui)", line)
    ] == []


def test_the_program_without_spark_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build_demo(tmp_path / "paimark-demo", lambda line: None)
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    [program] = [each for each in PROGRAMS if "SparkSession" not in each]
    namespace: dict[str, Any] = {}
    exec(program.replace("options={}", f"options={{{VERIFY_WAIT_OPTION!r}: '1 ms'}}"), namespace)
    assert namespace["before"].column_names == ["order_id", "price"]
    assert namespace["before"].num_rows == 100
    assert namespace["now"].num_rows > 100
    assert capsys.readouterr().out.splitlines()[-1].startswith("Deleted savepoint")
