"""A warehouse on S3 of which this user may read a part."""

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
    """`closed` can't be listed, and no file of `shop.events` read; `shop.orders` can."""
    with PretendingServer("keeps") as server:
        for path, data in contents(template).items():
            server.objects[f"lake/{path}"] = data
            server.objects[f"lake/{path.replace('shop.db', 'closed.db')}"] = data
        server.fault = lambda method, key: DENIED if key.startswith(_CLOSED) else None
        yield server
