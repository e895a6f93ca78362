"""Nothing that is protected goes by any action: the catalogue says what each takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import action
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import MAIN, SAVEPOINT_TAG_PREFIX
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, root_exists
from paimark.core.table.lineage.protected import Protected, protected, write
from paimark.core.text import capitalised
from tests.actions.acting import ORDERS, Meanwhile, applied, context_on, done, planned, refused, replace_rows
from tests.actions.declared.catalogue import CATALOGUE, Entry, _label, refs
from tests.wording import about

# Their plans look at the rows, unless they are refused anyway.
REPAIRS = ("revert", "restore-rows", "edit-rows")
# What Spark does to main, and what moves the whole table: no references tell it.
_TAKEN = {
    **{each: {"branch main"} for each in ("merge-branch", "rollback", *REPAIRS)},
    "drop-table": None,
}


def tag_of_main(name: str) -> Protected:
    return Protected(what="tag", name=name, branch="main", reason="for the audit", user="ann", time=1)


@pytest.fixture
def warehouse(warehouse_at_work: Path) -> Path:
    return warehouse_at_work


def everything(context: Context) -> dict[str, Protected]:
    """All that can be protected, by its name in the catalogue."""
    found: dict[str, Protected] = {}

    def add(label: str, what: str, name: str, branch: str | None = None) -> None:
        found[label] = Protected(what=what, name=name, branch=branch, reason="why", user="ann", time=1)  # type: ignore[arg-type]

    for root in all_roots(context.files, ORDERS):
        label = _label(root.label)
        add(f"branch {label}", "branch", root.label)
        for name in Lineage(context.files, root).tag_names():
            if not name.startswith((SAVEPOINT_TAG_PREFIX, "paimark.")):
                add(f"tag {name} of {label}", "tag", name, root.label)
    add("savepoint 1", "savepoint", "1")
    return found


def taken(entry: Entry, before: Mapping[str, object]) -> set[str] | None:
    """What of the references the catalogue says is gone afterwards, or another; None for all of them."""
    if entry.then is None:
        return _TAKEN.get(entry.action, set())
    after = dict(entry.then(before))
    if (main := after["main"]) != MAIN:
        # The table's name means that branch then.
        after |= {each.replace(f" {main}", f" {MAIN}"): value for each, value in after.items()}
    # A branch that becomes main gets main's past: that takes nothing of it.
    gone = [each for each, value in before.items() if after.get(each) != value and each != "first fix"]
    return {_thing(each) for each in gone} - {""}


def _thing(reference: str) -> str:
    kind, _, name = reference.partition(" ")
    if kind in ("head", "first"):
        return f"branch {name}"
    if name.startswith(SAVEPOINT_TAG_PREFIX):
        return f"savepoint {name.removeprefix(SAVEPOINT_TAG_PREFIX).partition(' ')[0]}"
    return reference if kind in ("tag", "savepoint") else ""


def refused_things(plan: Plan, things: Mapping[str, Protected]) -> set[str]:
    said = {f"{capitalised(each.said)} is protected by ann: why": name for name, each in things.items()}
    return {said[each.reason] for each in plan.refusals if each.code == "protected"}


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.action)
def test_an_action_is_refused_for_exactly_what_it_takes(context: Context, entry: Entry) -> None:
    if entry.action in ("undrop", "delete-dropped"):
        # They are about a table that is in the trash: with anything protected it was not dropped.
        return
    if entry.action in REPAIRS:
        context = replace(context, read_only=True)
    things, before = everything(context), refs(context)
    expected = taken(entry, before)
    early = action(entry.action).plan(context, ORDERS, entry.arguments)
    write(context.files, ORDERS, [*things.values()])
    late = action(entry.action).plan(context, ORDERS, entry.arguments)
    if expected is None:
        expected = {*things}
    # There is nothing to merge.
    assert refused_things(late, things) == (set() if early.empty else expected)
    if not expected or early.empty or early.refusals:
        return
    # It is protected after the plan was made.
    with pytest.raises(Refused, match=about("protected", "ann: why")):
        applied(context, early)
    assert {name: value for name, value in refs(context).items() if "protected" not in name} == {
        name: value for name, value in before.items() if "protected" not in name
    }


def test_what_each_action_takes_is_declared() -> None:
    """One that moves main, or asks because something is lost, takes something, or is known not to."""
    nothing = {name for name, each in DECLARED.items() if (each.asks or each.moves_main) and not each.takes}
    # The plans of undo, redo and restore say it. The others take no reference.
    plans_say = {"undo", "redo", "restore"}
    assert nothing - plans_say == {"recover", "rename-table", "delete-dropped", "reset-consumer"}


def test_one_that_is_protected_while_the_lock_is_taken_stays(warehouse: Path, context: Context) -> None:
    files = LocalFiles(str(warehouse))
    meanwhile = Meanwhile(files, ORDERS.journal, lambda: write(files, ORDERS, [tag_of_main("v2")]))
    before = refs(context)
    with pytest.raises(Refused, match=about("tag v2", "main", "protected", "ann: for the audit")):
        done(context_on(warehouse, meanwhile), "delete-tag", name="v2")
    assert refs(context) == {**before, "protected v2": "for the audit"}
    assert not context.files.exists(ORDERS.journal)


def test_what_is_protected_stays_so_while_another_branch_is_main(context: Context) -> None:
    done(context, "protect", branch="fix", reason="published")
    done(context, "replace-main-branch", name="fix")
    # It is main now, and its name still means it.
    assert [each.code for each in planned(context, "rollback", to="snapshot.2").refusals] == ["protected"]
    assert "protected" in refused(planned(context, "undo"))
    assert planned(context, "unprotect", branch="main").empty
    done(context, "unprotect", branch="fix")
    done(context, "undo")


@pytest.mark.parametrize(
    ("action", "arguments"),
    [("replace-main-branch", {"name": "fix"}), ("rollback", {"to": "snapshot.4", "truncate": True})],
)
def test_an_undo_does_not_take_an_archive_that_is_protected(
    context: Context, action: str, arguments: dict[str, object]
) -> None:
    done(context, action, ORDERS, **arguments)
    [archive] = [each.branch for each in all_roots(context.files, ORDERS) if "main-2" in (each.branch or "")]
    done(context, "protect", branch=archive, reason="the audit")
    assert refused(planned(context, "undo")) == ["protected"]
    done(context, "unprotect", branch=archive)
    done(context, "undo")
    assert not root_exists(context.files, ORDERS.root(archive))


def test_nothing_is_merged_into_a_protected_main(warehouse: Path, context: Context) -> None:
    replace_rows(warehouse, "$branch_fix")
    assert refused(planned(context, "merge-branch", name="fix")) == []
    done(context, "protect", branch="main", reason="the audit")
    assert refused(planned(context, "merge-branch", name="fix")) == ["protected"]


def test_a_truncation_takes_the_later_tags(context: Context) -> None:
    write(context.files, ORDERS, [tag_of_main("fork")])
    assert "protected" not in refused(planned(context, "rollback", to="snapshot.4", truncate=True))
    assert "protected" in refused(planned(context, "rollback", to="snapshot.3", truncate=True))


def test_a_reason_is_given_again_and_taken_away(context: Context) -> None:
    write(context.files, ORDERS, [tag_of_main("fork")])
    done(context, "protect", savepoint=1, reason="the quarter")
    assert planned(context, "protect", savepoint=1, reason="the quarter").empty
    # A savepoint's tag is the savepoint.
    again = planned(context, "protect", tag="savepoint.1", reason="the year")
    assert again.undo == "paimark protect shop.orders --savepoint 1 --reason 'the quarter'"
    assert about("savepoint 1", "shop.orders", "protected").search(applied(context, again).message)
    assert [(each.said, each.reason) for each in protected(context.files, ORDERS)] == [
        ("tag fork of main", "for the audit"),
        ("savepoint 1", "the year"),
    ]
    [refusal] = planned(context, "delete-savepoint", id=1).refusals
    assert about("`paimark unprotect shop.orders --savepoint 1`").search(refusal.hint)
    for thing in ({"savepoint": 1}, {"tag": "fork"}):
        done(context, "unprotect", **thing)
    assert not context.files.exists(ORDERS.protected)
    assert planned(context, "unprotect", tag="never there").empty


@pytest.mark.parametrize(
    ("thing", "goes"),
    [
        ({"tag": "v2"}, ("delete-tag", {"name": "v2"})),
        ({"savepoint": 1}, ("delete-savepoint", {"id": 1})),
        ({"branch": "fix"}, ("delete-branch", {"name": "fix"})),
    ],
)
def test_what_went_after_the_plan_is_not_protected(
    context: Context, thing: dict[str, object], goes: tuple[str, dict[str, object]]
) -> None:
    plan = planned(context, "protect", ORDERS, reason="r", **thing)
    action, arguments = goes
    done(context, action, ORDERS, **arguments)
    with pytest.raises(NotFound):
        applied(context, plan)
    assert not protected(context.files, ORDERS)


def test_another_tag_of_the_name_is_not_protected(context: Context) -> None:
    plan = planned(context, "protect", tag="v2", reason="r")
    done(context, "delete-tag", name="v2")
    done(context, "create-tag", name="v2", snapshot=5)
    with pytest.raises(Refused, match=about("tag v2", "main", "shop.orders", "plan")):
        applied(context, plan)


def test_what_can_not_be_protected_is_refused(context: Context) -> None:
    done(context, "create-tag", name="short", snapshot=3, retain="1 d")
    [refusal] = planned(context, "protect", tag="short", reason="r").refusals
    assert about("tag short", "by itself").search(refusal.reason)
    with pytest.raises(NotFound, match="no tag nope"):
        planned(context, "protect", tag="nope", reason="r")
    with pytest.raises(NotFound, match=about("fix", "shop.orders", "no savepoint 1")):
        planned(context, "protect", savepoint=1, branch="fix", reason="r")
    with pytest.raises(UsageError, match=about("protect", "missing")):
        planned(context, "protect", reason="r")
    with pytest.raises(UsageError, match=about("tag", "savepoint", "given")):
        planned(context, "protect", tag="v2", savepoint=1, reason="r")
