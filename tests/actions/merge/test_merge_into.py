"""Merges into another branch than main, and what a later merge among the three brings."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.merge.conflict_file import write_conflicts
from paimark.core.actions.merge.conflicts import conflicting
from paimark.core.actions.merge.history import events
from paimark.core.actions.plan import Outcome
from paimark.core.actions.registry import action
from paimark.core.errors import NotFound, Refused
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import ORDERS, applied, done, item, planned, refused, undoable
from tests.actions.taking_over import add, branched, main_rows, rows_of
from tests.conftest import EVENTS as EVENTS_SCHEMA
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, read_rows
from tests.wording import about

RELEASE = ORDERS.root("release")


def ids(context: Context) -> list[int]:
    return Lineage(context.files, RELEASE).snapshot_ids()


@pytest.fixture
def two(context: Context) -> Context:
    """`fix` is ahead of `release`; both were made of main's head."""
    done(context, "create-tag", name="fork")
    done(context, "create-branch", name="release", tag="fork")
    branched(context, tag="fork")
    add(context, "shop.orders$branch_fix", 101)
    return context


def test_a_branch_goes_on_along_another(two: Context) -> None:
    main, fix = main_rows(two), rows_of(two, ORDERS.root("fix"))
    plan = planned(two, "merge-branch", name="fix", into="release")
    assert about("move branch release", "shop.orders", "along branch fix", "2 commits").search(plan.headline)
    assert plan.arguments["kind"] == "fast-forward" and about("branch release", "commit").search(plan.until)
    assert about("expiry", "release or fix").search(item(plan, "shared-commits").text)
    outcome = applied(two, plan)
    assert about("merged branch fix", "into branch release", "shop.orders").search(outcome.message)
    assert (outcome.result["savepoint_id"], outcome.result["snapshot_id"]) == (None, ids(two)[-1])
    assert rows_of(two, RELEASE) == fix
    assert main_rows(two) == main, "main stays"
    assert [(each.root, each.branch) for each in events(two.files, ORDERS)] == [("release", "fix")]
    assert planned(two, "merge-branch", name="fix", into="release").empty
    [merge] = undoable(two)
    assert (merge.description, merge.turned.rows and merge.turned.rows.root) == (
        "merge-branch of fix into release",
        "release",
    )


def test_what_another_branch_has_brought_is_not_brought_again(two: Context) -> None:
    done(two, "merge-branch", name="fix", into="release")
    done(two, "merge-branch", name="release")
    assert main_rows(two) == rows_of(two, ORDERS.root("fix"))
    plan = planned(two, "merge-branch", name="fix")
    assert plan.empty and about("main", "shop.orders", "all", "branch fix").search(plan.headline)
    add(two, "shop.orders$branch_fix", 102)
    plan = planned(two, "merge-branch", name="fix")
    assert about("move main", "shop.orders", "along branch fix", "1 commit").search(plan.headline)


def test_main_as_the_target_is_what_it_is_without_one(two: Context) -> None:
    without = planned(two, "merge-branch", name="fix")
    given = planned(two, "merge-branch", name="fix", into="main")
    assert msgspec.structs.replace(given, request=without.request) == without
    with pytest.raises(Refused, match=about("release", "into", "shop.orders")):
        planned(two, "merge-branch", name="release", into="release")
    with pytest.raises(NotFound, match="realease"):
        planned(two, "merge-branch", name="fix", into="realease")


def test_a_merge_brings_no_commits_of_main_by_the_way(two: Context, warehouse: Path) -> None:
    add(two, "shop.orders", 200)
    done(two, "create-tag", name="later")
    branched(two, "late", "later", 201)
    plan = planned(two, "merge-branch", name="late", into="release")
    assert refused(plan) == ["main-comes-along"]
    at = Lineage(two.files, ORDERS.root()).latest_id()
    assert plan.refusals[0].hint.endswith(
        f"`paimark merge-branch shop.orders --name main --into release --up-to {at}`."
    )
    # Main's own snapshots expire, and no engine knows that a branch shares them: its rows are copied.
    plan = planned(two, "merge-branch", name="main", into="release", up_to=at)
    assert about("1 commit", "main", f"snapshot {at}", "into branch release", "shop.orders").search(
        plan.headline
    )
    assert plan.arguments["kind"] == "keyed"


def test_a_protected_target_is_not_merged_into(two: Context) -> None:
    done(two, "protect", branch="release", reason="audit")
    assert refused(planned(two, "merge-branch", name="fix", into="release")) == ["protected"]
    assert not planned(two, "merge-branch", name="fix").refusals


@pytest.fixture
def table(with_engine: Context, engine_warehouse: Path, request: pytest.FixtureRequest) -> TablePath:
    """A copy with branches `fix` and `release`, made of main's head, each with one commit since, as main."""
    name: str = request.param
    shutil.copytree(engine_warehouse / f"shop.db/{name}", engine_warehouse / f"into.db/{name}")
    table = TablePath("into", name)
    done(with_engine, "create-tag", table=table, name="fork")
    for number, branch in enumerate(("fix", "release", ""), 1):
        if branch:
            done(with_engine, "create-branch", table=table, name=branch, tag="fork")
        wrote(with_engine, table, branch, 100 * number)
    return table


