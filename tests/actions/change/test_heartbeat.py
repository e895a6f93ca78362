"""Whoever holds a table says again and again that it lives, so that another machine does not take it over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from paimark.core.actions.change import journal
from paimark.core.actions.change.owner import running, silent
from paimark.core.actions.context import Context
from tests.actions.acting import ORDERS
from tests.eventually import eventually


def test_a_process_beats_while_it_works_and_leaves_nothing(context: Context, orders: Path) -> None:
    token = journal.new_token()
    beating = replace(context, beat_every=0.01, watch_for=0.5)
    path = orders / f"branch/ALIVE-{token}"
    with running(beating, ORDERS, token):
        eventually(path.exists)
        assert silent(beating, ORDERS, [token]) == set()
    assert not path.exists()


def test_a_process_that_says_nothing_is_silent(context: Context) -> None:
    watching = replace(context, watch_for=0.05)
    assert silent(watching, ORDERS, ["a", "b"]) == {"a", "b"}


def test_a_short_change_writes_no_heartbeat(context: Context, orders: Path) -> None:
    with running(context, ORDERS, journal.new_token()):
        pass
    assert not list(orders.glob("branch/ALIVE-*"))
