"""Long statements are read in a time that grows with their length, and not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.alters import read_alter
from paimark.core.travel.statements.calls import read_call
from paimark.core.travel.statements.inserts import read_insert

# CPU time. Each takes a tenth of it on a slow machine, and several times as much where something is squared.
SECONDS = 5.0


def joined(count: int, name: str, condition: str) -> str:
    joins = " ".join(f"JOIN {name} ON {condition}".format(number, number - 1) for number in range(1, count))
    return f"SELECT * FROM {name} ".format(0) + joins


LONG = {
    "semicolons": "SELECT 1" + ";" * 100_000,
    "joins": joined(4_000, "s.t{0}", "s.t{0}.a = s.t{1}.b"),
    "joins with aliases": joined(4_000, "s.t{0} AS x{0}", "x{0}.a = x{1}.b"),
    "joins of one table": joined(4_000, "s.t", "t.a = t.b"),
    "a list": "SELECT t1.a FROM " + ", ".join(f"t{number}" for number in range(10_000)),
    "queries named by WITH": "WITH c0 AS (SELECT 1)"
    + "".join(f", c{number} AS (SELECT * FROM c{number - 1})" for number in range(1, 24_000))
    + " SELECT * FROM c1",
    "unions": " UNION ALL ".join(f"SELECT a FROM t{number}" for number in range(10_000)),
    "a long name": "SELECT " + ".".join("a" * 20_000) + " FROM " + ".".join("b" * 20_000),
    "columns of one table": "SELECT " + ", ".join(["t.a"] * 20_000) + " FROM t",
    "comments": "SELECT 1 " + "/*" * 20_000 + "/* */" * 20_000,
    "strings": "SELECT " + "'a" * 20_000 + "\\" * 20_000,
    "clauses": "SELECT 1 FROM " + ", ".join(f"t{number} VERSION AS OF 1" for number in range(10_000)),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_statement_is_read_at_once(name: str) -> None:
    sql = LONG[name]
    started = time.thread_time()
    read_statement(sql)
    assert time.thread_time() - started < SECONDS


@pytest.mark.parametrize(
    ("read", "sql"),
    [
        (
            read_call,
            "CALL sys.x(" + ", ".join(f"a{number} => 1" for number in range(20_000)) + ")" + ";" * 20_000,
        ),
        (read_insert, "INSERT INTO t (" + ", ".join(f"a{number}" for number in range(20_000)) + ") SELECT 1"),
        (read_alter, "ALTER TABLE t ADD COLUMNS (" + ", ".join(f"a{n} INT" for n in range(20_000)) + ")"),
    ],
    ids=["call", "insert", "alter"],
)
def test_so_are_the_others(read: Callable[[Statement], object], sql: str) -> None:
    started = time.thread_time()
    read(read_statement(sql))
    assert time.thread_time() - started < SECONDS
