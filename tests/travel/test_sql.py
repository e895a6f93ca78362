"""Which tables a statement reads, as of what, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.errors import UsageError
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.sql import read_statement
from tests.travel.conftest import SparkJudge
from tests.travel.generated import unhurried


def table_uses(sql: str) -> list[tuple[str, str | None]]:
    """Each table's name, and what its clause asks for."""
    return [(".".join(use.parts), use.version or use.time_expression) for use in read_statement(sql).uses]


CLAUSES = [
    ("VERSION AS OF 5", "5"),
    ("version as of '5'", "5"),
    ("VERSION AS OF 'savepoint.3'", "savepoint.3"),
    ('VERSION AS OF "v2"', "v2"),
    ("VERSION AS OF 'it''s'", "it's"),
    (r"VERSION AS OF 'it\'s'", "it's"),
    (r"VERSION AS OF r'a\b'", r"a\b"),
    ("FOR VERSION AS OF 5", "5"),
    ("FOR SYSTEM_VERSION AS OF 5", "5"),
    ("SYSTEM_VERSION AS OF 'x'", "x"),
    ("/* of */ FOR /* which */ VERSION -- AS OF 1\n AS\tOF /* a /* nested */ one */ 5", "5"),
    ("TIMESTAMP AS OF '2026-05-01'", "'2026-05-01'"),
    ("FOR TIMESTAMP AS OF now()", "now()"),
    ("SYSTEM_TIME AS OF current_date", "current_date"),
    ("FOR SYSTEM_TIME AS OF TIMESTAMP '2026-05-01 00:00:00'", "TIMESTAMP '2026-05-01 00:00:00'"),
    (
        "FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP - INTERVAL '1' DAY",
        "CURRENT_TIMESTAMP - INTERVAL '1' DAY",
    ),
    ("TIMESTAMP AS OF now() - INTERVAL 1 DAY 2 HOURS", "now() - INTERVAL 1 DAY 2 HOURS"),
    ("TIMESTAMP AS OF (now() -- then\n - INTERVAL '1 day')", "(now() -- then\n - INTERVAL '1 day')"),
    ("AS OF TIMESTAMP '2026-05-01'", "TIMESTAMP '2026-05-01'"),
    ("AS OF TIMESTAMP now() - INTERVAL 1 DAY", "now() - INTERVAL 1 DAY"),
    ("AS OF TIMESTAMP('2026-05-01')", "('2026-05-01')"),
]
BEHIND = [
    "",
    " o",
    " AS o",
    " AS `o p`",
    " TABLESAMPLE (10 ROWS) o",
    " WHERE x = 1",
    ", u",
    " JOIN u ON 1 = 1",
    ")",
]


@pytest.mark.parametrize(("clause", "asked"), CLAUSES)
@pytest.mark.parametrize("behind", BEHIND)
def test_every_clause_is_found_whatever_follows(clause: str, asked: str, behind: str) -> None:
    opening = "(" if behind == ")" else ""
    sql = f"SELECT * FROM {opening}shop.t {clause}{behind}"
    use = read_statement(sql).uses[0]
    assert use.parts == ("shop", "t")
    assert (use.version or use.time_expression) == asked
    assert use.clause_span is not None
    assert sql[slice(*use.clause_span)] == clause.split("*/ ", 1)[-1 if clause.startswith("/*") else 0]
    assert use.alias == {" o": "o", " AS o": "o", " AS `o p`": "o p", BEHIND[4]: "o"}.get(behind)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT * FROM `a``b`.`c.d`.orders$branch_x$snapshots",
            [(("a`b", "c.d", "orders$branch_x$snapshots"), None)],
        ),
        ("SELECT * FROM db . t1 , 2024_orders x", [(("db", "t1"), None), (("2024_orders",), "x")]),
        ("SELECT * FROM db.2024_t", [(("db", "2024_t"), None)]),
        ("SELECT * FROM t AS version", [(("t",), "version")]),
        ("SELECT * FROM t version JOIN u timestamp", [(("t",), "version"), (("u",), "timestamp")]),
        ("SELECT * FROM t of, u AS of", [(("t",), "of"), (("u",), "of")]),
        ("SELECT * FROM t window, u map", [(("t",), "window"), (("u",), "map")]),
        ("SELECT * FROM t x(a, b), u AS y (c)", [(("t",), "x"), (("u",), "y")]),
    ],
)
def test_names_and_aliases(sql: str, expected: list[tuple[tuple[str, ...], str | None]]) -> None:
    assert [(use.parts, use.alias) for use in read_statement(sql).uses] == expected


