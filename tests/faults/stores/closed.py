"""A warehouse on S3 that this user may read only in part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.actions.acting import contents
from tests.storage.pretending import DENIED, PretendingServer
from tests.storage.stores import BUCKET

LAKE = f"s3://{BUCKET}/lake"
_CLOSED = ("lake/closed.db/", "lake/shop.db/events/")


@contextmanager
def partly_closed(template: Path) -> Iterator[PretendingServer]:
    """Serve a warehouse: of `closed` and `shop.events` nothing can be read, of `shop.orders` all."""
    with PretendingServer("keeps") as server:
        for path, data in contents(template).items():
            server.objects[f"lake/{path}"] = data
            server.objects[f"lake/{path.replace('shop.db', 'closed.db')}"] = data
        server.fault = lambda method, key: DENIED if key.startswith(_CLOSED) else None
        yield server
