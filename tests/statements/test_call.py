"""Each action is a procedure: its arguments by name or in the registry's order, mistakes pointed at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paimark.core.actions.declared.declaration import NOTE
from paimark.core.actions.declared.kinds import Argument, Choice
from paimark.core.actions.registry import ACTIONS
from paimark.core.errors import StatementFailed
from paimark.core.statements.call import STOCK_NAMES, STOCK_REFUSED, ActionCall, action_of_call
from paimark.core.table.layout import TablePath
from paimark.core.travel.parse.sql import read_statement
from tests.wording import about

PAGE = (Path(__file__).parents[2] / "docs/tables.md").read_text()
# The keys of `SparkProcedures` in Paimon's sources, in their order.
STOCK = re.findall(
    r"\w+",
    """rollback rollback_to_timestamp rollback_to_watermark purge_files create_tag replace_tag rename_tag
create_tag_from_timestamp delete_tag expire_tags create_branch create_global_index drop_global_index
delete_branch rename_branch compact materialize_deletion_vectors compact_database compact_chain_table rescale
migrate_database migrate_table remove_orphan_files remove_unexisting_files expire_snapshots expire_partitions
repair repair_earliest_snapshot fast_forward merge_branch reset_consumer mark_partition_done compact_manifest
clear_consumers alter_view_dialect create_function alter_function drop_function
trigger_tag_automatic_creation rewrite_file_index copy reassign_row_id""",
)


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
        ("CALL sys.delet_tag('a.b')", "procedure sys.delet_tag", "sys"),
        ("CALL sys.recover()", "needs table", ")"),
        ("CALL sys.recover(NULL)", "needs table", ")"),
        ("CALL sys.create_tag('a.b', snapshot => 1)", "needs name", ")"),
        ("CALL sys.create_tag('a.b', 'x', label => 'y')", "no label", "label"),
        ("CALL sys.create_tag('a.b', 'x', name => 'y')", "name twice", "name"),
        ("CALL sys.create_tag('a.b', 'x', table => 'y')", "table twice", "table"),
        ("CALL sys.recover('a.b', 'committed', 'fix', 1)", "takes 3 arguments", "1"),
        ("CALL sys.delete_savepoint('a.b', 'one')", "id number 'one'", "'one'"),
        ("CALL sys.delete_savepoint('a.b', id => true)", "id number true", "true"),
        ("CALL sys.create_tag('a.b', name => true)", "name text", "true"),
        ("CALL sys.create_tag('a.b', name => ' ')", "name empty", "' '"),
        ("CALL sys.replace_main_branch('a.b', 'fix', layout => '')", "layout empty", "''"),
        ("CALL sys.merge_branch('a.b', 'fix', on_conflict => '')", "on_conflict empty", "''"),
        ("CALL sys.recover('orders')", "no database orders", "'orders'"),
        ("CALL sys.recover('a.b$branch_c')", "b$branch_c name table", "'a.b"),
        ("CALL sys.recover('../etc.passwd')", "", "'../"),
    ],
)
def test_what_an_action_does_not_take_is_pointed_at(sql: str, said: str, place: str) -> None:
    with pytest.raises(StatementFailed) as failed:
        action_of(sql)
    assert about(*said.split()).search(failed.value.message)
    assert failed.value.position is not None
    assert sql[failed.value.position :].startswith(place)


def test_each_has_one_answer() -> None:
    assert len(STOCK) == 42
    assert sorted([*STOCK_NAMES, *STOCK_REFUSED]) == sorted(STOCK)


def test_the_page_says_the_answer_of_each() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `sys.")]
    assert rows == [f"| `sys.{name}` | {_answer(name)} |" for name in STOCK]


def _answer(name: str) -> str:
    if name in STOCK_REFUSED:
        return STOCK_REFUSED[name]
    renamed = ", ".join(f"`{stock}` is `{ours}`" for stock, ours in STOCK_NAMES[name].items())
    return f"Paimark's own. {renamed}".rstrip(". ") + "."


@pytest.mark.parametrize("name", STOCK_REFUSED)
def test_one_that_is_not_here_says_what_to_use(name: str) -> None:
    with pytest.raises(StatementFailed) as error:
        action_of_call(read_statement(f"CALL sys.{name}('shop.orders')"))
    assert about(f"sys.{name}", "Paimark", "not").search(error.value.message)
    assert error.value.hint == STOCK_REFUSED[name]


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("rollback(table => 't', version => '5')", {"to": "snapshot.5"}),
        ("rollback(table => 't', snapshot => 5)", {"to": "snapshot.5"}),
        ("rollback(table => 't', tag => 'v5')", {"to": "v5"}),
        ("rename_tag(table => 't', tag => 'a', target_tag => '7')", {"name": "a", "to": "7"}),
        (
            "create_tag(table => 't', tag => 'a', snapshot => 2, time_retained => '1 d')",
            {"name": "a", "snapshot": 2, "retain": "1 d"},
        ),
        ("create_branch(table => 't', branch => 'b', tag => 'a')", {"name": "b", "tag": "a"}),
        (
            "reset_consumer(table => 't', consumerId => 'job', nextSnapshotId => 4)",
            {"name": "job", "snapshot": 4},
        ),
        (
            "merge_branch(table => 't', source_branch => 'b', target_branch => 'x')",
            {"name": "b", "into": "x"},
        ),
        ("compact(table => 't', partitions => 'day=1')", {"partition": "day=1"}),
    ],
)
def test_ours_take_the_names_of_its_arguments(call: str, arguments: dict[str, object]) -> None:
    called = action_of_call(read_statement(f"CALL sys.{call}"), "shop").arguments
    assert {name: value for name, value in called.items() if name in arguments} == arguments


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("create_branch('t', branch => 'b', ignoreIfExists => 'true')", "has no ignoreifexists"),
        ("expire_snapshots(table => 't', retain_max => 5)", "has no retain_max"),
        ("compact(table => 't', order_by => 'a')", "has no order_by"),
        ("rollback(table => 't', tag => 'a', snapshot => 5)", "to is given twice"),
    ],
)
def test_what_ours_do_not_take_is_refused_by_name(call: str, message: str) -> None:
    with pytest.raises(StatementFailed, match=message):
        action_of_call(read_statement(f"CALL sys.{call}"), "shop")
