"""`paimark auto-savepoint`: once for cron, watching as a service."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.savepoints.auto_savepoint import OPTION
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.savepoints import SavepointManager
from tests.cli.command import PROGRAM, Paimark, bare_environment
from tests.conftest import EVENTS, ORDERS
from tests.eventually import eventually
from tests.paimon import commit


def set_interval(warehouse: Path, table: str, text: str) -> None:
    path = warehouse / "shop.db" / table / "schema/schema-0"
    schema = msgspec.json.decode(path.read_bytes())
    schema["options"][OPTION] = text
    path.write_bytes(msgspec.json.encode(schema))


def saved(warehouse: Path, table: str = "orders") -> list[int]:
    return SavepointManager(LocalFiles(str(warehouse)), TablePath("shop", table)).ids()


@pytest.fixture
def auto(paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    set_interval(warehouse, "orders", "1 h")
    return paimark


def test_once_makes_the_savepoint_that_is_due_and_then_none(auto: Paimark, warehouse: Path) -> None:
    first = auto("auto-savepoint", "shop.orders", "--once", "--output", "json")
    assert first.code == 0
    (row,) = first.rows
    assert (row["action"], row["table"], row["savepoint_id"]) == ("auto-savepoint", "shop.orders", 1)
    again = auto("auto-savepoint", "shop.orders", "--once")
    assert (again.code, again.out) == (0, "")
    assert "nothing newer" in again.err
    assert auto("auto-savepoint", "shop.orders", "--once", "--output", "json").rows == []
    assert saved(warehouse) == [1]


def test_all_looks_after_every_table_and_one_that_fails_keeps_none_from_it(
    auto: Paimark, warehouse: Path
) -> None:
    quiet = auto("auto-savepoint", "--all", "--once")
    assert (quiet.code, quiet.err) == (0, "")
    (line,) = quiet.out.splitlines()
    assert line.startswith("Saved snapshot 5 of shop.orders as savepoint 1")
    assert (saved(warehouse), saved(warehouse, "events")) == ([1], [])
    set_interval(warehouse, "events", "now and then")
    commit(warehouse, "shop.events", pa.table({"day": ["d"], "kind": ["k"]}, schema=EVENTS))
    set_interval(warehouse, "orders", "1 ms")
    failing = auto("auto-savepoint", "--all", "--once")
    assert failing.code == 1
    assert "shop.events: " in failing.err and "1 table could not" in failing.err


def test_a_dry_run_says_what_is_due_and_writes_nothing(auto: Paimark, warehouse: Path) -> None:
    for words in (["shop.orders"], ["--all"]):
        ran = auto("auto-savepoint", *words, "--once", "--dry-run", "--output", "json")
        assert ran.code == 0
        assert [(plan["action"], plan["table"]) for plan in ran.rows] == [("auto-savepoint", "shop.orders")]
    assert saved(warehouse) == []


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["shop.orders", "--once", "--watch"],
        ["shop.orders", "--all", "--once"],
        ["--once"],
        ["--all", "--once", "--branch", "b"],
        ["--all", "--watch", "--dry-run"],
    ],
)
def test_words_that_do_not_fit_together_are_a_usage_error(
    auto: Paimark, warehouse: Path, words: list[str]
) -> None:
    assert auto("auto-savepoint", *words).code == 2
    assert saved(warehouse) == []


def test_what_can_not_be_done_is_refused_before_anything(auto: Paimark, warehouse: Path) -> None:
    for words in (["shop.orders", "--once"], ["--all", "--watch"]):
        assert auto("auto-savepoint", *words, "--read-only").code == 1
    assert auto("auto-savepoint", "shop.ordrs", "--watch").code == 1
    assert auto("auto-savepoint", "shop.ordrs", "--once").code == 1
    assert saved(warehouse) == []


def test_it_is_one_command_of_the_help(auto: Paimark) -> None:
    listed = [line.split()[0] for line in auto("--help").out.splitlines() if line.startswith("  auto")]
    assert listed == ["auto-savepoint"]


@contextmanager
def watching(warehouse: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A watcher of its own; whatever it printed stands on its stdout."""
    state = {"XDG_STATE_HOME": str(warehouse.parent / "state")}
    process = subprocess.Popen(
        [PROGRAM, "--warehouse", warehouse, "auto-savepoint", "--watch", *words],
        env=bare_environment(state),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_watcher_says_a_line_a_savepoint_and_ends_cleanly(warehouse: Path, number: signal.Signals) -> None:
    set_interval(warehouse, "orders", "1 h")
    with watching(warehouse, "shop.orders") as watcher:
        assert watcher.stdout is not None and watcher.stderr is not None
        assert watcher.stderr.readline().startswith("Watching shop.orders: ")
        line = watcher.stdout.readline()
        assert line.startswith("Saved snapshot 5 of shop.orders as savepoint 1")
        watcher.send_signal(number)
        out, err = watcher.communicate(timeout=240)
        assert (watcher.returncode, out) == (0, "")
        assert "Traceback" not in err
    assert saved(warehouse) == [1]
    assert not list((warehouse / "shop.db/orders/savepoint").glob("CLAIM-*"))


def test_two_watchers_make_one_savepoint_between_them(auto: Paimark, warehouse: Path) -> None:
    set_interval(warehouse, "orders", "2 s")
    assert auto("create-savepoint", "shop.orders").code == 0
    rows = {"order_id": [9], "customer": ["c9"], "price": [9.0]}
    commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS))
    # Both are there when it falls due.
    with watching(warehouse, "--all") as first, watching(warehouse, "--all", "--output", "json") as second:
        for watcher in (first, second):
            assert watcher.stderr is not None
            assert watcher.stderr.readline() == "Watching 2 tables\n"
        eventually(lambda: len(saved(warehouse)) > 1)
        for watcher in (first, second):
            watcher.send_signal(signal.SIGTERM)
        text, listed = first.communicate(timeout=240)[0], second.communicate(timeout=60)[0]
        assert [first.returncode, second.returncode] == [0, 0]
    assert saved(warehouse) == [1, 2]
    said = [*text.splitlines(), *(row["message"] for row in msgspec.json.decode(listed))]
    assert said == ["Saved snapshot 6 of shop.orders as savepoint 2"]