# Each with the tables it reads: `@` is before a name that WITH defines, `>` before the table that is written.
# Indented lines go on.
QUERIES = """
SELECT * FROM t | t
SELECT * FROM t WHERE x IN (SELECT y FROM u) AND EXISTS (FROM w SELECT 1) OR 1 = (SELECT max(a) FROM q)
    | t u w q
SELECT extract(YEAR FROM ts), trim(BOTH 'x' FROM y), trim(LEADING FROM y), trim(FROM z) FROM t | t
SELECT substring(a FROM 1 FOR 2), overlay(a PLACING 'x' FROM 2), position('a' IN b) FROM t | t
SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM c FROM t | t
SELECT * EXCEPT (a, b) FROM t | t
SELECT * FROM t EXCEPT SELECT * FROM u | t u
SELECT * FROM t MINUS SELECT * FROM u INTERSECT ALL SELECT * FROM w UNION DISTINCT TABLE z | t u w z
(SELECT * FROM a) UNION ALL (SELECT * FROM b) ORDER BY 1 LIMIT 3 | a b
SELECT * FROM ((SELECT * FROM a) UNION (SELECT * FROM b)) x, (((SELECT * FROM c))) | a b c
SELECT * FROM ((a JOIN b ON a.x = b.x) JOIN c USING (x)), d | a b c d
SELECT * FROM a, b c, d AS e (x, y), LATERAL (SELECT * FROM f) g LEFT JOIN h ON TRUE, VALUES (1, 2), (3,
    4) AS v(p, q), i | a b d f h i
SELECT * FROM VALUES 1, 2, 3 |
VALUES (1), (2) |
SELECT * FROM range(5), explode(array(1, 2)) AS e, t JOIN LATERAL explode(array(t.x)) z | t
SELECT * FROM t LATERAL VIEW explode(a) x AS b LATERAL VIEW OUTER explode(c) y AS d, e WHERE 1 = 1 | t
WITH a AS (SELECT 1), b (x, y) AS (SELECT * FROM a), c AS (SELECT * FROM zz) SELECT * FROM a JOIN b JOIN
    c JOIN d | zz d @a @a @b @c
WITH a AS (SELECT * FROM a) SELECT * FROM A | a @A
WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r | @r @r
WITH a (SELECT 1) SELECT * FROM a, t | t @a
SELECT * FROM (WITH a AS (SELECT * FROM b) SELECT * FROM a) x, a | b a @a
WITH a AS (SELECT 1) SELECT * FROM db.a | db,a
SELECT version, timestamp, table, values FROM t | t
SELECT x AS from, y AS join, union, minus FROM t | t
SELECT t.from, u.join, f(x)[0].from FROM t JOIN u | t u
SELECT count(table), count(*), array(1)[0], map('a', 1)['a'] FROM t | t
SELECT * FROM t PIVOT (sum(x) AS s FOR y IN (1, 2)) JOIN u | t u
SELECT * FROM t UNPIVOT (v FOR n IN (a, b)) AS q, u | t u
FROM t SELECT a WHERE x = 1 | t
FROM t MAP a, b USING 'cat' AS c, d | t
TABLE a.t | a,t
SELECT * FROM a NATURAL JOIN b LEFT OUTER JOIN c ON c.x = a.x RIGHT JOIN d FULL OUTER JOIN e LEFT SEMI
    JOIN f LEFT ANTI JOIN g CROSS JOIN h INNER JOIN i | a b c d e f g h i
SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t
    WINDOW w AS (ORDER BY x) | t
SELECT * FROM t GROUP BY a, b WITH CUBE HAVING count(*) > (SELECT 1 FROM u) ORDER BY a, b | t u
SELECT CASE WHEN a THEN b ELSE c END, cast(a AS int), a::string, struct(a, b).x FROM t | t
SELECT transform(a, x -> x + 1), filter(b, (x, i) -> x > i), any_value(a) FILTER (WHERE y > 1) FROM t | t
SELECT /*+ BROADCAST(t), REPARTITION(3) */ * FROM t JOIN u | t u
SELECT 'from x' AS a, "join y", `from z`, r'raw from \\' FROM t -- from comment | t
SELECT /* from c /* nested from d */ from e */ * FROM t | t
SELECT a FROM t WHERE x = 'it''s from a' AND y = 'esc\\' FROM u' | t
SELECT * FROM t |> WHERE x > 1 |> JOIN u USING (a) |> AGGREGATE sum(x) GROUP BY y |> SELECT y, z | t u
FROM t |> SELECT a, b |> UNION ALL (SELECT * FROM u) |> LIMIT 3 | t u
SELECT * FROM t WHERE a = :from AND b = ? | t
SELECT (SELECT a FROM t), array((SELECT b FROM u)) FROM w | t u w
SELECT * FROM f(TABLE(t)), g(TABLE(SELECT * FROM u)), i(x => TABLE(z)) | t u z
SELECT * FROM t JOIN u ON t.a = u.a AND t.b IN (1, 2), w | t u w
SELECT if(a, b, c), left(a, 1), timestampadd(DAY, 1, x), date_add(x, 1) FROM t | t
INSERT INTO x SELECT * FROM t | t >x
INSERT INTO TABLE x PARTITION (p = 1) (a, b) SELECT * FROM t, u | t u >x
INSERT OVERWRITE x TABLE t | t >x
INSERT INTO x FROM t SELECT a | t >x
INSERT INTO x VALUES (1, 2) | >x
INSERT INTO x WITH c AS (SELECT * FROM t) SELECT * FROM c | t @c >x
INSERT INTO x REPLACE WHERE a IS DISTINCT FROM 3 SELECT * FROM u | u >x
WITH c AS (SELECT * FROM t) INSERT INTO x SELECT * FROM c | t @c >x
CREATE TABLE x USING parquet AS SELECT * FROM t | t
CREATE TABLE x AS TABLE t | t
CREATE TABLE x AS FROM t SELECT * | t
CACHE TABLE x AS SELECT * FROM t | t
MERGE INTO x USING t AS s ON x.a = s.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * | t
    >x
MERGE INTO x m USING (SELECT * FROM t) s ON m.a = s.a WHEN MATCHED THEN DELETE | t >x
DELETE FROM x WHERE a IN (SELECT b FROM t) | t >x
UPDATE x SET a = 1 WHERE b = (SELECT max(c) FROM t) | t >x
"""


