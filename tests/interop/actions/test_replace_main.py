"""While a branch is main, stock Paimon fails on the plain name, works on the branch, and damages neither."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.cli.main import run
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, contents, context_on
from tests.interop.judge import Judge, JudgeError
from tests.interop.ours import act
from tests.long import long_but

TABLES = ["shop.orders", "shop.events"]


def replaced(judge: Judge, warehouse: Path, table: str) -> str:
    """Make branch `fix`, from savepoint 1 and with rows of main, main; returns the name of the archive."""
    act(warehouse, "create-savepoint", table, snapshot=1)
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    judge.write(warehouse, f"{table}$branch_fix", judge.read(warehouse, table))
    kept = act(warehouse, "replace-main-branch", table, name="fix").result["previous_main"]
    return f"{table}$branch_{kept}"


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_by_the_plain_name_everything_fails_and_changes_nothing(
    judge: Judge, warehouse: Path, table: str
) -> None:
    rows = judge.read(warehouse, table)
    replaced(judge, warehouse, table)
    before = contents(warehouse)
    attempts: list[Callable[[], object]] = [
        lambda: judge.read(warehouse, table),
        lambda: judge.read(warehouse, f"{table}$snapshots"),
        lambda: judge.write(warehouse, table, rows),
        lambda: judge.create_if_not_exists(warehouse, table),
        lambda: judge.drop(warehouse, table),
        lambda: judge.compact(warehouse, table),
        lambda: judge.expire(warehouse, table),
        lambda: judge.clean_orphans(warehouse, table),
    ]
    for attempt in attempts:
        with pytest.raises(JudgeError):
            attempt()
        assert contents(warehouse) == before


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_a_session_that_was_open_before_fails_and_never_reads_an_empty_table(
    judge: Judge, warehouse: Path, table: str
) -> None:
    """The session caches the schema, so only the snapshots can tell it that main moved."""
    rows = judge.read(warehouse, table)
    with judge.session("long"):
        assert judge.read(warehouse, table) == rows
    replaced(judge, warehouse, table)
    before = contents(warehouse)
    with judge.session("long"):
        attempts: dict[str, Callable[[], object]] = {
            "read": lambda: judge.read(warehouse, table),
            "insert": lambda: judge.write(warehouse, table, rows),
            "delete": lambda: judge.write(warehouse, table, rows[:1], kind="-D"),
            "compact": lambda: judge.compact(warehouse, table),
        }
        for attempt in attempts.values():
            with pytest.raises(JudgeError):
                attempt()
            now = contents(warehouse)
            assert {path: now[path] for path in before} == before
            assert not [path for path in now.keys() - before.keys() if "/snapshot/" in path]
        assert judge.expire(warehouse, table) == 0
        assert len(judge.read(warehouse, f"{table}$branch_fix")) > 0
    act(warehouse, "undo", table)
    with judge.session("long"):
        assert judge.read(warehouse, table) == rows
        judge.write(warehouse, table, rows[:1])
    assert len(judge.read(warehouse, table)) == len(rows) + (table == "shop.events")


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_the_branch_is_read_and_written_by_its_name(judge: Judge, warehouse: Path, table: str) -> None:
    branch = f"{table}$branch_fix"
    old = judge.read(warehouse, table)
    archive = replaced(judge, warehouse, table)
    rows = judge.read(warehouse, branch)
    judge.write(warehouse, branch, old[:1])
    judge.compact(warehouse, branch)
    after = judge.read(warehouse, branch)
    assert len(after) == len(rows) + (table == "shop.events")
    assert judge.read(warehouse, archive) == old


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_compaction_and_expiry_on_the_branch_spare_what_is_kept(
    judge: Judge, warehouse: Path, table: str
) -> None:
    branch = f"{table}$branch_fix"
    head = judge.read(warehouse, table)
    saved = act(warehouse, "create-savepoint", table).result["saved_snapshot_id"]
    assert isinstance(saved, int)
    archive = _replaced_after_a_savepoint(judge, warehouse, table)
    fork = judge.read(warehouse, branch, tag="savepoint.2")
    act(warehouse, "create-savepoint", table)
    own = judge.read(warehouse, branch)
    for _ in range(2):
        judge.write(warehouse, branch, head)
        judge.compact(warehouse, branch)
        assert judge.expire(warehouse, branch) > 0
    assert judge.read(warehouse, archive) == head
    # Stock Paimon looks up a branch's tags in the table directory, where savepoint 1 has no guard.
    assert judge.read(warehouse, archive, snapshot=saved) == head
    assert judge.read(warehouse, branch, tag="savepoint.2") == fork
    assert judge.read(warehouse, archive, tag="savepoint.2") == fork
    assert judge.read(warehouse, branch, tag="savepoint.3") == own


def test_what_stock_expires_on_the_new_main_is_no_loss(judge: Judge, warehouse: Path) -> None:
    """The branch got main's history from its first snapshot on: no tag is as old."""
    act(warehouse, "create-branch", "shop.orders", name="fix", tag="v2")
    judge.write(warehouse, "shop.orders$branch_fix", judge.read(warehouse, "shop.orders"))
    act(warehouse, "replace-main-branch", "shop.orders", name="fix")
    judge.expire(warehouse, "shop.orders$branch_fix")
    for undoes in (False, True):
        if undoes:
            act(warehouse, "undo", "shop.orders")
        report = verify(context_on(warehouse), ORDERS)
        [expired] = report.expired
        assert report.is_whole and str(expired).startswith("Snapshot 1 of main")
    assert run(["doctor", "shop.orders", "--warehouse", str(warehouse)]) == 0


