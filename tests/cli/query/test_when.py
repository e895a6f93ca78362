"""`paimark when` with the suite's Spark, on tables with expired snapshots, renamed columns and branches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import paimark as api
from paimark.core.spark.client.client import Engine
from tests.cli.command import Paimark
from tests.cli.shared_engine import Shared, share
from tests.paimon import commit, create_table, open_table
from tests.wording import about

PRICES = pa.schema([pa.field("id", pa.int64(), nullable=False), ("price", pa.float64())])


@pytest.fixture(scope="session")
def prices(engine_warehouse: Path) -> Path:
    """`since.prices`: key 1 is 10, 20, ... 90, -1, -1, 10 in its 12 snapshots, of which 1 to 7 have expired.

    A tag keeps 3. The branch fix begins at 3. `price` was renamed to `cost` at the end.
    """
    create_table(engine_warehouse, "since.prices", PRICES, primary_keys=["id"], options={"bucket": "1"})
    create_table(engine_warehouse, "since.empty", PRICES)
    for number in range(1, 13):
        value = {10: -1.0, 11: -1.0, 12: 10.0}.get(number, number * 10.0)
        commit(engine_warehouse, "since.prices", pa.table({"id": [1], "price": [value]}, schema=PRICES))
        if number == 3:
            open_table(engine_warehouse, "since.prices").create_tag("v3", 3)
    table = api.open(engine_warehouse).table("since.prices")
    table.create_branch(name="fix", tag="v3")
    table.expire_snapshots(retain_last=5)
    table.alter_branch_schema(rename="price TO cost")
    return engine_warehouse


@pytest.fixture
def when(paimark: Paimark, engine: Engine, prices: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    share(engine, prices, monkeypatch)
    return paimark


def test_a_person_reads_since_when(when: Paimark) -> None:
    ran = when("when", "since.prices", "cost < 0", "--to", "11")
    first, before, hint = ran.out.splitlines()
    assert about("began", "snapshot 10", "1 row", "cost < 0").search(first)
    assert about("none", "snapshot 9").search(before)
    assert "paimark diff since.prices snapshot.9 snapshot.10" in hint
    assert "  snapshot 11, " in ran.err


def test_a_call_and_python_tell_the_same(
    when: Paimark, prices: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = when("sql", "CALL sys.when('since.prices', 'cost < 0', `to` => '11')", "--output", "json")
    [row] = ran.rows
    assert row.pop("time")
    assert row == {"version": "snapshot.10", "rows": 1, "version_before": "snapshot.9", "expired_between": 0}
    assert about("began", "snapshot 10").search(ran.err)
    every = when("sql", "CALL sys.when('since.prices', 'cost < 0', all => true)", "--output", "json").rows
    assert [(each["version"], each["rows"]) for each in every][-3:] == [
        ("snapshot.10", 1),
        ("snapshot.11", 1),
        ("snapshot.12", 0),
    ]
    none = when("sql", "CALL sys.when('since.prices', 'cost < -5')")
    assert none.code == 1 and about("no row", "since.prices", "snapshot 12").search(none.err)
    monkeypatch.setattr("paimark.core.spark.client.client.Engine", lambda *told: Shared(engine))
    found = api.open(prices).table("since.prices").when("cost < 0", new="snapshot.11")
    assert (found.version, found.rows, found.before_version) == ("snapshot.10", 1, "snapshot.9")


def test_a_program_reads_numbers(when: Paimark) -> None:
    ran = when("when", "since.prices", "cost < 0", "--to", "snapshot.11", "--output", "json")
    [row] = ran.rows
    assert row.pop("time_millis") > 0
    assert row == {
        "snapshot_id": 10,
        "version": "snapshot.10",
        "rows": 1,
        "before_snapshot_id": 9,
        "before_version": "snapshot.9",
        "expired_between": 0,
    }


def test_what_expired_between_is_told(when: Paimark) -> None:
    ran = when("when", "since.prices", "cost between 50 and 90", "--to", "9")
    began, before, between, *_ = ran.out.splitlines()
    assert about("began", "snapshot 8").search(began)
    assert about("none", "v3 (snapshot 3)").search(before)
    assert about("4 snapshots", "expired").search(between)


def test_what_was_there_all_along_is_told(when: Paimark) -> None:
    ran = when("when", "since.prices", "cost is not null")
    assert about("1 row", "cost is not null", "v3 (snapshot 3)", "no older", "earlier").search(ran.out)


def test_what_is_not_there_now_is_told_and_each_version_can_be_counted(when: Paimark) -> None:
    ran = when("when", "since.prices", "cost < 0")
    assert ran.code == 1
    assert about("no row", "since.prices", "snapshot 12", "--to", "--all").search(ran.err)
    ran = when("when", "since.prices", "cost < 0", "--all", "--output", "json")
    assert [(each["snapshot_id"], each["rows"]) for each in ran.rows] == [
        *((3, 0), (8, 0), (9, 0), (10, 1), (11, 1), (12, 0))
    ]
    head, _, first, *_ = when("when", "since.prices", "cost < 0", "--all").out.splitlines()
    assert head.split() == ["snapshot_id", "version", "time", "rows"] and ":" in first


def test_a_branch_is_searched_by_its_name(when: Paimark) -> None:
    ran = when("when", "since.prices", "price = 30", "--branch", "fix")
    assert ran.out.startswith("1 row with price = 30 in snapshot 3, ")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["since.prices", "price < 0"], 1, ("`price`",)),
        (["since.prices", "cost"], 1, ("boolean",)),
        (["since.prices", "cost < 0) or (1 = 1"], 2, ("cost < 0) or (1 = 1", "one condition")),
        (["since.prices", "cost < 0", "--from", "11", "--to", "8"], 2, ("after snapshot 8",)),
        (["since.prices", "cost < 0", "--from", "5"], 1, ("since.prices has no", "5")),
        (["since.empty", "price < 0"], 1, ("since.empty", "no snapshot", "commit")),
        (["since.none", "price < 0"], 1, ("since.none",)),
    ],
)
def test_bad_input_is_told(when: Paimark, words: list[str], code: int, said: tuple[str, ...]) -> None:
    ran = when("when", *words)
    assert (ran.code, ran.out) == (code, "") and about(*said).search(ran.err)
