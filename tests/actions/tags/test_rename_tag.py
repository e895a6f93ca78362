"""`rename-tag`: the same bytes under another name, on main, on a branch and while a branch is main."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.errors import Cancelled, NotFound, Refused
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import (
    ORDERS,
    Meanwhile,
    applied,
    codes,
    contents,
    context_on,
    done,
    item,
    look_while_it_waits,
    planned,
    texts,
)
from tests.paimon import read_rows
from tests.wording import about

RENAME = "rename-tag"
TAKEN = "automatic-tags"


def reasons(plan: Plan) -> list[str]:
    return [refusal.reason for refusal in plan.refusals]


def option(orders: Path, name: str, value: str) -> None:
    schema = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
    schema["options"][name] = value
    (orders / "schema/schema-0").write_bytes(msgspec.json.encode(schema))


def tag_json(orders: Path, name: str, **fields: object) -> bytes:
    """As tag v2, with more fields."""
    data = json.dumps({**json.loads((orders / "tag/tag-v2").read_bytes()), **fields}, indent=1).encode()
    (orders / f"tag/tag-{name}").write_bytes(data)
    return data


def test_every_byte_goes_along_with_fields_that_nobody_knows_and_a_time_to_live(
    context: Context, orders: Path
) -> None:
    lives = {"tagCreateTime": [2099, 1, 1, 0, 0], "tagTimeRetained": 86400.0, "later": {"a": [1]}}
    data = tag_json(orders, "soon", **lives)
    before = contents(orders)
    outcome = done(context, RENAME, name="soon", to="month-end")
    assert contents(orders) == {
        **{path: kept for path, kept in before.items() if path != "tag/tag-soon"},
        "tag/tag-month-end": data,
    }
    assert about("tag soon", "shop.orders", "to month-end").search(outcome.message)
    assert outcome.undo == "paimark undo shop.orders"
    assert outcome.result == {
        "tag_name": "month-end",
        "old_name": "soon",
        "snapshot_id": 2,
        "branch": "main",
    }


def test_the_old_name_stays_until_the_new_one_has_been_there_for_long_enough(
    context: Context, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who listed the tags before reads the old one, and knows nothing of the new one."""
    there: list[set[str]] = []
    look_while_it_waits(monkeypatch, lambda: there.append({path.name for path in (orders / "tag").iterdir()}))
    plan = planned(replace(context, verify_wait=0.01), RENAME, name="v2", to="new")
    assert "for 0.01 s:" in plan.steps[1].detail
    applied(replace(context, verify_wait=0.01), plan)
    assert there and all(names >= {"tag-v2", "tag-new"} for names in there)
    for number in range(200):
        (orders / f"tag/tag-x{number}").write_bytes((orders / "tag/tag-new").read_bytes())
    many = planned(replace(context, verify_wait=5.0), RENAME, name="new", to="v2")
    assert "for 15 s:" in many.steps[1].detail


def test_a_tag_of_a_branch_is_renamed_there_alone(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    rows = read_rows(warehouse, "shop.orders$branch_b")
    outcome = done(context, RENAME, name="v2", to="start", branch="b")
    assert outcome.result["branch"] == "b"
    assert sorted(path.name for path in (orders / "branch/branch-b/tag").iterdir()) == ["tag-start"]
    assert (orders / "tag/tag-v2").exists() and not (orders / "tag/tag-start").exists()
    assert read_rows(warehouse, "shop.orders$branch_b") == rows


def test_a_branch_still_stands_on_the_tag_that_it_was_made_from(context: Context) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, RENAME, name="v2", to="start")
    [reason] = reasons(planned(context, "delete-tag", name="start"))
    assert about("branch b", "made", "tag start").search(reason)
    assert planned(context, "merge-branch", name="b").empty


def test_the_guard_goes_by_the_new_name_while_a_branch_is_main(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-tag", name="mine", branch="b", retain="9 d")
    done(context, "replace-main-branch", name="b")
    guard = (orders / "tag/tag-mine").read_bytes()
    done(context, RENAME, name="mine", to="ours")
    assert (orders / "tag/tag-ours").read_bytes() == guard
    assert {"tag-mine"}.isdisjoint(path.name for path in (orders / "tag").iterdir())
    assert b"tagTimeRetained" in (orders / "branch/branch-b/tag/tag-ours").read_bytes()
    done(context, "undo")
    assert (orders / "tag/tag-mine").read_bytes() == guard and not (orders / "tag/tag-ours").exists()


def test_a_tag_that_a_stale_writer_left_in_the_table_directory_is_not_overwritten(
    context: Context, orders: Path
) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "replace-main-branch", name="b")
    snapshot = orders / "branch/branch-b/snapshot/snapshot-2"
    (orders / "tag/tag-stray").write_bytes(snapshot.read_bytes() + b" ")
    [reason] = reasons(planned(context, RENAME, name="v2", to="stray"))
    assert about("b", "shop.orders", "tag stray already").search(reason)


