"""The names that the project was asked for, in `paimark`: savepoints as files, and a state by its time."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import paimark
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION
from paimark.core.storage.local import LocalFiles
from tests.wording import about

# As they were asked for: nothing of this list may go, whether or not the project itself calls it.
ASKED_FOR = {
    "Savepoint": (
        *("id", "saved_snapshot_id", "schema_id", "full_manifest_list", "record_count"),
        *("data_manifests", "to_json", "from_json", "from_path"),
    ),
    "SavepointManager": (
        *("savepoint_directory", "savepoint_path", "savepoint", "savepoint_exists"),
        *("earliest_savepoint_id", "latest_savepoint_id"),
    ),
    "SupportsTimeTravel": ("apply_snapshot",),
}
PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture(autouse=True)
def state(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent / "state"))


@pytest.fixture
def orders(warehouse: Path) -> paimark.Table:
    table = paimark.open(warehouse, options={VERIFY_WAIT_OPTION: "1 ms"}).table("shop.orders")
    table.create_savepoint(snapshot=3, comment="kept")
    table.create_savepoint()
    return table


def test_the_names_that_were_asked_for_are_public_and_documented() -> None:
    page = PAGE.read_text()
    for kind, names in ASKED_FOR.items():
        for name in names:
            assert hasattr(getattr(paimark, kind), name), f"{kind}.{name}"
            assert f"`{name}`" in page or f".{name}" in page, f"docs/python.md does not name {name}"
        assert kind in page


def test_a_savepoint_is_the_same_from_the_list_the_manager_and_its_file(orders: paimark.Table) -> None:
    manager = paimark.SavepointManager(orders)
    first, second = orders.savepoints()
    assert (first.id, first.savepoint_id, first.saved_snapshot_id, first.schema_id) == (1, 1, 3, 0)
    assert (first.comment, first.health, second.health) == ("kept", "ok", "ok")
    for again in (manager.savepoint(1), paimark.Savepoint.from_path(manager.savepoint_path(1))):
        # One file does not tell whether the tag is there.
        assert again.health is None
        assert again.to_json() == first.to_json()
        assert again.data_manifests() == first.data_manifests()
    file = Path(manager.savepoint_path(1))
    assert first.to_json() == file.read_text()
    assert file.parent == Path(manager.savepoint_directory)
    assert paimark.Savepoint.from_json(file.read_text()) == paimark.Savepoint.from_json(file.read_bytes())
    assert pickle.loads(pickle.dumps(first)) == first
    assert len({first, second, first}) == 2


def test_ids_are_found_from_the_earliest_to_the_latest(warehouse: Path, orders: paimark.Table) -> None:
    manager = paimark.SavepointManager(orders)
    assert (manager.earliest_savepoint_id(), manager.latest_savepoint_id()) == (1, 2)
    assert [manager.savepoint_exists(number) for number in (1, 2, 3)] == [True, True, False]
    with pytest.raises(paimark.NotFound, match=about("shop.orders", "no savepoint 3")):
        manager.savepoint(3)
    empty = paimark.SavepointManager(paimark.open(warehouse).table("shop.events"))
    assert (empty.earliest_savepoint_id(), empty.latest_savepoint_id()) == (None, None)


def test_the_manifests_of_a_savepoint_are_one_read(
    orders: paimark.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    (saved, _), read = orders.savepoints(), LocalFiles.read
    asked = []

    def counted(files: LocalFiles, path: str) -> bytes:
        asked.append(path)
        return read(files, path)

    monkeypatch.setattr(LocalFiles, "read", counted)
    manifests = saved.data_manifests()
    assert asked == [f"shop.db/orders/savepoint/{saved.full_manifest_list}"]
    assert manifests and all(
        each.file_size > 0 and each.file_name.startswith("manifest-") for each in manifests
    )
    assert sum(each.added_files or 0 for each in manifests) >= 3
    alone = paimark.Savepoint.from_json(saved.to_json())
    with pytest.raises(paimark.UsageError, match="was read from JSON alone"):
        alone.data_manifests()


def test_what_a_later_version_wrote_stays(orders: paimark.Table) -> None:
    fields = json.loads(orders.savepoints()[0].to_json())
    later = fields | {"retention": {"days": [7, 2**60]}, "owner": "ann"}
    read = paimark.Savepoint.from_json(json.dumps(later))
    assert json.loads(read.to_json()) == later
    assert json.loads(read.to_json()).keys() - fields.keys() == {"retention", "owner"}


def edited(**changes: object) -> Callable[[dict[str, Any]], str]:
    return lambda fields: json.dumps({**fields, **changes})


@pytest.mark.parametrize(
    "input_of",
    [
        lambda fields: "",
        lambda fields: "null",
        lambda fields: "[]",
        lambda fields: "{",
        lambda fields: "\ud800",
        lambda fields: b"\xff\xfe",
        lambda fields: "[" * 1_000_000,
        lambda fields: '{"a":' * 1_000_000,
        lambda fields: " " * (300 << 20),
        lambda fields: json.dumps({"version": 3, "id": 5, "schemaId": 0, "commitUser": "a snapshot"}),
        lambda fields: json.dumps(fields).replace('"id": 1', f'"id": 1{"0" * 400}'),
        edited(id=0),
        edited(id="1"),
        edited(id=True),
        edited(recordCount=-1),
        edited(recordCount=2**63),
        edited(saveTime=10**30),
        edited(fullManifestList="../../etc/passwd"),
        edited(fullManifestList="manifest-list-a/../b"),
        edited(version=2),
        edited(comment=5),
    ],
)
def test_other_input_is_refused_in_a_sentence(
    orders: paimark.Table, input_of: Callable[[dict[str, Any]], str | bytes]
) -> None:
    text = input_of(json.loads(orders.savepoints()[0].to_json()))
    with pytest.raises(paimark.PaimarkError) as refused:
        paimark.Savepoint.from_json(text)
    assert 0 < len(refused.value.message) < 300 and "\n" not in refused.value.message
    assert refused.value.hint


def test_other_arguments_are_refused_in_a_sentence(orders: paimark.Table, tmp_path: Path) -> None:
    kinds: Any = paimark
    manager: Any = paimark.SavepointManager(orders)
    (tmp_path / "savepoint-1").write_text("{}")
    calls: list[Callable[[], object]] = [
        lambda: kinds.Savepoint.from_json(5),
        lambda: kinds.Savepoint.from_path(5),
        lambda: kinds.Savepoint.from_path(""),
        lambda: kinds.Savepoint.from_path(tmp_path),
        lambda: kinds.Savepoint.from_path(tmp_path / "none"),
        lambda: kinds.Savepoint.from_path(tmp_path / "savepoint-1"),
        lambda: kinds.Savepoint.from_path("x\0y"),
        lambda: kinds.SavepointManager("shop.orders"),
        lambda: manager.savepoint("1"),
        lambda: manager.savepoint(0),
        lambda: manager.savepoint_path(True),
        lambda: manager.savepoint_exists(10**30),
        lambda: kinds.Table.apply_snapshot(orders, "yesterday"),
    ]
    for call in calls:
        with pytest.raises(paimark.PaimarkError) as refused:
            call()
        assert refused.value.message


def test_a_table_travels_to_a_time(orders: paimark.Table) -> None:
    travels: paimark.SupportsTimeTravel[paimark.Version] = orders
    assert isinstance(orders, paimark.SupportsTimeTravel)
    third = orders.snapshots()[-3]
    assert travels.apply_snapshot(third.commit_time).name == orders.at_time(third.commit_time).name
    with pytest.raises(paimark.NotFound):
        travels.apply_snapshot(0)
