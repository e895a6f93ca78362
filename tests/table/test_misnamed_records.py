"""A file called by a number holds the record of that number, or it is not read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.actions.roots.savepoint_claim import Claim
from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Record, Savepoint, Snapshot, TableSchema, Tag
from paimark.core.travel.version import resolve_time
from tests.table.lineages import SCHEMA, snapshot_json
from tests.wording import about

ORDERS = TablePath("shop", "orders")
ROOT = ORDERS.root()
RECORDS: dict[type[Record], dict[str, object]] = {
    Snapshot: json.loads(snapshot_json(7, 0)),
    TableSchema: json.loads(SCHEMA),
    Savepoint: {
        "savedSnapshotId": 1,
        "schemaId": 0,
        "fullManifestList": "manifest-list-1",
        "recordCount": 1,
        "saveTime": 0,
        "snapshotTime": 0,
    },
    Claim: {
        "token": "t",
        "snapshotId": 1,
        "tagDigest": "d",
        "fullManifestList": "manifest-list-1",
        "saveTime": 0,
        "createdBy": "manual",
        "owner": {"user": "u", "host": "h", "machine": "m", "pid": 1, "processStart": "", "since": 0},
    },
}
MISNAMED = ("record of another", "id")


@pytest.fixture
def files(warehouse: Path) -> Files:
    """Snapshot 4 is a copy of snapshot 2, and schema 1 one of schema 0."""
    orders = warehouse / ORDERS.directory
    shutil.copy(orders / "snapshot/snapshot-2", orders / "snapshot/snapshot-4")
    shutil.copy(orders / "schema/schema-0", orders / "schema/schema-1")
    return LocalFiles(str(warehouse))


@pytest.mark.parametrize(
    "read",
    [
        lambda lineage: lineage.snapshot(4),
        lambda lineage: lineage.schema(1),
        lambda lineage: lineage.latest_schema(),
        lambda lineage: resolve_time(lineage.files, ROOT, lineage.snapshot(3).time_millis + 1),
    ],
)
def test_one_of_another_id_is_refused(files: Files, read: Callable[[Lineage], object]) -> None:
    with pytest.raises(Corrupt, match=about(*MISNAMED)):
        read(Lineage(files, ROOT))


@pytest.mark.parametrize(
    ("read", "left"),
    [
        (lambda lineage: [row.snapshot_id for row in lineage.rows()], [5, 3, 2, 1]),
        (lambda lineage: [row.snapshot_id for row in lineage.newest(9)], [5, 3, 2, 1]),
        (lambda lineage: [each.id for each in lineage.snapshots()], [1, 2, 3, 5]),
        (lambda lineage: [each.id for each in lineage.schemas()], [0]),
    ],
)
def test_lists_leave_it_out_and_say_so(
    files: Files, read: Callable[[Lineage], list[int]], left: list[int]
) -> None:
    lineage = Lineage(files, ROOT)
    assert read(lineage) == left
    [sentence] = lineage.unreadable.values()
    assert about(*MISNAMED).search(sentence)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Snapshot, "snapshot-7"),
        (Snapshot, "changelog-7"),
        (TableSchema, "schema-7"),
        (Savepoint, "savepoint-7"),
        (Claim, "CLAIM-7"),
    ],
)
def test_every_kind_of_record_with_an_id_is_held_to_its_name(kind: type[Record], name: str) -> None:
    record = RECORDS[kind]
    assert kind.from_json(json.dumps({**record, "id": 7}).encode(), f"shop.db/t/x/{name}")
    with pytest.raises(Corrupt, match=about(f"shop.db/t/x/{name}", *MISNAMED, "8")):
        kind.from_json(json.dumps({**record, "id": 8}).encode(), f"shop.db/t/x/{name}")


def test_a_tag_may_be_called_as_it_likes(warehouse: Path) -> None:
    files = LocalFiles(str(warehouse))
    data = files.read(ROOT.snapshot(2))
    for name in ("snapshot-7", "7", "v-7"):
        assert Tag.from_json(data, ROOT.tag(name)).id == 2
