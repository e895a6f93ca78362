"""Each action is a procedure: its arguments by name or in the registry's order, mistakes pointed at."""

from __future__ import annotations

import pytest

from paimark.core.actions.declared.declaration import NOTE
from paimark.core.actions.declared.kinds import Argument, Choice
from paimark.core.actions.registry import ACTIONS
from paimark.core.errors import StatementFailed
from paimark.core.statements.call import ActionCall, action_of_call
from paimark.core.table.layout import TablePath
from paimark.core.travel.parse.sql import read_statement


def action_of(sql: str, database: str | None = None) -> ActionCall:
    return action_of_call(read_statement(sql), database)


def sample_value(argument: Argument) -> tuple[str, object]:
    """As SQL, and as the action gets it."""
    if isinstance(argument, Choice):
        return f"'{argument.among[-1]}'", argument.among[-1]
    samples: dict[type, tuple[str, object]] = {
        str: ("'a''b'", "a'b"),
        int: ("7", 7),
        bool: ("true", True),
    }
    return samples[argument.takes]


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_is_called_by_name_and_by_place(name: str) -> None:
    action = ACTIONS[name]
    procedure = name.replace("-", "_")
    own = [each for each in action.arguments if each not in NOTE]
    places = ["'shop.orders'", *(sample_value(each)[0] for each in own)]
    names = [f"{each.name} => {sample_value(each)[0]}" for each in reversed(action.arguments)]
    # A message has a name in any case.
    notes = [f"{each.name} => {sample_value(each)[0]}" for each in action.arguments if each in NOTE]
    by_place = action_of(f"CALL sys.{procedure}({', '.join([*places, *notes])})")
    names.append("table => 'shop.orders'")
    by_name = action_of(f"CALL SYS.{procedure.upper()}({', '.join(names)})")
    assert by_place.action is by_name.action is action
    assert by_place.table == by_name.table == TablePath("shop", "orders")
    assert by_place.arguments == by_name.arguments
    assert by_place.arguments == {each.name: sample_value(each)[1] for each in action.arguments}


def test_what_is_left_out_has_its_default() -> None:
    called = action_of("CALL sys.replace_main_branch('shop.orders', 'fix', drop_previous => true)")
    assert called.arguments == {"name": "fix", "layout": "pointer", "drop_previous": True}


def test_null_is_not_given_and_numbers_and_texts_stand_for_each_other() -> None:
    called = action_of("CALL sys.create_tag('shop.orders', 2026, '5', NULL)")
    assert called.arguments == {"name": "2026", "snapshot": 5}


def test_a_plain_name_is_in_the_current_database() -> None:
    assert action_of("CALL sys.recover('orders')", "shop").table == TablePath("shop", "orders")
    assert action_of("CALL sys.recover('other.orders')", "shop").table == TablePath("other", "orders")
    assert action_of("CALL sys.recover('`a.b`')", "sh`op").table == TablePath("sh`op", "a.b")


@pytest.mark.parametrize(
    ("sql", "said", "place"),
    [
        ("CALL sys.delet_tag('a.b')", "no procedure sys.delet_tag", "sys"),
        ("CALL sys.recover()", "needs table", ")"),
        ("CALL sys.recover(NULL)", "needs table", ")"),
        ("CALL sys.create_tag('a.b', snapshot => 1)", "needs name", ")"),
        ("CALL sys.create_tag('a.b', 'x', label => 'y')", "has no label", "label"),
        ("CALL sys.create_tag('a.b', 'x', name => 'y')", "name is given twice", "name"),
        ("CALL sys.create_tag('a.b', 'x', table => 'y')", "table is given twice", "table"),
        ("CALL sys.recover('a.b', 'committed', 'fix', 1)", "takes 3 arguments", "1"),
        ("CALL sys.delete_savepoint('a.b', 'one')", "id is a whole number", "'one'"),
        ("CALL sys.delete_savepoint('a.b', id => true)", "id is a whole number", "true"),
        ("CALL sys.create_tag('a.b', name => true)", "name is a text", "true"),
        ("CALL sys.create_tag('a.b', name => ' ')", "name is empty", "' '"),
        ("CALL sys.replace_main_branch('a.b', 'fix', layout => '')", "layout is empty", "''"),
        ("CALL sys.merge_branch('a.b', 'fix', on_conflict => '')", "on_conflict is empty", "''"),
        ("CALL sys.recover('orders')", "No database is chosen to have orders", "'orders'"),
        ("CALL sys.recover('a.b$branch_c')", "can't be the name of a table", "'a.b"),
        ("CALL sys.recover('../etc.passwd')", "", "'../"),
    ],
)
def test_what_an_action_does_not_take_is_pointed_at(sql: str, said: str, place: str) -> None:
    with pytest.raises(StatementFailed) as failed:
        action_of(sql)
    assert said in failed.value.message
    assert failed.value.position is not None
    assert sql[failed.value.position :].startswith(place)