@pytest.mark.parametrize("line", QUERIES.strip().replace("\n    ", " ").splitlines())
def test_the_tables_are_those_that_spark_reads(spark_judge: SparkJudge, line: str) -> None:
    sql, _, names = line.rpartition("|")
    names = names.strip()
    own = [name for name in names.split() if name[0] not in "@>"]
    statement = read_statement(sql)
    assert [",".join(use.parts) for use in statement.uses] == own
    assert (statement.target.parts if statement.target else ()) == tuple(
        name[1:] for name in names.split() if name[0] == ">"
    )
    # That the expectation itself is true is for Spark to say.
    expected = sorted(name.lstrip("@>").replace(",", ", ") for name in names.split())
    assert spark_judge.relations(sql) == expected


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("EXPLAIN SELECT * FROM t VERSION AS OF 5", [("t", "5")]),
        ("EXPLAIN FORMATTED TABLE t", [("t", None)]),
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM t VERSION AS OF 1", [("t", "1")]),
        ("CREATE TEMPORARY VIEW v (a) AS (SELECT * FROM t)", [("t", None)]),
        ("DESCRIBE t", [("t", None)]),
        ("DESC TABLE EXTENDED shop.t VERSION AS OF 2", [("shop.t", "2")]),
        ("DESCRIBE QUERY SELECT * FROM t", [("t", None)]),
        ("DESCRIBE FUNCTION upper", []),
        ("DESCRIBE SCHEMA shop", []),
        ("TABLE t VERSION AS OF 4 ORDER BY t.x", [("t", "4")]),
        ("SHOW TABLES FROM shop", []),
        ("SHOW COLUMNS FROM t FROM shop", []),
        ("USE shop", []),
        ("SET spark.sql.x = from t", []),
        ("SET VAR x = (SELECT max(a) FROM t)", [("t", None)]),
        ("CALL sys.create_savepoint(table => 'from t')", []),
        ("DROP TABLE t", []),
        ("ADD JAR /from/it's.jar", []),
        ("", []),
        ("SELECT", []),
        ("SELECT * FROM", []),
        ("SELECT * FROM t JOIN", [("t", None)]),
        ("SELECT * FROM (SELECT * FROM t", [("t", None)]),
        ("SELECT 'unclosed FROM t", []),
        ("SELECT `unclosed FROM t", []),
        ("SELECT /* unclosed FROM t", []),
        ("SELECT * FROM t AS `unclosed", [("t", None)]),
        ("SELECT * FROM t WHERE x = 'unclosed", [("t", None)]),
        ("SELECT * FROM t) JOIN u", [("t", None), ("u", None)]),
    ],
)
def test_other_statements_and_unfinished_ones(sql: str, tables: list[tuple[str, str | None]]) -> None:
    assert table_uses(sql) == tables


