"""`doctor` races for scratch files in an object store, and changes are refused where two writers win."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from paimark.core.cli.checks.doctor_store import taking_turns, writers_at_once
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import contents
from tests.cli.command import CommandResult, Paimark
from tests.storage.pretending import PretendingServer
from tests.storage.stores import BUCKET
from tests.wording import about

ADDRESS = f"s3://{BUCKET}/warehouse"


def words(server: PretendingServer) -> list[str]:
    return [word for item in server.options().items() for word in ("--option", "=".join(item))]


def put_tables(server: PretendingServer, warehouse: Path) -> None:
    server.objects |= {f"warehouse/{path}": data for path, data in contents(warehouse).items()}


def findings(result: CommandResult) -> list[tuple[str, str]]:
    return [(row["state"], row["detail"]) for row in result.rows if row["check"] == "conditional writes"]


@pytest.fixture
def doctor(paimark: Paimark) -> Callable[..., CommandResult]:
    return lambda server, *more: paimark("doctor", ADDRESS, *words(server), "--output", "json", *more)


def test_an_honest_store_is_told_so_and_nothing_stays(
    doctor: Callable[..., CommandResult], warehouse: Path
) -> None:
    with PretendingServer("keeps") as server:
        put_tables(server, warehouse)
        before = dict(server.objects)
        result = doctor(server)
        [(state, detail)] = findings(result)
        assert (result.code, state) == (0, "ok") and about("8 races", "8 writers", "safe").search(detail)
        assert server.objects == before


def test_a_store_without_conditional_deletion_gets_a_warning(
    doctor: Callable[..., CommandResult], warehouse: Path
) -> None:
    with PretendingServer("deletes anyway") as server:
        put_tables(server, warehouse)
        result = doctor(server)
        assert result.code == 0
        [ok, (state, detail)] = findings(result)
        assert ok[0] == "ok" and state == "warning" and "ignores If-Match" in detail


def test_a_store_that_looks_first_takes_no_change_but_is_read(
    doctor: Callable[..., CommandResult], paimark: Paimark, warehouse: Path
) -> None:
    with PretendingServer("looks first") as server:
        put_tables(server, warehouse)
        before = dict(server.objects)
        result = doctor(server)
        assert result.code == 1
        [(state, detail)] = findings(result)
        assert state == "broken" and about(ADDRESS, "safely", "8 writers").search(detail)
        where = ("--warehouse", ADDRESS, *words(server))
        for change in (("create-savepoint",), ("create-branch", "--name", "fix", "--tag", "v2")):
            result = paimark(change[0], "shop.orders", *change[1:], *where)
            assert result.code == 1 and about(ADDRESS, "safely").search(result.err)
        assert paimark("snapshots", "shop.orders", *where).code == 0
        assert server.objects == before


def test_a_race_is_a_change_and_is_not_made_in_read_only_mode(
    doctor: Callable[..., CommandResult], warehouse: Path
) -> None:
    with PretendingServer("ignores") as server:
        put_tables(server, warehouse)
        result = doctor(server, "--read-only")
        assert (result.code, findings(result)) == (0, [("ok", "not tried in read-only mode")])
        assert not [each for each in server.requests if each.startswith("PUT")]


@pytest.mark.parametrize(
    ("users", "findings"),
    [("aabbc", ""), ("", ""), ("aaaa", ""), ("abcba", "abc"), ("aabab", "ab"), ("abbcdc", "cd")],
)
def test_writers_take_turns_where_commits_of_others_lie_between(users: str, findings: str) -> None:
    assert taking_turns(users) == {*findings}


def test_writers_that_take_turns_without_a_lock_are_told(paimark: Paimark, warehouse: Path) -> None:
    with PretendingServer("keeps") as server:
        put_tables(server, warehouse)
        for number, user in enumerate("abcba", 1):
            key = f"warehouse/shop.db/orders/snapshot/snapshot-{number}"
            record = {**msgspec.json.decode(server.objects[key]), "commitUser": user}
            server.objects[key] = msgspec.json.encode(record)
        where = ("--warehouse", ADDRESS, *words(server), "--read-only", "--output", "json")
        result = paimark("doctor", "shop.orders", *where)
        [finding] = [row for row in result.rows if "Several writers" in row["detail"]]
        assert (result.code, finding["state"]) == (0, "warning")
        assert "(a, b, c)" in finding["detail"] and "lock.enabled" in finding["hint"]


@pytest.mark.parametrize(
    ("uri", "is_told"),
    [("s3://lake/w", True), ("gs://lake/w", True), ("hdfs://name/w", False), ("/lake/w", False)],
)
def test_writers_on_a_store_that_can_rename_safely_are_not_told(
    warehouse: Path, uri: str, is_told: bool
) -> None:
    root = TablePath("shop", "orders").root()
    for number, user in enumerate("abcba", 1):
        path = warehouse / root.snapshot(number)
        path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), "commitUser": user}))
    rows = Lineage(LocalFiles(str(warehouse)), root).rows()
    assert bool(list(writers_at_once(uri, root, rows))) == is_told
