"""A store that does not let this user read a table or a database: the console says so, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.storage.files import Denied
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import tables
from paimark.tui.session import Session
from tests.actions.acting import ORDERS
from tests.faults.stores.closed import LAKE, partly_closed
from tests.storage.pretending import PretendingServer
from tests.tui.driving import sitting


@pytest.fixture(scope="module")
def server(warehouse_template: Path) -> Iterator[PretendingServer]:
    with partly_closed(warehouse_template) as server:
        yield server


def test_a_table_that_may_not_be_read_hides_no_other(server: PretendingServer) -> None:
    files = open_files(LAKE, server.options())
    assert [each.name for each in tables(files, "shop")] == ["events", "orders"]
    with pytest.raises(Denied, match="Access Denied"):
        tables(files, "closed")


async def test_the_console_goes_on_beside_what_is_closed(server: PretendingServer) -> None:
    session = Session(Settings(LAKE, options=server.options()))
    async with sitting(LAKE, session=session) as console:
        # `closed` comes first, and is passed over.
        await console.sees("closed", "shop", "orders", "Access Denied")
        console.app.browse.tables.go_to(ORDERS)
        await console.press("enter")
        await console.sees("APPEND")