def test_it_can_be_undone_and_redone(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="typo", snapshot=3)
    before = contents(orders)
    done(context, RENAME, name="typo", to="right")
    after = contents(orders)
    assert about("rename tag right", "main", "shop.orders", "to typo").search(
        planned(context, "undo").summary
    )
    done(context, "undo")
    assert contents(orders) == before
    done(context, "redo")
    assert contents(orders) == after
    for _ in range(2):
        done(context, "undo")
    assert not list((orders / "tag").glob("tag-typo")) and not list((orders / "tag").glob("tag-right"))
    done(context, "restore", to=4)
    assert contents(orders) == after


def test_what_is_no_longer_as_the_rename_left_it_is_not_renamed_back(context: Context, orders: Path) -> None:
    done(context, RENAME, name="v2", to="new")
    replaces_the_new(orders)
    [reason] = reasons(planned(context, "undo"))
    assert about("rename-tag", "shop.orders", "changed").search(reason)


def test_a_name_that_no_tag_may_be_given_is_left_for_good(context: Context, orders: Path) -> None:
    tag_json(orders, "20260501")
    plan = planned(context, RENAME, name="20260501", to="may")
    assert codes(plan, "loses", "final") == ["name-gone", "final"] and plan.take_back.how == "never"
    assert about("tag called 20260501", "hide", "snapshot 20260501").search(texts(plan, "final")[0])
    assert applied(context, plan).undo == ""
    [reason] = reasons(planned(context, "undo"))
    assert about("shop.orders", "no change", "taken back").search(reason)


@pytest.mark.parametrize(
    ("to", "terms"),
    [
        ("v2", ("main", "shop.orders", "tag v2 already")),
        ("savepoint.9", ("tag names", "savepoint.", "programs")),
        ("paimark.read.x", ("tag names", "paimark.", "programs")),
        ("batch-read-1", ("tag names", "batch-read-", "programs")),
        ("7", ("tag called 7", "hide", "snapshot 7")),
        ("../../x", ("name", "tag", "/")),
        ("", ("name", "tag", "blank")),
    ],
)
def test_the_new_name_is_free_and_one_that_may_be_given(
    context: Context, to: str, terms: tuple[str, ...]
) -> None:
    [reason] = reasons(planned(context, RENAME, name="v2", to=to))
    assert about(*terms).search(reason)


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("savepoint.1", ("tag savepoint.1", "protects", "savepoint")),
        ("paimark.merge.b.2", ("tag paimark.merge.b.2", "kept", "merge")),
        ("paimark.read.2.x", ("tag paimark.read.2.x", "statement reads")),
        ("batch-read-2-x", ("tag batch-read-2-x", "statement reads")),
    ],
)
def test_tags_that_somebody_looks_for_by_their_names_stay(
    context: Context, orders: Path, name: str, terms: tuple[str, ...]
) -> None:
    tag_json(orders, name)
    [reason] = reasons(planned(context, RENAME, name=name, to="new"))
    assert about(*terms).search(reason)


def test_a_tag_that_is_not_there_is_told_with_near_ones(context: Context) -> None:
    with pytest.raises(NotFound) as unknown:
        planned(context, RENAME, name="v22", to="new")
    assert about("v2").search(unknown.value.hint)


def test_a_tag_that_had_its_time_is_not_renamed(context: Context, orders: Path) -> None:
    """Another engine may be deleting it with its files."""
    tag_json(orders, "over", tagCreateTime=[2026, 1, 1, 0, 0], tagTimeRetained=60.0)
    [reason] = reasons(planned(context, RENAME, name="over", to="new"))
    assert about("tag over", "time", "deleted").search(reason)


def test_names_that_stock_engines_give_are_told_and_not_given_twice(context: Context, orders: Path) -> None:
    tag_json(orders, "2026-05-01")
    given = item(planned(context, RENAME, name="2026-05-01", to="may"), TAKEN).text
    assert about("stock engines", "2026-05-01", "again").search(given)
    assert planned(context, RENAME, name="v2", to="2026-05-02").refusals == ()
    option(orders, "tag.automatic-creation", "process-time")
    [reason] = reasons(planned(context, RENAME, name="v2", to="2026-05-02"))
    assert about("snapshot 2", "tag 2026-05-01", "stock engines", "fail").search(reason)
    done(context, RENAME, name="2026-05-01", to="may")
    counted = item(planned(context, RENAME, name="v2", to="2026-05-02"), TAKEN).text
    assert about("stock engines", "2026-05-02", "may delete").search(counted)
    done(context, "undo")
    assert (orders / "tag/tag-2026-05-01").exists()


def test_a_tag_that_moved_since_the_plan_is_not_renamed(context: Context, orders: Path) -> None:
    plan = planned(context, RENAME, name="v2", to="new")
    (orders / "tag/tag-v2").write_bytes((orders / "snapshot/snapshot-3").read_bytes())
    before = contents(orders)
    with pytest.raises(Refused, match=about("tag v2", "plan")):
        applied(context, plan)
    (orders / "tag/tag-v2").unlink()
    with pytest.raises(Refused, match=about("tag v2", "plan")):
        applied(context, plan)
    assert contents(orders).keys() == before.keys() - {"tag/tag-v2"}


