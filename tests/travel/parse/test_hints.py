"""Options in a statement are obeyed where they name one state, and refused by name otherwise."""

from __future__ import annotations

import re

import pytest

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.sql import read_statement

T12 = "t /*+ OPTIONS('scan.snapshot-id' = '12') */"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT * FROM {T12}",
        f"SELECT o.a FROM {T12} AS o WHERE x",
        f"SELECT * FROM {T12} o JOIN u ON o.a = u.a",
        f"SELECT * FROM u, db.{T12}",
        f"WITH c AS (SELECT * FROM {T12}) SELECT * FROM c",
        f"SELECT * FROM u WHERE a IN (SELECT a FROM {T12})",
        "SELECT * FROM t WITH ('scan.snapshot-id' = 12)",
        "SELECT * FROM t WITH ('scan.snapshot-id' = '12') o",
        "SELECT /*+ OPTIONS('scan.snapshot-id', '12') */ * FROM t",
        "select /*+ options('SCAN.snapshot-id'='12') */ a FROM t o",
        "SELECT * FROM (SELECT /*+ OPTIONS('scan.snapshot-id','12') */ * FROM t) JOIN u",
        "WITH c AS (SELECT /*+ OPTIONS('scan.snapshot-id','12') */ * FROM t) SELECT /*+ R(2) */ * FROM c",
        f"INSERT INTO u SELECT * FROM {T12}",
    ],
)
def test_a_snapshot_is_named_by_options(sql: str) -> None:
    statement = read_statement(sql)
    (use,) = (use for use in statement.uses if use.parts[-1] == "t")
    assert use.clause is not None
    assert (use.clause.words, use.version) == ("scan.snapshot-id", "snapshot.12")
    # Nothing but the options is replaced by the clause.
    written = sql[slice(*use.clause.span)]
    assert re.fullmatch(r"(/\*\+ OPTIONS\(.*\) \*/|WITH \(.*\))", written, re.IGNORECASE), written


def test_every_option_that_names_a_state() -> None:
    def clause_of(option: str) -> tuple[object, ...]:
        (use,) = read_statement(f"SELECT * FROM t /*+ OPTIONS({option}) */").uses
        assert use.clause is not None
        return use.version, use.clause.is_tag, use.time_expression, use.clause.time_ms

    assert clause_of("'scan.tag-name' = '12'") == ("12", True, None, None)
    assert clause_of("'scan.version' = 'savepoint.1'") == ("savepoint.1", False, None, None)
    assert clause_of("'scan.snapshot-id' = 'savepoint.1'") == ("savepoint.1", False, None, None)
    assert clause_of("'scan.timestamp' = '2026-05-01 00:00:00'")[2] == "'2026-05-01 00:00:00'"
    assert clause_of("'scan.timestamp-millis' = '1780000000000'") == (None, False, None, 1780000000000)


