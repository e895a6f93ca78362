"""UPDATE and MERGE where files have parts of rows: stock Paimon and pypaimon go on with what they leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pypaimon import CatalogFactory

from paimark.core.actions.context import Context
from paimark.core.errors import StatementFailed
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Finished
from tests.interop.judge import Judge
from tests.interop.writing.test_row_changes import end_of, found, refused, said
from tests.spark.engine_fixture import in_order, rows
from tests.spark.library.test_row_changes import planned
from tests.wording import about

OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
COLUMNS = {"k": "INT", "p": "INT", "v": "INT", "s": "STRING"}
FIRST: list[list[Any]] = [[1, 1, 10, "a"], [2, 1, 20, None], [3, 2, 30, "c"], [4, 2, 40, "d"]]
SECOND: list[list[Any]] = [[5, 1, 50, "e"], [6, 2, 60, "f"]]
MERGE = (
    "MERGE INTO {} AS t USING (SELECT * FROM VALUES (4, 400), (5, 500), (8, 800) AS x(k, v)) AS s "
    "ON t.k = s.k WHEN MATCHED AND s.k = 4 THEN UPDATE SET v = s.v, s = 'four' "
    "WHEN MATCHED THEN UPDATE SET v = t.v + s.v "
    "WHEN NOT MATCHED THEN INSERT (k, p, v) VALUES (s.k, 1, s.v) "
    "WHEN NOT MATCHED BY SOURCE AND t.k = 6 THEN UPDATE SET s = 'alone'"
)
UPDATED: list[list[Any]] = [[1, 1, 10, "a"], [2, 1, 120, "u2"], [3, 2, 30, "c"], [4, 2, 41, "d"], *SECOND]
MERGED: list[list[Any]] = [
    [1, 1, 10, "a"],
    [2, 1, 120, "u2"],
    [3, 2, 30, "c"],
    [4, 2, 400, "four"],
    [5, 1, 550, "e"],
    [6, 2, 60, "alone"],
    [8, 1, 800, None],
]


def ids(judge: Judge, warehouse: Path, table: str) -> dict[int, int]:
    return {row["k"]: row["_ROW_ID"] for row in judge.read(warehouse, f"{table}$row_tracking")}


def opened(warehouse: Path, table: str) -> Any:
    return CatalogFactory.create({"warehouse": str(warehouse)}).get_table(table)


def column_written(warehouse: Path, table: str, key: int, changed: dict[str, Any]) -> None:
    """By pypaimon, to a file beside those of the row."""
    builder = opened(warehouse, table).new_batch_write_builder()
    update = builder.new_update()
    is_meant = update.new_predicate_builder().equal("k", key)
    builder.new_commit().commit(update.update_by_predicate(is_meant, changed))


@pytest.mark.parametrize(
    ("partitions", "options"),
    [
        pytest.param((), {}, marks=pytest.mark.long),
        pytest.param(("p",), {"file.format": "orc"}, id="partitions, orc"),
    ],
)
def test_rows_get_other_values_and_keep_their_ids(
    partitions: tuple[str, ...],
    options: dict[str, str],
    engine: Engine,
    engine_warehouse: Path,
    judge: Judge,
) -> None:
    warehouse, table = engine_warehouse, f"evolves.of_{len(partitions)}"
    judge.create(warehouse, table, COLUMNS, partitions=partitions, options={**OPTIONS, **options})
    for written in (FIRST, SECOND):
        judge.put(warehouse, table, [("+I", row) for row in written])
    column_written(warehouse, table, 4, {"v": 41})
    before, known = found(judge, warehouse, table), ids(judge, warehouse, table)
    assert [4, 2, 41, "d"] in before
    assert isinstance(end_of(engine, f"CALL sys.create_savepoint(table => '{table}')"), Finished)
    update = (
        f"UPDATE {table} SET v = v + 100, s = concat('u', k) WHERE k IN (SELECT k FROM {table} WHERE v = 20)"
    )
    assert said(engine, update) == "1 row updated"
    assert found(judge, warehouse, table) == UPDATED
    assert ids(judge, warehouse, table) == known
    assert said(engine, MERGE.format(table)) == "3 rows updated, 1 row inserted"
    assert found(judge, warehouse, table) == MERGED
    assert known.items() < ids(judge, warehouse, table).items()
    assert in_order(rows(engine, f"SELECT * FROM {table}")) == in_order(
        [dict(zip(COLUMNS, row, strict=True)) for row in MERGED]
    )
    assert sorted(judge.rows(warehouse, table, snapshot=3)) == before
    assert [
        list(row.values()) for row in in_order(rows(engine, f"SELECT * FROM {table} VERSION AS OF 3"))
    ] == before
    for left in (UPDATED, before):
        end = end_of(engine, f"CALL sys.undo(table => '{table}')")
        assert isinstance(end, Finished), end
        assert found(judge, warehouse, table) == left
    # Others go on.
    column_written(warehouse, table, 6, {"s": "six"})
    judge.put(warehouse, table, [("+I", [9, 1, 9, "z"])])
    known = ids(judge, warehouse, table)
    assert said(engine, f"UPDATE {table} SET v = NULL WHERE k >= 6") == "2 rows updated"
    assert found(judge, warehouse, table) == [*before[:-1], [6, 2, None, "six"], [9, 1, None, "z"]]
    assert ids(judge, warehouse, table) == known


def test_what_is_not_done_is_said(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "evolves.refuses"
    judge.create(engine_warehouse, table, COLUMNS, partitions=("p",), options=OPTIONS)
    judge.put(engine_warehouse, table, [("+I", row) for row in FIRST])
    before = found(judge, engine_warehouse, table)
    for sql, reason, hint in (
        (f"DELETE FROM {table} WHERE k = 1", "deletes no rows", "INSERT OVERWRITE it"),
        (
            f"MERGE INTO {table} t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE",
            "are not deleted",
            "",
        ),
        (
            f"MERGE INTO {table} t USING (SELECT 4 AS k) s ON t.k = s.k WHEN MATCHED THEN DELETE",
            "are not deleted",
            "",
        ),
        (f"UPDATE {table} SET p = 7 WHERE k = 1", "to several partitions", ""),
    ):
        message, told = refused(engine, sql)
        assert reason in message and hint in told, (message, told)
    assert found(judge, engine_warehouse, table) == before
    files = {path for path in (engine_warehouse / "evolves.db/refuses").rglob("*.parquet")}
    assert len(files) == 2


def test_others_have_committed_since_the_plan(
    engine: Engine, engine_warehouse: Path, judge: Judge, context: Context
) -> None:
    """Rows of their own and columns of other files stay; a column of the same file stops the statement."""
    table = "evolves.moves"
    judge.create(engine_warehouse, table, COLUMNS, options=OPTIONS)
    for written in (FIRST, SECOND):
        judge.put(engine_warehouse, table, [("+I", row) for row in written])
    sql = f"UPDATE {table} SET v = {{}} WHERE k < 3"
    changes, plan = planned(context, sql.format(0))
    judge.put(engine_warehouse, table, [("+I", [9, 9, 9, "n"])])
    column_written(engine_warehouse, table, 6, {"s": "six"})
    changes.apply(context, plan, lambda line: None)
    after = [[1, 1, 0, "a"], [2, 1, 0, None], *FIRST[2:], SECOND[0], [6, 2, 60, "six"], [9, 9, 9, "n"]]
    assert found(judge, engine_warehouse, table) == after
    changes, plan = planned(context, sql.format(1))
    column_written(engine_warehouse, table, 4, {"s": "theirs"})
    with pytest.raises(StatementFailed, match=about("others replaced", table)):
        changes.apply(context, plan, lambda line: None)
    after[3] = [4, 2, 40, "theirs"]
    assert found(judge, engine_warehouse, table) == after


def test_an_index_does_not_find_old_values(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "evolves.indexed"
    judge.create(engine_warehouse, table, COLUMNS, options=OPTIONS)
    judge.put(engine_warehouse, table, [("+I", row) for row in FIRST])
    opened(engine_warehouse, table).create_global_index("v")
    update = f"UPDATE {table} SET v = 0 WHERE k = 1"
    message, hint = refused(engine, update)
    assert "has a global index" in message and ".drop_global_index(" in hint
    opened(engine_warehouse, table).drop_global_index("v")
    assert said(engine, update) == "1 row updated"
    assert found(judge, engine_warehouse, table)[0] == [1, 1, 0, "a"]


def test_what_is_named_for_columns_in_files_of_their_own_does_it(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """Main and a branch; stock Paimon and Paimark read what pypaimon writes."""
    table = "evolves.large"
    judge.create(engine_warehouse, table, {"k": "INT", "v": "INT", "b": "BLOB"}, options=OPTIONS)
    end = end_of(engine, f"INSERT INTO {table} VALUES (1, 1, X'01'), (2, 2, X'02')")
    # Its files have four records.
    assert isinstance(end, Finished) and "rows" not in end.message and "snapshot 1 of" in end.message
    end = end_of(engine, f"CALL sys.create_branch(table => '{table}', name => 'b', snapshot => 1)")
    assert isinstance(end, Finished), end
    reason, hint = refused(engine, f"UPDATE {table} SET v = 9 WHERE k = 2")
    assert "(b is a BLOB)" in reason and "new_update().update_by_predicate(" in hint
    assert "pypaimon" not in refused(engine, f"DELETE FROM {table} WHERE k = 2")[1]
    for place, value in ((table, 9), (f"{table}$branch_b", 8)):
        column_written(engine_warehouse, place, 2, {"v": value})
        ours = f"evolves.`large{place.removeprefix(table)}`"
        assert sorted(list(row.values()) for row in rows(engine, f"SELECT k, v FROM {ours}")) == [
            [1, 1],
            [2, value],
        ]
        assert sorted(judge.rows(engine_warehouse, place)) == [[1, 1, "01"], [2, value, "02"]]
