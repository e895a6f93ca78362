"""What becomes main is what was checked: merges and replacements with checks, and up to a snapshot."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused, UsageError
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.operations import read_operations
from paimark.core.table.system_tables import system_table
from tests.actions.acting import applied, context_on, done, planned, refused, texts
from tests.paimon import commit, create_table, read_rows
from tests.wording import about

_numbers = count(1)
NO_NEGATIVE = "-- name: no negative prices\nSELECT * FROM {this} WHERE price < 0;"


@pytest.fixture
def context(engine: Engine, engine_warehouse: Path) -> Context:
    return replace(context_on(engine_warehouse), engine=lambda: engine)


@pytest.fixture(params=["keyed", "plain"])
def table(request: pytest.FixtureRequest, engine_warehouse: Path, context: Context) -> TablePath:
    """Rows 1 in a and 2 in b; branch fix has 3 at -1 in its snapshot 2, and 4 since its snapshot 3.

    With a key, 3 costs 30 in snapshot 3.
    """
    path = TablePath("published", f"{request.param}{next(_numbers)}")
    is_keyed = request.param == "keyed"
    fields = [pa.field(name, pa.string(), nullable=not is_keyed) for name in ("part",)]
    fields += [pa.field("id", pa.int64(), nullable=not is_keyed), pa.field("price", pa.float64())]
    schema = pa.schema(fields)
    keys, options = (["part", "id"], {"bucket": "1"}) if is_keyed else ([], {})
    create_table(
        engine_warehouse, path.full_name, schema, primary_keys=keys, partition_keys=["part"], options=options
    )
    add(context, path, "", ("a", 1, 10.0), ("b", 2, 20.0))
    done(context, "create-branch", table=path, name="fix", snapshot=1)
    add(context, path, "$branch_fix", ("a", 3, -1.0))
    add(context, path, "$branch_fix", ("a", 4, 40.0), *([("a", 3, 30.0)] if is_keyed else []))
    return path


# Without a key it differs in how rows are merged, which others test.
keyed = pytest.mark.parametrize(
    "table", ["keyed", pytest.param("plain", marks=pytest.mark.long)], indirect=True
)


def add(context: Context, table: TablePath, branch: str, *rows: tuple[str, int, float]) -> None:
    is_keyed = "keyed" in table.name
    fields = [pa.field("part", pa.string(), nullable=not is_keyed)]
    fields += [pa.field("id", pa.int64(), nullable=not is_keyed), pa.field("price", pa.float64())]
    part, ids, prices = zip(*rows, strict=True)
    made = pa.table({"part": part, "id": ids, "price": prices}, schema=pa.schema(fields))
    commit(Path(context.files.uri), f"{table.full_name}{branch}", made)


def prices(context: Context, table: TablePath) -> dict[int, float]:
    root = main_root(context.files, table)
    suffix = "" if root.branch is None else f"$branch_{root.branch}"
    rows = read_rows(Path(context.files.uri), f"{table.full_name}{suffix}")
    return {row["id"]: row["price"] for row in rows}


def write(path: Path, *checks: str) -> str:
    path.write_text("\n".join(checks))
    return str(path)


def counting(rows: int) -> str:
    return f"-- name: {rows} rows\nSELECT * FROM (SELECT count(*) AS n FROM {{this}}) WHERE n <> {rows};"


@pytest.mark.parametrize("moved", [pytest.param(False, marks=pytest.mark.long), True])
@keyed
def test_a_merge_is_checked_as_main_will_be(
    context: Context, table: TablePath, tmp_path: Path, moved: bool
) -> None:
    if moved:
        add(context, table, "", ("b", 5, 50.0))
    good, path = 4 + moved, tmp_path / "checks.sql"
    before = prices(context, table)
    failing = planned(
        context,
        "merge-branch",
        table=table,
        name="fix",
        up_to=2,
        check=write(path, NO_NEGATIVE, "KEEPS KEYS id"),
    )
    assert refused(failing) == ["check-fails"]
    assert about("no negative prices", "fails").search(failing.refusals[0].reason)
    assert '1 row, first {"part":"a","id":3,"price":-1.0}' in failing.refusals[0].reason
    assert texts(failing, "checks")[0].startswith("2 checks, 1 fails: 1 row, on ")
    with pytest.raises(Refused, match="no negative prices"):
        applied(context, failing)
    assert prices(context, table) == before
    # Checks only read: they are made where nothing is written, too.
    looked = planned(
        replace(context, read_only=True), "merge-branch", table=table, name="fix", up_to=2, check=str(path)
    )
    assert "check-fails" in refused(looked) and texts(looked, "checks")
    # What is counted is all of main: of the partitions that the merge leaves alone too.
    warns = f"-- warn\n{NO_NEGATIVE}"
    done(
        context,
        "merge-branch",
        table=table,
        name="fix",
        up_to=2,
        check=write(path, warns, counting(good - 1)),
    )
    assert prices(context, table) == {**before, 3: -1.0}
    logged = read_operations(context.files, table)[-1]
    found = [(each.name, each.rows, each.verdict) for each in logged.checks or ()]
    assert found == [("no negative prices", 1, "warns"), (f"{good - 1} rows", 0, "passes")]
    shown = list(system_table("operations").read(context.files, main_root(context.files, table)))
    assert "2 checks, 1 warns: 1 row" in shown[-1]
    # The rest comes later.
    done(context, "merge-branch", table=table, name="fix")
    cost = 30.0 if "keyed" in table.name else -1.0
    assert prices(context, table) == {**before, 3: cost, 4: 40.0}
    assert planned(context, "merge-branch", table=table, name="fix", up_to=2).empty


@keyed
def test_what_main_gets_meanwhile_is_checked_again(
    context: Context, table: TablePath, tmp_path: Path
) -> None:
    add(context, table, "", ("b", 5, 50.0))
    path = tmp_path / "checks.sql"
    unique = write(path, "-- name: at most 55\nSELECT * FROM {this} WHERE price > 55;")
    plan = planned(context, "merge-branch", table=table, name="fix", check=unique)
    add(context, table, "", ("b", 6, 60.0))
    with pytest.raises(
        Refused, match=about("at most 55", "fails", "main", "branch fix", "snapshot 3", "1 row")
    ):
        applied(context, plan)
    assert 4 not in prices(context, table)
    plan = planned(context, "merge-branch", table=table, name="fix", check=write(path, "NO NEW KEYS price"))
    assert refused(plan) == ["check-fails"]
    plan = planned(context, "merge-branch", table=table, name="fix", check=write(path, counting(6)))
    add(context, table, "$branch_fix", ("a", 7, 70.0))
    with pytest.raises(Refused, match=about("main", table.full_name, "plan")):
        applied(context, plan)
    plan = planned(context, "merge-branch", table=table, name="fix", up_to=3, check=str(path))
    path.write_text(counting(7))
    add(context, table, "", ("b", 8, 80.0))
    with pytest.raises(UsageError, match=about(path, "plan")):
        applied(context, plan)
    assert {4, 7}.isdisjoint(prices(context, table))


@keyed
def test_a_replacement_is_checked(context: Context, table: TablePath, tmp_path: Path) -> None:
    path = tmp_path / "checks.sql"
    failing = write(path, "NO NEW KEYS id")
    for layout in ("pointer", "overwrite"):
        plan = planned(context, "replace-main-branch", table=table, name="fix", layout=layout, check=failing)
        assert refused(plan) == ["check-fails"]
        assert "`paimark check" in plan.refusals[0].hint and " fix:3 --check " in plan.refusals[0].hint
    plan = planned(context, "replace-main-branch", table=table, name="fix", up_to=2)
    assert refused(plan) == ["branch-went-on"]
    passing = write(path, counting(4))
    plan = planned(context, "replace-main-branch", table=table, name="fix", check=passing, up_to=3)
    add(context, table, "$branch_fix", ("a", 7, 70.0))
    with pytest.raises(Refused):
        applied(context, plan)
    # Snapshot 3 can still be what main gets.
    done(context, "replace-main-branch", table=table, name="fix", layout="overwrite", check=passing, up_to=3)
    cost = 30.0 if "keyed" in table.name else -1.0
    assert prices(context, table) == {1: 10.0, 2: 20.0, 3: cost, 4: 40.0}
    done(context, "replace-main-branch", table=table, name="fix", check=write(path, counting(5)))
    assert [each.name for each in read_operations(context.files, table)[-1].checks or ()] == ["5 rows"]
    assert main_root(context.files, table).branch == "fix"


def test_the_tables_own_checks_are_always_made(
    context: Context, table: TablePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "paimark" / "checks" / f"{table.full_name}.sql"
    own.parent.mkdir(parents=True)
    write(own, "-- name: none\nSELECT * FROM {this}")
    for action in ("merge-branch", "replace-main-branch"):
        assert refused(planned(context, action, table=table, name="fix")) == ["check-fails"]
    assert Lineage(context.files, table.root()).snapshot_ids() == [1]
