"""What Spark would not do as it is written is refused by its name, with what to use instead."""

from __future__ import annotations

import pytest

from paimark.core.errors import StatementFailed
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.statement import SqlRefused
from paimark.core.travel.statements.refused import require_supported
from paimark.core.travel.statements.shows import read_show
from tests.wording import about


@pytest.mark.parametrize(
    ("sql", "words", "hint"),
    [
        ("DESCRIBE ^EXTENDED shop.t", "DESCRIBE EXTENDED", "SHOW CREATE TABLE"),
        ("desc table ^formatted shop.t", "DESCRIBE FORMATTED", "SHOW CREATE TABLE"),
        ("DESCRIBE shop.t ^PARTITION (day = '1')", "PARTITION", "SHOW PARTITIONS"),
        ("DESCRIBE shop.t VERSION AS OF 1 ^AS JSON", "AS JSON", "SHOW CREATE TABLE"),
        ("^DESCRIBE CATALOG other", "DESCRIBE CATALOG", "DESCRIBE DATABASE db"),
        ("^desc catalog EXTENDED `other`", "DESCRIBE CATALOG", "DESCRIBE DATABASE db"),
        ("^SET CATALOG other", "SET CATALOG", "USE db"),
        ("SET ^paimark.scan = library", "setting paimark.scan", "spark.paimark.scan"),
        ("RESET ^paimark.scan", "setting paimark.scan", "spark.paimark.scan"),
        ("^SHOW BRANCHES shop.t", "SHOW BRANCHES", "db.`t$branches`"),
        ("SELECT * FROM ^IDENTIFIER('shop.t')", "IDENTIFIER(...)", "name"),
        ("SELECT ^identifier ('reflect')('a', 'b')", "IDENTIFIER(...)", "name"),
        ("SELECT * FROM t WHERE a = ^?", "? parameter", "value"),
        ("SELECT ^:x", ":x parameter", "value"),
        ("SELECT a FROM t WHERE a IN (^:x, 2)", ":x parameter", "value"),
        ("SELECT ^java_method('java.lang.System', 'exit', 3)", "java_method exit", ""),
        ("SELECT 1, ^`reflect`('java.lang.System','exit',3)", "reflect exit", ""),
        ("CREATE TEMP VIEW ^`__Paimark_1_0` AS SELECT 1", "__Paimark_1_0", "another name"),
        ("CREATE TEMP VIEW v ^USING paimark OPTIONS (table 'a.b')", "USING paimark Spark", "AS SELECT"),
        ("CREATE VIEW v (a INT) ^using `Paimark`", "USING paimark Spark", "AS SELECT"),
        ("CACHE TABLE ^__paimark_1_0 AS SELECT 1", "__paimark_1_0", "another name"),
        ("SELECT ^try_reflect('java.lang.System', 'exit', 3)", "try_reflect exit", ""),
    ],
)
def test_it_is_refused_where_it_stands(sql: str, words: str, hint: str) -> None:
    with pytest.raises(StatementFailed) as refused:
        require_supported(read_statement(sql.replace("^", "")))
    assert about(*words.split()).search(refused.value.message)
    assert hint in refused.value.hint
    assert refused.value.position == sql.index("^")


@pytest.mark.parametrize(
    "sql",
    [
        "DESCRIBE shop.t",
        "DESCRIBE extended",
        "DESCRIBE catalog",
        "DESCRIBE TABLE catalog price",
        "DESCRIBE TABLE shop.t price",
        "DESCRIBE FUNCTION EXTENDED abs",
        "DESCRIBE DATABASE EXTENDED shop",
        "DESCRIBE QUERY SELECT 1 AS json",
        "SHOW SCHEMAS",
        "SELECT payload:name, a[1]:b, (c):d FROM t",
        "SELECT a?::int FROM t",
        "SET spark.paimark.scan = library",
        "SELECT '?', ':x', `a:b`, 1 -- :x ?\n",
        "SELECT exit, identifier, reflect FROM t",
        "SELECT reflect('java.lang.Math', 'abs', -3)",
        "SET TIME ZONE 'UTC'",
    ],
)
def test_all_else_is_left_to_spark(sql: str) -> None:
    require_supported(read_statement(sql))


@pytest.mark.parametrize(
    "sql", ["BEGIN SELECT 1; END", "BEGIN DECLARE x INT = 1; SELECT x; END;", "BEGIN END"]
)
def test_a_script_is_refused_by_its_name(sql: str) -> None:
    with pytest.raises(SqlRefused, match=r"BEGIN \.\.\. END "):
        read_statement(sql)


@pytest.mark.parametrize(
    ("sql", "word", "hint"),
    [
        ("SHOW PARTITIONS shop.t ^PARTITION (day = '1')", "PARTITION", "SELECT DISTINCT day FROM db.t WHERE"),
        ("SHOW PARTITIONS shop.t ^x", "x", "table's name"),
        ("SHOW CREATE TABLE shop.t ^AS SERDE", "AS", "table's name"),
        ("SHOW COLUMNS IN shop.t ^PARTITION (day = '1')", "PARTITION", "table's name"),
    ],
)
def test_a_word_too_many_is_named(sql: str, word: str, hint: str) -> None:
    with pytest.raises(StatementFailed) as refused:
        read_show(read_statement(sql.replace("^", "")))
    assert about(word, "follow").search(refused.value.message)
    assert hint in refused.value.hint
    assert refused.value.position == sql.index("^")
