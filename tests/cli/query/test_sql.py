"""`paimark sql`, with the suite's Spark behind it."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest

from paimark.core.spark.client.client import Engine
from tests.cli.command import PROGRAM, Paimark, bare_environment
from tests.cli.shared_engine import share
from tests.eventually import eventually
from tests.wording import about


@pytest.fixture
def sql(paimark: Paimark, engine: Engine, engine_warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    share(engine, engine_warehouse, monkeypatch)
    return paimark


def test_rows_go_to_stdout_and_how_they_were_read_to_stderr(sql: Paimark) -> None:
    ran = sql("sql", "SELECT order_id FROM shop.orders VERSION AS OF 2 ORDER BY order_id", "--output", "json")
    assert ran.code == 0
    assert ran.rows == [{"order_id": number} for number in range(1, 6)]
    (reading, end) = ran.err.splitlines()
    assert reading.startswith("shop.orders: ")
    assert "snapshot.2" in reading
    assert end.startswith("5 rows in ")


def test_every_kind_of_value_is_json(sql: Paimark) -> None:
    statement = (
        "SELECT CAST(2.50 AS DECIMAL(5,2)) AS d, double('NaN') AS n, X'00FF' AS b, map('x', 1) AS m, "
        "array(1, NULL) AS a, named_struct('p', 'q') AS s, DATE'2026-05-01' AS day, "
        "TIMESTAMP_NTZ'2026-05-01 10:00:00' AS t, CAST(NULL AS STRING) AS z"
    )
    assert sql("sql", statement, "--output", "json").rows == [
        {
            "d": "2.50",
            "n": "NaN",
            "b": "AP8=",
            "m": {"x": 1},
            "a": [1, None],
            "s": {"p": "q"},
            "day": "2026-05-01",
            "t": "2026-05-01T10:00:00",
            "z": None,
        }
    ]


def test_a_table_for_people_tells_null_from_an_empty_text_and_cleans_cells(sql: Paimark) -> None:
    ran = sql("sql", "SELECT concat('a', char(27), '[31m') AS hostile, CAST(NULL AS INT) AS n, '' AS e")
    assert "\x1b" not in ran.out
    assert "[31m" in ran.out
    assert "NULL" in ran.out


def test_a_limit_cuts_and_says_so(sql: Paimark) -> None:
    ran = sql("sql", "SELECT id FROM range(100)", "--limit", "3", "--output", "json")
    assert len(ran.rows) == 3
    assert "there are more" in ran.err


def test_the_statement_comes_from_a_file_or_stdin(
    sql: Paimark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.sql"
    path.write_text("-- how many\nSELECT 1 AS one;\n")
    assert sql("sql", "-f", path, "--output", "json").rows == [{"one": 1}]
    path.write_bytes(b"\xef\xbb\xbfSELECT 1 AS one")
    assert sql("sql", "-f", path, "--output", "json").rows == [{"one": 1}]
    with path.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert sql("sql", "-", "--output", "json").rows == [{"one": 1}]


def test_a_result_file_holds_the_rows_and_stdout_nothing(sql: Paimark, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    ran = sql("sql", "SELECT order_id, price FROM shop.orders", "-o", path)
    assert (ran.code, ran.out) == (0, "")
    assert sorted(pyarrow.parquet.read_table(path)["order_id"].to_pylist()) == list(range(1, 9))
    assert [each.name for each in tmp_path.glob("*out*")] == ["out.parquet"]


def test_a_result_file_without_rows_has_the_columns_and_their_types(sql: Paimark, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    assert sql("sql", "SELECT order_id, price FROM shop.orders WHERE order_id < 0", "-o", path).code == 0
    read = pyarrow.parquet.read_table(path)
    assert (read.num_rows, read.schema.names) == (0, ["order_id", "price"])
    assert [str(kind) for kind in read.schema.types] == ["int64", "double"]


def test_a_statement_that_fails_is_exit_code_1_and_leaves_no_file(sql: Paimark, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    ran = sql("sql", "SELECT\n  nothing_of_the_kind FROM shop.orders", "-o", path)
    assert (ran.code, ran.out) == (1, "")
    assert "nothing_of_the_kind" in ran.err
    assert "Traceback" not in ran.err
    assert not list(tmp_path.glob("*out*"))
    late = sql("sql", "SELECT raise_error(concat('late ', id)) FROM range(3)", "-o", path)
    assert late.code == 1
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT * FROM shop.orders FOR SYSTEM_TIME FROM 1 TO 2", "period"),
        ("SELECT * FROM shop.orders o FOR SYSTEM_TIME AS OF o.at", "line 1, column"),
        ("CALL sys.create_savepoint(table => 'shop.ordrs')", "no table shop.ordrs"),
        ("  -- nothing\n", "no statement"),
        ("SELECT * FROM shop.orders VERSION AS OF 'savepoint.9'", "savepoint.9"),
    ],
)
def test_what_can_not_run_is_said_in_one_sentence(sql: Paimark, statement: str, said: str) -> None:
    ran = sql("sql", statement)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


def test_a_refused_clause_is_pointed_at(sql: Paimark) -> None:
    ran = sql("sql", "SELECT 1,\n  * FROM shop.orders FOR SYSTEM_TIME FROM 1 TO 2")
    line, caret = ran.err.splitlines()[:2]
    assert line.strip() == "* FROM shop.orders FOR SYSTEM_TIME FROM 1 TO 2"
    assert line[caret.index("^") :].startswith("FOR SYSTEM_TIME FROM")


def test_what_spark_can_not_parse_is_pointed_at(sql: Paimark) -> None:
    ran = sql("sql", "SELECT *\nFROM shop.orders\nWHER price > 1")
    assert ran.code == 1
    assert ran.err.splitlines()[:2] == ["  WHER price > 1", "       ^"]


def test_statements_that_write_or_remove_are_held_back(sql: Paimark) -> None:
    insert = "INSERT INTO shop.events VALUES ('2026-05-03', 'click')"
    for words, said in (
        ([insert, "--read-only"], "read-only"),
        (["DROP DATABASE shop", "--dry-run"], "dry run"),
        (["DELETE FROM shop.events", "--yes", "--read-only"], "read-only"),
        (["UPDATE shop.events SET kind = 'x'"], "--yes"),
        (["INSERT OVERWRITE shop.events VALUES ('2026-05-03', 'click')"], "--yes"),
        (["DROP TABLE shop.events"], "--yes"),
    ):
        ran = sql("sql", *words)
        assert (ran.code, ran.out) == (1, "")
        assert said in ran.err


@pytest.mark.parametrize("option", ["--yes", "--dry-run", "--read-only"])
def test_what_is_misspelt_is_said_to_be_that(sql: Paimark, option: str) -> None:
    ran = sql("sql", "SELEC * FROM shop.events", option)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == "Failed: Syntax error at or near 'SELEC'"


def test_an_insert_is_planned_and_says_what_it_committed(sql: Paimark, engine_warehouse: Path) -> None:
    shutil.copytree(engine_warehouse / "shop.db" / "events", engine_warehouse / "by_command.db" / "events")
    insert = "INSERT INTO by_command.events VALUES ('2026-05-03', 'click')"
    dry = sql("sql", insert, "--dry-run", "--output", "json")
    assert [item["kind"] for item in dry.rows[0]["items"]] == ["keeps", "undo", "how"]
    made = sql("sql", insert, "--output", "json")
    assert made.rows == [
        {"action": "insert-into", "table": "by_command.events", "snapshot_id": 3, "row_count": 1}
    ]
    assert about("committed snapshot 3", "by_command.events", "1 row").search(made.err)
    replace = "INSERT OVERWRITE by_command.events SELECT * FROM by_command.events WHERE kind = 'view'"
    held = sql("sql", replace)
    assert (held.code, held.out) == (1, "")
    assert about("replace", "all rows", "by_command.events", "! loses", "7 rows").search(held.err)
    assert sql("sql", replace, "--yes", "--output", "json").rows[0]["row_count"] == 2


@pytest.mark.parametrize("moment", ["starting", pytest.param("running", marks=pytest.mark.long)])
def test_ctrl_c_ends_a_statement_with_130_and_leaves_no_process_behind(
    warehouse: Path, tmp_path: Path, moment: str
) -> None:
    many = "shop.orders CROSS JOIN range(4000000000)"
    slow = f"SELECT count(*) FROM {many} WHERE sha2(CAST(id + order_id AS STRING), 512) = 'x'"
    command = subprocess.Popen(
        [PROGRAM, "--warehouse", warehouse, "--spark-master", "local[2]", "sql", slow],
        env=bare_environment({"XDG_STATE_HOME": str(tmp_path)}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stdout and command.stderr
    eventually(lambda: any("java" in words for words in below(command.pid).values()))
    if moment == "running":
        assert command.stderr.readline().startswith("shop.orders: ")
    started = below(command.pid)
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=240)
    assert (command.returncode, out) == (130, "")
    assert err == "paimark: Interrupted\n"
    eventually(lambda: not any(map(lives, started)))


def test_an_engine_that_can_not_start_is_exit_code_3(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "--warehouse", tmp_path, "sql", "SELECT 1", "--spark-conf", "spark.driver.memory=nonsense"],
        env=bare_environment({"XDG_STATE_HOME": str(tmp_path)}),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "Traceback" not in done.stderr


def below(parent: int) -> dict[int, str]:
    """The processes that descend from one, and their command lines."""
    listed = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    lines = (line.split(None, 2) for line in listed.stdout.splitlines())
    rows = [(int(pid), int(ppid), words) for pid, ppid, words in lines]
    processes: dict[int, str] = {}
    wanted = {parent}
    while wanted:
        children = {pid: words for pid, ppid, words in rows if ppid in wanted and pid not in processes}
        processes |= children
        wanted = set(children)
    return processes


def lives(pid: int) -> bool:
    """Whether a process does anything: one that ended may wait in the list for its parent."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] not in ("", "Z")


