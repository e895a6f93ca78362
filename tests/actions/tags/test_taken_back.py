"""A tag that is interrupted is taken back, unless somebody counts on it by then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context, Remark
from paimark.core.actions.registry import action
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, Meanwhile, contents, context_on, done, planned, replace_rows
from tests.faults.fault_files import Death, DiesAfter
from tests.storage.wrapped import Wrapped
from tests.wording import about


class BeforeDeletion(Wrapped):
    """A store on which somebody else does something, once, right before a file is deleted."""

    def __init__(self, inner: Files, before: str, deed: Callable[[], object]) -> None:
        super().__init__(inner)
        self._before: str | None = before
        self._deed = deed

    def delete(self, path: str) -> None:
        if self._before is not None and path.endswith(self._before):
            self._before = None
            self._deed()
        super().delete(path)


def interrupted(context: Context, deed: Callable[[], object], /, **arguments: Any) -> list[str]:
    """Make a tag and press ctrl+c during the proof's wait, after the deed; return the remarks."""
    plan, remarks = planned(context, "create-tag", **arguments), list[str]()

    def tell(line: str) -> None:
        if isinstance(line, Remark):
            remarks.append(line)
        if line.startswith("waiting"):
            deed()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        action(plan.action).apply(replace(context, verify_wait=5), plan, tell)
    return remarks


def nothing() -> None:
    """Nobody does anything meanwhile."""


def tags(root: Path) -> list[str]:
    return sorted(path.name.removeprefix("tag-") for path in root.glob("tag/*"))


def test_ctrl_c_takes_back_a_tag_that_nobody_needs(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    before = contents(orders)
    assert interrupted(context, nothing, name="x", snapshot=2) == []
    assert contents(orders) == before


def test_a_tag_stays_by_which_another_was_deleted(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    remarks = interrupted(context, lambda: done(context, "delete-tag", name="v2"), name="x", snapshot=2)
    [remark] = remarks
    assert about("tag x", "shop.orders", "stays", "not proven", "snapshot 2").search(remark)
    assert about("branch fix", "made").search(remark)
    assert tags(orders) == ["x"]
    with pytest.raises(Refused, match=about("branch fix", "made", "tag x")):
        done(context, "delete-tag", name="x")


def test_a_tag_stays_from_which_a_branch_was_made(context: Context, orders: Path) -> None:
    remarks = interrupted(
        context, lambda: done(context, "create-branch", name="fix", tag="x"), name="x", snapshot=3
    )
    assert about("branch fix", "made").search(remarks[0])
    assert tags(orders) == ["v2", "x"]
    assert tags(orders / "branch/branch-fix") == ["x"]


def test_a_branch_keeps_its_own_copy_of_a_tag_that_goes(context: Context, orders: Path) -> None:
    assert not interrupted(
        context, lambda: done(context, "create-branch", name="fix", tag="x"), name="x", snapshot=2
    )
    # Tag v2 of main keeps what the branch needs.
    assert tags(orders) == ["v2"]
    assert tags(orders / "branch/branch-fix") == ["x"]


def test_a_tag_stays_whose_snapshot_has_expired(context: Context, warehouse: Path, orders: Path) -> None:
    replace_rows(warehouse)
    remarks = interrupted(
        context, lambda: done(context, "expire-snapshots", retain_last=1), name="x", snapshot=3
    )
    assert about("snapshot", "expires", "nothing else").search(remarks[0])
    report = verify(context, ORDERS, older_than=0)
    assert (report.orphans, report.problems) == ((), ())
    done(context, "delete-tag", name="x")
    assert verify(context, ORDERS, older_than=0).orphans == ()


def test_a_tag_stays_while_a_change_runs_that_may_count_on_it(
    context: Context, warehouse: Path, orders: Path
) -> None:
    def begin() -> None:
        with pytest.raises(Death):
            done(context_on(warehouse, DiesAfter(context.files, "ACTION")), "delete-tag", name="v2")

    remarks = interrupted(context, begin, name="x", snapshot=2)
    assert about("delete-tag", "may").search(remarks[0])
    assert tags(orders) == ["v2", "x"]


def test_a_tag_is_put_back_that_a_change_counted_on_at_the_last_moment(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    late = BeforeDeletion(context.files, "tag-x", lambda: done(context, "delete-tag", name="v2"))
    [remark] = interrupted(context_on(warehouse, late), nothing, name="x", snapshot=2)
    assert about("branch fix", "made").search(remark)
    assert tags(orders) == ["x"]


def test_a_tag_that_came_too_late_goes_though_a_branch_depends_on_its_snapshot(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    (orders / "tag/tag-v2").unlink()
    lost = orders / "manifest" / Lineage(context.files, ORDERS.root()).snapshot(2).delta_manifest_list
    with pytest.raises(Refused, match=about("snapshot 2", "kept")):
        late = context_on(warehouse, Meanwhile(context.files, "tag-x", lost.unlink))
        done(late, "create-tag", name="x", snapshot=2)
    assert tags(orders) == []


def test_the_pin_in_main_of_a_branchs_tag_stays_by_which_another_was_deleted(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    replace_rows(warehouse, "$branch_fix")
    remarks = interrupted(
        context, lambda: done(context, "delete-tag", name="v2"), name="x", snapshot=2, branch="fix"
    )
    assert about("tag paimark.merge.fix.2", "shop.orders", "stays").search(remarks[0])
    assert tags(orders) == ["paimark.merge.fix.2"]
    assert tags(orders / "branch/branch-fix") == ["v2"]
