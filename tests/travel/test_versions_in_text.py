"""Tables get the versions of their states in the text for Spark; nothing else changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from paimark.core.spark.engine.names.edits import Edited
from paimark.core.spark.engine.names.versions import with_versions
from paimark.core.travel.parse.sql import read_statement
from tests.travel.conftest import SparkJudge
from tests.travel.generated import Script, scripts, unhurried


def written(sql: str, *, pins: bool = False, database: str | None = None) -> Edited:
    statement = read_statement(sql)
    versions = {use: f"v{number}" for number, use in enumerate(statement.uses)}
    return with_versions(statement, versions, pins=pins, database=database, catalogs={"lake"})


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM t AS OF TIMESTAMP '2026-05-01' o", "SELECT * FROM t  VERSION AS OF 'v0' o"),
        ("SELECT * FROM t/* a */VERSION AS OF 5-- b", "SELECT * FROM t/* a */ VERSION AS OF 'v0'-- b"),
        (
            "SELECT * FROM t /*+ OPTIONS('scan.snapshot-id' = '12') */AS o",
            "SELECT * FROM t  VERSION AS OF 'v0'AS o",
        ),
        (
            "SELECT /*+ OPTIONS('scan.snapshot-id', '12') */ * FROM t o",
            "SELECT  * FROM t VERSION AS OF 'v0' o",
        ),
        ("SELECT * FROM t, u", "SELECT * FROM t, u"),
        # One table may be read in two ways.
        ("SELECT * FROM t, T", "SELECT * FROM t, T"),
        ("SELECT * FROM t, s.t", "SELECT * FROM t VERSION AS OF 'v0', s.t VERSION AS OF 'v1'"),
        ("TABLE t VERSION AS OF 5 ORDER BY a", "SELECT * FROM t  VERSION AS OF 'v0' ORDER BY a"),
        ("SELECT lake.t.a FROM Lake.t", "SELECT lake.t.a FROM paimark.Lake.t"),
        ("SELECT t$files.a FROM t$files", "SELECT `t$files`.a FROM `t$files`"),
        ("SELECT '${t$x}', ${a}", "SELECT '${t$x}', ${a}"),
        (
            "INSERT INTO u SELECT * FROM t VERSION AS OF 1",
            "INSERT INTO u SELECT * FROM t  VERSION AS OF 'v0'",
        ),
    ],
)
def test_versions_are_written_where_they_are_needed(sql: str, expected: str) -> None:
    assert written(sql, database="s").sql == expected


def test_all_tables_can_be_pinned() -> None:
    assert written("SELECT * FROM t, u", pins=True).sql == (
        "SELECT * FROM t VERSION AS OF 'v0', u VERSION AS OF 'v1'"
    )


@unhurried(200)
@given(scripts())
def test_generated_tables_are_found_with_their_spans(script: Script) -> None:
    uses = read_statement(script.sql).uses
    assert [(use.parts, use.version or use.time_expression, use.alias) for use in uses] == [
        (table.parts, table.asked, table.alias) for table in script.tables
    ]
    for use, table in zip(uses, script.tables, strict=True):
        assert script.sql[slice(*use.name_span)] == table.name
        assert (use.clause_span and script.sql[slice(*use.clause_span)]) == (table.clause_text or None)


@unhurried(200)
@given(scripts(), st.data())
def test_clauses_are_replaced_and_the_rest_is_traced_to_where_it_was_typed(
    script: Script, data: st.DataObject
) -> None:
    result = written(script.sql, pins=True)
    assert result.sql == script.at([f"v{number}" for number in range(len(script.tables))])
    position = data.draw(st.integers(0, len(result.sql)))
    origin = result.original_position(position)
    assert 0 <= origin <= len(script.sql)
    if is_new_text(result, position):
        assert origin in {edit.start for edit in result.edits}
    else:
        assert script.sql[origin:][:1] == result.sql[position:][:1]


def is_new_text(result: Edited, position: int) -> bool:
    shift = 0
    for edit in result.edits:
        if edit.start + shift <= position < edit.start + shift + len(edit.text):
            return True
        shift += len(edit.text) - (edit.end - edit.start)
    return False


@unhurried(60)
@given(scripts())
def test_spark_reads_these_tables_at_these_versions(spark_judge: SparkJudge, script: Script) -> None:
    # Spark takes no such word for a name, unless it is quoted.
    assume("Ünïcode" not in script.sql)
    # Spark's bare parser leaves commands alone.
    text = written(script.sql, pins=True).sql.removeprefix(script.head)
    relations = spark_judge.relations(text)
    for number, table in enumerate(script.tables):
        assert ", ".join(table.parts) in relations
        assert f"VERSION AS OF 'v{number}'" in text
    others = set(relations) - {", ".join(table.parts) for table in script.tables}
    assert {name.lower() for name in others} <= {"c1", "orders", "t1"}
    assert len(re.findall("VERSION AS OF 'v[0-9]+'", text)) == len(script.tables)
