"""Stock Paimon reads the table after our expiry and deletions, and its clean-ups spare what ours spared."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.conftest import EVENTS, ORDERS
from tests.interop.judge import Judge, JudgeError, Row
from tests.interop.ours import act
from tests.long import long_but
from tests.paimon import create_table

KINDS = ("primary key", "append", "append in partitions", "deletion vectors", "changelog")
OFTEN = ("deletion vectors",)
MERGING = {"manifest.merge-min-count": "2", "compaction.min.file-num": "2"}
OPTIONS = {
    "primary key": {"bucket": "1"},
    "primary key in partitions": {"bucket": "1"},
    "deletion vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "changelog": {"bucket": "1", "changelog-producer": "input"},
}
KEYED_EVENTS = pa.schema([each.with_nullable(False) for each in EVENTS])


def make_table(warehouse: Path, kind: str, **further: str) -> str:
    """Create a table on which stock Paimon merges manifests at every other commit. `further` are options."""
    options = {**MERGING, **further, **OPTIONS.get(kind, {})}
    match kind:
        case "append":
            create_table(warehouse, "shop.t", ORDERS, options=options)
        case "append in partitions":
            create_table(warehouse, "shop.t", EVENTS, partition_keys=["day"], options=options)
        case "primary key in partitions":
            keys = ["day", "kind"]
            create_table(
                warehouse, "shop.t", KEYED_EVENTS, primary_keys=keys, partition_keys=["day"], options=options
            )
        case _:
            create_table(warehouse, "shop.t", ORDERS, primary_keys=["order_id"], options=options)
    return "shop.t"


def some_rows(kind: str, number: int) -> list[Row]:
    if kind.endswith("in partitions"):
        return [
            {"day": f"2026-05-0{number % 3 + 1}", "kind": f"k{number}"},
            {"day": "2026-05-09", "kind": "x"},
        ]
    return [{"order_id": each, "customer": f"c{number}", "price": 1.5} for each in (number, number + 1, 50)]


def grow(judge: Judge, warehouse: Path, table: str, kind: str, numbers: range) -> None:
    for number in numbers:
        judge.write(warehouse, table, some_rows(kind, number))
        if number % 3 == 0:
            judge.compact(warehouse, table)


def files_of(warehouse: Path) -> set[str]:
    """Every file of the table that reference counting can delete."""
    directory = warehouse / "shop.db/t"
    found = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    apart = ("snapshot/", "schema/", "tag/", "branch/", "savepoint/", "consumer/")
    return {name for name in found if not name.startswith(apart)}


@pytest.mark.parametrize("kind", long_but(KINDS, *OFTEN))
def test_stock_reads_all_that_is_left_and_finds_nothing_to_clean(
    judge: Judge, tmp_path: Path, kind: str
) -> None:
    table = make_table(tmp_path, kind)
    saved: dict[str, list[Row]] = {}
    grow(judge, tmp_path, table, kind, range(1, 5))
    for name, numbers in (("savepoint.1", range(5, 8)), ("savepoint.2", range(8, 10))):
        act(tmp_path, "create-savepoint", table)
        saved[name] = judge.read(tmp_path, table)
        grow(judge, tmp_path, table, kind, numbers)
    act(tmp_path, "create-branch", table, name="b", tag="savepoint.1")
    grow(judge, tmp_path, f"{table}$branch_b", kind, range(10, 13))
    act(tmp_path, "create-tag", table, name="late")
    saved["late"] = judge.read(tmp_path, table)
    grow(judge, tmp_path, table, kind, range(13, 16))
    main, branch = judge.read(tmp_path, table), judge.read(tmp_path, f"{table}$branch_b")
    special = {"deletion vectors": "index/", "changelog": "bucket-0/changelog-"}.get(kind, "manifest/")
    assert any(name.startswith(special) for name in files_of(tmp_path))

    act(tmp_path, "expire-snapshots", table, retain_last=1)
    act(tmp_path, "expire-snapshots", table, branch="b", retain_last=2)
    act(tmp_path, "delete-savepoint", table, id=2)
    del saved["savepoint.2"]
    assert {name: judge.read(tmp_path, table, tag=name) for name in saved} == saved
    assert judge.read(tmp_path, table) == main
    assert judge.read(tmp_path, f"{table}$branch_b") == branch
    assert judge.clean_orphans(tmp_path, table) == []
    assert {name: judge.read(tmp_path, table, tag=name) for name in saved} == saved


@pytest.mark.parametrize("kind", long_but(KINDS, *OFTEN))
def test_savepoints_read_after_stock_expired_what_ours_left(judge: Judge, tmp_path: Path, kind: str) -> None:
    table = make_table(tmp_path, kind)
    grow(judge, tmp_path, table, kind, range(1, 5))
    act(tmp_path, "create-savepoint", table)
    first = judge.read(tmp_path, table)
    grow(judge, tmp_path, table, kind, range(5, 8))
    act(tmp_path, "expire-snapshots", table, retain_last=4)
    act(tmp_path, "create-savepoint", table)
    second = judge.read(tmp_path, table)
    grow(judge, tmp_path, table, kind, range(8, 11))
    judge.compact(tmp_path, table)
    judge.expire(tmp_path, table)
    judge.clean_orphans(tmp_path, table)
    assert judge.read(tmp_path, table, tag="savepoint.1") == first
    assert judge.read(tmp_path, table, tag="savepoint.2") == second

    main = judge.read(tmp_path, table)
    before = files_of(tmp_path)
    for number in (1, 2):
        act(tmp_path, "delete-savepoint", table, id=number)
    assert judge.read(tmp_path, table) == main
    assert before - files_of(tmp_path)
    assert judge.clean_orphans(tmp_path, table) == []
    with pytest.raises(JudgeError):
        judge.read(tmp_path, table, tag="savepoint.1")
