"""A temporary view is known from the statement that made it, and is not taken for a table that is changed."""

from __future__ import annotations

import pytest

from paimark.core.errors import StatementFailed
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import context_for, run_statement
from paimark.core.statements.script import read_script, require_allowed
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.statements.views import Views, require_no_view, views_after
from tests.wording import about

CHANGES = [
    "UPDATE {} SET a = 1",
    "DELETE FROM {} WHERE a = 1",
    "MERGE INTO {} USING shop.orders o ON a = 1 WHEN MATCHED THEN DELETE",
    "INSERT INTO {} SELECT 1",
    "INSERT OVERWRITE {} VALUES (1)",
]


def views(*texts: str) -> Views:
    left: Views = {}
    for text in texts:
        left = views_after(left, read_statement(text))
    return left


@pytest.mark.parametrize(
    ("made", "tables"),
    [
        ("CREATE TEMPORARY VIEW v AS SELECT * FROM shop.orders", ("shop.orders",)),
        ("CREATE OR REPLACE TEMP VIEW V (a) AS SELECT 1 FROM a.b JOIN a.c USING (x)", ("a.b", "a.c")),
        ("CREATE TEMPORARY VIEW v AS SELECT * FROM other", ()),
        ("CACHE LAZY TABLE v AS SELECT * FROM shop.orders VERSION AS OF 2", ("shop.orders",)),
        ("CREATE TEMPORARY VIEW v USING csv OPTIONS (path 'x')", ()),
    ],
)
def test_a_view_is_known_with_the_tables_that_it_reads(made: str, tables: tuple[str, ...]) -> None:
    assert views(made) == {("v",): tables}
    assert views(made, "DROP VIEW IF EXISTS V") == {}
    assert views(made, "CREATE TEMPORARY VIEW IF NOT EXISTS v AS SELECT * FROM x.y") == {("v",): tables}


@pytest.mark.parametrize("change", CHANGES)
def test_it_can_not_be_changed(change: str) -> None:
    there = views("CREATE TEMPORARY VIEW v AS SELECT * FROM shop.orders")
    with pytest.raises(StatementFailed, match=about("v", "temporary view", "change*")) as error:
        require_no_view(read_statement(change.format("v")), there)
    assert about("shop.orders").search(error.value.hint)
    assert error.value.position == change.index("{")
    for other in ("shop.v", "w"):
        require_no_view(read_statement(change.format(other)), there)
    everywhere = views("CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1")
    with pytest.raises(StatementFailed, match=r"^global_temp\.v is .*") as error:
        require_no_view(read_statement(change.format("global_temp.v")), everywhere)
    assert about("the table").search(error.value.hint)


def test_a_script_is_refused_before_it_runs() -> None:
    text = "CREATE TEMPORARY VIEW v AS SELECT * FROM shop.orders; UPDATE v SET a = 1"
    with pytest.raises(StatementFailed, match=about("Statement 2 of 2", "v", "temporary view")):
        require_allowed(read_script(text), "shop", lambda statement, called: None)


def test_a_session_remembers_its_views_until_they_are_dropped(engine: Engine) -> None:
    def end(text: str) -> Finished | Failed:
        last = [*run_statement(context_for(engine), text)][-1]
        assert isinstance(last, Finished | Failed)
        return last

    assert isinstance(end("CREATE TEMPORARY VIEW kept_here AS SELECT 1 AS a"), Finished)
    failed = end("UPDATE kept_here SET a = 2")
    assert isinstance(failed, Failed) and about("kept_here", "temporary view").search(failed.message)
    assert isinstance(end("DROP VIEW kept_here"), Finished)
    failed = end("UPDATE kept_here SET a = 2")
    assert isinstance(failed, Failed) and about("no database").search(failed.message)
