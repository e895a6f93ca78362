"""The command where the working directory was deleted, and where the state of the user can't be kept."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import PROGRAM, CommandResult, bare_environment
from tests.wording import about


def in_deleted_directory(tmp_path: Path, *words: str | Path, **environment: str) -> CommandResult:
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        ["/bin/sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', tmp_path / "gone", PROGRAM, *words],
        env=bare_environment({"XDG_STATE_HOME": str(tmp_path / "state"), **environment}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("tables", "--warehouse", "wh"),
        ("demo", "--no-open"),
        ("sql", "SELECT 1", "--warehouse", "/tmp", "-o", "rows.csv"),
    ],
)
def test_a_relative_path_is_refused_by_name(tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = in_deleted_directory(tmp_path, *words)
    assert (ran.code, ran.out) == (2, "")
    assert about("working directory", "deleted").search(ran.err)


def test_what_needs_no_working_directory_works(tmp_path: Path, warehouse: Path) -> None:
    ran = in_deleted_directory(tmp_path, "tables", "--warehouse", warehouse, "--output", "json")
    assert ran.code == 0 and ran.rows and ran.err == ""


@pytest.mark.long
def test_a_statement_runs_in_a_deleted_directory_and_without_a_home(tmp_path: Path, warehouse: Path) -> None:
    (tmp_path / "home").write_bytes(b"")
    nowhere = str(tmp_path / "home")
    places = {"HOME": nowhere, "XDG_STATE_HOME": nowhere, "XDG_CACHE_HOME": nowhere, "TMPDIR": str(tmp_path)}
    text = "SELECT count(*) AS n FROM shop.orders; SELECT 2 AS n"
    ran = in_deleted_directory(tmp_path, "sql", text, "--warehouse", warehouse, "--output", "json", **places)
    assert (ran.code, ran.rows) == (0, [[{"n": 8}], [{"n": 2}]]), ran.err
    assert len(re.findall("engine[.]log .*Not a directory", ran.err)) == 1
