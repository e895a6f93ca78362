"""DELETE, UPDATE and MERGE: what they read, what stops them, what they leave, and the way back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.errors import NotFound, StatementFailed
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.row_change import RowChanges, action_of_change
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.table.layout import TablePath
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import context_on, done, item
from tests.long import long_but
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, in_order, rows
from tests.wording import about

_AGREES = CallMode(agree=lambda action, plan: None)
COLUMNS = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        ("v", pa.int32()),
        ("d", pa.decimal128(6, 1)),
        ("s", pa.string()),
    ]
)
FIRST: list[list[Any]] = [[1, 10, "a"], [2, 20, "b"], [3, None, None]]


@pytest.fixture
def context(engine: Engine, engine_warehouse: Path, tmp_path: Path) -> Context:
    return replace(context_on(engine_warehouse), audit_path=tmp_path / "audit", engine=lambda: engine)


class Scene:
    """A table of three rows in a database of its own."""

    def __init__(self, context: Context, engine: Engine, name: str, **options: str) -> None:
        self.context, self.engine, self.table = context, engine, TablePath("rows", name)
        self.warehouse = Path(context.files.uri)
        keys = () if options.pop("keys", None) == "" else ("k",)
        # pypaimon writes no table with such rules.
        rules = {option: options.pop(option) for option in [*options] if option.startswith("fields.")}
        create_table(self.warehouse, self.name, COLUMNS, primary_keys=keys, options=options)
        self.commit(FIRST)
        path = self.warehouse / self.table.directory / "schema/schema-0"
        schema = json.loads(path.read_text())
        schema["options"] |= rules
        path.write_text(json.dumps(schema))

    @property
    def name(self) -> str:
        return self.table.full_name

    def commit(self, given: Sequence[Sequence[Any]], branch: str = "") -> None:
        made = [{"k": k, "v": v, "d": None, "s": s} for k, v, s in given]
        commit(self.warehouse, self.name + branch, pa.Table.from_pylist(made, schema=COLUMNS))

    def run(self, sql: str) -> Finished | Failed:
        *_, end = run_statement(context_for(self.engine), sql.format(t=self.name), call=_AGREES)
        assert isinstance(end, Finished | Failed)
        return end

    def changes(self, sql: str) -> str:
        """What it did, in words."""
        end = self.run(sql)
        assert isinstance(end, Finished), end
        return end.message.partition(". To take")[0]

    def refuses(self, sql: str) -> str:
        """Its message; nothing has changed then."""
        before = self.files()
        end = self.run(sql)
        assert isinstance(end, Failed), end
        assert self.files() == before
        return end.message

    def files(self) -> set[Path]:
        return {path for path in (self.warehouse / self.table.directory).rglob("*") if path.is_file()}

    def rows(self, branch: str = "") -> list[tuple[Any, ...]]:
        found = rows(self.engine, f"SELECT k, v, s FROM rows.`{self.table.name}{branch}`")
        return [tuple(row.values()) for row in in_order(found)]


def test_a_plan_tells_what_goes_and_undo_gives_it_back(context: Context, engine: Engine) -> None:
    scene = Scene(context, engine, "undone", bucket="1")
    before = scene.rows()
    changes, plan = planned(context, f"DELETE FROM {scene.name} WHERE v = 10")
    assert plan.action == "delete-from" and plan.headline == f"Delete rows of main of {scene.name}."
    assert item(plan, "rows-replaced").text == "1 row"
    # Without a scan, where nobody reads it before he agrees.
    unread = replace(context, counts=False, engine=None)
    assert item(changes.plan(unread, changes.table, {}), "rows-replaced").text == "at most 3 records"
    outcome = changes.apply(context, plan, lambda line: None)
    assert outcome.result == {"snapshot_id": 2, "rows_deleted": 1, "rows_updated": 0, "rows_inserted": 0}
    assert outcome.undo == f"paimark undo {scene.name}"
    assert [row[0] for row in scene.rows()] == [2, 3]
    [entry] = rows(engine, f"SELECT action, summary FROM rows.`{scene.table.name}$operations`")
    assert entry == {
        "action": "delete-from",
        "summary": f"Committed snapshot 2 of {scene.name}: 1 row deleted",
    }
    done(context, "undo", table=scene.table)
    assert scene.rows() == before
    done(context, "redo", table=scene.table)
    assert [row[0] for row in scene.rows()] == [2, 3]


def planned(context: Context, sql: str) -> tuple[RowChanges, Plan]:
    changes = action_of_change(read_statement(sql))[1]
    return changes, changes.plan(context, changes.table, {})


def test_a_table_that_never_was_is_no_lost_plan(context: Context) -> None:
    with pytest.raises(NotFound, match=r"Table rows\.nothing does not exist") as caught:
        planned(context, "UPDATE rows.nothing SET v = 1 WHERE k = 1")
    assert "plan" not in caught.value.hint


@pytest.mark.parametrize("keys", ["k", ""])
def test_others_have_committed_since_the_plan(context: Context, engine: Engine, keys: str) -> None:
    """Their rows stay, unless they are of a key that the statement changes."""
    scene = Scene(context, engine, f"moved{keys}", bucket="1" if keys else "-1", keys=keys)
    changes, plan = planned(context, f"UPDATE {scene.name} SET v = 0, s = 'ours' WHERE k < 3")
    scene.commit([[3, 30, "theirs"], [4, 40, "theirs"]])
    changes.apply(context, plan, lambda line: None)
    theirs = [(3, 30, "theirs"), (4, 40, "theirs")]
    before = [] if keys else [(3, None, None)]
    assert {*scene.rows()} == {(1, 0, "ours"), (2, 0, "ours"), *before, *theirs}
    if keys:
        changes, plan = planned(context, f"DELETE FROM {scene.name} WHERE k = 2")
        scene.commit([[2, 20, "theirs"]])
        with pytest.raises(
            StatementFailed, match=about(scene.name, "moved", "written", "snapshot 3", "4")
        ) as raised:
            changes.apply(context, plan, lambda line: None)
        assert about("nothing", "pypaimon 2.1.0").search(raised.value.hint)
        assert (2, 20, "theirs") in scene.rows()


def test_snapshots_that_expire_meanwhile_are_said(context: Context, engine: Engine) -> None:
    """What came since can't be known then; that nothing was committed is."""
    scene = Scene(context, engine, "expired", bucket="1", keys="k")
    changes, plan = planned(context, f"DELETE FROM {scene.name} WHERE k = 2")

    def expiring() -> Engine:
        for number in (3, 4, 5):
            scene.commit([[number, 0, "theirs"]])
        done(context, "expire-snapshots", table=scene.table, retain_last=1)
        return engine

    with pytest.raises(StatementFailed) as raised:
        changes.apply(replace(context, engine=expiring), plan, lambda line: None)
    assert about(f"main of {scene.name}", "expired").search(raised.value.message)
    hold = f"paimark reset-consumer {scene.name} --name hold"
    assert about("nothing", "expiry", f"`{hold} --snapshot 1`", f"`{hold}`").search(raised.value.hint)
    assert 2 in {row[0] for row in scene.rows()}


