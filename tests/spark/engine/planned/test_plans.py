"""Which tables a statement reads, as of what, and what is refused: by Spark's parser, with our clauses."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from paimark.core.spark.engine.planned.plans import read_uses
from paimark.core.travel.parse.statement import SqlRefused, TableUse
from tests.packaging.test_readme import CHECKOUT
from tests.wording import about

NOW = 1_780_000_000_000
Read = Callable[[str], tuple[TableUse, ...]]


@pytest.fixture(scope="module")
def read(spark_of_library: SparkSession) -> Read:
    session = spark_of_library

    def read(sql: str) -> tuple[TableUse, ...]:
        assert session._jvm is not None
        return read_uses(sql, session._jvm.paimark.clauses.Uses.of(session._jsparkSession, sql, NOW))

    return read


def asked(use: TableUse) -> str | None:
    return use.version or (use.clause.time if use.clause else None)


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


def test_every_clause_is_found_whatever_follows(read: Read) -> None:
    for number, (clause, meant) in enumerate(CLAUSES):
        # Each with some of what may follow.
        for behind in BEHIND[number % 3 :: 3]:
            opening = "(" if behind == ")" else ""
            sql = f"SELECT * FROM {opening}shop.t {clause}{behind}"
            use = read(sql)[0]
            assert (use.parts, asked(use)) == (("shop", "t"), meant), sql
            assert use.clause is not None
            written = clause.split("*/ ", 1)[-1 if clause.startswith("/*") else 0]
            assert sql[use.clause.start : use.clause.end] == written, sql


# Each with the tables it reads. Indented lines go on.
QUERIES = r"""
SELECT * FROM t WHERE x IN (SELECT y FROM u) AND EXISTS (FROM w SELECT 1) OR 1 = (SELECT max(a) FROM q)
    | t u w q
SELECT * FROM t MINUS SELECT * FROM u INTERSECT ALL SELECT * FROM w UNION DISTINCT TABLE z | t u w z
SELECT * FROM ((a JOIN b ON a.x = b.x) JOIN c USING (x)), d | a b c d
SELECT * FROM a, b c, d AS e (x, y), LATERAL (SELECT * FROM f) g LEFT JOIN h ON TRUE, VALUES (1, 2), (3,
    4) AS v(p, q), i | a b d f h i
SELECT * FROM VALUES 1, 2, 3 |
SELECT * FROM t LATERAL VIEW explode(a) x AS b LATERAL VIEW OUTER explode(c) y AS d, e WHERE 1 = 1 | t
WITH a AS (SELECT 1), b (x, y) AS (SELECT * FROM a), c AS (SELECT * FROM zz) SELECT * FROM a JOIN b JOIN
    c JOIN d | zz d