@pytest.fixture
def asleep(paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    """The command where no Spark may be started."""

    def start(self: Engine) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(Engine, "_started", start)
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    return paimark


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT * FROM shop.orders VERSION AS OF 99", "snapshots 1 to 5"),
        ("SELECT * FROM shop.orders VERSION AS OF 'savepoint.9'", "savepoint.9"),
        ("SELECT * FROM shop.ordrs VERSION AS OF 1", "orders"),
        ("SELECT * FROM shop.`orders$branch_nix`", "no branch nix"),
        ("SELECT * FROM shp.orders VERSION AS OF 1", "shop?"),
        ("SELECT * FROM orders TIMESTAMP AS OF now()", "shop.orders. USE db;"),
        ("SELECT * FROM `orders$snapshots`", "shop.`orders$snapshots`"),
        ("SELECT 1 UNION ALL SELECT * FROM shop.orders VERSION AS OF 99", "no version '99'"),
    ],
)
def test_what_is_not_there_is_said_before_spark_starts(asleep: Paimark, statement: str, said: str) -> None:
    ran = asleep("sql", statement)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


def test_a_store_that_does_not_answer_is_exit_code_3(asleep: Paimark, warehouse: Path) -> None:
    snapshots = warehouse / "shop.db/orders/snapshot"
    snapshots.rename(snapshots.with_name("moved"))
    snapshots.symlink_to(snapshots)
    ran = asleep("sql", "SELECT * FROM shop.orders VERSION AS OF 1")
    assert (ran.code, ran.out) == (3, "")
    assert "too many levels of symbolic links" in ran.err