def test_a_cancel_while_it_waits_leaves_the_old_name(context: Context, orders: Path) -> None:
    before, cancellation = contents(orders), Cancellation()
    plan = planned(replace(context, verify_wait=30.0), RENAME, name="v2", to="new")
    meanwhile = Meanwhile(context.files, "tag-new", cancellation.cancel)
    slow = replace(context_on(Path(context.files.uri), meanwhile), verify_wait=30.0)
    with cancellable(cancellation), pytest.raises(Cancelled):
        applied(slow, plan)
    assert contents(orders) == before


def deletes_the_old(orders: Path) -> None:
    (orders / "tag/tag-v2").unlink()


def makes_the_old_anew(orders: Path) -> None:
    (orders / "tag/tag-v2").write_bytes((orders / "snapshot/snapshot-4").read_bytes())


def deletes_the_new(orders: Path) -> None:
    (orders / "tag/tag-new").unlink()


def replaces_the_new(orders: Path) -> None:
    (orders / "tag/tag-new").write_bytes((orders / "snapshot/snapshot-4").read_bytes())


@pytest.mark.parametrize(
    ("deed", "is_done"),
    [
        (deletes_the_old, True),
        (makes_the_old_anew, True),
        (deletes_the_new, False),
        (replaces_the_new, False),
    ],
)
def test_another_engine_acts_on_either_name_while_both_are_there(
    context: Context, warehouse: Path, orders: Path, deed: Callable[[Path], None], is_done: bool
) -> None:
    plan, told = planned(context, RENAME, name="v2", to="new"), list[str]()
    kept = (orders / "tag/tag-v2").read_bytes()
    beside = context_on(warehouse, Meanwhile(context.files, "tag-new", lambda: deed(orders)))
    if is_done:
        applied(beside, plan, told)
        assert any("`paimark verify shop.orders` tells whether" in line for line in told)
        assert (orders / "tag/tag-new").read_bytes() == kept
        tags = Lineage(context.files, ORDERS.root()).tags()
        assert {name: tag.id for name, tag in tags}.get("v2", 4) == 4
        return
    with pytest.raises(Refused, match=about("another engine", "tag new")):
        applied(beside, plan)
    assert (orders / "tag/tag-v2").read_bytes() == kept
    assert planned(context, "recover").empty


def test_a_tag_that_goes_with_files_meanwhile_goes_by_no_name(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Its maker found that it came too late, or another engine deleted what it kept: nobody can read it."""
    plan = planned(context, RENAME, name="v2", to="new")
    kept = Lineage(context.files, ORDERS.root()).tag("v2").base_manifest_list

    def goes() -> None:
        deletes_the_old(orders)
        (orders / "manifest" / kept).unlink()

    with pytest.raises(Refused, match=about("another engine", "tag v2")):
        applied(context_on(warehouse, Meanwhile(context.files, "tag-new", goes)), plan)
    assert Lineage(context.files, ORDERS.root()).tag_names() == []
    assert planned(context, "recover").empty


def test_a_tag_that_nobody_can_read_is_not_renamed(context: Context, orders: Path) -> None:
    """Whoever makes it may find only then that it came too late."""
    kept = Lineage(context.files, ORDERS.root()).tag("v2").base_manifest_list
    (orders / "manifest" / kept).unlink()
    with pytest.raises(Refused, match=about("files", "tag v2", "shop.orders", "gone")):
        done(context, RENAME, name="v2", to="new")
    assert Lineage(context.files, ORDERS.root()).tag_names() == ["v2"]


def test_metadata_that_is_damaged_meanwhile_does_not_hold_the_table(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """The old name goes as well: nobody can tell what is left, and the new one is kept."""
    plan = planned(context, RENAME, name="v2", to="new")
    tag = Lineage(context.files, ORDERS.root()).tag("v2")

    def is_damaged() -> None:
        deletes_the_old(orders)
        (orders / "manifest" / tag.base_manifest_list).write_bytes(b"damaged")

    applied(context_on(warehouse, Meanwhile(context.files, "tag-new", is_damaged)), plan)
    assert Lineage(context.files, ORDERS.root()).tag_names() == ["new"]
    assert planned(context, "recover").empty


def test_a_tag_that_another_makes_at_the_same_moment_is_not_taken_back(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Even one of the same bytes."""
    plan = planned(context, RENAME, name="v2", to="new")
    before = contents(orders)
    data = (orders / "tag/tag-v2").read_bytes()

    def makes_it() -> None:
        (orders / "tag/tag-new").write_bytes(data)

    noted = Meanwhile(context.files, "-1", makes_it)
    with pytest.raises(Refused, match=about("tag new", "now")):
        applied(context_on(warehouse, noted), plan)
    assert contents(orders) == {**before, "tag/tag-new": data}