def test_a_condition_that_is_null_changes_nothing(context: Context, engine: Engine) -> None:
    scene = Scene(context, engine, "nulls", bucket="1")
    nothing = about("no rows", "nothing", scene.name)
    for sql in (
        "DELETE FROM {t} WHERE CAST(NULL AS BOOLEAN)",
        "DELETE FROM {t} WHERE v > NULL",
        "UPDATE {t} SET v = 1 WHERE s = 'x'",
    ):
        assert nothing.search(scene.changes(sql))
    assert scene.changes("DELETE FROM {t} WHERE v > 0").endswith(": 2 rows deleted")
    assert scene.rows() == [(3, None, None)]
    assert about("files", "5 records").search(scene.changes("DELETE FROM {t}"))
    assert scene.rows() == [] and nothing.search(scene.changes("DELETE FROM {t}"))


@pytest.mark.parametrize("keys", long_but(["k", ""], "k"))
def test_sources_are_tables_versions_queries_and_the_table_itself(
    context: Context, engine: Engine, keys: str
) -> None:
    scene = Scene(context, engine, f"sources{keys}", bucket="1" if keys else "-1", keys=keys)
    scene.changes("UPDATE {t} SET s = 'new' WHERE k = 1")
    merge = "MERGE INTO {t} USING {t} VERSION AS OF 1 AS old ON sources" + keys + ".k = old.k AND old.k < 3 "
    assert "2 rows updated" in scene.changes(merge + "WHEN MATCHED THEN UPDATE SET s = old.s || '!'")
    assert scene.rows() == [(1, 10, "a!"), (2, 20, "b!"), (3, None, None)]
    assert "3 rows inserted" in scene.changes(
        "WITH x AS (SELECT * FROM {t}) MERGE INTO {t} AS t USING (SELECT k + 10 AS k FROM x) s ON t.k = s.k "
        "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"
    )
    assert "2 rows deleted" in scene.changes(
        "DELETE FROM {t} WHERE k IN (SELECT k + 10 FROM {t} VERSION AS OF 'snapshot.1' WHERE v IS NOT NULL)"
    )
    assert "1 row deleted" in scene.changes(
        "MERGE INTO {t} USING {t} AS s ON s.k = 13 AND s.k = "
        f"{scene.table.name}.k WHEN MATCHED THEN DELETE"
    )
    assert [row[0] for row in scene.rows()] == [1, 2, 3]
    # The keys of so small a source are looked for before the target's rows are sorted.
    assert "1 row updated, 1 row inserted" in scene.changes(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 10), (2, 21), (7, NULL), (NULL, 20) AS x(k, v)) s "
        "ON t.k = s.k + 0L AND s.v = t.v WHEN MATCHED THEN UPDATE SET s = 'same' "
        "WHEN NOT MATCHED AND s.k > 2 THEN INSERT (k, v) VALUES (s.k, s.v)"
    )
    assert scene.rows() == [(1, 10, "same"), (2, 20, "b!"), (3, None, None), (7, None, None)]


