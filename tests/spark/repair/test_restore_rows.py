"""`restore-rows`: the rows that are meant become what they were at a version, and all others stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.registry import action
from paimark.core.errors import PaimarkError, UsageError
from paimark.core.spark.client.client import Engine
from tests.actions.acting import applied, texts
from tests.interop.judge import Judge
from tests.spark.repair.repaired import FIRST, INSERT, KEYED, MERGE, Repaired
from tests.wording import about

RESTORE = "restore-rows"


def ordered(rows: list[list[object]]) -> list[list[object]]:
    return sorted(rows, key=repr)


def test_rows_with_a_key_become_what_they_were(
    engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "restored", **KEYED)
    t.do(INSERT)
    applied(t.context, action("create-savepoint").plan(t.context, t.table, {}))
    t.do(MERGE)
    then = {"from_version": "savepoint.1"}
    # Of those that differ: c 9 is new, b 3 was deleted, a 1 is another.
    plan = t.repair(RESTORE, **then, where="v = 'bad' OR p = 'c'")
    goes, becomes = texts(plan, "loses")
    assert about("1 row goes", "p=c, k=9").search(goes)
    assert about("1 row", "p=a, k=1: v bad -> one").search(becomes)
    assert t.rows == [FIRST[0], FIRST[1], FIRST[3]]
    plan = t.repair(RESTORE, **then, partition="p=b")
    assert "1 row comes back: p=b, k=3" in texts(plan, "affects")
    assert t.rows == FIRST
    assert t.plan(RESTORE, **then, where="true").empty
    t.undo()
    assert t.rows == [FIRST[0], FIRST[1], FIRST[3]]
    keys = tmp_path / "keys"
    keys.write_text('{"p": "b", "k": 3}\n{"p": "b", "k": "77"}\n')
    t.repair(RESTORE, **then, keys=f"@{keys}", on_conflict="then")
    assert t.rows == FIRST


@pytest.mark.long
def test_a_row_that_several_commits_changed_is_a_conflict(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    t = Repaired(engine, engine_warehouse, judge, "several", **KEYED)
    t.do(INSERT)
    t.do(MERGE, "UPDATE t SET v = 'mine' WHERE k = 1", "ALTER TABLE t ADD COLUMN n INT")
    t.do("INSERT INTO t VALUES ('b', 4, 'four', 5)")
    then = {"from_version": "snapshot.1", "where": "v IS NOT NULL"}
    [refusal] = t.plan(RESTORE, **then).refusals
    assert refusal.code == "conflicts"
    several = about("1 key", "several commits", "snapshot.1", "p=a, k=1: v mine -> one")
    assert several.search(refusal.reason)
    t.repair(RESTORE, **then, on_conflict="then")
    # A column that came later keeps its values.
    assert t.rows == [[*FIRST[0], None], [*FIRST[1], None], [*FIRST[2], None], [*FIRST[3], 5]]


@pytest.mark.parametrize("vectors", [pytest.param(False, marks=pytest.mark.long), True])
def test_rows_without_a_key_go_and_come_back(
    engine: Engine, engine_warehouse: Path, judge: Judge, vectors: bool
) -> None:
    options = {"bucket": "-1", "deletion-vectors.enabled": str(vectors).lower()}
    t = Repaired(engine, engine_warehouse, judge, f"unkeyed{vectors}", partitions=("p",), options=options)
    t.do(INSERT)
    t.do(
        "INSERT INTO t VALUES ('a', 1, 'one'), ('a', 1, 'one'), ('b', 3, 'more')", "DELETE FROM t WHERE k = 4"
    )
    now = t.rows
    plan = t.repair(RESTORE, from_version="snapshot.1", where="k = 1 OR k = 4")
    assert texts(plan, "loses") == ["2 rows go"] and "1 row comes back" in texts(plan, "affects")
    assert t.rows == ordered([*FIRST, ["b", 3, "more"]])
    t.repair(RESTORE, from_version="snapshot.1", partition="p=b")
    assert t.rows == FIRST
    for _ in range(2):
        t.undo()
    assert t.rows == now


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "not which rows"),
        ({"where": "true", "keys": "1"}, "--where --keys together"),
        ({"where": "true) OR (true"}, "one condition"),
        ({"where": "k = 1; DROP TABLE t"}, "one condition"),
        ({"where": "k"}, "k"),
        ({"where": "nix = 1"}, "nix"),
        ({"where": "rand() < 0.5"}, "condition same"),
        ({"where": "max(k) > 1"}, "several rows"),
        ({"where": "k IN (SELECT 1)"}, "SELECT condition"),
        ({"where": "reflect('java.lang.System', 'gc') IS NULL"}, "condition same"),
        ({"keys": "1"}, "key 2 columns"),
        ({"keys": '{"p": "a", "k": "x"}'}, "x no value k"),
        ({"keys": '{"p": "a", "k": null}'}, "no key"),
        ({"keys": '{"p": "a"}'}, "no key"),
        ({"partition": "q=1"}, "no partition"),
    ],
)
def test_what_means_no_rows_is_refused(
    engine: Engine, repaired: Repaired, given: dict[str, object], said: str
) -> None:
    newest = repaired.newest
    with pytest.raises(PaimarkError, match=about(*said.split())):
        repaired.plan(RESTORE, from_version="snapshot.1", **given)
    assert repaired.newest == newest


@pytest.fixture(scope="module")
def repaired(engine: Engine, engine_warehouse: Path, judge: Judge) -> Repaired:
    t = Repaired(engine, engine_warehouse, judge, "refused", **KEYED)
    t.do(INSERT, MERGE)
    return t


@pytest.mark.long
def test_keys_are_values_as_their_columns_have_them_in_wide_tables_too(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    kinds = {"c": "CHAR(3)", "d": "DECIMAL(20, 2)", "z": "TIMESTAMP(3) WITH LOCAL TIME ZONE"}
    # Spark would infer conditions for each set of so many columns, and end for want of memory.
    wide = {f"v{place}": "STRING" for place in range(30)}
    t = Repaired(engine, engine_warehouse, judge, "kinds", keys=(*kinds,), columns={**kinds, **wide})
    second = "('a', 12345678901234567.25, TIMESTAMP '2026-05-01 12:00:00+02:00'"
    t.do(f"INSERT INTO t (c, d, z) VALUES {second}), ('b', 1, TIMESTAMP '2026-05-01 12:00:00+02:00')")
    first = t.rows
    t.do("UPDATE t SET v1 = 'bad'", "UPDATE t SET v2 = 'bad'")
    key = '{"c": "a", "d": 12345678901234567.25, "z": "2026-05-01 11:00:00+01:00"}'
    then = {"from_version": "snapshot.1", "on_conflict": "then"}
    t.repair(RESTORE, **then, keys=key)
    assert t.rows[0] == first[0] and t.rows[1] != first[1]
    for given, wrong, reason in (
        (".25", ".251", "12345678901234567.251 no value d DECIMAL"),
        ("+01:00", "", "2026-05-01 11:00:00 no zone"),
        ('"a"', '"abcd"', "abcd no value c CHAR"),
    ):
        with pytest.raises(UsageError, match=about(*reason.split())):
            t.plan(RESTORE, **then, keys=key.replace(given, wrong))


def test_rows_that_others_commit_meanwhile_stay(repaired: Repaired) -> None:
    plan = repaired.plan(RESTORE, from_version="snapshot.1", where="k = 1")
    repaired.do("INSERT INTO t VALUES ('z', 1, 'late')")
    applied(repaired.context, plan)
    assert ["a", 1, "one"] in repaired.rows and ["z", 1, "late"] in repaired.rows
