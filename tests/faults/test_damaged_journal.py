"""For any damage of a journal entry, recovery reports an error in a sentence, or main keeps its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import PaimarkError
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import STEP_PREFIX
from tests.actions.acting import contents, context_on, done
from tests.faults.fault_files import Death
from tests.faults.trees import TreeOnDisk

_VALUES: list[Any] = [None, {}, "x"]


def damages(noted: dict[str, Any]) -> Iterator[Any]:
    """Wrong values for the whole data; and each field removed, and with each wrong value."""
    yield from _VALUES
    for field in noted:
        yield {name: value for name, value in noted.items() if name != field}
        yield from ({**noted, field: value} for value in _VALUES if value != noted[field])


@pytest.fixture
def interrupted(warehouse: Path) -> Context:
    """A rollback that died in its engine, with a savepoint of main, and its first attempt in the journal."""

    def engine() -> Engine:
        raise Death("the engine")

    context = context_on(warehouse)
    with pytest.raises(Death):
        done(replace(context, engine=engine), "rollback", to="v2")
    return context


def test_recovery_says_what_an_entry_of_a_rewriting_lacks(interrupted: Context, warehouse: Path) -> None:
    orders = warehouse / "shop.db/orders"
    on_disk, snapshots = TreeOnDisk(orders), contents(orders / "snapshot")
    start = on_disk.read()
    entries = {path: json.loads(path.read_bytes()) for path in orders.glob(f"branch/{STEP_PREFIX}*")}
    noted = {path: entry for path, entry in entries.items() if entry.get("data")}
    assert sorted(field for entry in noted.values() for field in entry["data"]) == [
        *("head", "is_new", "may_go_on", "savepoint")
    ]
    refused = 0
    for path, entry in noted.items():
        for data in damages(entry["data"]):
            path.write_text(json.dumps({**entry, "data": data}))
            try:
                done(interrupted, "recover")
            except PaimarkError as error:
                assert error.message
                refused += 1
            assert contents(orders / "snapshot") == snapshots
            on_disk.put_back(start)
    assert refused > 9
    done(interrupted, "recover")
