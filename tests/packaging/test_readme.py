"""The pages' commands and programs are real: each runs on the demo warehouse, in the order told."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from paimark.core.cli.main import run
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION

CHECKOUT = Path(__file__).parents[2]
README, GUIDE, PYTHON = (
    (CHECKOUT / page).read_text() for page in ("README.md", "docs/guide.md", "docs/python.md")
)
PROGRAMS = [
    program for page in (README, PYTHON) for program in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
]
COMMANDS = re.findall(r"`paimark ([a-z][^`]* [^`]*)`", README + GUIDE)


@pytest.fixture
def at_the_demo(demo_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(demo_template, tmp_path / "paimark-demo")
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.mark.usefixtures("at_the_demo")
def test_every_command_on_tables_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIMARK_WAREHOUSE", "paimark-demo")
    # Spark's own tests run what reads or rewrites rows, and fetch jars; these need none. The demo is there.
    commands = [
        command
        for command in COMMANDS
        if not command.startswith(
            (
                "sql ",
                "diff ",
                "when ",
                "history ",
                "blame ",
                "holders ",
                "check ",
                "try ",
                "merge-branch",
                "rollback",
                "compact",
                "analyze",
                "revert",
                "restore-rows",
                "edit-rows",
                "jars fetch",
                "demo",
            )
        )
    ]
    assert len(commands) > 20
    codes = {
        command: run([*shlex.split(command), "--yes", "--option", f"{VERIFY_WAIT_OPTION}=1 ms"])
        for command in commands
    }
    assert codes == dict.fromkeys(commands, 0)


def test_programs_import_only_what_is_public() -> None:
    assert len(PROGRAMS) == 5
    assert [
        line for each in PROGRAMS for line in each.splitlines() if re.match(r"(from|import) paimark\.", line)
    ] == []


@pytest.mark.usefixtures("at_the_demo")
def test_the_program_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    exec(PROGRAMS[0], namespace)
    assert namespace["before"].num_rows == 100
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 4
    assert told[-1].endswith(" ()")


@pytest.mark.usefixtures("at_the_demo")
def test_the_program_without_spark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    program = PROGRAMS[1].replace("options={}", f"options={{{VERIFY_WAIT_OPTION!r}: '1 ms'}}")
    exec(program, namespace)
    assert namespace["before"].column_names == ["order_id", "price"]
    assert namespace["before"].num_rows == 100
    assert namespace["now"].num_rows > 100
    assert capsys.readouterr().out.splitlines()[-1].startswith("Deleted savepoint")


@pytest.mark.usefixtures("at_the_demo")
def test_the_program_for_savepoints_as_files_runs(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    exec(PROGRAMS[2], namespace)
    assert namespace["saved"].saved_snapshot_id == 4
    assert namespace["version"].snapshot.snapshot_id == 18
    assert len(capsys.readouterr().out.splitlines()) > 1
