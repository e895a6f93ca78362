"""Statements of one text are checked before the first one runs, and errors say which one and what was run."""

from __future__ import annotations

import pytest

from paimark.core.errors import PaimarkError, Refused, StatementFailed, UsageError
from paimark.core.statements.run import action_call
from paimark.core.statements.script import Numbered, naming, read_script, require_allowed
from paimark.core.travel.parse.sql import read_statement
from tests.wording import about


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (Numbered(0, 1, 1), ""),
        (Numbered(0, 1, 2), "Statement 2 was not run."),
        (Numbered(0, 2, 2), "Statement 1 was run."),
        (Numbered(0, 3, 5), "Statements 1 and 2 were run; statements 4 and 5 were not run."),
        (Numbered(0, 4, 9), "Statements 1 to 3 were run; statements 5 to 9 were not run."),
    ],
)
def test_it_is_said_what_was_run_and_what_was_not(place: Numbered, sentence: str) -> None:
    assert place.rest() == sentence


def test_an_error_names_its_statement_and_its_place_in_the_whole_text() -> None:
    with pytest.raises(StatementFailed) as raised, naming(Numbered(20, 2, 3), "Statement 1 was run."):
        raise StatementFailed("No column", "Nothing was changed.", 7)
    assert (raised.value.message, raised.value.position) == ("Statement 2 of 3: No column", 27)
    assert raised.value.hint == "It changed nothing. Statement 1 was run."
    with pytest.raises(Refused, match=r"^Held$"), naming(Numbered(), ""):
        raise Refused("Held")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "SELECT 1; SELECT * FROM `t",
            "Statement 2 of 2: ` closed",
        ),
        ("SELECT 1; BEGIN SELECT 2; END", "Statement 2 of 2: BEGIN END"),
        (
            "SELECT 1; DROP DATABASE shop CASCADE; SELECT 2",
            "Statement 2 of 3: DROP DATABASE CASCADE",
        ),
        ("SELECT 1; CREATE FUNCTION f AS 'a.B'", "Statement 2 of 2: CREATE FUNCTION"),
        (
            "SELECT 1; VACUUM t; CREATE VIEW v AS SELECT 1",
            "Statement 3 of 3: CREATE VIEW",
        ),
        (
            "CALL sys.crate_tag(table => 'a.b'); SELECT 1",
            "Statement 1 of 2: procedure sys.crate_tag",
        ),
        ("SELECT 1; INSERT INTO t VALUES (1)", "Statement 2 of 2: no database t"),
        ("SELECT 1; ALTER TABLE a.b FROB c", "Statement 2 of 2: "),
        (
            "SET spark.paimark.sacn = auto; SELECT 1",
            "Statement 1 of 2: setting spark.paimark.sacn",
        ),
        ("SELECT ?; SELECT 1", "Statement 1 of 2: ? parameter"),
    ],
)
def test_what_can_not_run_is_refused_before_anything_runs(sql: str, message: str) -> None:
    with pytest.raises(PaimarkError) as raised:
        require_allowed(read_script(sql), None, lambda statement, called: None)
    place, _, said = message.partition(": ")
    assert raised.value.message.startswith(f"{place}: ")
    assert about(*said.split()).search(raised.value.message)
    assert about("no statement").search(raised.value.hint)


def test_a_name_may_be_in_a_database_that_an_earlier_statement_chooses() -> None:
    require_allowed(read_script("USE shop; INSERT INTO t VALUES (1)"), None, lambda statement, called: None)
    require_allowed(read_script("SELECT 1; INSERT INTO t VALUES (1)"), "shop", lambda statement, called: None)


def test_each_statement_with_its_action_is_asked_about() -> None:
    asked: list[tuple[str, str]] = []
    sql = "SELECT 1; INSERT OVERWRITE a.b SELECT 1; CALL sys.delete_tag(table => 'a.b', name => 'x')"
    require_allowed(
        read_script(sql),
        None,
        lambda statement, called: asked.append((statement.kind, called.action.name if called else "")),
    )
    assert asked == [("query", ""), ("overwrite", "insert-overwrite"), ("call", "delete-tag")]


def test_the_comment_before_a_statement_that_tells_why_is_its_message() -> None:
    script = read_script(
        "-- message: late orders\nINSERT INTO d.t VALUES (1);\nINSERT INTO d.t VALUES (2);\n"
        "/* -- message: no\n-- message: none */ DELETE FROM d.t WHERE k = 1;\n"
        "-- Why?\n  -- Message:  doubled \nCALL sys.create_tag('d.t', 'v1')"
    )
    called = [action_call(each.statement, None)[0].arguments.get("message") for each in script]
    assert called == ["late orders", None, None, "doubled"]
    # Positions are those of the text.
    assert [each.statement.tokens[0].text for each in script] == ["INSERT", "INSERT", "DELETE", "CALL"]
    one = read_statement("-- message: why\nCALL sys.create_tag('d.t', 'v1', message => 'because')")
    assert action_call(one, None)[0].arguments["message"] == "because"
    with pytest.raises(UsageError, match="has 2 messages"):
        action_call(read_statement("--message:a\n--message:b\nDELETE FROM d.t"), None)
