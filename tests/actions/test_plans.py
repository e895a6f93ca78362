"""A plan reads only, says what is in the way, and is the same for dialog, dry run and journal."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.context import Context, open_context
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import ACTIONS, action
from paimark.core.errors import NotFound, Refused, UsageError
from tests.actions.acting import ORDERS, NoWrites, applied, contents, context_on, done, planned
from tests.faults.fault_files import Death, FaultFiles

ARGUMENTS: dict[str, dict[str, object]] = {
    "create-savepoint": {"snapshot": 3, "comment": "c"},
    "auto-savepoint": {},
    "create-tag": {"name": "n", "retain": "1 d"},
    "create-branch": {"name": "b", "tag": "v2"},
    "delete-savepoint": {"id": 1},
    "delete-tag": {"name": "v2"},
    "rename-tag": {"name": "v2", "to": "n"},
    "expire-snapshots": {"retain_last": 2},
    "delete-branch": {"name": "fix"},
    "replace-main-branch": {"name": "fix"},
    "rescue-commits": {"name": "saved"},
    "undo": {},
    "redo": {},
    "restore": {"to": 4},
    "merge-branch": {"name": "fix"},
    "rollback": {"to": "snapshot.2"},
    "recover": {},
    "alter-branch-schema": {"drop": "price", "branch": "fix"},
}

REPLACE = "replace-main-branch"
# These remove no file: they need Spark, and replace rows.
REWRITES = ("merge-branch", "rollback")


@pytest.fixture
def context(context: Context) -> Context:
    """With savepoint 1 and branch `fix`, for those who delete one, and a retired branch to bring back."""
    done(context, "create-savepoint", snapshot=5)
    done(context, "create-tag", name="fork", snapshot=4)
    for name in ("fix", "old"):
        done(context, "create-branch", name=name, tag="fork")
    done(context, "delete-branch", name="old", keep=True)
    done(context, "create-tag", name="redone", snapshot=4)
    done(context, "undo")
    return context


def test_every_action_is_tried_here() -> None:
    assert ARGUMENTS.keys() == ACTIONS.keys()


@pytest.mark.parametrize("name", ACTIONS)
def test_a_plan_writes_nothing(context: Context, warehouse: Path, name: str) -> None:
    watched = context_on(warehouse, NoWrites(context.files))
    action(name).plan(watched, ORDERS, ARGUMENTS[name])


@pytest.mark.parametrize("name", ACTIONS)
def test_a_plan_survives_json(context: Context, name: str) -> None:
    plan = action(name).plan(context, ORDERS, ARGUMENTS[name])
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@pytest.mark.parametrize("name", ACTIONS)
def test_read_only_mode_refuses_in_plan_and_in_apply(context: Context, warehouse: Path, name: str) -> None:
    with pytest.raises(Death):
        done(context_on(warehouse, FaultFiles(context.files, 1)), "create-savepoint")
    watched = context_on(warehouse, NoWrites(context.files), read_only=True)
    refused = action(name).plan(watched, ORDERS, ARGUMENTS[name])
    assert refused.refusals[0].reason == "Nothing is changed in read-only mode"
    with pytest.raises(Refused, match="read-only"):
        applied(watched, refused)
    allowed = action(name).plan(context, ORDERS, ARGUMENTS[name])
    with pytest.raises(Refused, match="read-only"):
        applied(watched, allowed)


@pytest.mark.parametrize("name", [name for name in ACTIONS if name not in (*REWRITES, "redo")])
def test_only_what_is_called_destructive_removes_files(context: Context, orders: Path, name: str) -> None:
    before = contents(orders)
    applied(context, action(name).plan(context, ORDERS, ARGUMENTS[name]))
    after = contents(orders)
    rewritten = ("schema/schema-0", "branch/branch-fix/snapshot/EARLIEST", "snapshot/LATEST")
    for hint in ("savepoint/LATEST", "snapshot/EARLIEST", *(rewritten if name == REPLACE else ())):
        before.pop(hint, None)
        after.pop(hint, None)
    assert (before.keys() <= after.keys()) == (action(name).danger != "destructive")
    assert {path: after[path] for path in before.keys() & after.keys()}.items() <= before.items()
    new = {path.split("/")[0] for path in after.keys() - before.keys()}
    assert new <= {"tag", "savepoint", "branch", *({"snapshot"} if name == REPLACE else ())}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_table_that_is_gone_since_the_plan_is_the_reason(
    context: Context, warehouse: Path, orders: Path, name: str
) -> None:
    """Nothing is written where it was, and the sentence is that of any command on a missing table."""
    plan = action(name).plan(context, ORDERS, ARGUMENTS[name])
    shutil.rmtree(orders)
    before = contents(warehouse)
    with pytest.raises(NotFound, match=r"There is no table shop\.orders"):
        applied(context, plan)
    assert contents(warehouse) == before and not orders.exists()


@pytest.mark.parametrize("name", ["delete-tag", "rollback", "create-savepoint"])
def test_a_warehouse_that_is_gone_since_the_plan_is_the_reason(
    context: Context, warehouse: Path, name: str
) -> None:
    plan = action(name).plan(context, ORDERS, ARGUMENTS[name])
    warehouse.rename(warehouse.with_name("elsewhere"))
    with pytest.raises(NotFound, match="There is no warehouse at"):
        applied(context, plan)
    assert not warehouse.exists()


def test_the_arguments_make_a_command(context: Context) -> None:
    for each in ACTIONS.values():
        names = [argument.name for argument in each.arguments]
        assert ARGUMENTS[each.name].keys() <= set(names)
        required = [argument for argument in each.arguments if argument.required]
        for argument in required:
            given = {key: value for key, value in ARGUMENTS[each.name].items() if key != argument.name}
            with pytest.raises(UsageError, match=f"{argument.name} is missing"):
                each.plan(context, ORDERS, given)


def test_an_unknown_action_is_told_with_near_ones() -> None:
    with pytest.raises(UsageError) as unknown:
        action("create-savepiont")
    assert unknown.value.hint.startswith("Did you mean create-savepoint")


def test_listing_the_actions_imports_none_of_them() -> None:
    heavy = "'fastavro', 'fsspec', 'paimark.core.actions.savepoints.create_savepoint'"
    code = (
        "import sys, paimark.core.actions.registry, paimark.core.actions.context\n"
        f"print([name for name in ({heavy}) if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_a_context_knows_who_acts_and_how_long_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    opened = open_context(str(tmp_path), {}, read_only=True)
    assert (opened.read_only, opened.verify_wait) == (True, 5.0)
    assert opened.audit_path == tmp_path / "paimark" / "audit.jsonl"
    assert opened.user and opened.host
    assert open_context(str(tmp_path), {"paimark.verify-wait": "250 ms"}, False).verify_wait == 0.25
    with pytest.raises(UsageError):
        open_context(str(tmp_path), {"paimark.verify-wait": "soon"}, False)
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_context(str(tmp_path), {}, False).audit_path.name == "audit.jsonl"


def test_the_summary_is_one_sentence_a_person_reads(context: Context) -> None:
    assert planned(context, "create-savepoint").summary == (
        "Save snapshot 5 of main of shop.orders as savepoint 2"
    )
    assert planned(context, "create-tag", name="n", snapshot=3).summary == (
        "Tag snapshot 3 of main of shop.orders as n"
    )
    assert planned(context, "create-branch", name="b", tag="v2").summary == (
        "Create branch b of shop.orders from tag v2 (snapshot 2)"
    )
    assert planned(context, "recover").summary == "shop.orders has nothing interrupted"
