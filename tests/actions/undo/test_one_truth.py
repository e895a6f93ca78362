"""The plan, the line when it is done, the operation log and `undo` say the same about the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import read_operations
from paimark.core.table.system_tables import system_table
from tests.actions.acting import ORDERS, applied, done, item, planned, replace_rows
from tests.wording import about

UNDO = "paimark undo shop.orders"
Prepare = Callable[[Context], object]

_TAKE_BACK = [column.name for column in system_table("operations").columns].index("take_back")


def _nothing(context: Context) -> None:
    return


def _tagged(context: Context) -> None:
    done(context, "create-tag", name="old")


def _branched(context: Context) -> None:
    done(context, "create-branch", name="fix", tag="v2")


def _saved(context: Context) -> None:
    done(context, "create-savepoint")


def _with_interval(context: Context) -> None:
    done(context, "alter-branch-schema", set="'savepoint.create-interval' = '1 h'")


# What is done, with what, after what, and the command that takes it back.
CASES: Mapping[str, tuple[str, Mapping[str, Any], Prepare, str]] = {
    "create-savepoint": ("create-savepoint", {}, _nothing, UNDO),
    "create-tag": ("create-tag", {"name": "kept"}, _nothing, UNDO),
    "create-branch": ("create-branch", {"name": "fix", "tag": "v2"}, _nothing, UNDO),
    "rename-tag": ("rename-tag", {"name": "old", "to": "new"}, _tagged, UNDO),
    "retire": ("delete-branch", {"name": "fix", "keep": True}, _branched, UNDO),
    "replace": ("replace-main-branch", {"name": "fix"}, _branched, UNDO),
    "replace and drop": ("replace-main-branch", {"name": "fix", "drop_previous": True}, _branched, ""),
    "truncate": ("rollback", {"to": "snapshot.3", "truncate": True}, _nothing, UNDO),
    "add column": ("alter-branch-schema", {"add": "more INT"}, _nothing, UNDO),
    "rename column": ("alter-branch-schema", {"rename": "price TO cost"}, _nothing, UNDO),
    "set option": ("alter-branch-schema", {"set": "'snapshot.time-retained' = '2 h'"}, _nothing, UNDO),
    "on a branch": ("alter-branch-schema", {"add": "more INT", "branch": "fix"}, _branched, UNDO),
    "drop column": ("alter-branch-schema", {"drop": "price"}, _nothing, ""),
    "delete-tag": ("delete-tag", {"name": "old"}, _tagged, ""),
    "delete-savepoint": ("delete-savepoint", {"id": 1}, _saved, ""),
    "delete-branch": ("delete-branch", {"name": "fix"}, _branched, ""),
    "expire-snapshots": ("expire-snapshots", {"retain_last": 1}, _nothing, ""),
    "auto-savepoint": (
        "auto-savepoint",
        {},
        _with_interval,
        "paimark delete-savepoint shop.orders --id 1",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_all_say_the_same_of_the_way_back(context: Context, case: str) -> None:
    name, arguments, prepare, command = CASES[case]
    prepare(context)
    plan = planned(context, name, **arguments)
    assert plan.refusals == () and plan.undo == command
    assert applied(context, plan).undo == command
    last = read_operations(context.files, ORDERS)[-1]
    assert last.action == name
    listed = list(system_table("operations").read(context.files, ORDERS.root()))[-1][_TAKE_BACK]
    undo = planned(context, "undo")
    if command == UNDO:
        assert listed == UNDO and undo.undoes == last.token
        assert undo.undo == "paimark redo shop.orders"
        done(context, "undo")
        taken = list(system_table("operations").read(context.files, ORDERS.root()))[-1]
        assert taken[_TAKE_BACK] == "paimark redo shop.orders" and taken[1] == "undo"
    else:
        assert undo.undoes != last.token and listed != UNDO
        assert command in str(listed)
        if undo.undoes is not None:
            assert about("not", "last change", name).search(undo.warnings[0])


def _columns(context: Context, branch: str | None = None) -> list[str]:
    schema = Lineage(context.files, ORDERS.root(branch)).latest_schema()
    assert schema is not None
    return [field.name for field in schema.fields]


def test_definitions_are_walked_back_one_by_one_and_made_again(context: Context) -> None:
    before = _columns(context)
    done(context, "alter-branch-schema", add="one INT")
    done(context, "alter-branch-schema", rename="one TO two")
    done(context, "alter-branch-schema", set="'snapshot.time-retained' = '2 h'")
    plan = planned(context, "undo")
    assert plan.summary.endswith("alter main of shop.orders: unset snapshot.time-retained")
    for _ in range(3):
        done(context, "undo")
    assert _columns(context) == before
    for _ in range(3):
        done(context, "redo")
    assert _columns(context) == [*before, "two"]
    done(context, "restore", to=0)
    assert _columns(context) == before


def test_a_definition_that_another_engine_changed_since_is_passed_over_and_named(context: Context) -> None:
    done(context, "create-tag", name="kept")
    done(context, "alter-branch-schema", add="one INT")
    done(context, "alter-branch-schema", drop="price")
    plan = planned(context, "undo")
    assert plan.arguments["undone"] == "create-tag"
    assert any("alter-branch-schema" in each and "dropped column" in each for each in plan.warnings)
    assert any(map(about("not", "alter-branch-schema", "changed", "stays").search, plan.warnings))


def test_an_undo_of_an_added_column_asks_because_values_may_be_in_it(context: Context) -> None:
    done(context, "alter-branch-schema", add="one INT")
    plan = planned(context, "undo")
    assert plan.ask.kind == "type" and item(plan, "column-hidden").is_grave


def test_a_commit_of_another_engine_since_is_named(context: Context) -> None:
    done(context, "create-savepoint")
    assert not any("operation log" in each for each in planned(context, "undo").warnings)
    replace_rows(Path(context.files.uri))
    [said] = [each for each in planned(context, "undo").warnings if "operation log" in each]
    assert about("not", "newest commit", "main", "snapshot 6").search(said)
