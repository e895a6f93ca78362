"""`paimark merge-branch --conflicts`: each key with its rows of both sides, exactly; nothing is written."""

from __future__ import annotations

import json
import re
import unicodedata
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.actions.merge import conflicts as merge_conflicts
from paimark.core.spark.client.client import Engine
from tests.actions.acting import contents
from tests.cli.command import Paimark
from tests.cli.shared_engine import share
from tests.paimon import commit, create_table, open_table, read_rows
from tests.table.branches import create_branch
from tests.wording import about

WIDE = Decimal("1234567890123456789012345678.0123456789")
HOSTILE = "[red]\N{ESCAPE}[31mx\N{RIGHT-TO-LEFT OVERRIDE}"
LONG = "y" * 5000
ROWS = pa.schema(
    [
        pa.field("part", pa.int32(), nullable=False),
        pa.field("key", pa.int64(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("price", pa.decimal128(38, 10)),
        pa.field("bytes", pa.binary()),
        pa.field("list", pa.list_(pa.int32())),
        pa.field("kind", pa.string()),
    ]
)


def rows(*changes: tuple[int, str | None, Decimal | None, str]) -> pa.Table:
    """Key, text, price and kind; the other columns are the same in each."""
    made = [
        {
            "part": key % 2,
            "key": key,
            "text": text,
            "price": price,
            "bytes": b"\0\1",
            "list": [1],
            "kind": kind,
        }
        for key, text, price, kind in changes
    ]
    return pa.Table.from_pylist(made, schema=ROWS)


@pytest.fixture(scope="session")
def parted(engine_warehouse: Path) -> Path:
    """`parted.t`: keys 1, 2, 3 and 10 are in conflict, 4 and 5 changed on one side, 6 on both to the same."""
    name, place = "parted.t", engine_warehouse
    options = {"bucket": "1", "rowkind.field": "kind"}
    create_table(place, name, ROWS, primary_keys=["part", "key"], partition_keys=["part"], options=options)
    commit(place, name, rows(*((key, "base", Decimal(1), "+I") for key in range(1, 7))))
    open_table(place, name).create_tag("start", 1)
    create_branch(place, name, "fix", "start")
    same = (6, "same", Decimal(1), "+I")
    fix = ((1, "base", WIDE, "+U"), (2, "base", Decimal(1), "-D"), (3, HOSTILE, Decimal(1), "+U"), same)
    commit(place, f"{name}$branch_fix", rows(*fix, (4, "fix", None, "+U"), (10, "fix", None, "+I")))
    main = ((1, "base", None, "+U"), (2, LONG, Decimal(1), "+U"), (3, "base", Decimal(1), "-D"), same)
    commit(place, name, rows(*main, (5, "main", None, "+U"), (10, "main", None, "+I")))
    return place


@pytest.fixture
def conflicts(paimark: Paimark, engine: Engine, parted: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    share(engine, parted, monkeypatch)
    return paimark


COMMAND = ("merge-branch", "parted.t", "--name", "fix", "--conflicts")


def test_each_conflict_has_its_key_and_the_rows_of_both_sides(conflicts: Paimark, parted: Path) -> None:
    before = contents(parted / "parted.db")
    ran = conflicts(*COMMAND, "--output", "json", "--read-only")
    assert ran.code == 0, ran.err
    # Numbers as they are written: a float would have rounded the wide one.
    found: list[dict[str, Any]] = json.loads(ran.out, parse_float=Decimal)
    by_key = {each["key"]["key"]: each for each in found}
    assert [each["key"] for each in found] == [
        {"part": 0, "key": 2},
        {"part": 0, "key": 10},
        {"part": 1, "key": 1},
        {"part": 1, "key": 3},
    ]
    first, removed = by_key[1], by_key[2]
    assert first["columns"] == ["price"]
    assert [first[side]["price"] for side in ("base", "main", "branch")] == [1, None, WIDE]
    assert (first["base"]["bytes"], first["base"]["list"]) == ("AAE=", [1])
    assert (removed["branch"], removed["main"]["text"]) == (None, "y" * merge_conflicts.LONGEST + "…")
    assert (by_key[3]["main"], by_key[3]["branch"]["text"]) == (None, HOSTILE)
    assert (by_key[10]["base"], by_key[10]["main"]["text"], by_key[10]["branch"]["text"]) == (
        *(None, "main", "fix"),
    )
    assert ran.err.splitlines() == [
        "parted.t: fix at snapshot 2, main at 2, base 1",
        "4 keys in conflict",
    ]
    assert contents(parted / "parted.db") == before


def test_people_get_a_line_a_column_that_differs(conflicts: Paimark) -> None:
    ran = conflicts(*COMMAND)
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["part", "key", "column", "base", "main", "branch"]
    assert ["0", "10", "text", "(no", "row)", "main", "fix"] in lines
    assert ["1", "1", "price", "1.0000000000", "null", str(WIDE)] in lines
    assert not [each for each in ran.out if unicodedata.category(each) in ("Cc", "Cf") and each != "\n"]


def test_more_of_them_than_are_listed_are_counted(
    conflicts: Paimark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_conflicts, "SHOWN", 2)
    ran = conflicts(*COMMAND, "--output", "json")
    assert len(ran.rows) == 2 and about("first 2", "4 keys", "conflict").search(ran.err.splitlines()[-1])


def test_where_there_can_be_none_spark_is_not_asked(conflicts: Paimark, parted: Path) -> None:
    create_branch(parted, "parted.t", "ahead", "start")
    ran = conflicts("merge-branch", "parted.t", "--name", "ahead", "--conflicts", "--output", "json")
    assert ran.rows == [] and about("no conflicts", "branch", "already").search(ran.err.splitlines()[-1])


def test_what_can_not_be_listed_is_refused(conflicts: Paimark, tmp_path: Path) -> None:
    for option in (("--on-conflict", "main"), ("--plan-out", tmp_path / "plan"), ("--resolve", "f")):
        ran = conflicts(*COMMAND, *option)
        assert (ran.code, ran.out) == (2, "")
        assert f"leave {option[0]} out" in ran.err
    for option in (("--on-conflict", "main"), ("--plan-out", tmp_path / "plan"), ("--dry-run", "--yes")):
        ran = conflicts(*COMMAND[:-1], "--conflicts-out", tmp_path / "out", *option)
        assert (ran.code, ran.out) == (2, "")
        assert f"leave {option[0]} out" in ran.err
    ran = conflicts("merge-branch", "parted.t", "--name", "nothing", "--conflicts")
    assert (ran.code, ran.out) == (1, "")


def test_conflicts_are_written_chosen_in_planned_and_applied(
    conflicts: Paimark, parted: Path, tmp_path: Path
) -> None:
    """From the file to a saved plan, which is refused once the file is another, and to the merge."""
    out, plan = tmp_path / "out.jsonl", tmp_path / "plan"
    before = contents(parted / "parted.db")
    ran = conflicts(*COMMAND[:-1], "--conflicts-out", out, "--read-only")
    assert ran.code == 0 and about("4 keys", "written", out).search(ran.out)
    assert ran.err.endswith(f"paimark merge-branch parted.t --name fix --resolve {out}\n")
    resolve = (*COMMAND[:-1], "--resolve", out)
    ran = conflicts(*resolve)
    assert (ran.code, ran.out) == (1, "")
    assert about("4 of 4 keys", "undecided", '{"part":0,"key":2}', out).search(ran.err)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    for line, chosen in zip(lines[1:-1], ("branch", "main", {"price": "branch"}, "base"), strict=True):
        line["choose"] = chosen
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = conflicts(*resolve, "--dry-run")
    counts = re.compile("1 [^,]*main, 1 [^,]*branch fix, 1 [^,]*base, 1 [^,]*column")
    assert about("into main", "parted.t", "chosen").search(ran.out) and counts.search(ran.out)
    assert conflicts(*resolve, "--plan-out", plan).code == 0
    kept = out.read_text()
    out.write_text(kept.replace('"choose": "main"', '"choose": "base"'))
    ran = conflicts("apply", plan, "--yes")
    assert (ran.code, ran.out) == (1, "")
    assert about(out, "changed", "choices").search(ran.err)
    assert contents(parted / "parted.db") == before
    out.write_text(kept)
    ran = conflicts("apply", plan, "--yes")
    assert ran.code == 0, ran.err
    assert about("branch fix", "main", "parted.t", "conflict").search(ran.out) and counts.search(ran.out)
    merged = {row["key"]: row for row in read_rows(parted, "parted.t") if row["kind"] != "-D"}
    # The branch's deletion, its price, and the base's row again; the text that main alone had changed stays.
    assert sorted(merged) == [1, 3, 4, 5, 6, 10]
    assert (merged[1]["price"], merged[3]["text"], merged[10]["text"]) == (WIDE, "base", "main")