@pytest.mark.parametrize(
    "statement",
    [
        "SET TIME ZONE 'Asia/Tokyo'",
        "SET spark.sql.session.timeZone = UTC",
        "USE shop",
        "RESET",
        "CREATE TEMPORARY VIEW v AS SELECT 1",
        "CACHE TABLE shop.orders",
    ],
)
def test_what_would_end_with_the_command_is_refused(asleep: Paimark, statement: str) -> None:
    ran = asleep("sql", statement)
    assert (ran.code, ran.out) == (1, "")
    assert about("command ends", "--database", "--spark-conf").search(ran.err)


def test_a_database_that_is_not_there_is_said(asleep: Paimark) -> None:
    message, hint = asleep("sql", "--database", "shp", "SELECT 1").err.splitlines()
    assert "no database shp" in message and "shop?" in hint


@pytest.mark.parametrize(
    "statement",
    [
        "SHOW TABLES",
        "SELECT * FROM `orders$snapshots`",
        "SELECT * FROM orders VERSION AS OF 1",
        "INSERT INTO orders VALUES (1)",
        "ALTER TABLE orders ADD COLUMN c INT",
        "CALL sys.create_savepoint('orders')",
    ],
)
def test_who_chose_no_database_is_told_how(sql: Paimark, statement: str) -> None:
    ran = sql("sql", statement)
    assert (ran.code, ran.out) == (1, "")
    assert about("no database", "USE db;", "--database db").search(ran.err)
    chosen = sql("sql", "--database", "shop", statement, "--dry-run")
    assert "USE db;" not in chosen.err
    assert "USE db;" not in sql("sql", f"USE shop; {statement}", "--dry-run").err


def test_names_without_a_database_are_in_the_one_chosen(sql: Paimark) -> None:
    statement = "SELECT count(*) AS n FROM orders VERSION AS OF 2"
    assert sql("sql", "--database", "shop", statement, "--output", "json").rows == [{"n": 5}]
    assert sql("sql", "SET spark.driver.memory", "--output", "json").rows[0]["value"] == "1g"
