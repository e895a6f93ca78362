"""`paimark diff` with the suite's Spark: every kind of change, held to a difference made in Python."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from paimark.core.cli.query.diff import of_compared
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Reading
from paimark.core.storage.local import LocalFiles
from paimark.core.table.records import Point, point_of
from paimark.core.travel.diff.diff import make_difference
from paimark.core.travel.requested_version import RequestedVersion
from tests.actions.acting import ORDERS
from tests.cli.command import Paimark
from tests.cli.shared_engine import share
from tests.paimon import commit, create_table, open_table, read_rows
from tests.table.branches import create_branch
from tests.wording import about

ITEMS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("price", pa.float64()),
        pa.field("labels", pa.map_(pa.string(), pa.int32())),
    ]
)
LOG = pa.schema([pa.field("day", pa.string()), pa.field("what", pa.string())])
HOSTILE = "x'y` -- \N{ESCAPE}[31m"


def items(*rows: tuple[int, str | None, float | None, Any]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(ITEMS.names, row, strict=True)) for row in rows], schema=ITEMS)


@pytest.fixture(scope="session")
def differing(engine_warehouse: Path) -> Path:
    """`diffs.items` (key, branch fix, a column that main renamed and one that it added); `diffs.log`."""
    place = engine_warehouse
    create_table(place, "diffs.items", ITEMS, primary_keys=["id"], options={"bucket": "1"})
    first = items((1, "a", 1.0, [("x", 1)]), (2, "b", None, None), (3, "c", float("nan"), [("x", 1)]))
    commit(place, "diffs.items", first)
    open_table(place, "diffs.items").create_tag("start", 1)
    create_branch(place, "diffs.items", "fix", "start")
    commit(place, "diffs.items$branch_fix", items((2, "b", 2.0, None), (4, HOSTILE, 4.0, None)))
    commit(place, "diffs.items", items((1, "a", 1.0, [("x", 2)])))
    create_table(place, "diffs.log", LOG)
    for days in (["mon", "mon", "tue"], ["mon", None]):
        commit(place, "diffs.log", pa.table({"day": days, "what": [HOSTILE] * len(days)}, schema=LOG))
    return place


@pytest.fixture
def diff(paimark: Paimark, engine: Engine, differing: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    share(engine, differing, monkeypatch)
    return paimark


def test_rows_are_told_by_key_with_what_changed_in_them(diff: Paimark) -> None:
    ran = diff("diff", "diffs.items", "main", "fix", "--output", "json", "--read-only")
    assert ran.code == 0, ran.err
    changed, filled, added = ran.rows
    assert changed == {
        "change": "changed",
        "key": {"id": 1},
        "changes": {"labels": {"old": {"x": 2}, "new": {"x": 1}}},
        "old": None,
        "new": None,
    }
    assert (filled["key"], filled["changes"]) == ({"id": 2}, {"price": {"old": None, "new": 2.0}})
    assert (added["change"], added["changes"]) == ("added", None)
    assert (added["old"], added["new"]) == (None, {"name": HOSTILE, "price": 4.0, "labels": None})
    lines = ran.err.splitlines()
    assert lines[0] == "diffs.items: from main to fix"
    assert "1 added, 0 removed, 2 changed" in lines
    assert [line.strip() for line in lines if "changed in" in line] == [
        "price changed in 1 row",
        "labels changed in 1 row",
    ]


def test_a_person_reads_the_key_and_only_the_cells_that_changed(diff: Paimark) -> None:
    ran = diff("diff", "diffs.items", "main", "fix")
    assert ran.out.splitlines()[0].split() == ["change", "id", "changes"]
    assert ran.out.splitlines()[3].split(None, 2) == ["changed", "2", "price: null -> 2.0"]
    assert "\N{ESCAPE}" not in ran.out
    summary = diff("diff", "diffs.items", "main", "fix", "--summary", "--output", "json")
    assert [[*row.values()] for row in summary.rows] == [
        ["added", None, 1],
        ["removed", None, 0],
        ["changed", None, 2],
        ["changed", "price", 1],
        ["changed", "labels", 1],
    ]
    assert diff("diff", "diffs.items", "main", "fix", "--summary", "--limit", "1").code == 2


def test_the_other_way_round_what_was_added_is_removed(diff: Paimark) -> None:
    ran = diff("diff", "diffs.items", "branch.fix", "snapshot.1", "--output", "json")
    assert [(row["change"], row["key"]["id"]) for row in ran.rows] == [("changed", 2), ("removed", 4)]
    assert "0 added, 1 removed, 1 changed" in ran.err.splitlines()


def test_a_version_differs_not_from_itself(diff: Paimark) -> None:
    """Nulls, NaN and maps are equal to themselves."""
    ran = diff("diff", "diffs.items", "fix:start", "1", "--output", "json")
    assert ran.rows == []
    assert "0 added, 0 removed, 0 changed" in ran.err.splitlines()


def test_counts_are_of_all_rows_where_not_all_are_shown(diff: Paimark, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    ran = diff("diff", "diffs.items", "main", "fix", "--limit", "1", "-o", out)
    assert (ran.code, len(json.loads(out.read_text()))) == (0, 1)
    assert "1 added, 0 removed, 2 changed" in ran.err.splitlines()
    assert json.loads(out.read_text())[0]["changed_columns"] == "labels"


def test_rows_without_a_key_are_counted(diff: Paimark, differing: Path) -> None:
    ran = diff("diff", "diffs.log", "1", "main", "--output", "json")
    assert {(row["change"], row["times"], row["row"]["day"]) for row in ran.rows} == {
        ("added", 1, "mon"),
        ("added", 1, None),
    }
    assert "2 added, 0 removed" in ran.err.splitlines()
    assert about("no key", "rows", "counted").search(ran.err)
    assert "snapshot.1 has 3 rows, main 5" in ran.err
    held = Counter(row["day"] for row in read_rows(differing, "diffs.log"))
    assert held == Counter(["mon", "mon", "tue"]) + Counter(row["row"]["day"] for row in ran.rows)


def test_keys_that_tell_no_rows_apart_are_refused(diff: Paimark) -> None:
    ran = diff("diff", "diffs.log", "1", "2", "--keys", "what")
    assert ran.code == 1
    assert about("keys", "not", "apart", "several").search(ran.err)
    assert "\N{ESCAPE}" not in ran.err
    ran = diff("diff", "diffs.log", "2", "1", "--keys", "nothing")
    assert (ran.code, "has no column nothing" in ran.err) == (1, True)


def test_columns_that_came_went_or_were_renamed_are_said(diff: Paimark, differing: Path) -> None:
    path = differing / "diffs.db/items/schema/schema-0"
    made = msgspec.json.decode(path.read_bytes())
    fields = [{**field, "name": "title"} if field["name"] == "name" else field for field in made["fields"]]
    fields = [field for field in fields if field["name"] != "labels"]
    fields.append({"id": 50, "name": "note", "type": "STRING"})
    later = path.with_name("schema-1")
    later.write_bytes(msgspec.json.encode({**made, "id": 1, "highestFieldId": 50, "fields": fields}))
    try:
        ran = diff("diff", "diffs.items", "start", "main", "--output", "json")
        assert ran.rows == []
        assert [line.strip() for line in ran.err.splitlines() if "Column" in line] == [
            "Column title is called name in start",
            "Column note is only in main: compared with null",
            "Column labels is only in start: not compared",
        ]
        back = diff("diff", "diffs.items", "fix", "main", "--output", "json")
        assert [(row["key"]["id"], row["change"]) for row in back.rows] == [(2, "changed"), (4, "removed")]
        assert back.rows[1]["old"]["title"] == HOSTILE
    finally:
        later.unlink()


def test_another_snapshot_that_got_the_number_meanwhile_is_refused(warehouse: Path) -> None:
    difference = make_difference(
        LocalFiles(str(warehouse)), ORDERS, RequestedVersion(None, "4"), RequestedVersion(None, "5")
    )
    assert difference.new.snapshot is not None
    as_compared = Reading("shop.orders", "snapshot.5", "native", point=point_of(difference.new.snapshot))
    other = msgspec.structs.replace(as_compared, point=Point(id=5, delta_manifest_list="of another"))
    assert [*of_compared(difference, [as_compared])] == [as_compared]
    with pytest.raises(Refused, match=about("snapshot.5", "shop.orders", "another version")):
        [*of_compared(difference, [other])]


def test_what_is_not_there_is_said_before_spark_starts(diff: Paimark) -> None:
    ran = diff("diff", "diffs.items", "main", "nothing")
    assert ran.code == 1
    assert "no version 'nothing'" in ran.err
    assert diff("diff", "diffs.items", "main").code == 2
    assert diff("diff", "diffs.items", "main", "fix", "-o", "rows.xls").code == 2
