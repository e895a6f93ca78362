"""What takes long says that its owner lives: another machine does not take it over meanwhile."""

from __future__ import annotations

import time
from dataclasses import replace

import msgspec
import pytest

from core.actions import journal, owner
from core.actions.context import Context
from tests.actions.acting import ORDERS, planned


def test_a_journal_that_beats_is_of_a_living_owner(context: Context) -> None:
    now = [1_780_000_000_000]
    clock = replace(context, clock=lambda: now[0])
    plan = planned(clock, "rollback", to="v2")
    hold = journal.take(clock, ORDERS, plan, journal.new_token())
    elsewhere = msgspec.structs.replace(hold.journal.owner, machine="elsewhere")
    assert owner.standing(clock, elsewhere, hold.token) == "unknown"
    now[0] += owner.PRESUMED_DEAD_AFTER_MS + 1
    assert owner.standing(clock, elsewhere, hold.token) == "gone"
    with journal.beating(clock, hold, every=0.01):
        deadline = time.monotonic() + 30
        while (begun := journal.current(clock, ORDERS)) is None or begun.owner.alive is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert begun.owner == msgspec.structs.replace(hold.journal.owner, alive=now[0])
    elsewhere = msgspec.structs.replace(begun.owner, machine="elsewhere")
    assert owner.standing(clock, elsewhere, hold.token) == "unknown"
    now[0] += owner.PRESUMED_DEAD_AFTER_MS + 1
    assert owner.standing(clock, elsewhere, hold.token) == "gone"


def test_what_another_took_over_beats_no_more(context: Context) -> None:
    hold = journal.take(context, ORDERS, planned(context, "rollback", to="v2"), journal.new_token())
    journal.take_over(context, ORDERS, hold.journal, journal.new_token())
    with pytest.raises(journal.TakenOver):
        journal.beat(context, hold)
    begun = journal.current(context, ORDERS)
    assert begun is not None and begun.owner.alive is None
