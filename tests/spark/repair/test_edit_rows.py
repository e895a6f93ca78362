"""`edit-rows`: cells changed by hand, rows added and deleted, as one commit; and two who edit one row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.merge.conflict_file import write_conflicts
from paimark.core.actions.registry import conflicting
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from tests.actions.acting import applied, texts
from tests.interop.judge import Judge
from tests.spark.repair.repaired import FIRST, INSERT, KEYED, Repaired
from tests.wording import about


def edits(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


def key(p: str, k: int) -> dict[str, object]:
    return {"p": p, "k": k}


SET = {"key": key("a", 1), "set": {"v": "edited"}}
EDITS = (
    SET,
    {"key": key("a", 2), "set": {"v": ""}},
    {"key": key("b", 3), "set": {"v": None}},
    {"key": key("b", 4), "delete": True},
    {"key": key("c", 5), "add": {"v": "new 'quoted' \\ one"}},
)


def test_a_decimal_is_told_with_all_its_digits(
    engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path
) -> None:
    columns = {"k": "DECIMAL(38, 2)", "v": "DECIMAL(38, 2)", "x": "DOUBLE"}
    t = Repaired(
        engine, engine_warehouse, judge, "exact", keys=("k",), columns=columns, options={"bucket": "1"}
    )
    t.do("INSERT INTO t VALUES (12345678901234567890.10, 1.10, 0.5)")
    edit = {"key": {"k": "12345678901234567890.10"}, "set": {"v": "12345678901234567890.20", "x": 1.5}}
    plan = t.repair("edit-rows", file=edits(tmp_path / "e.jsonl", edit))
    changed = "k=12345678901234567890.10: v 1.10 -> 12345678901234567890.20, x 0.5 -> 1.5"
    assert [each.target for each in plan.steps if each.verb == "replace"] == [changed]
    bad = t.do("UPDATE t SET v = 12345678901234567890.30")
    [told] = texts(t.plan("revert", snapshot=bad), "loses")
    assert "v 12345678901234567890.30 -> 12345678901234567890.20" in told


@pytest.mark.long
def test_a_row_that_becomes_older_is_written_with_its_table(
    engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path
) -> None:
    columns, options = {"k": "INT", "v": "INT", "s": "STRING"}, {"bucket": "1", "sequence.field": "v"}
    t = Repaired(engine, engine_warehouse, judge, "by_v", keys=("k",), columns=columns, options=options)
    t.do("INSERT INTO t VALUES (1, 5, 'one'), (2, 5, 'two')")
    same = {"key": {"k": 1}, "set": {"s": "edited"}}
    assert t.repair("edit-rows", file=edits(tmp_path / "e.jsonl", same)).arguments["overwrites"] is False
    older: list[dict[str, Any]] = [{"key": {"k": 1}, "set": {"v": 4}}, {"key": {"k": 2}, "delete": True}]
    plan = t.repair("edit-rows", file=edits(tmp_path / "f.jsonl", *older))
    assert plan.steps[-1].detail.startswith("the whole table, as one OVERWRITE")
    assert t.rows == [[1, 4, "edited"]]


def test_edits_are_one_commit_and_one_undo(
    engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "edited", **KEYED)
    t.do(INSERT)
    file = edits(tmp_path / "e.jsonl", *EDITS)
    plan = t.repair("edit-rows", file=file)
    assert texts(plan, "loses", "affects")[:3] == [
        "1 row goes: p=b, k=4",
        "3 rows get other cells: p=a, k=1: v one -> edited, …",
        "1 row is new: p=c, k=5",
    ]
    assert [f"{each.verb} {each.target}" for each in plan.steps][1:5] == [
        'replace p=a, k=2: v NULL -> ""',
        "replace p=b, k=3: v three -> NULL",
        "delete p=b, k=4",
        "create p=c, k=5",
    ]
    expected = [["a", 1, "edited"], ["a", 2, ""], ["b", 3, None], ["c", 5, "new 'quoted' \\ one"]]
    assert t.rows == expected
    # What is so already is not written again.
    assert t.plan("edit-rows", file=edits(tmp_path / "f.jsonl", SET)).empty
    t.undo()
    assert t.rows == FIRST
    for line, said in (
        ({"key": key("a", 1), "add": {"v": "x"}}, "row key already"),
        ({"key": key("z", 1), "set": {"v": "x"}}, "no row key"),
        ({"key": key("z", 1), "delete": True}, "no row key"),
    ):
        [refusal] = t.plan("edit-rows", file=edits(tmp_path / "f.jsonl", line)).refusals
        assert about(*said.split()).search(refusal.reason)


def test_of_two_who_edit_a_row_the_second_sees_a_conflict(
    engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "both_edit", **KEYED)
    read = t.do(INSERT)
    first = edits(tmp_path / "1.jsonl", SET, {"key": key("b", 4), "delete": True})
    second = edits(
        tmp_path / "2.jsonl", {**SET, "set": {"v": "mine"}}, {"key": key("b", 4), "set": {"v": "kept"}}
    )
    given = {"file": second, "read_at": f"snapshot.{read}"}
    seen = t.plan("edit-rows", **given)
    t.repair("edit-rows", file=first)
    with pytest.raises(Refused, match=about("moved", "written")):
        applied(t.context, seen)
    [refusal] = t.plan("edit-rows", **given).refusals
    assert about("2 keys", "snapshot 1", "read", "p=a, k=1").search(refusal.reason)
    path = tmp_path / "conflicts.jsonl"
    between = conflicting("edit-rows", t.context, t.table, given)
    assert write_conflicts(t.context, between, str(path), lambda line: None) == (2, 0)
    header, *lines, end = map(json.loads, path.read_text().splitlines())
    assert [lines[0][side]["v"] for side in ("base", "now", "edited")] == ["one", "edited", "mine"]
    lines[0]["choose"], lines[1]["choose"] = "now", "edited"
    path.write_text("\n".join(map(json.dumps, (header, *lines, end))))
    t.repair("edit-rows", **given, resolve=str(path))
    assert t.rows == [["a", 1, "edited"], *FIRST[1:3], ["b", 4, "kept"]]
    t.undo()
    assert t.plan("edit-rows", **given, on_conflict="now").empty
    # What others wrote into other cells stays.
    t.do("ALTER TABLE t ADD COLUMN n INT", "UPDATE t SET n = 7 WHERE k = 1")
    t.repair("edit-rows", **given, on_conflict="edited")
    assert t.rows == [["a", 1, "mine", 7], *([*each, None] for each in FIRST[1:3]), ["b", 4, "kept", None]]
