"""Stock Paimon reads and writes the branches of Paimark, and its clean-ups spare them."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

import pytest

from paimark.core.actions.context import open_context
from paimark.core.actions.registry import action
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.cli.command import Paimark
from tests.interop.actions.test_garbage_collection import grow, make_table
from tests.interop.judge import Judge, JudgeError, Row, comparable
from tests.interop.ours import act
from tests.long import long_but
from tests.paimon import read_rows
from tests.wording import about

TABLES = ["shop.orders", "shop.events"]


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_a_branch_holds_the_rows_of_its_savepoint(judge: Judge, warehouse: Path, table: str) -> None:
    act(warehouse, "create-savepoint", table, snapshot=1)
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    rows = judge.read(warehouse, table, snapshot=1)
    assert rows != judge.read(warehouse, table)
    assert judge.read(warehouse, f"{table}$branch_fix") == rows
    assert [row["branch_name"] for row in judge.read(warehouse, f"{table}$branches")] == ["fix"]


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_stock_paimon_writes_to_our_branch_and_main_stays(judge: Judge, warehouse: Path, table: str) -> None:
    act(warehouse, "create-savepoint", table, snapshot=1)
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    main = judge.read(warehouse, table)
    judge.write(warehouse, f"{table}$branch_fix", main)
    judge.compact(warehouse, f"{table}$branch_fix")
    rows = judge.read(warehouse, f"{table}$branch_fix")
    assert rows != judge.read(warehouse, table, tag="savepoint.1")
    assert comparable(read_rows(warehouse, f"{table}$branch_fix")) == rows
    assert comparable(read_rows(warehouse, table)) == judge.read(warehouse, table) == main


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_a_branch_is_made_from_a_savepoint_whose_snapshot_expired(
    judge: Judge, warehouse: Path, table: str
) -> None:
    rows = judge.read(warehouse, table, snapshot=1)
    act(warehouse, "create-savepoint", table, snapshot=1)
    judge.expire(warehouse, table)
    with pytest.raises(JudgeError):
        judge.read(warehouse, table, snapshot=1)
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    judge.clean_orphans(warehouse, table)
    assert judge.read(warehouse, f"{table}$branch_fix") == rows


@pytest.mark.parametrize("table", long_but(TABLES, "shop.orders"))
def test_a_branch_from_a_snapshot_is_read_after_that_expired(
    judge: Judge, warehouse: Path, table: str
) -> None:
    rows, tags = judge.read(warehouse, table, snapshot=1), judge.read(warehouse, f"{table}$tags")
    act(warehouse, "create-branch", table, name="fix", snapshot=1)
    # The next snapshot needs none of the files before it.
    judge.compact(warehouse, table)
    main = judge.read(warehouse, table)
    judge.expire(warehouse, table)
    judge.clean_orphans(warehouse, table)
    with pytest.raises(JudgeError):
        judge.read(warehouse, table, snapshot=1)
    assert judge.read(warehouse, f"{table}$branch_fix") == rows
    act(warehouse, "undo", table)
    assert judge.read(warehouse, f"{table}$branches") == []
    assert judge.read(warehouse, f"{table}$tags") == tags
    assert judge.read(warehouse, table) == main


@pytest.mark.parametrize(
    "kind",
    long_but(
        ["primary key", "primary key in partitions", "append", "append in partitions"],
        "primary key",
        "append",
    ),
)
def test_expiry_on_our_branch_spares_every_savepoint(judge: Judge, tmp_path: Path, kind: str) -> None:
    """Stock Paimon expires at each commit here, and on a branch it checks only main's nearest tag.

    Main has a savepoint from before a compaction and one from after it; the branch has one too.
    """
    keep_one = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    table = make_table(tmp_path, kind, **keep_one)
    branch = f"{table}$branch_fix"
    saved: dict[str, list[Row]] = {}

    def save(branch_name: str | None = None) -> None:
        act(tmp_path, "create-savepoint", table, branch=branch_name)
        saved[f"savepoint.{len(saved) + 1}"] = judge.read(tmp_path, branch if branch_name else table)

    def read_again() -> dict[str, list[Row]]:
        # This version of stock Paimon looks up a branch's tags in main.
        found = {name: judge.read(tmp_path, table, tag=name) for name in ("savepoint.1", "savepoint.2")}
        return {**found, "savepoint.3": comparable(read_rows(tmp_path, branch, tag="savepoint.3"))}

    grow(judge, tmp_path, table, kind, range(1, 3))
    save()
    judge.compact(tmp_path, table)
    grow(judge, tmp_path, table, kind, range(4, 6))
    save()
    act(tmp_path, "create-branch", table, name="fix", tag="savepoint.1")
    grow(judge, tmp_path, branch, kind, range(10, 14))
    save("fix")
    grow(judge, tmp_path, branch, kind, range(14, 17))
    assert judge.expire_by_options(tmp_path, branch) == 0
    assert read_again() == saved
    main, fixed = judge.read(tmp_path, table), judge.read(tmp_path, branch)
    act(tmp_path, "expire-snapshots", table, branch="fix", retain_last=1)
    grow(judge, tmp_path, table, kind, range(6, 7))
    judge.clean_orphans(tmp_path, table)
    assert read_again() == saved
    assert judge.read(tmp_path, branch) == fixed
    assert judge.read(tmp_path, table) != main


def test_a_branch_that_main_falls_back_to_is_deleted_by_neither(judge: Judge, tmp_path: Path) -> None:
    """Without the branch, stock Paimon silently leaves its partitions out."""
    table = make_table(tmp_path, "append in partitions")
    grow(judge, tmp_path, table, "append in partitions", range(1, 2))
    act(tmp_path, "create-savepoint", table)
    act(tmp_path, "create-branch", table, name="fix", tag="savepoint.1")
    judge.write(tmp_path, f"{table}$branch_fix", [{"day": "2026-07-07", "kind": "old"}])
    before = judge.read(tmp_path, table)
    act(tmp_path, "alter-branch-schema", table, set="scan.fallback-branch = fix")
    assert len(judge.read(tmp_path, table)) == len(before) + 1
    with pytest.raises(JudgeError, match="fallback-branch"):
        judge.delete_branch(tmp_path, table, "fix")
    context = open_context(str(tmp_path), {}, read_only=False)
    arguments = {"name": "fix", "keep": False}
    [refusal] = action("delete-branch").plan(context, TablePath("shop", "t"), arguments).refusals
    assert about("rows", "branch fix", "scan.fallback-branch").search(refusal.reason)


@pytest.mark.parametrize("kind", long_but(["primary key", "append"], "primary key"))
def test_engines_that_make_tags_by_themselves_spare_the_branch_and_main(
    judge: Judge, tmp_path: Path, kind: str
) -> None:
    """Each commit makes a tag, main keeps two, and the branch is created from one that is deleted."""
    tagged = {
        "tag.automatic-creation": "process-time",
        "tag.creation-period": "hourly",
        "tag.num-retained-max": "2",
    }
    keep_one = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    table = make_table(tmp_path, kind, **tagged, **keep_one)
    branch = f"{table}$branch_fix"
    main_root = TablePath("shop", "t").root()

    def tags() -> list[str]:
        return Lineage(LocalFiles(str(tmp_path)), main_root).tag_names()

    def write(name: str, root: Root, first: int) -> list[Row]:
        for number in range(first, first + 4):
            hours_apart(tmp_path, root)
            grow(judge, tmp_path, name, kind, range(number, number + 1))
        return judge.read(tmp_path, name)

    write(table, main_root, 1)
    [tag, *_] = tags()
    act(tmp_path, "create-branch", table, name="fix", tag=tag)
    fixed = write(branch, TablePath("shop", "t").root("fix"), 20)
    main = write(table, main_root, 40)
    act(tmp_path, "expire-snapshots", table, branch="fix", retain_last=1)
    judge.delete_tag(tmp_path, branch, tag)
    assert tag not in tags()
    assert len(tags()) == 3
    assert judge.read(tmp_path, branch) == fixed
    assert judge.read(tmp_path, table) == main
    assert [bool(judge.read(tmp_path, table, tag=each)) for each in tags()] == [True] * 3


def hours_apart(warehouse: Path, root: Root) -> None:
    """Space the commits of a root hours apart, so that engines create an automatic tag for each."""
    now = int(time.time() * 1000)
    for path in (warehouse / root.snapshots).glob("snapshot-*"):
        snapshot = json.loads(path.read_text())
        path.write_text(json.dumps({**snapshot, "timeMillis": now + 2 * 3_600_000 * snapshot["id"]}))


def test_after_a_stock_fast_forward_doctor_tells_what_keeps_the_branch(
    judge: Judge, warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It leaves no tag of the snapshots that both share, and brings the branch's options to main."""
    table, paimark = "shop.orders", Paimark(capsys)
    branch = f"{table}$branch_b"
    act(warehouse, "create-savepoint", table)
    act(warehouse, "create-branch", table, name="b", tag="savepoint.1")
    judge.write(warehouse, branch, judge.read(warehouse, table)[:3])
    rows = judge.read(warehouse, branch)
    judge.fast_forward(warehouse, table, "b")

    def ends(*danger: str) -> None:
        found = paimark("doctor", table, "--warehouse", warehouse, "--output", "json").rows
        [told] = [each for each in found if about(*danger).search(each["detail"])]
        words = shlex.split(told["hint"].partition("paimark ")[2])
        assert paimark(*words, "--warehouse", warehouse, "--yes").code == 0, told

    ends("main shares", "snapshot")
    ends("stock engines", "expire", "nothing")
    judge.write(warehouse, table, rows)
    judge.compact(warehouse, table)
    judge.expire(warehouse, table)
    assert judge.read(warehouse, branch) == comparable(read_rows(warehouse, branch)) == rows
    assert judge.read(warehouse, table, tag="savepoint.1")
    ends("main of shop.orders", "snapshots 1 to 4", "hole")
    ends("snapshot 6 of b", "read", "main")
    assert "warning" not in paimark("doctor", table, "--warehouse", warehouse).out
