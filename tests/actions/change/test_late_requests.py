"""What an object store may still carry out is waited for: since when, by whose signs, and what is told."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.change import journal, taking_back
from paimark.core.actions.change.owner import running
from paimark.core.actions.context import Context, Counting, Remark
from paimark.core.actions.registry import action
from paimark.core.actions.roots.root_files import copy_files
from paimark.core.errors import Refused, Unavailable
from paimark.core.storage.files import Unanswered
from paimark.core.storage.late_requests import LateRequests
from paimark.core.storage.local import LocalFiles
from tests.actions.acting import ORDERS, applied, planned, texts
from tests.faults.fault_files import Death, FaultFiles
from tests.storage.wrapped import Wrapped
from tests.wording import about

_LATE_SECONDS = 960
_LONG_AGO = 3600


@pytest.fixture
def late(context: Context) -> Context:
    """On a store that may carry out requests late."""
    return replace(context, late=LateRequests(_LATE_SECONDS))


def die(context: Context, name: str, write: int, /, **arguments: object) -> None:
    dying = replace(context, files=FaultFiles(LocalFiles(context.files.uri), write))
    with pytest.raises(Death):
        applied(dying, action(name).plan(dying, ORDERS, arguments))


def let_an_hour_pass(orders: Path) -> None:
    then = time.time() - _LONG_AGO
    for path in (*orders.glob("branch/*"), *orders.glob("savepoint/*")):
        if path.is_file():
            os.utime(path, (then, then))


def recovered(context: Context) -> bool:
    """Whether it waits, where it is stopped, and goes on without."""

    def stop(line: str) -> None:
        if isinstance(line, Counting) and line.startswith("waits until "):
            raise KeyboardInterrupt

    waits = False
    try:
        action("recover").apply(context, planned(context, "recover"), stop)
    except KeyboardInterrupt:
        waits = True
        now = replace(context, late=LateRequests(0))
        applied(now, planned(now, "recover"))
    assert planned(context, "recover").empty
    assert not journal.leftovers(context, ORDERS)
    return waits


def interrupted_change(context: Context) -> journal.JournaledChange:
    now = journal.current(context, ORDERS)
    assert now is not None
    return now


def test_what_died_just_now_is_waited_for_and_what_died_long_ago_is_not(late: Context, orders: Path) -> None:
    die(late, "create-branch", 4, name="b", tag="v2")
    assert recovered(late)
    die(late, "create-branch", 4, name="b", tag="v2")
    let_an_hour_pass(orders)
    assert not recovered(late)
    die(late, "create-branch", 4, name="b", tag="v2")
    soon = replace(late, late=LateRequests(0.2))
    applied(soon, planned(soon, "recover"))
    assert planned(late, "recover").empty


def test_a_heartbeat_is_a_sign_of_life(late: Context, orders: Path) -> None:
    die(late, "create-branch", 4, name="b", tag="v2")
    let_an_hour_pass(orders)
    late.files.replace(ORDERS.heartbeat(interrupted_change(late).journal.token), b"7")
    assert recovered(late)


def test_who_fails_without_an_answer_leaves_its_last_heartbeat(context: Context, orders: Path) -> None:
    """By it a recovery knows when the last request was sent: its last step may be hours old."""
    beating = replace(context, beat_every=0.01)
    for error, is_left in ((Unanswered("no"), True), (KeyboardInterrupt(), True), (Refused("no"), False)):
        token = journal.new_token()
        path = orders / f"branch/ALIVE-{token}"
        with pytest.raises(type(error)), running(beating, ORDERS, token):
            while not path.exists():
                time.sleep(0.01)
            raise error
        assert path.exists() is is_left


def test_a_recovery_that_only_waited_is_no_sign_of_life(late: Context, orders: Path) -> None:
    """Whoever leaves, or loses the line, waits for the rest of the time, not for all of it again."""
    die(late, "create-branch", 4, name="b", tag="v2")
    waited = journal.new_token()
    journal.take_over(late, ORDERS, interrupted_change(late), waited)
    let_an_hour_pass(orders)
    late.files.replace(ORDERS.heartbeat(waited), b"90")
    assert not recovered(late)


def test_a_recovery_that_went_on_is_one(late: Context, orders: Path) -> None:
    die(late, "create-branch", 4, name="b", tag="v2")
    let_an_hour_pass(orders)
    die(late, "recover", 2)
    assert interrupted_change(late).steps[-1] == taking_back._OVER
    assert recovered(late)


class Unreleased(Wrapped):
    """A store where a tag goes once a lock is there, and that gives no answer when the lock is to go."""

    def create(self, path: str, data: bytes) -> bool:
        if path == ORDERS.journal:
            super().delete(ORDERS.root().tag("v2"))
        return super().create(path, data)

    def delete(self, path: str) -> None:
        if path == ORDERS.journal:
            raise Unanswered("The store does not answer")
        super().delete(path)


def test_a_lock_that_may_still_go_is_not_given_to_another(late: Context, warehouse: Path) -> None:
    """That one would lose it in the middle of its change."""
    unanswered = replace(late, files=Unreleased(late.files))
    plan = planned(unanswered, "create-branch", name="b", tag="v2")
    with pytest.raises(Unavailable, match=about("undone", "the store does not answer")):
        applied(unanswered, plan)
    assert recovered(late)


def test_a_lock_that_nobody_was_about_to_release_is_not_waited_for(late: Context) -> None:
    die(late, "create-branch", 1, name="b", tag="v2")
    assert not recovered(late)


@pytest.mark.parametrize(("write", "waits"), [(1, False), (2, True), (3, True)])
def test_a_recovery_of_claims_that_died_is_waited_for_once_it_acted(
    late: Context, orders: Path, write: int, waits: bool
) -> None:
    die(late, "create-savepoint", 2)
    let_an_hour_pass(orders)
    die(late, "recover", write)
    assert recovered(late) is waits


def test_the_plan_tells_until_when_and_what_to_do(late: Context, orders: Path) -> None:
    die(late, "create-branch", 4, name="b", tag="v2")
    plan = planned(late, "recover")
    [waited_for] = [step.target for step in plan.steps if step.verb == "check"]
    assert about("requests", "store").search(waited_for)
    until, leave, shorter = texts(plan, "affects")
    assert about("recover waits", "20*").search(until) and "(15 min 5" in until
    assert about("leave", "locked", "`paimark recover shop.orders`").search(leave)
    assert about("`paimark recover shop.orders --option 'paimark.recover-wait=0 s'`").search(shorter)
    let_an_hour_pass(orders)
    plan = planned(late, "recover")
    assert not texts(plan, "affects")
    assert "check" not in [step.verb for step in plan.steps]


def test_who_stops_waiting_is_told_and_changes_nothing(late: Context, orders: Path) -> None:
    die(late, "create-branch", 4, name="b", tag="v2")
    told: list[str] = []

    def stop(line: str) -> None:
        told.append(line)
        if isinstance(line, Counting):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        action("recover").apply(late, planned(late, "recover"), stop)
    assert isinstance(told[-1], Remark)
    assert about("nothing", "`paimark recover shop.orders`", "later").search(told[-1])
    assert (orders / "branch/branch-b").exists()
    assert recovered(late)


class Worse(Wrapped):
    """A store that refuses one file of many, and gives no answer to a later one."""

    def create(self, path: str, data: bytes) -> bool:
        if path.endswith("-3"):
            time.sleep(0.05)
            raise Refused("not this one")
        if path.endswith("-10"):
            time.sleep(0.2)
            raise Unanswered("no answer")
        return super().create(path, data)


def test_of_many_writes_the_one_without_an_answer_is_told(context: Context) -> None:
    """Another error would let the rest be taken back, and that one came afterwards."""
    files, source = context.files, ORDERS.root("many")
    names = [f"tag/tag-{number}" for number in range(40)]
    for name in names:
        files.create(f"{source.directory}/{name}", b"{}")
    with pytest.raises(Unanswered):
        copy_files(Worse(files), source, ORDERS.root("copy"), names)
