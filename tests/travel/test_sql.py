"""What is known of a statement without Spark: whether it writes, and the plainest tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.errors import UsageError
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.statement import SqlRefused
from paimark.core.travel.resolving import plain_uses
from tests.long import unhurried
from tests.wording import about


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "SELECT 1;;SELECT 2;"])
def test_more_than_one_statement_is_refused(sql: str) -> None:
    with pytest.raises(UsageError, match=about("one statement", "more")):
        read_statement(sql)


@pytest.mark.parametrize("sql", ["SELECT 1;", "SELECT ';' -- ; \n ; ;", "SELECT `;` /* ; */", ";"])
def test_a_semicolon_at_the_end_or_in_quotes_is_no_second_statement(sql: str) -> None:
    assert read_statement(sql).kind in ("query", "empty")


READS, WRITES, REMOVES = (False, False), (True, False), (True, True)


@pytest.mark.parametrize(
    ("sql", "kind", "effects"),
    [
        ("SELECT 1", "query", READS),
        ("(SELECT 1)", "query", READS),
        ("/* x */ with a as (select 1), b (c) as (select 2) select insert, into from a", "query", READS),
        ("WITH a AS (SELECT 1) (SELECT * FROM a)", "query", READS),
        ("FROM t SELECT insert", "query", READS),
        ("TABLE t", "query", READS),
        ("EXPLAIN INSERT INTO t SELECT 1", "explain", READS),
        ("DESC t", "describe", READS),
        ("SHOW TABLES", "show", READS),
        ("SET x = 1", "session", READS),
        ("USE shop", "session", READS),
        ("CREATE OR REPLACE GLOBAL TEMPORARY VIEW v AS SELECT 1", "view", READS),
        ("INSERT INTO t SELECT 1", "insert", WRITES),
        ("insert into t values (1)", "insert", WRITES),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "insert", WRITES),
        ("WITH a AS (SELECT 1) INSERT OVERWRITE t SELECT * FROM a", "overwrite", REMOVES),
        ("WITH a (x) AS (SELECT 1) UPDATE t SET x = 1", "update", REMOVES),
        ("WITH a AS (SELECT 1) DELETE FROM t", "delete", REMOVES),
        ("FROM t INSERT INTO u SELECT a INSERT OVERWRITE w SELECT b", "overwrite", REMOVES),
        ("INSERT OVERWRITE t SELECT 1", "overwrite", REMOVES),
        ("INSERT OVERWRITE DIRECTORY '/x' USING parquet SELECT 1", "overwrite", REMOVES),
        ("INSERT INTO t REPLACE WHERE a = 1 SELECT 2", "insert", REMOVES),
        ("DELETE FROM t", "delete", REMOVES),
        ("UPDATE t SET a = 1", "update", REMOVES),
        ("MERGE INTO t USING u ON 1 = 1 WHEN MATCHED THEN DELETE", "merge", REMOVES),
        ("TRUNCATE TABLE t", "truncate", REMOVES),
        ("DROP TABLE IF EXISTS t", "drop", REMOVES),
        ("DROP DATABASE shop CASCADE", "drop", REMOVES),
        ("DROP VIEW v", "drop", WRITES),
        ("CREATE TABLE t (a INT)", "ddl", WRITES),
        ("CREATE TABLE replace (a INT)", "ddl", WRITES),
        ("CREATE OR REPLACE TABLE t AS SELECT 1", "ddl", REMOVES),
        ("REPLACE TABLE t AS SELECT 1", "ddl", REMOVES),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "ddl", WRITES),
        ("ALTER TABLE t ADD COLUMN x INT", "alter", WRITES),
        ("ALTER TABLE t DROP IF EXISTS PARTITION (d = 1)", "alter", REMOVES),
        ("ALTER VIEW v RENAME TO w", "ddl", WRITES),
        ("LOAD DATA INPATH '/x' INTO TABLE t", "insert", WRITES),
        ("LOAD DATA INPATH '/x' OVERWRITE INTO TABLE t", "overwrite", REMOVES),
        ("CALL sys.drop_everything()", "call", REMOVES),
        ("EXECUTE IMMEDIATE 'DROP TABLE t'", "other", REMOVES),
        ("FROBNICATE t", "other", REMOVES),
        ("", "empty", READS),
    ],
)
def test_a_statement_that_may_write_or_remove_is_known(
    sql: str, kind: str, effects: tuple[bool, bool]
) -> None:
    statement = read_statement(sql)
    assert (statement.kind, (statement.writes, statement.removes_rows)) == (kind, effects)


FRAGMENTS = r"""SELECT FROM WITH AS OF VERSION TIMESTAMP FOR SYSTEM_TIME TABLE JOIN LATERAL VIEW VALUES UNION
    EXCEPT ALL ( ) , . * ; |> INSERT INTO OVERWRITE DELETE UPDATE MERGE USING EXPLAIN DESCRIBE CREATE
    TABLESAMPLE WHERE ON GROUP BY INTERVAL '1' DAY TO SECOND 5 1.5 now() t `u` 'x' "y" `open 'open
    /* open /*+ */ -- end - + :: CAST CURRENT_DATE RECURSIVE MAX RECURSION LEVEL MAP REDUCE WINDOW
    DISTINCT IS PARTITION BETWEEN \ $ é"""


@unhurried(300)
@given(st.lists(st.sampled_from([*FRAGMENTS.split(), "\n"]), max_size=25).map(" ".join))
def test_no_text_is_more_than_refused(sql: str) -> None:
    try:
        read_statement(sql)
    except UsageError:
        assert ";" in sql
    except SqlRefused as refused:
        assert 0 <= refused.position <= len(sql)
        assert refused.message


@pytest.mark.parametrize("sql", ["SELECT * FROM shop.`t``", "INSERT INTO `t", "SELECT r'a", 'VALUES ("x'])
def test_a_quote_that_is_not_closed_is_refused_where_it_opens(sql: str) -> None:
    with pytest.raises(SqlRefused, match="is not closed") as refused:
        read_statement(sql)
    assert refused.value.position == max(sql.rfind(quote) for quote in (" ", ".", "(")) + 1


def test_tables_that_are_in_no_doubt_are_known_before_there_is_a_spark() -> None:
    plain = {
        "SELECT * FROM s.t JOIN s.u VERSION AS OF 'v' AS x": [("s.t", None), ("s.u", "v")],
        "SELECT * FROM t$files, u": [("t$files", None)],
        "SELECT a FROM s.t FOR SYSTEM_VERSION AS OF 5": [("s.t", "5")],
        "SELECT a IS DISTINCT FROM s.b, trim(x FROM s.c) FROM t": [],
        "SELECT * FROM t TIMESTAMP AS OF now()": [("t", None)],
        "SELECT * FROM s.t /*+ OPTIONS('scan.version' = '9') */": [],
        "SELECT * FROM s.f(1)": [],
        "WITH a AS (SELECT 1) SELECT * FROM s.t": [],
        "SELECT * FROM": [],
    }
    for sql, found in plain.items():
        assert [(".".join(use.parts), use.version) for use in plain_uses(read_statement(sql))] == found, sql
