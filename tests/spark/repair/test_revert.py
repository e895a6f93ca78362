"""`revert`: what one commit did is taken back, and stock Paimon reads the rows that are left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.merge.conflict_file import write_conflicts
from paimark.core.actions.registry import action, conflicting
from paimark.core.errors import NotFound, Refused
from paimark.core.spark.client.client import Engine
from tests.actions.acting import applied, done, item, texts
from tests.interop.judge import Judge
from tests.spark.datasource.test_table_options import set_options
from tests.spark.repair.repaired import FIRST, INSERT, KEYED, MERGE, Repaired
from tests.wording import about


def test_rows_with_a_key_become_what_they_were(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    t = Repaired(engine, engine_warehouse, judge, "keyed", **KEYED)
    t.do(INSERT)
    bad = t.do(MERGE)
    t.do("INSERT INTO t VALUES ('a', 2, 'two'), ('a', 5, 'five')")
    plan = t.repair("revert", snapshot=bad)
    goes, becomes, back = texts(plan, "loses", "affects")[:3]
    assert about("1 row goes", "p=c, k=9").search(goes)
    assert about("1 row", "p=a, k=1: v bad -> one").search(becomes)
    assert about("1 row", "back", "p=b, k=3").search(back)
    expected = [["a", 1, "one"], ["a", 2, "two"], ["a", 5, "five"], ["b", 3, "three"], ["b", 4, "four"]]
    assert t.rows == expected
    assert t.plan("revert", snapshot=bad).empty
    # The snapshot that it made, which is not the one that it took back.
    undo = t.plan("undo")
    assert undo.headline.startswith(f"Take back revert in snapshot {bad + 2} ("), undo.headline
    t.undo()
    assert ["c", 9, "new"] in t.rows and ["a", 1, "bad"] in t.rows and ["a", 5, "five"] in t.rows


def test_a_row_that_changed_since_is_a_conflict(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    t = Repaired(engine, engine_warehouse, judge, "conflicts", **KEYED)
    t.do(INSERT)
    bad = t.do(MERGE)
    t.do("UPDATE t SET v = 'mine' WHERE k = 1")
    judge.compact(engine_warehouse, t.name)
    [refusal] = t.plan("revert", snapshot=bad).refusals
    key = "p=a, k=1: v mine -> one"
    assert refusal.code == "conflicts"
    assert about("1 key", "snapshot 2", key).search(refusal.reason)
    with pytest.raises(Refused, match=about("1 key", "snapshot 2", key)):
        applied(t.context, t.plan("revert", snapshot=bad))
    plan = t.repair("revert", snapshot=bad, on_conflict="now")
    [stays] = texts(plan, "not")
    assert about("1 row", "snapshot 2", "stays", key).search(stays)
    assert t.rows == [["a", 1, "mine"], *FIRST[1:]]
    t.undo()
    t.repair("revert", snapshot=bad, on_conflict="then")
    assert t.rows == FIRST
    # The first commit has nothing before it.
    plan = t.plan("revert", snapshot=1)
    assert [each.count for each in plan.items if each.kind == "loses"] == [4], plan
    assert t.plan("revert", snapshot=t.newest).refusals == ()
    judge.compact(engine_warehouse, t.name)
    assert t.plan("revert", snapshot=t.newest).headline.endswith("changed no rows (COMPACT).")


@pytest.mark.long
def test_a_merge_that_is_taken_back_still_counts_as_merged(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "merged", **KEYED)
    t.do(INSERT)
    done(t.context, "create-branch", table=t.table, name="fix", snapshot=1)
    fix = f"`{t.table.name}$branch_fix`"
    t.do("INSERT INTO t VALUES ('a', 5, 'five')", f"UPDATE reverts.{fix} SET v = 'fixed' WHERE k = 1")
    done(t.context, "merge-branch", table=t.table, name="fix")
    merge = t.newest
    plan = t.repair("revert", snapshot=merge)
    assert about("branch fix", "merged").search(item(plan, "still-merged").text)
    assert ["a", 1, "one"] in t.rows and ["a", 5, "five"] in t.rows
    assert action("merge-branch").plan(t.context, t.table, {"name": "fix"}).empty
    # As the plan says.
    assert not any("merged" in each for each in texts(t.repair("revert", snapshot=t.newest), "affects"))
    assert ["a", 1, "fixed"] in t.rows


@pytest.mark.long
def test_a_column_that_the_commit_filled_first_is_empty_again(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "filled", **KEYED)
    t.do(INSERT, "ALTER TABLE t ADD COLUMN n INT")
    bad = t.do("UPDATE t SET n = 7, v = 'bad' WHERE k < 3")
    t.do("ALTER TABLE t ADD COLUMN later INT", "UPDATE t SET later = 8 WHERE k = 1")
    t.repair("revert", snapshot=bad, on_conflict="then")
    assert t.rows == [[*each, None, 8 if each[1] == 1 else None] for each in FIRST]


@pytest.mark.long
def test_rows_that_a_commit_only_carried_on_are_not_its_own(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "carried")
    t.do("INSERT INTO t VALUES ('a', 1, 'one'), ('a', 2, 'two'), ('b', 3, 'three'), ('b', 4, 'four')")
    # Each writes the only file again.
    bad = t.do("UPDATE t SET v = 'bad' WHERE k = 1")
    gone = t.do("DELETE FROM t WHERE k = 2")
    t.do("UPDATE t SET v = 'new' WHERE k = 3")
    plan = t.repair("revert", snapshot=bad)
    goes, back = texts(plan, "loses", "affects")[:2]
    assert about("1 row goes").search(goes) and about("1 row", "back").search(back)
    assert t.rows == [["a", 1, "one"], ["b", 3, "new"], ["b", 4, "four"]]
    t.repair("revert", snapshot=gone)
    assert t.rows == [["a", 1, "one"], ["a", 2, "two"], ["b", 3, "new"], ["b", 4, "four"]]
    [refusal] = t.plan("revert", snapshot=bad).refusals
    assert about("1 row", "commit", "went").search(refusal.reason)


@pytest.mark.long
def test_each_row_in_conflict_is_chosen_by_itself(
    engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "chosen", **KEYED)
    t.do(INSERT)
    bad = t.do("UPDATE t SET v = 'bad'")
    t.do("UPDATE t SET v = 'mine' WHERE k < 4", "DELETE FROM t WHERE k = 4", "DELETE FROM t WHERE k = 2")
    asked: dict[str, dict[str, Any]] = {
        "revert": {"snapshot": bad},
        "restore-rows": {"from_version": "snapshot.1", "where": "true"},
    }
    for name, given in asked.items():
        path = tmp_path / f"{name}.jsonl"
        between = conflicting(name, t.context, t.table, given)
        assert write_conflicts(t.context, between, str(path), lambda line: None) == (4, 0)
        header, *lines, end = map(json.loads, path.read_text().splitlines())
        assert [each["key"]["k"] for each in lines] == [1, 2, 3, 4]
        has_base = name == "revert"
        assert lines[0]["now"]["v"] == "mine" and lines[0]["then"]["v"] == "one"
        assert (lines[0]["base"] is None) != has_base and (header["base"] is None) != has_base
        [refusal] = t.plan(name, **given, resolve=str(path)).refusals
        assert about("4 of 4 keys", "undecided").search(refusal.reason), refusal
        lines[0]["choose"], lines[1]["choose"] = {"v": "then"}, "now"
        lines[2]["choose"], lines[3]["choose"] = "now", "then"
        path.write_text("\n".join(map(json.dumps, (header, *lines, end))))
        plan = t.repair(name, **given, resolve=str(path))
        said = about("2 as now", "1 as then", "1 column")
        assert any(said.search(each) for each in texts(plan, "loses")), plan
        assert t.rows == [["a", 1, "one"], ["b", 3, "mine"], ["b", 4, "four"]]
        # The rows changed since it was written.
        assert "moved since" in t.plan(name, **given, resolve=str(path)).refusals[0].reason
        t.undo()
        with pytest.raises(Refused, match="is for "):
            [other] = asked.keys() - {name}
            t.plan(other, **asked[other], resolve=str(path))
    header["base"], lines[0]["choose"] = None, "base"
    path.write_text("\n".join(map(json.dumps, (header, *lines, end))))
    with pytest.raises(Refused, match="chooses 'base' of key"):
        t.plan("restore-rows", **given, resolve=str(path))


APPEND: dict[str, Any] = {"partitions": ("p",), "options": {"bucket": "-1"}}


@pytest.mark.parametrize("vectors", [pytest.param(False, marks=pytest.mark.long), True])
def test_files_leave_as_they_came(
    engine: Engine, engine_warehouse: Path, judge: Judge, vectors: bool
) -> None:
    more = {"deletion-vectors.enabled": "true"} if vectors else {}
    t = Repaired(
        engine,
        engine_warehouse,
        judge,
        f"files{vectors}",
        partitions=("p",),
        options={**APPEND["options"], **more},
    )
    t.do(INSERT)
    added = t.do("INSERT INTO t VALUES ('a', 1, 'one'), ('c', 7, NULL)")
    t.do("INSERT INTO t VALUES ('c', 8, 'kept')")
    files = set(engine_warehouse.rglob("reverts.db/*/**/data-*"))
    plan = t.repair("revert", snapshot=added)
    assert about("one commit", "metadata", "no data file").search(plan.cost)
    assert set(engine_warehouse.rglob("reverts.db/*/**/data-*")) == files
    assert t.rows == [*FIRST, ["c", 8, "kept"]]
    # A DELETE writes the files again, or marks their rows.
    gone = t.do("DELETE FROM t WHERE k IN (1, 3)")
    t.do("INSERT INTO t VALUES ('a', 9, 'later')")
    plan = t.repair("revert", snapshot=gone)
    assert "2 rows come back" in texts(plan, "affects")
    assert t.rows == sorted([*FIRST, ["a", 9, "later"], ["c", 8, "kept"]], key=repr)
    overwrite = t.do("INSERT OVERWRITE t PARTITION (p = 'b') VALUES (5, 'over')")
    t.repair("revert", snapshot=overwrite)
    assert t.rows == sorted([*FIRST, ["a", 9, "later"], ["c", 8, "kept"]], key=repr)
    t.undo()
    assert ["b", 5, "over"] in t.rows and ["b", 3, "three"] not in t.rows


@pytest.mark.long
def test_rows_in_other_files_by_now_are_counted(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    t = Repaired(engine, engine_warehouse, judge, "compacted", **APPEND)
    t.do(INSERT)
    added = t.do("INSERT INTO t VALUES ('a', 1, 'one'), ('a', 1, 'one'), ('a', 6, 'six')")
    judge.compact(engine_warehouse, t.name)
    t.do("INSERT INTO t VALUES ('b', 8, 'kept')")
    t.repair("revert", snapshot=added)
    assert t.rows == sorted([*FIRST, ["b", 8, "kept"]], key=repr)
    t.undo()
    t.do("DELETE FROM t WHERE k = 6")
    [refusal] = t.plan("revert", snapshot=added).refusals
    assert about("1 row", "commit", "went").search(refusal.reason)
    t.repair("revert", snapshot=added, on_conflict="now")
    assert t.rows == sorted([*FIRST, ["b", 8, "kept"]], key=repr)
    assert (
        t.plan("revert", snapshot=added).refusals
        and t.plan("revert", snapshot=added, on_conflict="now").empty
    )


@pytest.mark.long
def test_on_a_branch_after_expiry_and_with_other_columns(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "branched", **KEYED)
    t.do(INSERT, "UPDATE t SET v = 'bad' WHERE k = 3", "ALTER TABLE t RENAME COLUMN v TO w")
    t.do("ALTER TABLE t ADD COLUMN n INT")
    applied(t.context, action("create-branch").plan(t.context, t.table, {"name": "fix", "snapshot": 2}))
    t.do("INSERT INTO t$branch_fix VALUES ('a', 1, 'of the branch')")
    # Main renamed the column since.
    t.repair("revert", snapshot=2)
    assert t.rows == [[*each, None] for each in FIRST]
    # The branch has nothing before its first snapshot.
    with pytest.raises(Refused, match=about("snapshot 1", "expired")):
        t.plan("revert", snapshot=2, branch="fix")
    plan = t.plan("revert", snapshot=3, branch="fix")
    applied(t.context, plan)
    assert ["a", 1, "one"] in judge.rows(engine_warehouse, f"{t.name}$branch_fix")
    applied(t.context, action("create-savepoint").plan(t.context, t.table, {"snapshot": 1}))
    applied(t.context, action("expire-snapshots").plan(t.context, t.table, {"retain_last": 1}))
    # The savepoint and the branch's tag keep the two that this needs.
    assert (
        t.plan("revert", snapshot=2).headline
        == "main of reverts.branched has nothing of snapshot 2 to take back."
    )
    t.do("INSERT INTO t VALUES ('a', 1, 'new', 5)")
    applied(t.context, action("expire-snapshots").plan(t.context, t.table, {"retain_last": 1}))
    with pytest.raises(NotFound, match="only snapshot 4 exists"):
        t.plan("revert", snapshot=3)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"merge-engine": "partial-update"}, "partial-update NULL"),
        ({"merge-engine": "first-row"}, "compacted"),
        ({"merge-engine": "aggregation"}, "MERGE aggregation"),
    ],
)
def test_kinds_that_rows_cannot_be_given_back_to(
    engine: Engine, engine_warehouse: Path, judge: Judge, options: dict[str, str], reason: str
) -> None:
    name = next(iter(options.values())).replace("-", "_")
    t = Repaired(
        engine, engine_warehouse, judge, f"kind_{name}", keys=("p", "k"), options={**options, "bucket": "1"}
    )
    t.do(INSERT)
    bad = t.newest + 1
    judge.put(engine_warehouse, t.name, [("+I", ["a", 1, "zzz"])])
    found = t.plan("revert", snapshot=bad)
    assert any(about(*reason.split()).search(each.reason) for each in found.refusals), found


OLDER: dict[str, Any] = {
    **KEYED,
    "columns": {"p": "STRING", "k": "INT", "v": "INT", "s": "STRING"},
    "options": {"bucket": "2", "sequence.field": "v"},
}


@pytest.mark.long
def test_rows_that_become_older_are_written_with_their_partitions(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """Also one whose delete is newer than it is. A job of a stock engine goes on meanwhile."""
    t = Repaired(engine, engine_warehouse, judge, "older", **OLDER)
    first = [["a", 1, 5, "x"], ["a", 2, 5, "x"], ["b", 3, 5, "x"]]
    with judge.session("job"):
        judge.put(engine_warehouse, t.name, [("+I", each) for each in first])
        judge.put(engine_warehouse, t.name, [("+I", ["a", 1, 9, "bad"]), ("-D", ["a", 2, 9, "bad"])])
    plan = t.plan("revert", snapshot=2)
    overwrite = about("partitions", "OVERWRITE", "older", "v (sequence.field)")
    assert overwrite.search(plan.steps[-1].detail)
    assert any(about("streaming", "readers", "main").search(each) for each in texts(plan, "affects")), plan
    with judge.session("job"):
        judge.put(engine_warehouse, t.name, [("+I", ["b", 3, 6, "job"])])
    applied(t.context, plan)
    restored = [*first[:2], ["b", 3, 6, "job"]]
    assert t.rows == restored
    with judge.session("job"):
        judge.put(engine_warehouse, t.name, [("+I", ["a", 1, 6, "job"])])
    assert t.rows == [["a", 1, 6, "job"], *restored[1:]]
    judge.compact(engine_warehouse, t.name)
    assert t.rows == [["a", 1, 6, "job"], *restored[1:]]
    # The delete alone: before, the row did not come back, and nobody said so.
    judge.put(engine_warehouse, t.name, [("-D", ["a", 2, 9, None])])
    t.repair("revert", snapshot=t.newest)
    assert t.rows == [["a", 1, 6, "job"], *restored[1:]]
    t.undo()
    assert t.rows == [["a", 1, 6, "job"], restored[2]]
    # What only goes is a change of its key.
    bad = t.do("INSERT INTO t VALUES ('a', 7, 1, 'new')")
    detail = t.repair("revert", snapshot=bad).steps[-1].detail
    assert about("one commit", "rows").search(detail) and not overwrite.search(detail)
    assert t.rows == [["a", 1, 6, "job"], restored[2]]
    plan = t.plan("revert", snapshot=t.newest)
    assert overwrite.search(plan.steps[-1].detail)
    judge.put(engine_warehouse, t.name, [("+I", ["a", 8, 1, "late"])])
    with pytest.raises(Refused, match=about(t.name, "moved", "written")):
        applied(t.context, plan)


def test_a_row_of_a_chain_does_not_become_older(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """An overwrite of its partition in the delta branch would take that out of the snapshot branch."""
    options = {
        "bucket": "1",
        "sequence.field": "v",
        "partition.timestamp-pattern": "$p",
        "partition.timestamp-formatter": "yyyyMMdd",
    }
    columns = {"p": "STRING", "k": "INT", "v": "INT"}
    t = Repaired(
        engine,
        engine_warehouse,
        judge,
        "chain",
        keys=("p", "k"),
        partitions=("p",),
        columns=columns,
        options=options,
    )
    judge.put(engine_warehouse, t.name, [("+I", ["20260101", 1, 1])])
    judge.create_tag(engine_warehouse, t.name, "t1", 1)
    chain = {
        "chain-table.enabled": "true",
        "scan.fallback-snapshot-branch": "snap",
        "scan.fallback-delta-branch": "delta",
    }
    for branch in ("snap", "delta"):
        judge.create_branch(engine_warehouse, t.name, branch, "t1")
        set_options(engine_warehouse, t.name, chain, f"branch/branch-{branch}")
    set_options(engine_warehouse, t.name, chain)
    judge.put(engine_warehouse, f"{t.name}$branch_delta", [("+I", ["20260101", 1, 9])])
    [refusal] = t.plan("revert", snapshot=2, branch="delta").refusals
    assert about("older", "sequence.field", "branch delta", "branch snap").search(refusal.reason)


def test_nothing_is_committed_if_the_same_rows_changed(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "moved", **KEYED)
    t.do(INSERT)
    bad = t.do(MERGE)
    plan = t.plan("revert", snapshot=bad)
    # The stock engine's compaction is no change of rows.
    judge.compact(engine_warehouse, t.name)
    newest = t.do("INSERT INTO t VALUES ('a', 1, 'late')")
    with pytest.raises(Refused, match=about("moved", "written")):
        applied(t.context, plan)
    assert t.newest == newest