def wrote(context: Context, table: TablePath, branch: str, number: int, text: str = "new") -> None:
    _, name = at(context, table, branch)
    if table.name == "events":
        rows = pa.table({"day": ["2026-05-01"], "kind": [f"{number} {text}"]}, schema=EVENTS_SCHEMA)
    else:
        rows = pa.table({"order_id": [number], "customer": [text], "price": [1.0]}, schema=ORDERS_SCHEMA)
    commit(context.files.uri, name, rows)


def at(context: Context, table: TablePath, branch: str) -> tuple[Path, str]:
    name = f"{table.full_name}$branch_{branch}" if branch else table.full_name
    return Path(context.files.uri), name


def counted(context: Context, table: TablePath, branch: str = "") -> Counter[str]:
    return Counter(str(each) for each in read_rows(*at(context, table, branch)))


def merged(context: Context, table: TablePath, name: str, into: str | None = None) -> Outcome:
    plan = action("merge-branch").plan(context, table, {"name": name, "into": into})
    assert plan.refusals == (), plan.refusals
    return applied(context, plan)


@pytest.fixture(autouse=True)
def _gone(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "engine_warehouse" in request.fixturenames:
        shutil.rmtree(request.getfixturevalue("engine_warehouse") / "into.db", ignore_errors=True)


@pytest.mark.parametrize("table", ["events", pytest.param("orders", marks=pytest.mark.long)], indirect=True)
def test_rows_come_once_whichever_way_they_went(with_engine: Context, table: TablePath) -> None:
    main, fix, release = (counted(with_engine, table, each) for each in ("", "fix", "release"))
    merged(with_engine, table, "fix", "release")
    assert counted(with_engine, table, "release") == release | fix
    assert counted(with_engine, table) == main
    merged(with_engine, table, "release")
    assert counted(with_engine, table) == main | release | fix
    # What came with `release` is no conflict, and comes no second time.
    assert planned(with_engine, "merge-branch", table=table, name="fix").empty
    wrote(with_engine, table, "fix", 101)
    merged(with_engine, table, "fix")
    assert counted(with_engine, table) == main | release | counted(with_engine, table, "fix")
    # Back: the release gets what main has, and main has all of that already.
    merged(with_engine, table, "main", "release")
    assert counted(with_engine, table, "release") == counted(with_engine, table)
    wrote(with_engine, table, "release", 201)
    merged(with_engine, table, "release")
    assert counted(with_engine, table) == counted(with_engine, table, "release")


@pytest.mark.long
@pytest.mark.parametrize("table", ["orders"], indirect=True)
def test_a_merge_into_a_branch_is_undone_and_redone_there(with_engine: Context, table: TablePath) -> None:
    main, release = counted(with_engine, table), counted(with_engine, table, "release")
    merged(with_engine, table, "fix", "release")
    both = counted(with_engine, table, "release")
    plan = planned(with_engine, "undo", table=table)
    assert "merge-branch of fix into release" in plan.headline
    applied(with_engine, plan)
    assert counted(with_engine, table, "release") == release
    done(with_engine, "redo", table=table)
    assert counted(with_engine, table, "release") == both
    assert planned(with_engine, "merge-branch", table=table, name="fix", into="release").empty
    assert counted(with_engine, table) == main


@pytest.mark.long
@pytest.mark.parametrize("table", ["orders"], indirect=True)
def test_conflicts_with_another_branch_are_chosen_as_with_main(
    with_engine: Context, table: TablePath, tmp_path: Path
) -> None:
    wrote(with_engine, table, "fix", 7, "of fix")
    wrote(with_engine, table, "release", 7, "of release")
    wrote(with_engine, table, "", 7, "of main")
    with pytest.raises(Refused, match=about("1 key", "branch release", "branch fix")):
        merged(with_engine, table, "fix", "release")
    given, path = {"name": "fix", "into": "release"}, tmp_path / "conflicts"
    check = tmp_path / "checks.sql"
    check.write_text("SELECT * FROM {main} WHERE order_id = 200;")
    plan = planned(with_engine, "merge-branch", table=table, on_conflict="main", check=str(check), **given)
    assert refused(plan) == ["check-fails"], "the target has it, and main has not"
    between = conflicting(with_engine, table, given)
    assert "fix at snapshot 7, release at 7, base 5" in between.title
    assert write_conflicts(with_engine, between, str(path), lambda line: None) == (1, 0)
    path.write_text(path.read_text().replace('"choose":""', '"choose":"main"'))
    with pytest.raises(Refused, match=about("into release", "main")):
        planned(with_engine, "merge-branch", table=table, name="fix", resolve=str(path))
    done(with_engine, "merge-branch", table=table, resolve=str(path), **given)
    rows = {row["order_id"]: row["customer"] for row in read_rows(*at(with_engine, table, "release"))}
    assert (rows[7], rows[100], rows[200]) == ("of release", "new", "new")
