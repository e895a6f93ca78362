"""A savepoint that is being made may still be taken back: nobody counts on it, and it leaves no orphans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.actions.context import Context
from core.actions.registry import action
from core.errors import Refused, Unavailable
from core.table.savepoints import SavepointManager
from core.verify.verify import verify
from tests.actions.acting import ORDERS, contents, context_on, done, planned, replace_rows
from tests.faults.fault_files import Death, DiesAfter


def saved(context: Context, snapshot: int, deed: Callable[[], object], *, ends: bool = False) -> None:
    """Make a savepoint; the deed happens during the proof's wait, and ctrl+c then if it `ends`."""
    plan = planned(context, "create-savepoint", snapshot=snapshot)

    def tell(line: str) -> None:
        if line.startswith("waiting"):
            deed()
            if ends:
                raise KeyboardInterrupt

    action(plan.action).apply(replace(context, verify_wait=0.001), plan, tell)


def tags(orders: Path) -> list[str]:
    return sorted(path.name.removeprefix("tag-") for path in orders.glob("tag/*"))


def test_no_tag_is_deleted_because_a_savepoint_is_being_made(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")

    def delete() -> None:
        with pytest.raises(Refused, match="Branch fix parts from main at tag v2"):
            done(context, "delete-tag", name="v2")

    with pytest.raises(KeyboardInterrupt):
        saved(context, 2, delete, ends=True)
    assert tags(orders) == ["v2"]
    saved(context, 2, delete)
    # From now on the savepoint keeps what the branch needs.
    done(context, "delete-tag", name="v2")


def test_no_pin_is_released_because_a_savepoint_is_being_made(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="short", snapshot=2, retain="1 d")
    done(context, "create-branch", name="fix", tag="short")
    done(context, "create-branch", name="two", tag="v2")
    done(context, "delete-tag", name="v2")
    with pytest.raises(KeyboardInterrupt):
        saved(context, 2, lambda: done(context, "delete-branch", name="fix"), ends=True)
    assert tags(orders) == ["paimark.merge.fix.2", "short"]


def test_ctrl_c_takes_it_back_while_its_snapshot_is_there(context: Context, orders: Path) -> None:
    before = contents(orders)
    with pytest.raises(KeyboardInterrupt):
        saved(context, 3, lambda: None, ends=True)
    assert contents(orders) == before


@pytest.mark.parametrize("is_over", [True, False])
def test_ctrl_c_leaves_it_to_recover_if_its_snapshot_expires_meanwhile(
    context: Context, warehouse: Path, orders: Path, is_over: bool
) -> None:
    replace_rows(warehouse)

    def expire() -> None:
        if is_over:
            done(context, "expire-snapshots", retain_last=1)
            return
        with pytest.raises(Death):
            # Its count is made: by it the savepoint keeps the files.
            dying = context_on(warehouse, DiesAfter(context.files, r"STEP-\w+-2"))
            done(dying, "expire-snapshots", retain_last=1)

    with pytest.raises(Unavailable, match=r"Savepoint 1 of shop\.orders is half made, and stays: ") as left:
        saved(context, 3, expire, ends=True)
    assert left.value.hint == "Run `paimark recover shop.orders`, which finishes it."
    done(context, "recover")
    assert SavepointManager(context.files, ORDERS).ids() == [1]
    report = verify(context, ORDERS, older_than=0)
    assert (report.orphans, report.problems) == ((), ())
    assert planned(context, "recover").empty
    assert not (orders / "snapshot/snapshot-3").exists()
