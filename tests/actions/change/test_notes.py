"""The note on a change: a message and an author, which no action has to know of."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import msgspec
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.registry import ACTIONS
from paimark.core.errors import UsageError
from paimark.core.statements.run import action_call
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.notes import Note, note_of, with_note
from paimark.core.table.operations import read_operations
from paimark.core.table.records import Snapshot
from paimark.core.table.rows import row_decoder
from paimark.core.table.system_tables import SYSTEM_TABLES, system_table
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import ORDERS, done, planned
from tests.faults.fault_files import Death, FaultFiles
from tests.wording import about

JANE = Note("before the sale", "jane")


def notes(context: Context) -> list[tuple[str | None, str | None]]:
    return [(each.message, each.author) for each in read_operations(context.files, ORDERS)]


def test_each_part_of_each_change_has_it_in_the_log_and_the_audit_line(context: Context) -> None:
    """With the lock or without, one of many, and what takes it back."""
    done(context, "create-tag", name="a", message=JANE.message, author=JANE.author)
    done(context, "create-branch", name="fix", tag="a", message=JANE.message, author=JANE.author)
    done(context, "create-tag", name="n-{id}", snapshot=[3, 4], message="both")
    done(context, "undo", message="neither")
    said = (JANE.message, JANE.author)
    assert notes(context) == [
        said,
        said,
        ("both", None),
        ("both", None),
        ("neither", None),
        ("neither", None),
    ]
    lines = [json.loads(line) for line in context.audit_path.read_text().splitlines()]
    assert [(each["message"], each["author"]) for each in lines[:2]] == [said, said]
    # What is asked for is what a redo plans again: a note is none of it.
    assert all("message" not in each.request for each in read_operations(context.files, ORDERS))
    done(context, "redo")
    assert notes(context)[-2:] == [(None, None)] * 2


def test_an_author_of_the_settings_is_that_of_each_change_that_names_none(context: Context) -> None:
    context = replace(context, note=Note(author="nightly"))
    done(context, "create-tag", name="a")
    done(context, "create-tag", name="b", author="jane")
    assert [author for _, author in notes(context)] == ["nightly", "jane"]
    columns = [each.name for each in SYSTEM_TABLES["operations"].columns]
    [first, _] = system_table("operations").read(context.files, ORDERS.root())
    row = dict(zip(columns, first, strict=True))
    assert (row["user"], row["author"], row["message"]) == (context.user, "nightly", None)


def test_who_recovers_a_change_leaves_its_note_as_it_is(context: Context) -> None:
    dying = replace(context, files=FaultFiles(context.files, 12))
    with pytest.raises(Death):
        done(dying, "create-branch", name="fix", tag="v2", message="for the audit")
    assert notes(context) == []
    done(replace(context, note=Note("tidied", "somebody")), "recover")
    assert notes(context) == [("for the audit", None)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one\ntwo", about("line end", "character")),
        ("\x1b]52;c;aGk=\x07", about("line end", "character")),
        ("sale\u202e", about("line end", "character")),
        ("x" * (1 << 20), about("1,048,576 characters", "1,000")),
    ],
)
def test_a_text_that_is_no_message_is_refused_in_a_sentence(
    context: Context, text: str, said: re.Pattern[str]
) -> None:
    with pytest.raises(UsageError, match=about("message")) as refused:
        planned(context, "create-tag", name="a", message=text)
    assert said.search(refused.value.message)
    [message] = [each for each in ACTIONS["create-tag"].arguments if each.name == "message"]
    assert said.search(message.problem(text))


@pytest.mark.parametrize(
    "sql", ["CREATE TABLE shop.new (a INT)", "ALTER TABLE shop.orders ADD COLUMN note STRING"]
)
def test_a_statement_has_that_of_its_script(context: Context, sql: str) -> None:
    """Unless it names its own, as a CALL can."""
    called, _ = action_call(read_statement(sql), None)
    plan = called.action.plan(replace(context, note=JANE), called.table, called.arguments)
    called.action.apply(context, plan, lambda line: None)
    [logged] = read_operations(context.files, called.table)
    assert (logged.message, logged.author) == (JANE.message, JANE.author)


def test_every_action_takes_one_but_the_clocks(context: Context) -> None:
    without = [name for name, each in ACTIONS.items() if "message" not in {a.name for a in each.arguments}]
    assert without == ["auto-savepoint"] == [each.name for each in DECLARED.values() if each.has_no_note]


def test_a_snapshot_keeps_it_among_its_properties(context: Context) -> None:
    snapshot = Lineage(context.files, ORDERS.root()).snapshot(5)
    mine = replace_properties(snapshot, {"theirs": "1"})
    noted = with_note(mine, JANE)
    assert noted.properties == {"theirs": "1", "paimark.author": "jane", "paimark.message": "before the sale"}
    assert note_of(noted) == JANE and note_of(snapshot) == Note()
    row = row_decoder()(noted.to_json())
    assert row.said is not None and (row.said.message, row.said.author) == ("before the sale", "jane")
    # Somebody else's may be of any length.
    assert len(note_of(replace_properties(snapshot, {"paimark.message": "x" * 5000})).message) == 1000


def replace_properties(snapshot: Snapshot, properties: dict[str, str]) -> Snapshot:
    return msgspec.structs.replace(snapshot, properties=properties)