@pytest.mark.parametrize(
    ("sql", "at", "sentence"),
    [
        ("SELECT * FROM t FOR SYSTEM_TIME FROM 1 TO 2", "FOR", "FOR SYSTEM_TIME FROM is a period"),
        ("SELECT * FROM t FOR SYSTEM_TIME BETWEEN 1 AND 2", "FOR", "FOR SYSTEM_TIME BETWEEN is a period"),
        ("SELECT * FROM t FOR SYSTEM_TIME CONTAINED IN (1, 2)", "FOR", "is a period"),
        ("SELECT * FROM t FOR VERSION BETWEEN 1 AND 2", "FOR", "is a period"),
        (
            "SELECT * FROM o JOIN t FOR SYSTEM_TIME AS OF o.proctime ON 1 = 1",
            "o.proctime",
            "FOR SYSTEM_TIME AS OF o.proctime names a column: that is a temporal join, not time travel",
        ),
        ("SELECT * FROM shop.`t", "`t", "This ` is not closed"),
        ("SELECT * FROM shop.`t``", "`t``", "This ` is not closed"),
        ("INSERT INTO `t", "`t", "This ` is not closed"),
        ("SELECT * FROM t VERSION AS OF 'a''", "'a''", "This ' is not closed"),
        ("SELECT * FROM t VERSION AS OF r'a", "r'a", "This ' is not closed"),
        ('SELECT * FROM t TIMESTAMP AS OF "2026-05-01', '"2026', 'This " is not closed'),
        ("SELECT * FROM t TIMESTAMP AS OF", None, "The time after TIMESTAMP AS OF is missing"),
        ("SELECT * FROM (SELECT * FROM t TIMESTAMP AS OF)", ")", "is missing or unfinished"),
        ("SELECT * FROM t TIMESTAMP AS OF WHERE x = 1", "WHERE", "is missing or unfinished"),
        ("SELECT * FROM t TIMESTAMP AS OF now() - WHERE x", "WHERE", "is missing or unfinished"),
        ("SELECT * FROM t VERSION AS OF", None, "The version after VERSION AS OF is missing"),
        ("SELECT * FROM t VERSION AS OF v2", "v2", "must be a number or a name in quotes"),
        ("SELECT * FROM t VERSION AS OF -1", "-1", "must be a number or a name in quotes"),
        ("SELECT * FROM t VERSION AS OF 1.5", "1.5", "must be a number or a name in quotes"),
        ("SELECT * FROM t VERSION AS OF 1 + 1", "+", "must be one number or name, not an expression"),
        ("SELECT * FROM t FOR SYSTEM_TIME", "FOR", "FOR SYSTEM_TIME must be followed by AS OF"),
        ("SELECT * FROM t AS OF '2026-05-01'", "'2026", "AS OF alone must be followed by TIMESTAMP"),
        ("SELECT * FROM t AS OF VERSION 5", "VERSION", "AS OF alone must be followed by TIMESTAMP"),
        ("SELECT * FROM t o VERSION AS OF 5", "VERSION", "comes before the alias"),
        ("SELECT * FROM t AS o FOR VERSION AS OF 5", "FOR", "comes before the alias"),
        ("SELECT * FROM t VERSION AS OF 5 TIMESTAMP AS OF now()", "TIMESTAMP", "one time-travel clause"),
        ("SELECT * FROM (SELECT 1) VERSION AS OF 5", "VERSION", "Only a table has past states"),
        ("SELECT * FROM range(5) VERSION AS OF 5", "VERSION", "Only a table has past states"),
        ("WITH c AS (SELECT 1) SELECT * FROM c VERSION AS OF 5", "VERSION", "a query named by WITH"),
        ("INSERT INTO t VERSION AS OF 5 SELECT 1", "VERSION", "the past can't be changed"),
        ("DELETE FROM t FOR VERSION AS OF 5", "FOR", "the past can't be changed"),
    ],
)
def test_what_is_not_time_travel_is_refused_where_it_stands(sql: str, at: str | None, sentence: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        read_statement(sql)
    assert sentence in refused.value.message
    assert refused.value.position == (len(sql) if at is None else sql.rindex(at))
    assert f"(line 1, column {refused.value.position + 1})" in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "SELECT 1;;SELECT 2;"])
def test_more_than_one_statement_is_refused(sql: str) -> None:
    with pytest.raises(UsageError, match="one statement runs at a time"):
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


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT * FROM " + "(SELECT * FROM " * 2000 + "t" + ")" * 2000,
    ],
    ids=["parentheses", "subqueries"],
)
def test_absurd_nesting_is_refused(sql: str) -> None:
    with pytest.raises(SqlRefused, match="nested too deeply"):
        read_statement(sql)


def test_a_hundred_parentheses_are_read() -> None:
    depth = 100
    assert table_uses("SELECT " + "(" * depth + "1" + ")" * depth + " FROM t") == [("t", None)]
    assert table_uses("SELECT * FROM " + "(SELECT * FROM " * depth + "t" + ")" * depth) == [("t", None)]
