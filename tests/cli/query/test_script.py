"""`paimark sql` with several statements: they run in order, up to the first that fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from tests.cli.command import PROGRAM, Paimark, bare_environment
from tests.cli.shared_engine import share
from tests.wording import about

MINE = "by_script.events"
INSERT = f"INSERT INTO {MINE} VALUES ('2026-05-03', '%s')"
COUNT = f"SELECT count(*) AS n FROM {MINE}"


@pytest.fixture
def sql(paimark: Paimark, engine: Engine, engine_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    """With a table of six rows that may change."""
    mine = engine_warehouse / "by_script.db" / "events"
    shutil.rmtree(mine, ignore_errors=True)
    shutil.copytree(engine_warehouse / "shop.db" / "events", mine)
    share(engine, engine_warehouse, monkeypatch)
    return paimark


def count(sql: Paimark) -> int:
    return int(sql("sql", COUNT, "--output", "json").rows[0]["n"])


def test_all_run_in_order_and_each_has_its_result_line(sql: Paimark) -> None:
    ran = sql("sql", f"{INSERT % 'a'}; {INSERT % 'b'};\n{COUNT};")
    assert ran.code == 0
    assert ran.out.splitlines()[-3:] == ["n", "─", "8"]
    lines = [line for line in ran.err.splitlines() if line.startswith("statement ")]
    back = f"paimark undo {MINE}"
    assert about("statement 1 of 3", "committed snapshot 3", MINE, "1 row", back).search(lines[0])
    assert about("statement 2 of 3", "committed snapshot 4", MINE, "1 row", back).search(lines[1])
    assert lines[2].startswith("statement 3 of 3: 1 row in ")


def test_a_file_runs_as_its_text_does(sql: Paimark, tmp_path: Path) -> None:
    path = tmp_path / "repair.sql"
    path.write_text(f"-- both; in order\n{INSERT % 'a;b'};\n{COUNT};\n")
    assert "statement 2 of 2: 1 row" in sql("sql", "-f", path).err
    assert count(sql) == 7


def test_the_first_failure_stops_and_says_what_was_run_and_what_was_not(sql: Paimark) -> None:
    text = f"{INSERT % 'a'};\n{COUNT};\nSELECT nothing FROM {MINE};\n{INSERT % 'b'};\n{INSERT % 'c'}"
    ran = sql("sql", text)
    assert ran.code == 1
    line, caret, error, hint = ran.err.splitlines()[-4:]
    assert line[caret.index("^") :].startswith("nothing FROM")
    assert error.startswith("Failed: Statement 3 of 5: ")
    assert hint.endswith("Statements 1 and 2 were run; statements 4 and 5 were not run.")
    assert count(sql) == 7


def test_the_exit_code_is_that_of_the_first_failure(sql: Paimark, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sql("sql", f"SELEC 1; {INSERT % 'a'}").code == 1
    assert count(sql) == 6
    monkeypatch.undo()
    away = ["--warehouse", "/tmp", "--spark-conf", "spark.driver.memory=nonsense"]
    ran = subprocess.run(
        [PROGRAM, "sql", "SELECT 1; SELECT 2", *away],
        env=bare_environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "Failed: Statement 1 of 2: " in ran.stderr and "Statement 2 was not run." in ran.stderr


@pytest.mark.parametrize(
    ("last", "options", "said"),
    [
        (INSERT % "b", ["--read-only"], ("Statement 1 of 2", "read-only")),
        ("DROP DATABASE shop CASCADE", [], ("Statement 2 of 2", "DROP DATABASE", "CASCADE", "not done")),
        (
            f"INSERT OVERWRITE {MINE} SELECT * FROM {MINE}",
            [],
            ("Statement 2 of 2", "--yes"),
        ),
        ("SELECT 1; SELECT * FROM a.`b", [], ("Statement 3 of 3", "`", "closed")),
    ],
)
def test_what_may_not_run_is_refused_before_anything_runs(
    sql: Paimark, last: str, options: list[str], said: tuple[str, ...]
) -> None:
    ran = sql("sql", f"{INSERT % 'a'}; {last}", *options)
    assert (ran.code, ran.out) == (1, "")
    assert about(*said).search(ran.err)
    assert about("no statement", "run").search(ran.err.splitlines()[-1])
    assert count(sql) == 6


def test_a_statement_hidden_behind_a_query_is_found(sql: Paimark) -> None:
    for text in (
        f"SELECT 1; {INSERT % 'a'}",
        f"SELECT ';' /* ; */; {INSERT % 'a'}",
        f"SELECT 1 /* /*+ */; {INSERT % 'a'} -- */",
        f"SELECT 1; BEGIN {INSERT % 'a'}; END",
        f'SELECT 1; EXECUTE IMMEDIATE "{INSERT % "a"}"',
    ):
        assert sql("sql", text, "--read-only").code == 1
        assert count(sql) == 6


def test_a_destructive_statement_is_agreed_to_in_its_turn(sql: Paimark) -> None:
    text = f"{INSERT % 'a'}; INSERT OVERWRITE {MINE} SELECT * FROM {MINE} WHERE kind = 'a'; {COUNT}"
    ran = sql("sql", text, "--yes")
    assert ran.code == 0
    # It is planned after the INSERT.
    assert "! loses  7 rows" in ran.err
    assert ran.out.splitlines()[-1] == "1"


def test_a_dry_run_plans_each_as_of_now(sql: Paimark) -> None:
    overwrite = f"INSERT OVERWRITE {MINE} SELECT * FROM {MINE}"
    ran = sql("sql", f"{INSERT % 'a'}; {overwrite}", "--dry-run", "--output", "json")
    assert ran.code == 0
    assert [[plan["action"] for plan in each] for each in ran.rows] == [["insert-into"], ["insert-overwrite"]]
    assert about("each statement", "planned", "now").search(ran.err.splitlines()[0])
    assert len(ran.err.splitlines()) == 1
    text = sql("sql", f"{INSERT % 'a'}; {overwrite}", "--dry-run").out.split("\n\n")
    assert len(text) == 2 and about("replace", "all rows", MINE).search(text[1].splitlines()[0])
    assert count(sql) == 6


def test_json_of_several_is_a_list_with_the_list_of_each(sql: Paimark) -> None:
    ran = sql(
        "sql", f"USE shop; SELECT 1 AS a; SELECT 2 AS b WHERE false; {INSERT % 'a'}", "--output", "json"
    )
    assert ran.rows[:3] == [[], [{"a": 1}], []]
    assert ran.rows[3][0]["action"] == "insert-into"
    failed = sql("sql", "SELECT 1 AS a; SELECT nothing; SELECT 2 AS b", "--output", "json")
    assert (failed.code, failed.rows) == (1, [[{"a": 1}]])
    assert sql("sql", "SELECT nothing; SELECT 2 AS b", "--output", "json").out == ""


def test_a_file_takes_the_rows_of_one(sql: Paimark, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    refused = sql("sql", f"{INSERT % 'a'}; SELECT 1; SELECT 2", "-o", path)
    assert (refused.code, refused.out) == (2, "")
    assert about("-o", "one statement", "2", "3").search(refused.err)
    assert count(sql) == 6
    assert "none of these 2" in sql("sql", f"{INSERT % 'a'}; {INSERT % 'b'}", "-o", path).err
    ran = sql("sql", f"USE by_script; SELECT count(*) AS n FROM events; {INSERT % 'a'}", "-o", path)
    assert (ran.code, ran.out, path.read_text()) == (0, "", '"n"\n6\n')
    assert f"statement 3 of 3: Committed snapshot 3 of {MINE}" in ran.err


def test_what_a_statement_sets_holds_for_those_behind_it(sql: Paimark) -> None:
    text = (
        "USE by_script; INSERT INTO events VALUES ('2026-05-03', 'a'); SELECT count(*) AS n FROM events; "
        "CREATE OR REPLACE TEMPORARY VIEW of_script AS SELECT 7 AS n; SELECT * FROM of_script; "
        "DROP VIEW of_script"
    )
    ran = sql("sql", text, "--output", "json")
    assert ran.code == 0
    assert ran.rows[1][0]["table"] == MINE
    assert [ran.rows[2], ran.rows[4]] == [[{"n": 7}], [{"n": 7}]]


def test_a_reader_that_closes_its_pipe_stops_what_follows(
    sql: Paimark, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "SELECT repeat('x', 100) AS text FROM range(2000)"
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed, monkeypatch.context() as within:
        within.setattr(sys, "stdout", closed)
        ran = sql("sql", f"{rows}; {INSERT % 'a'}")
    assert (ran.code, ran.out) == (1, "")
    failed, left = ran.err.splitlines()[-2:]
    assert about("reader", "closed", "statement 1 of 2").search(failed)
    assert about("statement 2", "not run").search(left)
    assert count(sql) == 6


@pytest.mark.long
def test_a_closed_pipe_stops_it_and_is_no_success(tmp_path: Path, warehouse: Path) -> None:
    """`| head -1`"""
    text = "SELECT * FROM range(200000); INSERT INTO shop.events VALUES ('2026-05-03', 'a')"
    words = f'"{PROGRAM}" --warehouse "{warehouse}" sql "{text}" | head -1; exit ${{PIPESTATUS[0]}}'
    ran = subprocess.run(
        ["bash", "-c", words],
        env=bare_environment({"XDG_STATE_HOME": str(tmp_path)}),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 1
    assert "closed it at statement 1 of 2\n  Statement 2 was not run." in ran.stderr
    assert not (warehouse / "shop.db/events/snapshot/snapshot-3").exists()


@pytest.mark.long
def test_a_big_result_may_be_cut_short_by_its_reader(tmp_path: Path, warehouse: Path) -> None:
    words = f'"{PROGRAM}" --warehouse "{warehouse}" sql "SELECT * FROM range(200000)" | head -1'
    ran = subprocess.run(
        ["bash", "-c", f"{words}; exit ${{PIPESTATUS[0]}}"],
        env=bare_environment({"XDG_STATE_HOME": str(tmp_path)}),
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
