"""What Paimon's library reads besides kinds: CHAR, several branches, versions, few keys, differences."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import find_table
from paimark.core.travel.diff.diff import make_difference
from paimark.core.travel.requested_version import RequestedVersion
from tests.interop.judge import Judge
from tests.interop.writing.test_old_tables import of_version
from tests.interop.written import Table
from tests.long import long_but
from tests.paimon import commit, create_table
from tests.spark.datasource.test_table_options import set_options
from tests.spark.engine_fixture import ask, by_library, rows
from tests.spark.library.test_library_kinds import expected, found
from tests.wording import about

PARTIAL = {"bucket": "1", "merge-engine": "partial-update"}
COLUMNS = {"k": "INT", "v": "INT", "s": "STRING"}


@pytest.mark.parametrize("file_format", long_but(["parquet", "orc", "avro"], "parquet"))
def test_char_is_padded_as_spark_pads_it(
    file_format: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    table = f"library.chars_{file_format}"
    columns = {"k": "CHAR(5)", "c": "CHAR(3)", "v": "VARCHAR(9)"}
    judge.create(
        engine_warehouse, table, columns, keys=["k"], options={"bucket": "1", "file.format": file_format}
    )
    # Stock Spark writes padded values, other writers do not.
    judge.put(engine_warehouse, table, [("+I", ["ab   ", "x  ", "y "]), ("+I", ["cd", "z", ""])])
    both = [["ab   ", "x  ", "y "], ["cd   ", "z  ", ""]]
    for ask_table in (table, f"{table} VERSION AS OF 1"):
        assert found(engine, f"SELECT * FROM {ask_table}") == both
    assert found(engine, f"SELECT k, length(c) FROM {table} WHERE c = 'x'") == [["ab   ", 3]]
    assert found(engine, f"SELECT v FROM {table} WHERE k = 'cd'") == [[""]]
    assert found(engine, f"SELECT v FROM {table} WHERE k IN ('ab   ', 'no')") == [["y "]]
    assert found(engine, f"SELECT max(c), min(k) FROM {table}") == [["z  ", "ab   "]]
    joined = f"SELECT a.v FROM {table} a JOIN {table} VERSION AS OF 1 b ON a.k = b.k"
    assert found(engine, joined) == [[""], ["y "]]
    told = ask(engine, f"EXPLAIN SELECT * FROM {table}").explained
    assert told.startswith("scan: paimon library (") and about("CHAR", "padded").search(told)


@pytest.mark.parametrize("key", long_but(["", "k"], ""))
def test_statements_that_change_rows_find_char_as_queries_do(
    key: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """ORC files hold no blanks, and Spark pads only what a query or a DELETE reads."""
    table, keys = f"library.changed_chars{key}", [key] if key else []
    options = {"file.format": "orc", **({"bucket": "1"} if keys else {})}
    judge.create(
        engine_warehouse, table, {"k": "CHAR(5)", "c": "CHAR(3)", "n": "INT"}, keys=keys, options=options
    )
    judge.put(engine_warehouse, table, [("+I", ["ab   ", "x  ", 1]), ("+I", ["cd   ", "y  ", 2])])
    source = f"(SELECT k, c FROM {table} WHERE n > 300) s"
    for change in (
        f"UPDATE {table} SET n = n + 10 WHERE k = 'ab'",
        f"UPDATE {table} SET n = n + length(c) * 100",
        f"MERGE INTO {table} t USING {source} ON t.k = s.k AND s.c = t.c "
        "WHEN MATCHED AND t.c = 'y' THEN UPDATE SET c = 'z' WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
    ):
        *_, end = run_statement(context_for(engine), change, call=CallMode(agree=lambda action, plan: None))
        assert isinstance(end, Finished), end
    assert found(engine, f"SELECT * FROM {table}") == [["ab   ", "x  ", 311], ["cd   ", "z  ", 302]]


def test_texts_inside_columns_are_no_longer_than_they_may_be(engine: Engine, engine_warehouse: Path) -> None:
    create_table(engine_warehouse, "library.other", pa.schema([("k", pa.int32())]))
    agreed = CallMode(agree=lambda action, plan: None)
    table, told = "library.inner_texts", []
    columns = "s STRUCT<v: VARCHAR(2)>, a ARRAY<VARCHAR(2)>, m MAP<CHAR(2), VARCHAR(2)>"
    for sql in (
        f"CREATE TABLE {table} ({columns})",
        f"INSERT INTO {table} VALUES (named_struct('v', 'ab'), array('ab'), map('a', 'ab'))",
        f"INSERT INTO {table} VALUES (named_struct('v', 'abc'), NULL, NULL)",
        f"INSERT INTO {table} VALUES (NULL, array('abc'), NULL)",
        f"UPDATE {table} SET m = map('a', 'abc')",
    ):
        *_, end = run_statement(context_for(engine), sql, call=agreed)
        assert isinstance(end, Finished | Failed)
        told.append(end.message.split(" that")[0])
    assert told[2:] == ["A text is longer than the 2 characters"] * 3
    assert found(engine, f"SELECT s.v, a[0], m['a '] FROM {table}") == [["ab", "ab", "ab"]]


def test_early_days_of_orc_files_are_found(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """Of ORC files the library asks for 0000-12-30 instead."""
    table, columns = "library.early", {"c": "CHAR(1)", "d": "DATE"}
    judge.create(engine_warehouse, table, columns, options={"file.format": "orc"})
    days = [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15)]
    for day in days:
        judge.put(engine_warehouse, table, [("+I", ["x", (day - dt.date(1970, 1, 1)).days])])
    for day in days:
        assert found(engine, f"SELECT d FROM {table} WHERE d = DATE'{day}'") == [[day]]
    assert found(engine, f"SELECT d FROM {table} WHERE d < DATE'1582-10-05'") == [[days[0]], [days[1]]]
    gone = f"DELETE FROM {table} WHERE d = DATE'0001-01-01'"
    *_, end = run_statement(context_for(engine), gone, call=CallMode(agree=lambda action, plan: None))
    assert isinstance(end, Finished), end
    assert found(engine, f"SELECT d FROM {table}") == [[days[2]], [days[1]]]


def test_rows_of_a_fallback_branch(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table, columns = "library.fallback", {"p": "STRING", "k": "INT", "v": "INT"}
    judge.create(engine_warehouse, table, columns, keys=["p", "k"], partitions=["p"], options={"bucket": "1"})
    judge.put(engine_warehouse, table, [("+I", ["x", 1, 1])])
    judge.create_tag(engine_warehouse, table, "t1", 1)
    judge.create_branch(engine_warehouse, table, "b", "t1")
    judge.put(engine_warehouse, f"{table}$branch_b", [("+I", ["y", 2, 2]), ("+I", ["x", 3, 3])])
    set_options(engine_warehouse, table, {"scan.fallback-branch": "b"})
    theirs = expected(judge, engine_warehouse, table)
    assert theirs == [["x", 1, 1], ["y", 2, 2]]
    assert found(engine, f"SELECT * FROM {table}") == theirs
    # The branch has a newer commit, and main the same snapshot as before.
    judge.put(engine_warehouse, f"{table}$branch_b", [("+I", ["y", 4, 4])])
    theirs = expected(judge, engine_warehouse, table)
    assert found(engine, f"SELECT * FROM {table}") == theirs
    assert len(theirs) == 3
    assert found(engine, f"SELECT k FROM {table} WHERE p = 'y' AND k = 4") == [[4]]
    assert found(engine, "SELECT * FROM library.`fallback$branch_main`") == [["x", 1, 1]]
    assert len(found(engine, "SELECT * FROM library.`fallback$branch_b`")) == 4
    at = expected(judge, engine_warehouse, table, snapshot=1)
    assert found(engine, f"SELECT * FROM {table} VERSION AS OF 1") == at
    # Of an expired one the tag keeps main's part.
    judge.put(engine_warehouse, table, [("+I", ["x", 9, 9])])
    judge.create_tag(engine_warehouse, table, "t2", 2)
    judge.put(engine_warehouse, table, [("+I", ["x", 10, 10])])
    judge.expire(engine_warehouse, table)
    failure = ask(engine, f"SELECT * FROM {table} VERSION AS OF 't2'").failure
    assert about("snapshot 2", "library.fallback", "expired").search(failure.message)
    assert "`fallback$branch_main`" in failure.hint
    kept = found(engine, "SELECT * FROM library.`fallback$branch_main` VERSION AS OF 't2'")
    assert kept == [["x", 1, 1], ["x", 9, 9]]


def test_a_chain_and_each_of_its_branches(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table, columns = "library.chain", {"dt": "STRING", "k": "INT", "v": "INT"}
    chain = {
        "chain-table.enabled": "true",
        "scan.fallback-snapshot-branch": "snap",
        "scan.fallback-delta-branch": "delta",
    }
    options = {
        "bucket": "1",
        "sequence.field": "v",
        "partition.timestamp-pattern": "$dt",
        "partition.timestamp-formatter": "yyyyMMdd",
    }
    judge.create(engine_warehouse, table, columns, keys=["dt", "k"], partitions=["dt"], options=options)
    judge.put(engine_warehouse, table, [("+I", ["20260101", 1, 1])])
    judge.create_tag(engine_warehouse, table, "t1", 1)
    for branch in ("snap", "delta"):
        judge.create_branch(engine_warehouse, table, branch, "t1")
        set_options(engine_warehouse, table, chain, f"branch/branch-{branch}")
    set_options(engine_warehouse, table, chain)
    newer = [("+I", ["20260102", 1, 5]), ("+I", ["20260102", 2, 2])]
    judge.put(engine_warehouse, f"{table}$branch_delta", newer)
    theirs = expected(judge, engine_warehouse, table)
    assert len(theirs) == 3
    assert found(engine, f"SELECT * FROM {table}") == theirs
    for branch in ("snap", "delta", "main"):
        alone = expected(judge, engine_warehouse, f"{table}$branch_{branch}")
        if branch != "main":
            assert found(engine, f"SELECT * FROM library.`chain$branch_{branch}`") == alone
    assert found(engine, "SELECT v FROM library.`chain$branch_main`") == [[1]]


def test_postponed_buckets(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "library.postponed"
    judge.create(engine_warehouse, table, COLUMNS, keys=["k"], options={"bucket": "-2", **_merging("v")})
    judge.put(engine_warehouse, table, [("+I", [1, 1, "a"]), ("+I", [2, 2, "b"])])
    judge.put(engine_warehouse, table, [("+I", [3, 3, "c"])], postpones=True)
    theirs = expected(judge, engine_warehouse, table)
    with by_library(engine):
        assert found(engine, f"SELECT * FROM {table}") == theirs


def _merging(column: str) -> dict[str, str]:
    return {"merge-engine": "aggregation", f"fields.{column}.aggregate-function": "sum"}


def test_what_a_tag_keeps_after_an_expiry(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "library.kept"
    judge.create(engine_warehouse, table, COLUMNS, keys=["k"], options=PARTIAL)
    judge.put(engine_warehouse, table, [("+I", [1, 1, None])])
    judge.put(engine_warehouse, table, [("+I", [1, None, "a"])])
    judge.create_tag(engine_warehouse, table, "two", 2)
    judge.put(engine_warehouse, table, [("+I", [1, 7, None]), ("+I", [2, 1, "b"])])
    judge.alter(engine_warehouse, table, "rename", "s", name="text")
    judge.compact(engine_warehouse, table)
    judge.expire(engine_warehouse, table)
    answer = ask(engine, f"SELECT * FROM {table} VERSION AS OF 'two'")
    assert answer.rows == [{"k": 1, "v": 1, "s": "a"}]
    assert answer.readings[0].scan == "paimon library"
    assert found(engine, f"SELECT text, v FROM {table}") == [["a", 7], ["b", 1]]


def test_a_table_of_paimon_0_7(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """Its schema says neither its version nor its one bucket."""
    name = "library.old"
    options = {**PARTIAL, "file.format": "orc"}
    table = Table(engine_warehouse, name, COLUMNS, keys=["k"], options=options)
    judge.put(engine_warehouse, name, [("+I", [1, 1, None]), ("+I", [2, 2, "b"])])
    judge.put(engine_warehouse, name, [("+I", [1, None, "a"])])
    of_version(table, None, ("bucket", "file.format"))
    assert expected(judge, engine_warehouse, name) == [[1, 1, "a"], [2, 2, "b"]]
    assert found(engine, f"SELECT * FROM {name}") == [[1, 1, "a"], [2, 2, "b"]]
    assert found(engine, f"SELECT s FROM {name} VERSION AS OF 1 WHERE k = 2") == [["b"]]
    assert ask(engine, f"SELECT * FROM {name}").readings[0].scan == "paimon library"


def test_large_values_of_rows_that_evolve(engine: Engine, engine_warehouse: Path) -> None:
    table, schema = "library.blobs", pa.schema([("k", pa.int64()), ("b", pa.large_binary())])
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    create_table(engine_warehouse, table, schema, options=options)
    given = pa.table({"k": [1, 2, 3], "b": [b"x" * 10, b"", b"z"]}, schema)
    commit(engine_warehouse, table, given)
    with by_library(engine):
        assert rows(engine, f"SELECT * FROM {table}") == given.to_pylist()
        assert found(engine, f"SELECT count(*), max(k) FROM {table}") == [[3, 3]]
        assert found(engine, f"SELECT length(b) FROM {table} WHERE k > 1") == [[0], [1]]


def test_no_row_is_left_out_that_lacks_a_selected_column(engine: Engine, engine_warehouse: Path) -> None:
    """Of rows that evolve, files have an added column for some, and the others are read by their ids."""
    table, schema = "library.evolved", pa.schema([("k", pa.int64()), ("s", pa.string())])
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    create_table(engine_warehouse, table, schema, options=options)
    for keys in ([1, 2, 3], [4, 5]):
        commit(engine_warehouse, table, pa.table({"k": keys, "s": ["a"] * len(keys)}, schema))
    catalog = CatalogFactory.create({"warehouse": str(engine_warehouse)})
    catalog.alter_table(table, [SchemaChange.add_column("n", AtomicType("INT"))], False)
    builder = catalog.get_table(table).new_batch_write_builder()
    added = pa.table({"_ROW_ID": pa.array([1], pa.int64()), "n": pa.array([7], pa.int32())})
    update = builder.new_update().with_update_type(["n"])
    builder.new_commit().commit(update.update_by_arrow_with_row_id(added))
    assert sorted(found(engine, f"SELECT n FROM {table}"), key=repr) == [[7], *[[None]] * 4]
    assert found(engine, f"SELECT k FROM {table} WHERE n IS NULL AND k < 4") == [[1], [3]]
    assert found(engine, f"SELECT count(n), count(*) FROM {table}") == [[1, 5]]


def test_few_keys_take_no_job(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "library.keyed"
    options = {**PARTIAL, "bucket": "4"}
    judge.create(engine_warehouse, table, {**COLUMNS, "d": "DATE"}, keys=["k"], options=options)
    judge.put(engine_warehouse, table, [("+I", [each, None, "old", each]) for each in range(100)])
    judge.put(engine_warehouse, table, [("+I", [each, each, None, None]) for each in range(0, 100, 2)])
    sql = f"SELECT s, v FROM {table} WHERE k IN (4, 5, 99, 1000)"
    assert found(engine, sql) == [["old", 4], ["old", None], ["old", None]]
    assert "LocalTableScan" in ask(engine, f"EXPLAIN {sql}").explained
    # Conditions on other columns are held as well, also where nothing shows these columns.
    day = (dt.date(1970, 1, 1) + dt.timedelta(days=4)).isoformat()
    assert found(engine, f"SELECT k FROM {table} WHERE k IN (4, 6) AND v > 5 AND s LIKE 'o%'") == [[6]]
    assert found(engine, f"SELECT count(*) FROM {table} WHERE k IN (4, 6) AND d = DATE'{day}'") == [[1]]
    assert found(engine, f"SELECT k FROM {table} WHERE k IN (4, 5) AND NOT (v <=> 4)") == [[5]]
    assert found(engine, f"SELECT count(*) FROM {table} WHERE NOT (v <=> 4)") == [[99]]
    assert found(engine, f"SELECT k FROM {table} WHERE v IS NULL AND k < 4") == [[1], [3]]


def test_a_lost_file_is_told_as_by_other_readers(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    table = "library.lost"
    judge.create(engine_warehouse, table, COLUMNS, keys=["k"], options=PARTIAL)
    judge.put(engine_warehouse, table, [("+I", [1, 1, "a"])])
    [data] = (engine_warehouse / "library.db/lost/bucket-0").glob("data-*")
    data.unlink()
    for condition in ("", " WHERE k = 1"):
        failure = ask(engine, f"SELECT s FROM {table}{condition}").failure
        assert data.name in failure.message
        assert about("expiry", "clean-up", "`paimark verify`").search(failure.hint)


def test_files_of_other_writers_are_asked_nothing_they_can_not_answer(
    engine: Engine, engine_warehouse: Path
) -> None:
    """Arrow has decimals in another form than the library, which also takes `x.y` for a part of `x`."""
    table, amount = "library.arrow", pa.decimal128(18, 4)
    schema = pa.schema([("x.y", pa.int16()), ("d", amount), ("f", pa.float64())])
    create_table(engine_warehouse, table, schema)
    given = pa.table({"x.y": [1, 2], "d": [Decimal(1), Decimal(2)], "f": [1.0, float("nan")]}, schema)
    commit(engine_warehouse, table, given)
    with by_library(engine):
        assert found(engine, f"SELECT `x.y` FROM {table} WHERE d > 1.5") == [[2]]
        assert found(engine, f"SELECT `x.y` FROM {table} WHERE `x.y` = 2") == [[2]]
        assert found(engine, f"SELECT `x.y` FROM {table} WHERE f > 3") == [[2]]


def test_a_difference_reads_only_the_files_that_differ(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    table = "library.less"
    judge.create(engine_warehouse, table, COLUMNS, keys=["k"], options={**PARTIAL, "bucket": "8"})
    judge.put(engine_warehouse, table, [("+I", [each, 1, "a"]) for each in range(50)])
    judge.put(engine_warehouse, table, [("+I", [7, 2, None])])
    files = LocalFiles(str(engine_warehouse))
    old, new = (RequestedVersion(None, f"snapshot.{each}") for each in (1, 2))
    sql = make_difference(files, find_table(files, table), old, new).sql
    less, whole = ask(engine, sql, differing=True), ask(engine, sql)
    assert less.rows == whole.rows
    assert len(less.rows) == 1
    assert {each.scan for each in less.readings} == {"paimon library"}
    assert "of 8 files" in less.readings[0].note or "of 9 files" in less.readings[1].note, less.readings


def test_a_view_of_the_session_follows(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "library.viewed"
    judge.create(engine_warehouse, table, COLUMNS, keys=["k"], options=PARTIAL)
    judge.put(engine_warehouse, table, [("+I", [1, 1, "a"])])
    rows(engine, f"CREATE OR REPLACE TEMPORARY VIEW of_library AS SELECT * FROM {table}")
    try:
        assert found(engine, "SELECT s FROM of_library WHERE v = 1") == [["a"]]
        sql = f"SELECT count(*) FROM of_library a JOIN {table} b USING (k)"
        assert found(engine, sql) == [[1]]
    finally:
        rows(engine, "DROP VIEW of_library")
