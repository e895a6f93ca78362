"""DELETE, UPDATE and MERGE on all kinds of tables: stock Paimon reads the result, and goes on writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.notes import Note, note_of
from paimark.core.table.operations import read_operations
from tests.actions.acting import context_on, done, planned
from tests.interop.judge import Judge
from tests.long import long_but
from tests.spark.engine_fixture import in_order, rows
from tests.wording import about

Fields = list[Any]
_NOTE = Note('it\'s "right" <b>now</b>', "jane")
_AGREES = CallMode(agree=lambda action, plan: None, note=_NOTE)
# k, p, v, s
FIRST: list[Fields] = [[1, 1, 10, "a"], [2, 1, 20, "b"], [3, 1, 30, None], [4, 2, 40, "d"], [5, 2, 50, "e"]]
SECOND: list[Fields] = [[6, 2, 60, "f"], [7, 3, 70, "g"]]
DELETE = "DELETE FROM {} WHERE s = 'b' OR v > 65"
UPDATE = "UPDATE {} AS t SET v = t.v + 100, s = concat('u', k) WHERE k IN (SELECT k FROM {} WHERE v < 35)"
MERGE = (
    "MERGE INTO {} AS t "
    "USING (SELECT * FROM VALUES (4, 2, 400), (5, 2, 500), (8, 2, 800) AS x(k, p, v)) AS s "
    "ON t.k = s.k AND t.p = s.p WHEN MATCHED AND s.k = 4 THEN {} "
    "WHEN MATCHED THEN UPDATE SET v = s.v "
    "WHEN NOT MATCHED THEN INSERT (k, p, v, s) VALUES (s.k, s.p, s.v, 'n') "
    "WHEN NOT MATCHED BY SOURCE AND t.k = 6 THEN UPDATE SET s = 'alone'"
)
DELETED = [1, 3, 4, 5, 6]
UPDATED = [[1, 1, 110, "u1"], [3, 1, 130, "u3"], [4, 2, 40, "d"], [5, 2, 50, "e"], [6, 2, 60, "f"]]
MERGED = [[1, 1, 110, "u1"], [3, 1, 130, "u3"], [5, 2, 500, "e"], [6, 2, 60, "alone"], [8, 2, 800, "n"]]


@dataclass(frozen=True)
class Kind:
    options: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] = ("k",)
    partitions: Sequence[str] = ()


_KEYED = {"bucket": "2"}
_VECTORS = {"deletion-vectors.enabled": "true"}
_TRACKED = {"row-tracking.enabled": "true"}
OFTEN = ("key", "append", "partial update that removes")
KINDS = {
    "key": Kind(_KEYED),
    "sequence and partitions": Kind({**_KEYED, "sequence.field": "v"}, ("k", "p"), ("p",)),
    "growing buckets": Kind(),
    "growing buckets of partitions": Kind({}, ("p", "k"), ("p",)),
    "keys across partitions": Kind({}, ("k",), ("p",)),
    "postponed buckets": Kind({"bucket": "-2"}),
    "changelog from the writer": Kind({**_KEYED, "changelog-producer": "input"}),
    "changelog from compaction": Kind({**_KEYED, "changelog-producer": "lookup"}),
    "avro": Kind({**_KEYED, "file.format": "avro"}),
    "partial update that removes": Kind(
        {**_KEYED, "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}
    ),
    "append": Kind(keys=()),
    "append in partitions, orc": Kind({"file.format": "orc"}, (), ("p",)),
    "append in buckets": Kind({"bucket": "2", "bucket-key": "k"}, ()),
    "vectors": Kind(_VECTORS, ()),
    "wide vectors in partitions": Kind({**_VECTORS, "deletion-vectors.bitmap64": "true"}, (), ("p",)),
    "row tracking": Kind(_TRACKED, ()),
    "row tracking with vectors": Kind({**_TRACKED, **_VECTORS}, ()),
}
_COLUMNS = {"k": "INT", "p": "INT", "v": "INT", "s": "STRING"}


def made(judge: Judge, warehouse: Path, table: str, kind: Kind) -> None:
    judge.create(warehouse, table, _COLUMNS, keys=kind.keys, partitions=kind.partitions, options=kind.options)
    for written in (FIRST, SECOND):
        judge.put(warehouse, table, [("+I", row) for row in written])


def end_of(engine: Engine, sql: str) -> Finished | Failed:
    *_, end = run_statement(context_for(engine), sql, call=_AGREES)
    assert isinstance(end, Finished | Failed)
    return end


def said(engine: Engine, sql: str) -> str:
    """What the statement did, in words."""
    end = end_of(engine, sql)
    assert isinstance(end, Finished), end
    return end.message.partition(". To take")[0].partition("; ")[0].partition(": ")[2]


def refused(engine: Engine, sql: str) -> tuple[str, str]:
    end = end_of(engine, sql)
    assert isinstance(end, Failed), end
    return end.message, end.hint


def found(judge: Judge, warehouse: Path, table: str) -> list[Fields]:
    return sorted(judge.rows(warehouse, table))


@pytest.mark.parametrize("name", long_but(KINDS, *(name for name in OFTEN if name != "append")))
def test_stock_reads_what_statements_leave(
    name: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    kind, table = KINDS[name], f"changed.{name.replace(' ', '_').replace(',', '')}"
    made(judge, engine_warehouse, table, kind)
    ids = _ids(judge, engine_warehouse, table, kind)
    assert said(engine, DELETE.format(table)) == "2 rows deleted"
    assert [row[0] for row in found(judge, engine_warehouse, table)] == DELETED
    assert said(engine, UPDATE.format(table, table)) == "2 rows updated"
    assert found(judge, engine_warehouse, table) == UPDATED
    assert said(engine, MERGE.format(table, "DELETE")) == "1 row deleted, 2 rows updated, 1 row inserted"
    assert found(judge, engine_warehouse, table) == MERGED
    _is_noted(engine_warehouse, table)
    after = _ids(judge, engine_warehouse, table, kind)
    assert {key: ids.get(key) for key in after if key != 8} == {key: after[key] for key in after if key != 8}
    assert in_order(rows(engine, f"SELECT * FROM {table}")) == in_order(
        [dict(zip(_COLUMNS, row, strict=True)) for row in MERGED]
    )
    judge.put(engine_warehouse, table, [("+I", [9, 3, 900, "z"])])
    if not ids:
        # The judge's compaction does not carry ids on.
        judge.compact(engine_warehouse, table)
    assert found(judge, engine_warehouse, table) == [*MERGED, [9, 3, 900, "z"]]
    assert said(engine, f"DELETE FROM {table} WHERE k = 9") == "1 row deleted"
    assert found(judge, engine_warehouse, table) == MERGED


@pytest.mark.parametrize("name", long_but(KINDS, "row tracking with vectors"))
def test_a_value_comes_of_other_rows(name: str, engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    kind, table = KINDS[name], f"others.{name.replace(' ', '_').replace(',', '')}"
    made(judge, engine_warehouse, table, kind)
    update = f"UPDATE {table} SET v = 100 + (SELECT max(x.v) FROM {table} x WHERE x.p = {table}.p)"
    assert said(engine, update) == "7 rows updated"
    values = [130, 130, 130, 160, 160, 160, 170]
    assert [row[2] for row in found(judge, engine_warehouse, table)] == values


def _is_noted(warehouse: Path, table: str) -> None:
    """The newest snapshot, and the log."""
    files, path = LocalFiles(str(warehouse)), parse_table_name(table)
    newest, [*_, logged] = Lineage(files, path.root()).latest(), read_operations(files, path)
    assert newest is not None and note_of(newest) == _NOTE
    assert (logged.message, logged.author) == (_NOTE.message, _NOTE.author)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("append in partitions, orc", marks=pytest.mark.long),
        "wide vectors in partitions",
        "keys across partitions",
    ],
)
def test_a_row_moves_to_the_partition_that_it_gets(
    name: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    kind, table = KINDS[name], f"moved.{name.replace(' ', '_').replace(',', '')}"
    made(judge, engine_warehouse, table, kind)
    assert said(engine, f"UPDATE {table} SET p = p + 2 WHERE k IN (2, 7)") == "2 rows updated"
    moved = sorted([*FIRST[:1], [2, 3, 20, "b"], *FIRST[2:], SECOND[0], [7, 5, 70, "g"]])
    assert found(judge, engine_warehouse, table) == moved
    judge.compact(engine_warehouse, table)
    assert found(judge, engine_warehouse, table) == moved


HOSTILE = {"Key.s": "CHAR(5)", "$d": "INT", "o`q 'x": "DOUBLE"}
ODD = [["ab   ", 1, -0.0], ["cd   ", 1, "NaN"], ["Ab   ", 2, None]]


@pytest.mark.parametrize(
    "kind",
    [
        Kind({"bucket": "1"}, ("$d", "Key.s"), ("$d",)),
        pytest.param(Kind({}, ()), marks=pytest.mark.long),
        pytest.param(Kind(_VECTORS, ()), marks=pytest.mark.long),
    ],
)
def test_texts_of_one_length_and_odd_names(
    kind: Kind, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """And a zero stays negative when a row comes back."""
    table = f"hostile.of_{len(kind.partitions)}_{len(kind.options)}"
    judge.create(
        engine_warehouse, table, HOSTILE, keys=kind.keys, partitions=kind.partitions, options=kind.options
    )
    judge.put(engine_warehouse, table, [("+I", row) for row in ODD])

    def left() -> list[list[str]]:
        return sorted([str(cell) for cell in row] for row in judge.rows(engine_warehouse, table))

    before = left()
    assert said(engine, f"DELETE FROM {table} WHERE `Key.s` = 'ab'") == "1 row deleted"
    assert left() == [row for row in before if row[0] != "ab   "]
    end_of(engine, f"CALL sys.revert(table => '{table}', snapshot => 2)")
    assert left() == before
    assert said(engine, f"UPDATE {table} SET `o``q 'x` = 1 WHERE `$d` = 2") == "1 row updated"
    end_of(engine, f"CALL sys.undo(table => '{table}')")
    assert left() == before
    end_of(engine, f"DELETE FROM {table} AS x")
    assert left() == []


def test_a_zero_within_a_value_gets_its_sign_back(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    table = "hostile.within"
    judge.create(engine_warehouse, "hostile.is_there", {"k": "INT"})
    shape = "k INT, a ARRAY<STRUCT<f: ARRAY<FLOAT>, d: DATE>>, r STRUCT<x: DOUBLE, y: STRUCT<z: DOUBLE>>"
    end_of(engine, f"CREATE TABLE {table} ({shape}) TBLPROPERTIES ('bucket' = '-1')")
    cells = "array(named_struct('f', array({0}F, NULL), 'd', NULL), NULL), struct({0}D, struct({0}D))"
    end_of(engine, f"INSERT INTO {table} SELECT 1, {cells.format('0')}")
    end_of(engine, f"INSERT INTO {table} SELECT 1, {cells.format('-0')} UNION ALL SELECT 2, NULL, NULL")
    before = str(found(judge, engine_warehouse, table))
    assert "-0.0" in before
    assert said(engine, f"DELETE FROM {table} WHERE r IS NULL") == "1 row deleted"
    assert said(engine, f"UPDATE {table} SET r.x = -r.x, r.y.z = -r.x") == "2 rows updated"
    for snapshot in (4, 3):
        end_of(engine, f"CALL sys.revert(table => '{table}', snapshot => {snapshot})")
    assert str(found(judge, engine_warehouse, table)) == before


@pytest.mark.long
def test_orc_files_do_not_keep_old_times(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """Stock Paimon gives back another time than it was given, and would move it again with each rewriting."""
    table, old = "hostile.old_times", -62_135_596_800_000_000
    judge.create(engine_warehouse, table, {"k": "INT", "at": "TIMESTAMP(3)"}, options={"file.format": "orc"})
    judge.put(engine_warehouse, table, [("+I", [1, old]), ("+I", [2, 0])])
    kept = found(judge, engine_warehouse, table)
    assert kept[0][1] != old
    assert "at has a time before 1582" in refused(engine, f"DELETE FROM {table} WHERE k = 2")[0]
    assert found(judge, engine_warehouse, table) == kept
    end_of(engine, f"INSERT INTO {table} VALUES (3, TIMESTAMP_NTZ '1582-10-15 00:00:00')")
    rows_now = [*kept, [3, -12_219_292_800_000_000]]
    assert found(judge, engine_warehouse, table) == rows_now
    for _ in range(5):
        end_of(engine, f"INSERT INTO {table} VALUES (4, NULL)")
    rows_now += [[4, None]] * 5
    message, hint = refused(engine, f"CALL sys.compact(table => '{table}', full => true)")
    assert "at has a time before 1582" in f"{message} {hint}"
    assert found(judge, engine_warehouse, table) == rows_now
    # In other files they stay as they are read now.
    end_of(engine, f"ALTER TABLE {table} SET TBLPROPERTIES ('file.format' = 'parquet')")
    end_of(engine, f"CALL sys.compact(table => '{table}', full => true)")
    assert found(judge, engine_warehouse, table) == rows_now


def test_rows_without_ids_get_some_before_they_are_changed(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    table = "hostile.untracked"
    judge.create(engine_warehouse, table, {"k": "INT"}, options=_TRACKED)
    for key in (1, 2):
        judge.put(engine_warehouse, table, [("+I", [key])])
    judge.compact(engine_warehouse, table)
    reason, hint = refused(engine, f"DELETE FROM {table} WHERE k = 1")
    assert about("rows without", "id", "row-tracking.enabled").search(reason)
    context = replace(context_on(engine_warehouse), engine=lambda: engine)
    for key in range(3, 8):
        judge.put(engine_warehouse, table, [("+I", [key])])
    [refusal] = planned(context, "compact", parse_table_name(table), full=True).refusals
    assert (refusal.reason, refusal.hint) == (reason, hint)
    overwrite = f"INSERT OVERWRITE {table} SELECT * FROM {table}"
    assert overwrite in hint
    assert isinstance(end_of(engine, overwrite), Finished)
    assert isinstance(end_of(engine, f"DELETE FROM {table} WHERE k = 1"), Finished)
    assert found(judge, engine_warehouse, table) == [[each] for each in range(2, 8)]
    for key in range(8, 12):
        judge.put(engine_warehouse, table, [("+I", [key])])
    done(context, "compact", parse_table_name(table), full=True)
    assert found(judge, engine_warehouse, table) == [[each] for each in range(2, 12)]


@pytest.mark.long
def test_old_times_inside_of_other_values(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "hostile.old_parts"
    end_of(engine, "CREATE DATABASE IF NOT EXISTS hostile")
    columns = "k INT NOT NULL, r STRUCT<a: INT, at: TIMESTAMP_NTZ>, l ARRAY<TIMESTAMP_NTZ>"
    options = "'primary-key' = 'k', 'bucket' = '1', 'file.format' = 'orc'"
    end = end_of(engine, f"CREATE TABLE {table} ({columns}) TBLPROPERTIES ({options})")
    assert isinstance(end, Finished), end
    old, new = "TIMESTAMP_NTZ '1500-01-01 00:00:00'", "TIMESTAMP_NTZ '1600-01-01 00:00:00'"
    for row in (f"named_struct('a', 1, 'at', {old}), NULL", f"NULL, array(NULL, {old})"):
        assert "has a time before 1582" in refused(engine, f"INSERT INTO {table} VALUES (1, {row})")[0]
    for key in (1, 2):
        end_of(
            engine,
            f"INSERT INTO {table} VALUES ({key}, named_struct('a', 1, 'at', {new}), array(NULL, {new}))",
        )
    end = end_of(engine, f"CALL sys.compact(table => '{table}', full => true)")
    assert isinstance(end, Finished), end
    judge.put(engine_warehouse, table, [("+I", [3, None, [-62_135_596_800_000_000]])])
    message, hint = refused(engine, f"CALL sys.compact(table => '{table}', full => true)")
    assert "Column l has a time before 1582" in f"{message} {hint}"


# Of a table without statistics its files are looked into.
@pytest.mark.parametrize("mode", ["full", "none"])
def test_a_compaction_of_keys_moves_no_old_time(
    engine: Engine, engine_warehouse: Path, judge: Judge, mode: str
) -> None:
    table, old = f"hostile.old_{mode}", -62_135_596_800_000_000
    options = {"file.format": "orc", "bucket": "1", "metadata.stats-mode": mode}
    columns = {"k": "INT", "at": "TIMESTAMP(6)", "z": "TIMESTAMP_LTZ(3)"}
    judge.create(engine_warehouse, table, columns, keys=["k"], options=options)
    judge.put(engine_warehouse, table, [("+I", [1, 0, 0])])
    judge.put(engine_warehouse, table, [("+I", [2, None, 0])])
    end_of(engine, f"CALL sys.compact(table => '{table}', full => true)")
    judge.put(engine_warehouse, table, [("+I", [3, 0, old])])
    rows_now = found(judge, engine_warehouse, table)
    message, hint = refused(engine, f"CALL sys.compact(table => '{table}', full => true)")
    assert "Column z has a time before 1582" in f"{message} {hint}"
    assert found(judge, engine_warehouse, table) == rows_now
    end_of(engine, f"DELETE FROM {table} WHERE k = 1")
    assert found(judge, engine_warehouse, table) == rows_now[1:]


def _ids(judge: Judge, warehouse: Path, table: str, kind: Kind) -> dict[int, int]:
    """The tracked ids of rows, by `k`."""
    if "row-tracking.enabled" not in kind.options:
        return {}
    return {row["k"]: row["_ROW_ID"] for row in judge.read(warehouse, f"{table}$row_tracking")}
