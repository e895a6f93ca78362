"""A savepoint when the interval says so: one, whoever watches and whatever the clock does."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.savepoints import auto_savepoint
from paimark.core.actions.savepoints.auto_savepoint import OPTION, once, schedule, watch
from paimark.core.errors import PaimarkError
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, Meanwhile, applied, context_on, done, planned
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.faults.fault_files import Death, DiesAfter
from tests.paimon import commit
from tests.wording import about

HOUR = 3_600_000
# Later than the template's commits, whenever the tests run.
NOW = 4_000_000_000_000


def at(context: Context, time_ms: int) -> Context:
    return replace(context, clock=lambda: time_ms)


def set_interval(orders: Path, text: str) -> None:
    path = orders / "schema/schema-0"
    schema = msgspec.json.decode(path.read_bytes())
    schema["options"][OPTION] = text
    path.write_bytes(msgspec.json.encode(schema))


def add_rows(warehouse: Path) -> None:
    rows = {"order_id": [9], "customer": ["c9"], "price": [9.0]}
    commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA))


def ids(context: Context) -> list[int]:
    return SavepointManager(context.files, ORDERS).ids()


@pytest.fixture
def hourly(orders: Path) -> None:
    set_interval(orders, "1 h")


def test_without_the_option_nothing_is_due(context: Context) -> None:
    plan = planned(context, "auto-savepoint")
    assert plan.empty and OPTION in plan.summary
    assert once(context, ORDERS) is None


@pytest.mark.usefixtures("hourly")
def test_the_first_is_due_at_once_and_says_who_made_it(context: Context) -> None:
    outcome = once(at(context, NOW), ORDERS)
    assert outcome is not None and outcome.result["saved_snapshot_id"] == 5
    [savepoint] = SavepointManager(context.files, ORDERS).all()
    assert (savepoint.created_by, savepoint.save_time) == ("interval", NOW)


@pytest.mark.usefixtures("hourly")
def test_the_next_is_due_an_interval_later_if_there_is_a_newer_snapshot(
    context: Context, warehouse: Path
) -> None:
    once(at(context, NOW), ORDERS)
    assert once(at(context, NOW + 5 * HOUR), ORDERS) is None
    add_rows(warehouse)
    assert once(at(context, NOW + HOUR - 1), ORDERS) is None
    assert schedule(context.files, ORDERS.root(), NOW).due_at == NOW + HOUR
    assert once(at(context, NOW + HOUR), ORDERS)
    assert ids(context) == [1, 2]


@pytest.mark.usefixtures("hourly")
def test_a_long_pause_makes_one(context: Context, warehouse: Path) -> None:
    once(at(context, NOW), ORDERS)
    for _ in range(3):
        add_rows(warehouse)
    for _ in range(3):
        once(at(context, NOW + 50 * HOUR), ORDERS)
    assert ids(context) == [1, 2]


@pytest.mark.usefixtures("hourly")
def test_a_savepoint_made_by_hand_counts(context: Context, warehouse: Path) -> None:
    done(at(context, NOW), "create-savepoint")
    add_rows(warehouse)
    assert once(at(context, NOW + HOUR // 2), ORDERS) is None


@pytest.mark.usefixtures("hourly")
def test_a_clock_that_jumps_makes_no_burst_and_no_standstill(context: Context, warehouse: Path) -> None:
    once(at(context, NOW + 1000 * HOUR), ORDERS)
    for step in range(4):
        add_rows(warehouse)
        once(at(context, NOW + step), ORDERS)
    assert ids(context) == [1, 2]
    assert once(at(context, NOW + 2 * HOUR), ORDERS)


@pytest.mark.usefixtures("hourly")
def test_a_savepoint_from_a_time_to_come_of_a_snapshot_from_one_holds_up_nothing(
    context: Context, warehouse: Path, orders: Path
) -> None:
    latest = orders / "snapshot/snapshot-5"
    record = msgspec.json.decode(latest.read_bytes())
    latest.write_bytes(msgspec.json.encode({**record, "timeMillis": NOW + 900 * HOUR}))
    once(at(context, NOW + 1000 * HOUR), ORDERS)
    assert once(at(context, NOW), ORDERS) is None
    for step in range(4):
        add_rows(warehouse)
        once(at(context, NOW + step), ORDERS)
    assert ids(context) == [1, 2]
    assert once(at(context, NOW + 2 * HOUR), ORDERS)


@pytest.mark.usefixtures("hourly")
@pytest.mark.parametrize(
    ("clocks", "most", "least"),
    [
        # Each clock is given by the hours that it is off, from each hour of the day on.
        pytest.param(({}, {}), 25, 23, marks=pytest.mark.long),
        pytest.param(({}, {6: -1}), 27, 22, marks=pytest.mark.long),
        pytest.param(({}, {6: 24, 9: 0}), 27, 22, marks=pytest.mark.long),
        pytest.param(({12: -1},), 26, 22, marks=pytest.mark.long),
        pytest.param(({6: 24, 9: 0},), 26, 22, marks=pytest.mark.long),
        (({6: 24 * 365 * 100, 9: 0},), 26, 22),
        pytest.param(({6: -24 * 365 * 30, 9: 0},), 26, 22, marks=pytest.mark.long),
        # Of two clocks that differ, each counts its own savepoints only, at the worst.
        pytest.param(({}, {0: 1 / 6}), 50, 23, marks=pytest.mark.long),
        pytest.param(({}, {0: -1 / 6}), 50, 23, marks=pytest.mark.long),
        (({0: -1 / 6}, {0: 24}), 50, 23),
        pytest.param(({}, {6: 24}), 50, 22, marks=pytest.mark.long),
    ],
)
def test_a_day_of_clocks_that_jump_and_differ_makes_no_flood_and_no_standstill(
    context: Context,
    orders: Path,
    clocks: tuple[dict[int, float], ...],
    most: int,
    least: int,
) -> None:
    """A machine for each clock, which looks every ten minutes. Jobs on each of them commit before that."""
    saved: list[int] = []
    for ten_minutes in range(24 * 6):
        for machine, offs in enumerate(clocks):
            hour, minute = divmod(ten_minutes, 6)
            off = next((offs[each] for each in sorted(offs, reverse=True) if each <= hour), 0)
            now = NOW + hour * HOUR + minute * HOUR // 6 + machine + round(off * HOUR)
            number = 6 + 2 * ten_minutes + machine
            _commit_at(orders, number, now - 1)
            if once(at(context, now), ORDERS):
                saved.append(hour)
    assert least <= len(saved) <= most
    assert max(saved.count(hour) for hour in range(24)) <= 1 + len(clocks)
    assert all(saved.count(hour) + saved.count(hour + 1) for hour in range(23))


def _commit_at(orders: Path, number: int, time_ms: int) -> None:
    """A snapshot without new files."""
    record = msgspec.json.decode((orders / "snapshot/snapshot-5").read_bytes())
    record |= {"id": number, "timeMillis": time_ms}
    (orders / f"snapshot/snapshot-{number}").write_bytes(msgspec.json.encode(record))
    (orders / "snapshot/LATEST").write_text(str(number))


@pytest.mark.usefixtures("hourly")
@pytest.mark.parametrize("ahead", [24, 24 * 365 * 100])
def test_a_claim_of_a_clock_that_was_ahead_holds_nobody_up_for_long(
    context: Context, warehouse: Path, ahead: int
) -> None:
    """Its machine died after it claimed the savepoint."""
    dying = context_on(warehouse, DiesAfter(context.files, "CLAIM-1"))
    with pytest.raises(Death):
        once(at(dying, NOW + ahead * HOUR), ORDERS)
    claim = warehouse / ORDERS.savepoint_claim(1)
    fields = msgspec.json.decode(claim.read_bytes())
    fields["owner"]["machine"] = "another"
    claim.write_bytes(msgspec.json.encode(fields))
    assert once(at(context, NOW), ORDERS)
    assert once(at(context, NOW + HOUR), ORDERS) is None


@pytest.mark.usefixtures("hourly")
def test_two_watchers_at_once_make_one(context: Context, warehouse: Path) -> None:
    """The second comes right after the first claimed, the third right after it tagged."""
    made = []
    now = NOW

    def another() -> None:
        made.append(once(at(context, now), ORDERS))

    first = context_on(warehouse, Meanwhile(context.files, "CLAIM-1", another))
    assert once(at(first, now), ORDERS)
    assert made == [None]
    now += HOUR
    add_rows(warehouse)
    later = context_on(warehouse, Meanwhile(context.files, "tag-savepoint.2", another))
    assert once(at(later, now), ORDERS)
    assert made == [None, None]
    assert len(ids(context)) == 2
    assert not list((warehouse / ORDERS.savepoints).glob("CLAIM-*"))


@pytest.mark.usefixtures("hourly")
def test_many_watchers_make_one(context: Context) -> None:
    barrier = threading.Barrier(6)
    made: list[object] = []

    def watcher() -> None:
        barrier.wait()
        made.append(once(at(context, NOW), ORDERS))

    threads = [threading.Thread(target=watcher) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([each for each in made if each is not None]) == len(ids(context)) == 1


@pytest.mark.usefixtures("hourly")
def test_a_plan_that_another_was_faster_than_does_nothing(context: Context) -> None:
    now = at(context, NOW)
    plan = planned(now, "auto-savepoint")
    once(now, ORDERS)
    outcome = auto_savepoint.apply(now, plan, lambda line: None)
    assert outcome.result["savepoint_id"] is None
    assert ids(context) == [1]


@pytest.mark.parametrize("text", ["often", "5", "0 s"])
def test_an_interval_that_is_none_is_told(context: Context, orders: Path, text: str) -> None:
    set_interval(orders, text)
    with pytest.raises(
        PaimarkError, match=about("savepoint.create-interval", "shop.orders", "no savepoints")
    ):
        planned(context, "auto-savepoint")


@pytest.mark.parametrize("text", ["often", "0 s", "-1 h", "5", "59 s"])
def test_an_interval_that_never_fires_is_not_set(context: Context, text: str) -> None:
    assert planned(context, "alter-branch-schema", set=f"'{OPTION}' = '{text}'").refusals
    assert not planned(context, "alter-branch-schema", set=f"'{OPTION}' = '1 min'").refusals


@pytest.mark.parametrize("text", ["1 h", "60 min", "PT1H"])
def test_intervals_are_written_as_paimon_writes_them(context: Context, orders: Path, text: str) -> None:
    set_interval(orders, text)
    assert schedule(context.files, ORDERS.root(), NOW).interval == HOUR


@pytest.mark.parametrize("text", ["1 h", "often"])
def test_a_change_of_mains_rows_is_followed_by_what_is_due_and_never_fails_for_it(
    context: Context, warehouse: Path, orders: Path, text: str
) -> None:
    set_interval(orders, text)
    done(context, "create-savepoint")
    done(context, "create-branch", name="fix", tag="savepoint.1")
    rows = {"order_id": [9], "customer": ["c9"], "price": [9.0]}
    commit(warehouse, "shop.orders$branch_fix", pa.table(rows, schema=ORDERS_SCHEMA))
    told: list[str] = []
    now = at(context, NOW)
    outcome = applied(now, planned(now, "merge-branch", name="fix"), told)
    assert outcome.result["snapshot_id"] == 6
    if text == "often":
        assert about("done", "no savepoint", "savepoint.create-interval").search(told[-1])
        assert ids(context) == [1]
    else:
        assert about("snapshot 6", "shop.orders", "savepoint 2").search(told[-1])
        assert ids(context) == [1, 2]


@pytest.mark.usefixtures("hourly")
def test_a_watcher_tells_one_line_a_savepoint_and_stops_when_told(context: Context) -> None:
    stop = threading.Event()
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        stop.set()

    watcher = threading.Thread(target=watch, args=(context, lambda: [ORDERS], stop, tell))
    watcher.start()
    watcher.join(30)
    assert not watcher.is_alive()
    [line] = told
    assert about("snapshot 5", "shop.orders", "savepoint 1").search(line)


def test_a_watcher_survives_a_table_that_fails(context: Context, orders: Path) -> None:
    set_interval(orders, "often")
    stop = threading.Event()
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        stop.set()

    watch(context, lambda: [ORDERS], stop, tell)
    assert len(told) == 1 and told[0].startswith(f"shop.orders: {OPTION}")
