"""`paimark history` with the suite's Spark: what happened to a key, as far as versions are left."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import paimark as api
from paimark.core.actions.rewrite import spark_rewrite
from paimark.core.spark.client.client import Engine
from tests.cli.command import Paimark
from tests.cli.shared_engine import Shared, share
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table
from tests.wording import about

PRICES = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("price", pa.float64()), ("note", pa.string())]
)
PLAIN = {"bucket": "1"}


@pytest.fixture(scope="session")
def past(engine_warehouse: Path, judge: Judge) -> Path:
    """`past.keys`: key 1 comes at 1, changes at 3 and 6, goes at 8; others are of other keys, 7 compacts.

    Snapshots 1 to 4 have expired; a tag keeps 2. `past.rows` has no key, and a row twice.
    """
    create_table(engine_warehouse, "past.keys", PRICES, primary_keys=["id"], options=PLAIN)
    for number, key, price in [(1, 1, 1.0), (2, 5, 1.0), (3, 1, 3.0), (4, 5, 2.0), (5, 9, 0.0), (6, 1, -1.0)]:
        row = {"id": [key], "price": [price], "note": [None]}
        commit(engine_warehouse, "past.keys", pa.table(row, schema=PRICES))
        if number == 2:
            open_table(engine_warehouse, "past.keys").create_tag("two", 2)
    judge.compact(engine_warehouse, "past.keys")
    judge.put(engine_warehouse, "past.keys", [("-D", [1, None, None])])
    create_table(engine_warehouse, "past.rows", PRICES)
    for price in (1.0, 1.0, 2.0):
        row = {"id": [1], "price": [price], "note": ["x"]}
        commit(engine_warehouse, "past.rows", pa.table(row, schema=PRICES))
    api.open(engine_warehouse).table("past.keys").expire_snapshots(retain_last=4)
    return engine_warehouse


@pytest.fixture
def history(paimark: Paimark, engine: Engine, past: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    share(engine, past, monkeypatch)
    return paimark


def test_a_person_reads_it_newest_first(history: Paimark) -> None:
    told = history("history", "past.keys", "--key", "id=1").out.splitlines()
    titles = [line for line in told if line[0] != " "]
    assert [line.partition(", ")[0] + line[line.rfind(":") :] for line in titles[:3]] == [
        "snapshot 8: removed",
        "snapshot 6: changed",
        "snapshot 5: changed",
    ]
    assert about("two (snapshot 2)", "already").search(titles[3])
    assert [line.strip() for line in told if line[0] == " "] == [
        "- id=1, price=-1.0",
        "price: 3.0 -> -1.0",
        "price: 1.0 -> 3.0",
        "id=1, price=1.0",
    ]
    assert "pypaimon 2.1.0" in told[2] and about("two (snapshot 2)", "expired").search(told[4])


def test_only_commits_that_may_hold_the_key_are_looked_at(
    history: Paimark, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer_of = list[object](), spark_rewrite.answer_of

    def counted(*told: Any) -> Any:
        asked.append(told)
        return answer_of(*told)

    monkeypatch.setattr("paimark.core.statements.questions.one_version.answer_of", counted)
    assert history("history", "past.keys", "--key", "id=9").out.startswith("snapshot 5, ")
    # The commit with it, behind which snapshots have expired, and the oldest version.
    assert len(asked) == 2


def test_a_program_reads_rows(history: Paimark) -> None:
    newest, *_ = history("history", "past.keys", "--key", "id=1", "--limit", "2", "--output", "json").rows
    assert newest.pop("time_millis") > 0 and newest.pop("commit_user")
    assert newest == {
        "snapshot_id": 8,
        "version": "snapshot.8",
        "change": "removed",
        "old": [{"id": 1, "price": -1.0}],
        "new": [],
        "before_version": "snapshot.7",
    }


def test_a_call_answers_with_rows(history: Paimark) -> None:
    ran = history("sql", "CALL sys.history('past.keys', key => 'id=1')", "--output", "json")
    assert [(row["version"], row["change"], row["old"], row["new"]) for row in ran.rows] == [
        ("snapshot.8", "removed", '{"id":1,"price":-1.0}', None),
        ("snapshot.6", "changed", '{"price":3.0}', '{"price":-1.0}'),
        ("snapshot.5", "changed", '{"price":1.0}', '{"price":3.0}'),
        ("two", "there already", None, '{"id":1,"price":1.0}'),
    ]
    asked = "CALL sys.history(key => 'id=1, price=2.0, note=a, b', table => 'past.rows')"
    assert history("sql", asked, "--read-only", "--output", "json").rows == []
    assert (
        len(history("sql", "CALL sys.history('past.rows', 'id=1')", "--limit", "2", "--output", "json").rows)
        == 2
    )
    for wrong, said in {
        "CALL sys.history('past.keys')": ("needs key",),
        "CALL sys.history('past.keys', 'id')": ("no column", "value"),
        "CALL sys.history('past.keys', 'id=1', 'x')": ("x",),
        "CALL sys.history('past.keys', 'id=1', times => 2)": ("sys.history", "no times"),
    }.items():
        failed = history("sql", wrong)
        assert failed.code == 1 and about(*said).search(failed.err), wrong


def test_rows_are_told_the_commit_that_wrote_them_last(history: Paimark) -> None:
    ran = history("sql", "CALL sys.blame('past.keys', keys => '1, 5, 9')", "--output", "json")
    # Key 1 is no longer there, and the commit of key 5 has expired.
    assert [(row["key"], row["version"], row["writer"]) for row in ran.rows] == [
        ('{"id":9}', "snapshot.5", "pypaimon 2.1.0"),
        ('{"id":5}', None, None),
    ]
    assert about("1 row", "before", "oldest snapshot").search(ran.err)
    failed = history("sql", "CALL sys.blame('past.rows', keys => '1')")
    assert failed.code == 1 and about("past.rows", "no primary key").search(failed.err)
    # Of the rows of a condition only keys count: 5 was above it in snapshot 2, too, before it was changed.
    told = history("blame", "past.keys", "--where", "price >= 0")
    assert [line.split()[:2] for line in told.out.splitlines()[2:]] == [["id=9", "snapshot.5"], ["id=5"]]
    assert told.out.splitlines()[2].endswith("pypaimon 2.1.0") and about("1 row", "before").search(told.err)
    [row, _] = history("blame", "past.keys", "--keys", "9,5", "--output", "json").rows
    assert (row["key"], row["snapshot_id"], row["version"]) == ({"id": 9}, 5, "snapshot.5")
    assert about("no", "row", "now").search(history("blame", "past.keys", "--keys", "1").out)
    assert about("which rows", "--where", "--keys").search(history("blame", "past.keys").err)
    assert "`nix` cannot be resolved" in history("blame", "past.keys", "--where", "nix = 1").err


@pytest.mark.parametrize(
    "words",
    [
        ("when", "past.keys"),
        ("holders", "past.keys", "--where"),
        ("blame", "past.keys", "--where"),
        ("restore-rows", "past.keys", "--from", "5", "--where"),
    ],
    ids=lambda words: words[0],
)
def test_an_error_in_a_condition_speaks_of_the_condition(history: Paimark, words: tuple[str, ...]) -> None:
    ran = history(*words, " price < -- 0")
    assert ran.code == 2 and about("price < -- 0", "one condition").search(ran.err) and "')'" not in ran.err
    ran = history(*words, "price < < 0")
    assert about("near '<'", "character 9").search(ran.err)
    ran = history(*words, "price < 0 OR nix = 1")
    assert about("`nix`", "character 14").search(ran.err)


def test_a_decimal_is_told_with_all_its_digits(history: Paimark, past: Path) -> None:
    """As a float, both of these are one value, and the change between them none."""
    key = pa.field("id", pa.int64(), nullable=False)
    nested = pa.struct([("d", pa.decimal128(4, 2)), ("x", pa.list_(pa.float32()))])
    schema = pa.schema([key, ("price", pa.decimal128(38, 2)), ("rate", pa.float64()), ("more", nested)])
    create_table(past, "past.exact", schema, primary_keys=["id"], options=PLAIN)
    more = {"d": Decimal("1.50"), "x": [0.25]}
    prices = [Decimal("12345678901234567890.10"), Decimal("12345678901234567890.20")]
    for price in prices:
        commit(
            past,
            "past.exact",
            pa.table({"id": [1], "price": [price], "rate": [0.5], "more": [more]}, schema=schema),
        )
    commit(
        past,
        "past.exact",
        pa.table({"id": [0], "price": [None], "rate": [0.5], "more": [more]}, schema=schema),
    )
    told = history("history", "past.exact", "--key", "id=1").out.splitlines()
    assert told[1] == "  price: 12345678901234567890.10 -> 12345678901234567890.20"
    assert told[3] == '  + id=1, price=12345678901234567890.10, rate=0.5, more={"d":"1.50","x":[0.25]}'
    changed, _ = history("history", "past.exact", "--key", "id=1", "--output", "json").rows
    assert changed["new"] == [
        {"id": 1, "price": "12345678901234567890.20", "rate": 0.5, "more": {"d": "1.50", "x": [0.25]}}
    ]
    # Each of the rows of one batch, by its commit: the newest first.
    rows = history("blame", "past.exact", "--where", "id < 9", "--output", "json").rows
    assert [(each["key"]["id"], each["snapshot_id"]) for each in rows] == [(0, 3), (1, 2)]
    rows = history("blame", "past.exact", "--keys", "1,0", "--output", "json").rows
    assert [each["snapshot_id"] for each in rows] == [3, 2]


def test_keys_of_many_digits_are_told_apart(history: Paimark, past: Path) -> None:
    schema = pa.schema([pa.field("id", pa.decimal128(20, 2), nullable=False)])
    create_table(past, "past.digits", schema, primary_keys=["id"], options=PLAIN)
    for last in ("10", "20"):
        row = pa.table({"id": [Decimal(f"123456789012345678.{last}")]}, schema=schema)
        commit(past, "past.digits", row)
    rows = history("blame", "past.digits", "--where", "true", "--output", "json").rows
    assert [(each["key"], each["snapshot_id"]) for each in rows] == [
        ({"id": "123456789012345678.20"}, 2),
        ({"id": "123456789012345678.10"}, 1),
    ]
    told = history("sql", "CALL sys.blame('past.digits', where => 'true')", "--output", "json").rows
    assert [each["key"] for each in told] == [
        '{"id":"123456789012345678.20"}',
        '{"id":"123456789012345678.10"}',
    ]


def test_no_older_commit_is_blamed_for_one_that_expires_meanwhile(history: Paimark, past: Path) -> None:
    """An expiry deletes the lists of a snapshot before the snapshot itself."""
    create_table(past, "past.going", PRICES, primary_keys=["id"], options=PLAIN)
    for key, price in [(1, 1.0), (1, 2.0), (2, 1.0)]:
        commit(past, "past.going", pa.table({"id": [key], "price": [price], "note": [None]}, schema=PRICES))
    second = json.loads((past / "past.db/going/snapshot/snapshot-2").read_text())
    (past / "past.db/going/manifest" / second["deltaManifestList"]).unlink()
    ran = history("sql", "CALL sys.blame('past.going', keys => '1, 2')", "--output", "json")
    assert [(row["key"], row["version"]) for row in ran.rows] == [
        ('{"id":2}', "snapshot.3"),
        ('{"id":1}', None),
    ]


def test_python_has_the_changes(past: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimark.core.spark.client.client.Engine", lambda *told: Shared(engine))
    table = api.open(past).table("past.keys")
    found = table.history({"id": 1}, limit=1)
    assert [(each.version, each.change, each.old) for each in found] == [
        ("snapshot.8", "removed", ({"id": 1, "price": -1.0},))
    ]
    [blamed] = table.blame(keys=[{"id": 9}, {"id": 1}])
    assert (blamed.key, blamed.snapshot_id, blamed.version) == ({"id": 9}, 5, "snapshot.5")
    assert [each.version for each in table.blame("id = 5")] == [None]


def test_rows_without_a_key(history: Paimark) -> None:
    rows = history("history", "past.rows", "--key", "id=1", "--output", "json").rows
    assert [(row["snapshot_id"], row["change"], [new["price"] for new in row["new"]]) for row in rows] == [
        (3, "added", [2.0]),
        (2, "added", [1.0]),
        (1, "added", [1.0]),
    ]
    assert about("no version", "row").search(history("history", "past.rows", "--key", "id=2").out)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("id", ("no column", "value")),
        ("id=x", ("x", "id", "BIGINT")),
        ("nix=1", ("past.keys", "no column nix")),
        ("price=1", ("key of past.keys", "id")),
    ],
)
def test_bad_keys(history: Paimark, key: str, said: tuple[str, ...]) -> None:
    ran = history("history", "past.keys", "--key", key)
    assert ran.code == 2 and about(*said).search(ran.err)