def test_a_changelog_that_stock_expires_on_the_new_main_is_no_loss(judge: Judge, tmp_path: Path) -> None:
    """The snapshot at which the archive parts has a tag, which keeps its rows, and not its changelog."""
    options = {"bucket": "1", "changelog-producer": "input"}
    judge.create(tmp_path, "shop.k", {"id": "BIGINT NOT NULL"}, keys=["id"], options=options)
    for number in (0, 1):
        judge.write(tmp_path, "shop.k", [{"id": number}])
    act(tmp_path, "create-tag", "shop.k", name="fork")
    act(tmp_path, "create-branch", "shop.k", name="fix", tag="fork")
    for root in ("shop.k", "shop.k$branch_fix"):
        judge.write(tmp_path, root, [{"id": 2}])
    archive = act(tmp_path, "replace-main-branch", "shop.k", name="fix").result["previous_main"]
    judge.expire(tmp_path, "shop.k$branch_fix")
    assert verify(context_on(tmp_path), TablePath("shop", "k")).is_whole
    assert judge.read(tmp_path, f"shop.k$branch_{archive}", snapshot=2) == [{"id": 0}, {"id": 1}]
    act(tmp_path, "delete-branch", "shop.k", name=archive)
    assert verify(context_on(tmp_path), TablePath("shop", "k")).is_whole


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_without_guards_the_same_destroys_them(judge: Judge, warehouse: Path, table: str) -> None:
    branch = f"{table}$branch_fix"
    head = judge.read(warehouse, table)
    _replaced_after_a_savepoint(judge, warehouse, table)
    act(warehouse, "create-savepoint", table)
    judge.read(warehouse, branch, tag="savepoint.2")
    for guard in (warehouse / parse_table_name(table).root().tags).iterdir():
        guard.unlink()
    for _ in range(2):
        judge.write(warehouse, branch, head)
        judge.compact(warehouse, branch)
        judge.expire(warehouse, branch)
    with pytest.raises(JudgeError):
        judge.read(warehouse, branch, tag="savepoint.2")


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_after_undo_the_table_is_seen_again(judge: Judge, warehouse: Path, table: str) -> None:
    branch = f"{table}$branch_fix"
    old = judge.read(warehouse, table)
    snapshots = judge.read(warehouse, f"{table}$snapshots")
    replaced(judge, warehouse, table)
    judge.write(warehouse, branch, old[:1])
    rows = judge.read(warehouse, branch)
    act(warehouse, "undo", table)
    assert judge.read(warehouse, table) == old
    assert judge.read(warehouse, f"{table}$snapshots") == snapshots
    assert judge.read(warehouse, branch) == rows
    judge.write(warehouse, table, old)
    judge.compact(warehouse, table)
    judge.expire(warehouse, table)
    judge.clean_orphans(warehouse, table)
    assert len(judge.read(warehouse, table)) >= len(old)
    assert judge.read(warehouse, branch) == rows


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_a_deleted_branch_leaves_no_file_behind_and_takes_none_along(
    judge: Judge, warehouse: Path, table: str
) -> None:
    old = judge.read(warehouse, table)
    first = judge.read(warehouse, table, snapshot=1)
    act(warehouse, "create-savepoint", table, snapshot=1)
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    for _ in range(2):
        judge.write(warehouse, f"{table}$branch_fix", old)
    judge.compact(warehouse, f"{table}$branch_fix")
    act(warehouse, "delete-branch", table, name="fix")
    assert judge.clean_orphans(warehouse, table) == []
    assert judge.read(warehouse, table) == old
    assert judge.read(warehouse, table, tag="savepoint.1") == first
    with pytest.raises(JudgeError):
        judge.read(warehouse, f"{table}$branch_fix")


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_a_dropped_main_takes_nothing_of_the_branch_along(judge: Judge, warehouse: Path, table: str) -> None:
    act(warehouse, "create-savepoint", table, snapshot=1)
    first = judge.read(warehouse, table, tag="savepoint.1")
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    judge.write(warehouse, f"{table}$branch_fix", judge.read(warehouse, table))
    rows = judge.read(warehouse, f"{table}$branch_fix")
    act(warehouse, "replace-main-branch", table, name="fix", drop_previous=True)
    assert judge.read(warehouse, f"{table}$branch_fix") == rows
    assert judge.read(warehouse, f"{table}$branch_fix", tag="savepoint.1") == first


def _replaced_after_a_savepoint(judge: Judge, warehouse: Path, table: str) -> str:
    act(warehouse, "create-savepoint", table, snapshot=1)
    number = 2 if (warehouse / parse_table_name(table).savepoint(2)).exists() else 1
    act(warehouse, "create-branch", table, name="fix", tag=f"savepoint.{number}")
    judge.write(warehouse, f"{table}$branch_fix", judge.read(warehouse, table))
    kept = act(warehouse, "replace-main-branch", table, name="fix").result["previous_main"]
    return f"{table}$branch_{kept}"