def test_a_branch_is_changed_and_main_is_not(context: Context, engine: Engine) -> None:
    scene = Scene(context, engine, "branched", bucket="1")
    main = scene.rows()
    done(context, "create-tag", table=scene.table, name="one")
    done(context, "create-branch", table=scene.table, name="fix", tag="one")
    message = scene.changes(
        "UPDATE rows.`branched$branch_fix` SET v = (SELECT max(v) FROM {t}) + 1 WHERE k = 3"
    )
    assert message.startswith("Committed snapshot 2 of rows.branched$branch_fix: 1 row updated")
    assert scene.rows("$branch_fix") == [*main[:2], (3, 21, None)] and scene.rows() == main
    done(context, "undo", table=scene.table)
    assert scene.rows("$branch_fix") == main


_PARTIAL = {"merge-engine": "partial-update"}
_TWICE = "MERGE INTO {t} t USING (SELECT * FROM VALUES (%s), (%s) AS x(k)) s ON t.k = s.k "


@pytest.mark.parametrize(
    ("options", "sql", "message"),
    [
        (
            {},
            "UPDATE {t} SET k = k + 1 WHERE k = 2",
            "primary key, k = 2, k = 3",
        ),
        ({"sequence.field": "v"}, "UPDATE {t} SET v = 5 WHERE k = 2", "older, by v"),
        (_PARTIAL, "UPDATE {t} SET v = NULL WHERE k = 2", "column v, k = 2, would not"),
        (
            {**_PARTIAL, "fields.s.sequence-group": "v", "fields.v.aggregate-function": "sum"},
            "UPDATE {t} SET d = 1.5 WHERE k = 1",
            "column v, k = 1, would not",
        ),
        (
            {**_PARTIAL, "fields.v.sequence-group": "s"},
            "UPDATE {t} SET v = 1, s = 'x' WHERE k = 1",
            "k = 1 would",
        ),
        (_PARTIAL, "MERGE INTO {t} t USING {t} s ON t.k = s.k WHEN MATCHED THEN DELETE", "would stay"),
        (
            {},
            (_TWICE % (8, 8)) + "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
            "two rows, k = 8",
        ),
        (
            {},
            (_TWICE % (1, 1)) + "WHEN MATCHED THEN UPDATE SET v = 1",
            "several rows, source",
        ),
        ({}, "UPDATE {t} SET v = 2.5 WHERE k = 1", "column v, hold 2.5"),
        ({}, "UPDATE {t} SET d = 2.57 WHERE k = 1", "column d, hold 2.57"),
        ({}, "UPDATE {t} SET v = 3000000000", "column v, hold 3000000000"),
        ({}, "UPDATE {t} SET v = 'x'", "Cannot safely cast `v`"),
        ({}, "UPDATE {t} SET k = NULL WHERE k = 1", "column k, null"),
        ({}, (_TWICE % (8, 9)) + "WHEN NOT MATCHED THEN INSERT (s) VALUES ('x')", "k"),
        ({}, "DELETE FROM {t} VERSION AS OF 1", "past, change*"),
        ({}, "UPDATE {t} FOR SYSTEM_VERSION AS OF 'one' SET v = 1", "past, change*"),
        ({}, "DELETE FROM rows.`{t}$snapshots`", "rows"),
        ({"ignore-delete": "true"}, "DELETE FROM {t}", "ignores deletes"),
        (
            {"ignore-delete": "true"},
            "MERGE INTO {t} t USING {t} s ON t.k = s.k WHEN MATCHED THEN DELETE",
            "stay",
        ),
    ],
)
def test_what_would_not_be_so_is_refused(
    context: Context,
    engine: Engine,
    options: dict[str, str],
    sql: str,
    message: str,
) -> None:
    scene = Scene(
        context, engine, f"refused_{zlib.crc32(repr((options, sql)).encode())}", bucket="1", **options
    )
    assert about(*message.split(", ")).search(scene.refuses(sql))


def test_a_setting_that_would_cut_values_is_refused(context: Context, engine: Engine) -> None:
    scene = Scene(context, engine, "assigned", bucket="1")
    rows(engine, "SET spark.sql.storeAssignmentPolicy = LEGACY")
    try:
        assert "storeAssignmentPolicy is LEGACY" in scene.refuses("UPDATE {t} SET v = 1")
    finally:
        rows(engine, "RESET spark.sql.storeAssignmentPolicy")


def test_the_engine_changes_nothing_without_an_order(engine: Engine) -> None:
    for sql in ("DELETE FROM shop.orders", "UPDATE shop.orders SET price = 1"):
        assert about(sql.split()[0], "statement").search(ask(engine, sql).failure.hint)
