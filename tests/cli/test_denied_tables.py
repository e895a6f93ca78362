"""A table that this user may not read does not keep the command from listing the others."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import Paimark
from tests.faults.stores.closed import LAKE, partly_closed


def test_the_others_are_listed_and_it_is_told(warehouse_template: Path, paimark: Paimark) -> None:
    with partly_closed(warehouse_template) as server:
        words = [word for item in server.options().items() for word in ("--option", "=".join(item))]
        ran = paimark("tables", "shop", "--warehouse", LAKE, "--output", "json", *words)
    assert ran.code == 0
    assert [(each["table_name"], each["latest_snapshot_id"]) for each in ran.rows] == [
        ("events", None),
        ("orders", 5),
    ]
    assert f"shop.events: {LAKE} can't be used: Access Denied" in ran.err
