"""`doctor` races for scratch files in an object store, and changes are refused where two writers win."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.actions.acting import contents
from tests.cli.command import Paimark, Ran
from tests.storage.pretending import PretendingServer, pretending_server
from tests.storage.stores import BUCKET

ADDRESS = f"s3://{BUCKET}/warehouse"


def words(server: PretendingServer) -> list[str]:
    return [word for item in server.options().items() for word in ("--option", "=".join(item))]


def put_tables(server: PretendingServer, warehouse: Path) -> None:
    server.objects |= {f"warehouse/{path}": data for path, data in contents(warehouse).items()}


def told(ran: Ran) -> list[tuple[str, str]]:
    return [(row["state"], row["detail"]) for row in ran.rows if row["check"] == "conditional writes"]


@pytest.fixture
def doctor(paimark: Paimark) -> Callable[..., Ran]:
    return lambda server, *more: paimark("doctor", ADDRESS, *words(server), "--output", "json", *more)


def test_an_honest_store_is_told_so_and_nothing_stays(doctor: Callable[..., Ran], warehouse: Path) -> None:
    with pretending_server("keeps") as server:
        put_tables(server, warehouse)
        before = dict(server.objects)
        ran = doctor(server)
        assert (ran.code, told(ran)) == (0, [("ok", "kept in 8 races of 8 writers each: changes are safe")])
        assert server.objects == before


def test_a_store_that_looks_first_takes_no_change_but_is_read(
    doctor: Callable[..., Ran], paimark: Paimark, warehouse: Path
) -> None:
    with pretending_server("looks first") as server:
        put_tables(server, warehouse)
        before = dict(server.objects)
        ran = doctor(server)
        assert ran.code == 1
        [(state, detail)] = told(ran)
        assert state == "broken" and f"{ADDRESS} can't be changed safely: of 8 writers" in detail
        where = ("--warehouse", ADDRESS, *words(server))
        for change in (("create-savepoint",), ("create-branch", "--name", "fix", "--tag", "v2")):
            ran = paimark(change[0], "shop.orders", *change[1:], *where)
            assert ran.code == 1 and "can't be changed safely" in ran.err
        assert paimark("snapshots", "shop.orders", *where).code == 0
        assert server.objects == before


def test_a_race_is_a_change_and_is_not_made_in_read_only_mode(
    doctor: Callable[..., Ran], warehouse: Path
) -> None:
    with pretending_server("ignores") as server:
        put_tables(server, warehouse)
        ran = doctor(server, "--read-only")
        assert (ran.code, told(ran)) == (0, [("ok", "not tried in read-only mode")])
        assert not [each for each in server.requests if each.startswith("PUT")]