WITH a AS (SELECT * FROM a) SELECT * FROM A | a
WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a, b | b
WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r |
SELECT * FROM (WITH a AS (SELECT * FROM b) SELECT * FROM a) x, a | b a
WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b), c AS (SELECT * FROM b) SELECT 1 | b
WITH a AS (SELECT 1) SELECT * FROM db.a | db,a
SELECT version, timestamp, table, values FROM t | t
SELECT timestamp AS of, version as OF FROM t version JOIN u timestamp JOIN w AS of | t u w
SELECT t$x.a FROM 2024_orders$files AS t$x, `a``b`.`c.d`.o$branch_x$snapshots | 2024_orders$files
    a`b,c.d,o$branch_x$snapshots
TABLE a.t | a,t
SELECT * FROM t GROUP BY a, b WITH CUBE HAVING count(*) > (SELECT 1 FROM u) ORDER BY a, b | t u
SELECT /*+ BROADCAST(t), REPARTITION(3) */ options FROM t JOIN u /* OPTIONS('a'='b') */ | t u
SELECT * FROM t |> WHERE x > 1 |> JOIN u USING (a) |> AGGREGATE sum(x) GROUP BY y |> SELECT y, z | t u
SELECT * FROM f(TABLE(t)), g(TABLE(SELECT * FROM u)), i(x => TABLE(z)) | t u z
INSERT INTO x SELECT * FROM t | t
WITH c AS (SELECT * FROM t) INSERT INTO x SELECT * FROM c | t
CREATE TEMPORARY VIEW v (a) AS (SELECT * FROM t) | t
CACHE TABLE x AS SELECT * FROM t | t
CACHE TABLE t | t
MERGE INTO x USING t VERSION AS OF 5 s ON x.a = s.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN
    INSERT * | t
MERGE INTO x m USING (SELECT * FROM t) s ON m.a = s.a WHEN MATCHED THEN DELETE | t
DELETE FROM x WHERE a IN (SELECT b FROM t) | t
UPDATE x SET a = 1 WHERE b = (SELECT max(c) FROM t) | t
EXPLAIN FORMATTED TABLE t | t
DESCRIBE t | t
DESC TABLE shop.t VERSION AS OF 2 | shop,t
DESCRIBE QUERY SELECT * FROM t | t
DESCRIBE SCHEMA shop |
SHOW COLUMNS FROM t FROM shop |
SET VAR x = (SELECT max(a) FROM t) | t
"""


def test_the_tables_are_found(read: Read) -> None:
    for line in QUERIES.strip().replace("\n    ", " ").splitlines():
        sql, _, names = line.rpartition("|")
        assert [",".join(use.parts) for use in read(sql)] == names.split(), sql


def test_a_view_has_the_tables_of_its_text(spark_of_library: SparkSession, read: Read) -> None:
    text = "SELECT * FROM a.t$files JOIN u AS OF TIMESTAMP '2026-05-01'"
    spark_of_library.sql("CREATE TEMPORARY VIEW of_uses AS SELECT 1 AS n")
    try:
        assert [use.is_view for use in read("SELECT * FROM OF_USES")] == [True]
    finally:
        spark_of_library.sql("DROP VIEW of_uses")
    assert [use.at for use in read(text)] == [text.index("a.t$"), text.index("u AS")]


REFUSED: list[tuple[str, str | None, str]] = [
    ("SELECT * FROM t FOR SYSTEM_TIME FROM 1 TO 2", "FOR", "SYSTEM_TIME FROM period"),
    ("SELECT * FROM t FOR SYSTEM_TIME BETWEEN 1 AND 2", "FOR", "SYSTEM_TIME BETWEEN period"),
    ("SELECT * FROM t FOR SYSTEM_TIME CONTAINED IN (1, 2)", "FOR", "period"),
    ("SELECT * FROM t FOR VERSION BETWEEN 1 AND 2", "FOR", "period"),
    (
        "SELECT * FROM o JOIN t FOR SYSTEM_TIME AS OF o.proctime ON 1 = 1",
        "o.proctime",
        "o.proctime column temporal join",
    ),
    ("SELECT * FROM t TIMESTAMP AS OF", None, "time TIMESTAMP missing"),
    ("SELECT * FROM (SELECT * FROM t TIMESTAMP AS OF)", ")", "unfinished"),
    ("SELECT * FROM t TIMESTAMP AS OF WHERE x = 1", "WHERE", "unfinished"),
    ("SELECT * FROM t TIMESTAMP AS OF now() - WHERE x", "WHERE", "unfinished"),
    ("SELECT * FROM t TIMESTAMP AS OF now() - WHERE x = 1", "WHERE", "unfinished"),
    ("SELECT * FROM t VERSION AS OF", None, "version missing"),
    ("SELECT * FROM t VERSION AS OF v2", "v2", "number name quotes"),
    ("SELECT * FROM t VERSION AS OF -1", "-1", "number name quotes"),
    ("SELECT * FROM t VERSION AS OF 1.5", "1.5", "number name quotes"),
    ("SELECT * FROM t VERSION AS OF 1 + 1", "+", "number name expression"),
    ("SELECT * FROM t FOR SYSTEM_TIME", "FOR", "SYSTEM_TIME AS OF"),
    ("SELECT * FROM t AS OF '2026-05-01'", "'2026", "AS OF alone TIMESTAMP"),
    ("SELECT * FROM t AS OF VERSION 5", "VERSION", "AS OF alone TIMESTAMP"),
    ("SELECT * FROM t o VERSION AS OF 5", "VERSION", "before alias"),
    ("SELECT * FROM t AS o FOR VERSION AS OF 5", "FOR", "before alias"),
    ("SELECT * FROM t VERSION AS OF 5 TIMESTAMP AS OF now()", "TIMESTAMP", "one time-travel"),
    ("SELECT * FROM (SELECT 1) VERSION AS OF 5", "VERSION", "only table past"),
    ("SELECT * FROM range(5) VERSION AS OF 5", "VERSION", "only table past"),
    ("WITH c AS (SELECT 1) SELECT * FROM c VERSION AS OF 5", "VERSION", "query WITH"),
    ("INSERT INTO t VERSION AS OF 5 SELECT 1", "VERSION", "past change*"),
    ("DELETE FROM t FOR VERSION AS OF 5", "FOR", "past change*"),
]


def test_what_is_not_time_travel_is_refused_where_it_stands(read: Read) -> None:
    for sql, at, sentence in REFUSED:
        with pytest.raises(SqlRefused) as refused:
            read(sql)
        assert about(*sentence.split()).search(refused.value.message), sql
        assert refused.value.position == (len(sql) if at is None else sql.rindex(at)), sql
        assert refused.value.hint, sql


def in_first_column(title: str) -> list[str]:
    """The code in the first column of the guide's table with this title of that column."""
    guide = (CHECKOUT / "docs/guide.md").read_text()
    table = guide.split(f"\n| {title} |", 1)[1].split("\n\n", 1)[0]
    return [code for line in table.splitlines()[2:] for code in re.findall("`([^`]+)`", line.split(" | ")[0])]


def test_the_guide_lists_the_clauses_that_run_and_those_that_do_not(read: Read) -> None:
    runs, refused = in_first_column("behind a table"), in_first_column("refused")
    assert len(runs) > 12 and len(refused) > 10
    for clause in runs:
        (use,) = read(f"SELECT * FROM t {clause}")
        assert use.clause is not None, clause
    for clause in refused:
        with pytest.raises(SqlRefused):
            read(f"SELECT * FROM t {clause}")


T12 = "t /*+ OPTIONS('scan.snapshot-id' = '12') */"
BY_OPTION = [
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
]


def test_a_snapshot_is_named_by_options(read: Read) -> None:
    for sql in BY_OPTION:
        (use,) = (use for use in read(sql) if use.parts[-1] == "t")
        assert use.clause is not None, sql
        assert (use.clause.words, use.version) == ("scan.snapshot-id", "snapshot.12"), sql
        written = sql[use.clause.start : use.clause.end]
        assert re.fullmatch(r"(/\*\+ OPTIONS\(.*\) \*/|WITH \(.*\))", written, re.IGNORECASE), written


def test_every_option_that_names_a_state(read: Read) -> None:
    def clause_of(option: str) -> tuple[object, ...]:
        (use,) = read(f"SELECT * FROM t /*+ OPTIONS({option}) */")
        assert use.clause is not None
        return use.version, use.clause.is_tag, use.clause.time, use.clause.time_ms

    assert clause_of("'scan.tag-name' = '12'") == ("12", True, None, None)
    assert clause_of("'scan.version' = 'savepoint.1'") == ("savepoint.1", False, None, None)
    assert clause_of("'scan.snapshot-id' = 'savepoint.1'") == ("savepoint.1", False, None, None)
    assert clause_of("'scan.timestamp' = '2026-05-01 00:00:00'")[2] == "'2026-05-01 00:00:00'"
    assert clause_of("'scan.timestamp-millis' = '1780000000000'") == (None, False, None, 1780000000000)


OPTIONS_REFUSED: list[tuple[str, str | int, str]] = [
    (
        "SELECT * FROM t /*+ OPTIONS('scan.mode' = 'latest') */",
        "'scan.mode'",
        "option scan.mode",
    ),
    ("SELECT * FROM t /*+ OPTIONS('branch'='b') */", "'branch'", "option branch"),
    ("SELECT * FROM t /*+ OPTIONS('scan.snapshot-id'='1', 'x'='y') */", "'x'", "option x"),
    ("SELECT * FROM t /*+ OPTIONS('scan.version'='1', 'scan.tag-name'='y') */", "'scan.tag", "each name"),
    ("SELECT * FROM t /*+ OPTIONS('scan.timestamp-millis'='x') */", "'x'", "number milliseconds"),
    ("SELECT * FROM t /*+ OPTIONS('scan.timestamp' = 5) */", "5", "scan.timestamp text"),
    ("SELECT * FROM t /*+ OPTIONS() */", ") */", "pairs names values"),
    ("SELECT * FROM t /*+ OPTIONS('scan.version') */", ") */", "pairs names values"),
    (
        "SELECT * FROM t /*+ OPTIONS('scan.version'='1') */ VERSION AS OF 5",
        "VERSION",
        "one time-travel",
    ),
    (
        "SELECT * FROM t VERSION AS OF 5 /*+ OPTIONS('scan.version'='1') */",
        "/*+",
        "one time-travel",
    ),
    ("SELECT * FROM t VERSION AS OF 5 WITH ('scan.version'='1')", "WITH", "one time-travel"),
    ("SELECT /*+ OPTIONS('scan.version','1') */ * FROM t VERSION AS OF 5", "/*+", "beside time-travel"),
    (
        "SELECT /*+ OPTIONS('scan.version','1') */ * FROM t /*+ OPTIONS('scan.version'='1') */",
        7,
        "beside",
    ),
    ("SELECT /*+ OPTIONS('scan.version','1') */ * FROM t JOIN u", "/*+", "one table"),
    (
        "SELECT /*+ OPTIONS('scan.version','1') */ * FROM (SELECT * FROM t)",
        "/*+",
        "one table",
    ),
    (
        "WITH c AS (SELECT * FROM t) SELECT /*+ OPTIONS('scan.version','1') */ * FROM c",
        "/*+",
        "one table",
    ),
    ("SELECT /*+ OPTIONS('scan.version','1') */ 1", "/*+", "one table"),
    (
        "SELECT /*+ OPTIONS('dynamic','1') */ * FROM t",
        "'dynamic'",
        "option dynamic",
    ),
    ("SELECT /*+ OPTIONS(t, 'scan.version', '1') */ * FROM t", ") */", "pairs names values"),
    (
        "SELECT /*+ BROADCAST(t), OPTIONS('scan.version','1') */ * FROM t",
        "/*+",
        "OPTIONS not",
    ),
    ("SELECT * FROM t o /*+ OPTIONS('scan.version'='1') */", "/*+", "OPTIONS not"),
    ("SELECT * FROM (SELECT 1) /*+ OPTIONS('scan.version'='1') */", "/*+", "OPTIONS not"),
    (
        "WITH c AS (SELECT 1) SELECT * FROM c /*+ OPTIONS('scan.version'='1') */",
        "/*+",
        "query WITH",
    ),
    (
        "INSERT INTO t /*+ OPTIONS('sink.parallelism'='2') */ SELECT 1",
        "'sink",
        "option sink.parallelism",
    ),
    ("INSERT INTO t /*+ OPTIONS('scan.version'='2') */ SELECT 1", "/*+", "past change*"),
    ("INSERT /*+ OPTIONS('a'='b') */ INTO t SELECT 1", "'a'", "option a"),
    ("UPDATE t /*+ OPTIONS('a'='b') */ SET a = 1", "'a'", "option a"),
    ("CREATE TEMPORARY VIEW v AS SELECT * FROM t /*+ OPTIONS('a'='b') */", "'a'", "option a"),
    ("SELECT * FROM u, t WITH (branch = b)", "branch", "option branch"),
]


def test_all_other_options_are_refused_where_they_stand(read: Read) -> None:
    for sql, at, sentence in OPTIONS_REFUSED:
        with pytest.raises(SqlRefused) as refused:
            read(sql)
        assert about(*sentence.split()).search(refused.value.message), sql
        assert refused.value.position == (at if isinstance(at, int) else sql.rindex(at)), sql
        assert refused.value.hint, sql


def test_other_hints_are_left_to_spark(read: Read) -> None:
    with pytest.raises(PySparkException, match="Syntax error"):
        read("SELECT * FROM t /*+ LOOKUP('a'='b') */")
