"""A plan reads only, says what is in the way, and is the same for dialog, dry run and journal."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paimark.core.actions.context import Context, open_context
from paimark.core.actions.plan import KINDS, Plan
from paimark.core.actions.registry import ACTIONS, action
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.table.catalog import table_exists
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.records import commit_key
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import (
    ORDERS,
    NoWrites,
    applied,
    codes,
    contents,
    context_on,
    done,
    item,
    planned,
    replace_rows,
    texts,
)
from tests.actions.declared.catalogue import ARGUMENTS
from tests.faults.fault_files import Death, FaultFiles
from tests.wording import about

REPLACE = "replace-main-branch"
# These remove no file: they need Spark, and replace rows.
REWRITES = ("merge-branch", "rollback", "compact", "analyze", "revert", "restore-rows", "edit-rows")
# Their plans ask Spark: `tests.spark.repair`.
COUNTED_BY_SPARK = {"revert", "restore-rows", "edit-rows"}
PLANNED_HERE = [name for name in ACTIONS if name not in COUNTED_BY_SPARK]
OF_TABLES = ("rename-table", "drop-table", "undrop", "delete-dropped")


@pytest.fixture
def warehouse(warehouse_at_work: Path) -> Path:
    return warehouse_at_work


def at_hand(context: Context, name: str) -> None:
    """Let there be a dropped table for an action on one."""
    if action(name).of_no_table and table_exists(context.files, ORDERS):
        done(context, "drop-table")


def plan_of(context: Context, name: str) -> Plan:
    at_hand(context, name)
    return action(name).plan(context, ORDERS, ARGUMENTS[name])


@pytest.mark.parametrize("name", PLANNED_HERE)
def test_a_plan_writes_nothing(context: Context, warehouse: Path, name: str) -> None:
    watched = context_on(warehouse, NoWrites(context.files))
    at_hand(context, name)
    action(name).plan(watched, ORDERS, ARGUMENTS[name])


@pytest.mark.parametrize("name", PLANNED_HERE)
def test_a_plan_survives_json(context: Context, name: str) -> None:
    plan = plan_of(context, name)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


@pytest.mark.parametrize("name", PLANNED_HERE)
def test_read_only_mode_refuses_in_plan_and_in_apply(context: Context, warehouse: Path, name: str) -> None:
    with pytest.raises(Death):
        done(context_on(warehouse, FaultFiles(context.files, 1)), "create-savepoint")
    at_hand(context, name)
    watched = context_on(warehouse, NoWrites(context.files), read_only=True)
    refused = action(name).plan(watched, ORDERS, ARGUMENTS[name])
    assert about("nothing", "read-only").search(refused.refusals[0].reason)
    with pytest.raises(Refused, match="read-only"):
        applied(watched, refused)
    allowed = plan_of(context, name)
    with pytest.raises(Refused, match="read-only"):
        applied(watched, allowed)


def found(context: Context) -> dict[str, object]:
    """What readers find by name: newest rows, snapshots, tags, columns and savepoints."""
    there: dict[str, object] = {}
    main = main_root(context.files, ORDERS)
    for root in all_roots(context.files, ORDERS):
        # A name that a program gave goes with the undo of what gave it.
        if root.label.startswith("retired-"):
            continue
        name, lineage = "main" if root == main else root.label, Lineage(context.files, root)
        there[name] = None if (head := lineage.latest()) is None else commit_key(head)
        there |= {f"snapshot {each.id} of {name}": commit_key(each) for each in lineage.snapshots()}
        there |= {f"tag {each} of {name}": commit_key(tag) for each, tag in lineage.tags()}
        schema = lineage.latest_schema()
        assert schema is not None
        there |= {f"column {each.name} of {name}": each.id for each in schema.fields}
    return there | {f"savepoint {each.id}": each.id for each in SavepointManager(context.files, ORDERS).all()}


@pytest.mark.parametrize("name", [name for name in ACTIONS if name not in (*REWRITES, *OF_TABLES, "redo")])
def test_who_frees_files_or_takes_something_from_a_reader_is_asked(
    context: Context, orders: Path, name: str
) -> None:
    before, there = contents(orders), found(context)
    plan = plan_of(context, name)
    applied(context, plan)
    after, still = contents(orders), found(context)
    gone = {path for path in before.keys() - after.keys() if not path.startswith("branch/branch-retired-")}
    moved = {"schema/schema-0", "snapshot/LATEST"} if name == REPLACE else set[str]()
    lost = [each for each, what in there.items() if still.get(each) != what]
    assert (plan.ask.kind == "type") == bool(lost or gone or plan.freed_files), (lost, gone)
    hints = {"savepoint/LATEST", "snapshot/EARLIEST", "branch/branch-fix/snapshot/EARLIEST"}
    # What the plan says that it replaces.
    told = {each.target.removeprefix("shop.db/orders/") for each in plan.steps if each.verb == "replace"}
    kept = (before.keys() & after.keys()) - hints - moved - told
    assert {path: after[path] for path in kept} == {path: before[path] for path in kept}
    new = {path.split("/")[0] for path in after.keys() - before.keys() - hints}
    assert new <= {"tag", "savepoint", "branch", *({"snapshot"} if name == REPLACE else ())}


def test_who_takes_a_table_from_a_reader_is_asked(context: Context) -> None:
    asked = {name: plan_of(context, name).ask.kind for name in OF_TABLES}
    assert asked == {
        "rename-table": "type",
        "drop-table": "type",
        "undrop": "none",
        "delete-dropped": "type",
    }


@pytest.mark.parametrize("name", [name for name in ACTIONS if name not in (*REWRITES, "redo")])
def test_the_outcome_names_the_same_way_back_as_the_plan(context: Context, name: str) -> None:
    plan = plan_of(context, name)
    outcome = applied(context, plan)
    assert (outcome.undo, outcome.until) == ("" if plan.empty else plan.undo, plan.until)
    if plan.take_back.how == "never":
        assert plan.empty or item(plan, "final").is_grave
        assert bool(about("can't", "taken back").search(outcome.message)) != plan.empty
    else:
        assert "final" not in codes(plan)
        assert texts(plan, "undo") == texts(outcome, "undo") == [plan.undo]


@pytest.mark.parametrize(
    ("name", "arguments", "phrase"),
    [
        ("create-savepoint", {}, ""),
        ("create-tag", {"name": "n"}, ""),
        ("create-branch", {"name": "b", "tag": "v2"}, ""),
        ("rename-tag", {"name": "v2", "to": "n"}, "n"),
        ("replace-main-branch", {"name": "fix"}, ""),
    ],
)
def test_who_takes_something_back_may_redo_it_and_is_asked_only_for_a_loss(
    context: Context, name: str, arguments: dict[str, object], phrase: str
) -> None:
    done(context, name, ORDERS, **arguments)
    plan = planned(context, "undo")
    assert (plan.ask.phrase, plan.take_back.how) == (phrase, "redo")
    outcome = applied(context, plan)
    assert outcome.undo == "paimark redo shop.orders"
    assert not about("can't", "taken back").search(outcome.message)


def killed(context: Context) -> Plan:
    """The plan to recover a replacement of main that was killed."""
    with pytest.raises(Death):
        done(context_on(Path(context.files.uri), FaultFiles(context.files, 3)), REPLACE, name="fix")
    return planned(context, "recover")


def with_a_savepoint_that_holds_files_alone(context: Context) -> Plan:
    replace_rows(Path(context.files.uri))
    done(context, "expire-snapshots", retain_last=1)
    return planned(context, "delete-savepoint", id=1)


def many_tags(context: Context) -> Plan:
    done(context, "create-tag", name="n-{id}", snapshot=[3, 4])
    return planned(context, "delete-tag", name=["v2", "n-3", "n-4"])


def without_savepoints(context: Context) -> Plan:
    done(context, "delete-savepoint", id=1)
    return planned(context, REPLACE, name="fix", drop_previous=True)


def after_a_deletion(context: Context) -> Plan:
    done(context, "create-tag", name="gone", snapshot=4)
    done(context, "delete-tag", name="gone")
    return planned(context, "undo")


MORE: dict[str, Callable[[Context], Plan]] = {
    "many tags": many_tags,
    "many savepoints": lambda context: planned(context, "create-savepoint", snapshot=[2, 4]),
    "delete-branch --keep": lambda context: planned(context, "delete-branch", name="fix", keep=True),
    "replace --drop-previous": without_savepoints,
    "replace --layout overwrite": lambda context: planned(context, REPLACE, name="fix", layout="overwrite"),
    "rollback --truncate": lambda context: planned(context, "rollback", to="fork", truncate=True),
    "expire a branch": lambda context: planned(context, "expire-snapshots", branch="fix", retain_last=1),
    "restore forward": lambda context: planned(context, "restore", to=6),
    "an undo that leaves a later change": after_a_deletion,
    "a savepoint that holds files alone": with_a_savepoint_that_holds_files_alone,
    "an interrupted change": killed,
}
# A file, or what only a developer knows.
_BELOW_THE_FOLD = re.compile(r"/|manifest|guard|claim|journal|schema|[0-9a-f]{8}-[0-9a-f]{4}-", re.IGNORECASE)
# Ends of names that programs give, and how old something is.
_GIVEN = re.compile(r"-\d{8}T\d{6}\S*| \(\d+ \w+ ago\)")


@pytest.mark.parametrize("name", [*PLANNED_HERE, *MORE])
def test_a_plan_is_one_sentence_and_items_that_a_person_reads(context: Context, name: str) -> None:
    plan = MORE[name](context) if name in MORE else plan_of(context, name)
    assert plan.refusals == ()
    assert re.fullmatch(r"\S.*[^.\s]\.", plan.headline) and ". " not in plan.headline
    assert len(_GIVEN.sub("", plan.headline)) <= 80
    assert not _BELOW_THE_FOLD.search(plan.headline)
    kinds = [each.kind for each in plan.lines]
    assert kinds == sorted(kinds, key=KINDS.index)
    assert [kinds.count(each) for each in ("final", "frees", "undo", "how")] <= [1] * 4
    said = texts(plan)
    assert len(set(said)) == len(said)
    for each in plan.lines:
        assert each.text.strip() == each.text != ""
        assert not each.text.endswith((".", ":", ";", ",")) and not each.text[0].isupper(), each
        assert not re.search(r"(^|[ (])0 [a-z]", each.text) or each.kind == "how", each
        if each.kind not in ("how", "undo"):
            assert not _BELOW_THE_FOLD.search(each.text), each
    assert [each["text"] for each in plan.facts()["items"]] == said


@pytest.mark.parametrize("name", [name for name in PLANNED_HERE if not ACTIONS[name].of_no_table])
def test_a_table_that_is_gone_since_the_plan_is_the_reason(
    context: Context, warehouse: Path, orders: Path, name: str
) -> None:
    """Nothing is written where it was, and the sentence is that of any command on a missing table."""
    plan = plan_of(context, name)
    shutil.rmtree(orders)
    before = contents(warehouse)
    with pytest.raises(NotFound, match=about("no table shop.orders")):
        applied(context, plan)
    assert contents(warehouse) == before and not orders.exists()


@pytest.mark.parametrize("name", ["delete-tag", "rollback", "create-savepoint"])
def test_a_warehouse_that_is_gone_since_the_plan_is_the_reason(
    context: Context, warehouse: Path, name: str
) -> None:
    plan = plan_of(context, name)
    warehouse.rename(warehouse.with_name("elsewhere"))
    with pytest.raises(NotFound, match=about("no warehouse", warehouse)):
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


def test_the_headline_is_one_sentence_a_person_reads(context: Context) -> None:
    assert planned(context, "create-savepoint").headline == (
        "Save main of shop.orders as savepoint 2 (snapshot 5, 20 records)."
    )
    assert planned(context, "create-tag", name="n", snapshot=3).headline == (
        "Tag snapshot 3 of main of shop.orders as n."
    )
    assert planned(context, "create-branch", name="b", tag="v2").headline == (
        "Create branch b of shop.orders from tag v2 (snapshot 2)."
    )
    assert planned(context, "delete-tag", name="v2").headline == "Delete tag v2 of shop.orders."
    assert planned(context, "delete-branch", name="fix").headline == "Delete branch fix of shop.orders."
    assert planned(context, "recover").headline == "shop.orders has nothing interrupted."


@pytest.mark.parametrize(("name", "arguments"), [
    ("merge-branch", {"name": "fix"}),
    ("rollback", {"to": "snapshot.3"}),
    (REPLACE, {"name": "fix", "layout": "overwrite"}),
])  # fmt: skip
def test_a_plan_names_the_savepoint_that_holds_main_already(
    context: Context, warehouse: Path, name: str, arguments: dict[str, Any]
) -> None:
    replace_rows(warehouse, "$branch_fix")
    plan = planned(context, name, **arguments)
    assert any(about("current main", "savepoint 1").search(text) for text in texts(plan, "keeps"))
    assert not [step for step in plan.steps if "savepoint-" in step.target]
    replace_rows(warehouse)
    plan = planned(context, name, **arguments)
    assert any(about("current main", "savepoint 2").search(text) for text in texts(plan, "keeps"))
    assert [step for step in plan.steps if step.target.endswith("savepoint-2")]
