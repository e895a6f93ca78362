"""Snapshots that are missing between others are told, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.cli.checks.doctor import _root
from paimark.core.table.lineage.holes import holes
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, context_on, done
from tests.actions.taking_over import add
from tests.storage.wrapped import Wrapped
from tests.wording import about

REASON = about("main", "shop.orders", "lost", "snapshots 3 to 4", "between 2 and 5", "snapshot 2")
HINT = about("backup", "paimark expire-snapshots shop.orders --retain-last 1")


@pytest.fixture
def context(warehouse: Path) -> Context:
    return context_on(warehouse)


@pytest.fixture
def snapshots(warehouse: Path) -> Path:
    return warehouse / "shop.db/orders/snapshot"


def test_verify_and_doctor_say_which_are_gone(context: Context, snapshots: Path) -> None:
    for number in (3, 4):
        (snapshots / f"snapshot-{number}").unlink()
    report = verify(context, ORDERS)
    [problem] = report.problems
    assert (problem.cause, problem.path) == ("missing", "shop.db/orders/snapshot/snapshot-3")
    # What only they needed seems to be nobody's.
    assert REASON.search(problem.detail) and not report.tells_orphans
    [(detail, hint)] = [
        (each.detail, each.hint) for each in _root(context, ORDERS.root()) if each.state == "broken"
    ]
    assert REASON.search(detail) and HINT.search(hint)
    # The hint does what it says.
    done(context, "expire-snapshots", retain_last=1)
    assert verify(context, ORDERS).is_whole


def test_an_expiry_or_a_rollback_leaves_none(context: Context, snapshots: Path) -> None:
    done(context, "create-tag", name="kept", snapshot=3)
    done(context, "expire-snapshots", retain_last=2)
    assert [*holes(context.files, ORDERS.root())] == []


def test_of_a_branch_the_command_names_it(context: Context, warehouse: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    for number in (900, 901, 902):
        add(context, "shop.orders$branch_fix", number)
    root = ORDERS.root("fix")
    (warehouse / root.snapshot(4)).unlink()
    [hole] = holes(context.files, root)
    assert about("branch fix", "shop.orders", "lost", "snapshot 4", "between 3 and 5").search(hole.reason)
    assert hole.hint.endswith("paimark expire-snapshots shop.orders --branch fix --retain-last 1")


def test_a_hole_that_is_there_while_others_expire_is_none(context: Context, snapshots: Path) -> None:
    """A listing takes a while: it may have a snapshot, and not the next one, which went meanwhile."""

    class Expiring(Wrapped):
        def names(self, directory: str) -> list[str]:
            found = super().names(directory)
            if directory != ORDERS.root().snapshots:
                return found
            missing = ["snapshot-2"]
            for number in (1, 2):
                (snapshots / f"snapshot-{number}").unlink(missing_ok=True)
            return [each for each in found if each not in missing]

    assert [*holes(Expiring(context.files), ORDERS.root())] == []
    assert Lineage(context.files, ORDERS.root()).snapshot_ids() == [3, 4, 5]