@pytest.mark.parametrize(
    ("sql", "at", "sentence"),
    [
        (
            "SELECT * FROM t /*+ OPTIONS('scan.mode' = 'latest') */",
            "'scan.mode'",
            "The option scan.mode is not",
        ),
        ("SELECT * FROM t /*+ OPTIONS('branch'='b') */", "'branch'", "The option branch is not obeyed here"),
        ("SELECT * FROM t /*+ OPTIONS('scan.snapshot-id'='1', 'x'='y') */", "'x'", "The option x is not"),
        ("SELECT * FROM t /*+ OPTIONS('scan.version'='1', 'scan.tag-name'='y') */", "'scan.tag", "each name"),
        ("SELECT * FROM t /*+ OPTIONS('scan.timestamp-millis'='x') */", "'x'", "a number of milliseconds"),
        ("SELECT * FROM t /*+ OPTIONS('scan.timestamp' = 5) */", "5", "scan.timestamp is a text"),
        ("SELECT * FROM t /*+ OPTIONS() */", ") */", "Options are pairs of names and values"),
        ("SELECT * FROM t /*+ OPTIONS('scan.version') */", ") */", "Options are pairs of names and values"),
        (
            "SELECT * FROM t /*+ OPTIONS('scan.version'='1') */ VERSION AS OF 5",
            "VERSION",
            "one time-travel clause",
        ),
        (
            "SELECT * FROM t VERSION AS OF 5 /*+ OPTIONS('scan.version'='1') */",
            "/*+",
            "one time-travel clause",
        ),
        ("SELECT * FROM t VERSION AS OF 5 WITH ('scan.version'='1')", "WITH", "one time-travel clause"),
        ("SELECT /*+ OPTIONS('scan.version','1') */ * FROM t VERSION AS OF 5", "/*+", "beside a time-travel"),
        (
            "SELECT /*+ OPTIONS('scan.version','1') */ * FROM t /*+ OPTIONS('scan.version'='1') */",
            7,
            "beside a",
        ),
        ("SELECT /*+ OPTIONS('scan.version','1') */ * FROM t JOIN u", "/*+", "where it reads one table"),
        (
            "SELECT /*+ OPTIONS('scan.version','1') */ * FROM (SELECT * FROM t)",
            "/*+",
            "where it reads one table",
        ),
        (
            "WITH c AS (SELECT * FROM t) SELECT /*+ OPTIONS('scan.version','1') */ * FROM c",
            "/*+",
            "reads one table",
        ),
        ("SELECT /*+ OPTIONS('scan.version','1') */ 1", "/*+", "where it reads one table"),
        (
            "SELECT /*+ OPTIONS('dynamic','1') */ * FROM t",
            "'dynamic'",
            "The option dynamic is not obeyed here",
        ),
        ("SELECT /*+ OPTIONS(t, 'scan.version', '1') */ * FROM t", ") */", "Options are pairs"),
        (
            "SELECT /*+ BROADCAST(t), OPTIONS('scan.version','1') */ * FROM t",
            "/*+",
            "OPTIONS is not obeyed here",
        ),
        ("SELECT * FROM t o /*+ OPTIONS('scan.version'='1') */", "/*+", "OPTIONS is not obeyed here"),
        ("SELECT * FROM (SELECT 1) /*+ OPTIONS('scan.version'='1') */", "/*+", "OPTIONS is not obeyed here"),
        (
            "WITH c AS (SELECT 1) SELECT * FROM c /*+ OPTIONS('scan.version'='1') */",
            "/*+",
            "a query named by WITH",
        ),
        (
            "INSERT INTO t /*+ OPTIONS('sink.parallelism'='2') */ SELECT 1",
            "'sink",
            "The option sink.parallelism",
        ),
        ("INSERT INTO t /*+ OPTIONS('scan.version'='2') */ SELECT 1", "/*+", "the past can't be changed"),
        ("INSERT /*+ OPTIONS('a'='b') */ INTO t SELECT 1", "/*+", "OPTIONS is not obeyed here"),
        ("UPDATE t /*+ OPTIONS('a'='b') */ SET a = 1", "'a'", "The option a is not obeyed here"),
        ("CREATE TEMPORARY VIEW v AS SELECT * FROM t /*+ OPTIONS('a'='b') */", "'a'", "The option a is not"),
        ("SELECT * FROM u, t WITH (branch = b)", "branch", "The option branch is not obeyed here"),
        ("SELECT * FROM u JOIN t WITH (", "(", "Options are pairs"),
    ],
)
def test_all_other_options_are_refused_where_they_stand(sql: str, at: str | int, sentence: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        read_statement(sql)
    assert sentence in refused.value.message
    assert refused.value.position == (at if isinstance(at, int) else sql.rindex(at))
    assert refused.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT /*+ BROADCAST(t) */ * FROM t",
        "SELECT /*+ REPARTITION(3), COALESCE(2) */ options FROM t",
        "SELECT options('a', 'b') FROM t",
        "SELECT 1 /* OPTIONS('a'='b') */ FROM t -- /*+ OPTIONS('a'='b') */",
        "SELECT * FROM t /*+ LOOKUP('a'='b') */",
    ],
)
def test_other_hints_are_left_to_spark(sql: str) -> None:
    assert all(use.clause is None for use in read_statement(sql).uses)
