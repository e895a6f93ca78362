"""Kills at any write of an action on a whole branch: it is done fully or not at all, and main is readable."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.table.definition.retention import RETENTION_OFF
from tests.actions.acting import done
from tests.actions.taking_over import left_stray
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.faults.fault_files import some_of
from tests.faults.takeovers import Case, LaneData
from tests.long import long_but
from tests.paimon import commit
from tests.table.branches import create_branch


def branch(context: Context, name: str, tag: str) -> None:
    """Create a branch with its own commit, and its own tag with a time to live."""
    done(context, "create-branch", name=name, tag=tag)
    rows = {"order_id": [1], "customer": [name], "price": [0.5]}
    commit(context.files.uri, f"shop.orders$branch_{name}", pa.table(rows, schema=ORDERS_SCHEMA))
    done(context, "create-tag", name=f"of-{name}", branch=name, retain="900 d")


def savepoint(context: Context, snapshot: int) -> None:
    done(context, "create-savepoint", snapshot=snapshot)


def replace_by(context: Context, name: str) -> None:
    done(context, "replace-main-branch", name=name)


def truncate(context: Context) -> None:
    done(context, "rollback", to="v2", truncate=True)


def stock_branch(context: Context) -> None:
    """Create a branch as another engine does: with stock retention."""
    create_branch(Path(context.files.uri), "shop.orders", "stock", "v2")


SAVED = (partial(savepoint, snapshot=1), partial(savepoint, snapshot=4))
FIX = (*SAVED, partial(branch, name="fix", tag="v2"))
# Main has a pin that is named after the branch.
PINNED = (*SAVED, lambda context: done(context, "create-branch", name="fix", snapshot=3))
BOTH = (*FIX, partial(branch, name="other", tag="v2"))

CASES = (
    Case("replace", "replace-main-branch", {"name": "fix"}, FIX, (5, 3)),
    Case("replace by a stock branch", "replace-main-branch", {"name": "stock"}, (stock_branch,), (5, 2)),
    Case(
        "replace a branch",
        "replace-main-branch",
        {"name": "other"},
        (*BOTH, partial(replace_by, name="fix")),
        (3, 3),
    ),
    Case(
        "replace and drop",
        "replace-main-branch",
        {"name": "fix", "drop_previous": True},
        (partial(savepoint, snapshot=1), partial(branch, name="fix", tag="v2")),
        (5, 3),
    ),
    Case("undo", "undo", {}, (*FIX, partial(replace_by, name="fix")), (3, 5)),
    Case(
        "undo to a branch",
        "undo",
        {},
        (*BOTH, partial(replace_by, name="fix"), partial(replace_by, name="other")),
        (3, 3),
    ),
    Case("alter main", "alter-branch-schema", {"drop": "price", "add": "note STRING"}, SAVED, (5, 5)),
    Case(
        "alter a branch that is main",
        "alter-branch-schema",
        {"rename": "price TO cost"},
        (*FIX, partial(replace_by, name="fix")),
        (3, 3),
    ),
    Case(
        "protect a stock branch",
        "alter-branch-schema",
        {"branch": "stock", "set": ", ".join(f"'{name}' = '{each}'" for name, each in RETENTION_OFF.items())},
        (stock_branch,),
        (5, 5),
    ),
    Case("delete a branch", "delete-branch", {"name": "fix"}, FIX, (5, 5)),
    Case("retire a branch", "delete-branch", {"name": "fix", "keep": True}, FIX, (5, 5)),
    Case("rename a branch", "rename-branch", {"name": "fix", "to": "new"}, PINNED, (5, 5)),
    Case(
        "rescue",
        "rescue-commits",
        {"name": "saved"},
        (*FIX, lambda context: left_stray(context, lambda: replace_by(context, "fix"))),
        (3, 3),
    ),
    Case("truncate", "rollback", {"to": "v2", "truncate": True}, FIX, (5, 4, 3, 2)),
    Case("undo of truncating", "undo", {}, (*FIX, truncate), (2, 3, 4, 5)),
    Case(
        "undo of retiring",
        "undo",
        {},
        (*FIX, lambda context: done(context, "delete-branch", name="fix", keep=True)),
        (5, 5),
    ),
)


# The others differ from these in one step, and the simulation kills them, too.
SHORT = ("replace", "undo", "alter main", "retire a branch", "rename a branch", "rescue", "truncate")
# Another case of each writes the like.
LONG = (
    "replace by a stock branch",
    "replace and drop",
    "delete a branch",
    "undo to a branch",
    "undo of retiring",
    "undo of truncating",
)


@pytest.fixture
def scene(request: pytest.FixtureRequest, warehouse_template: Path, tmp_path: Path) -> LaneData:
    return LaneData(request.param, warehouse_template, tmp_path)


@pytest.mark.parametrize(
    "scene",
    long_but(CASES, *{case.name for case in CASES} - {*LONG}, name=lambda case: case.name),
    indirect=True,
    ids=lambda case: case.name,
)
def test_every_write_can_be_the_last(scene: LaneData, is_long: bool) -> None:
    """Without `--long` some of them, and fewer where another case writes the like."""
    for when in scene.killed(1 if is_long else 20 if scene.name in SHORT else 0):
        scene.assert_reads_rightly(when)
        scene.recover()
        scene.assert_whole(when)


@pytest.mark.parametrize(
    "scene",
    long_but(CASES, *SHORT, name=lambda case: case.name),
    indirect=True,
    ids=lambda case: case.name,
)
def test_a_recovery_can_be_killed_too(scene: LaneData, is_long: bool) -> None:
    known = set[str]()
    for turn, write in enumerate(range(1, len(scene.film.writes) + 1, 3 if is_long else 30)):
        for when in scene.killed_recovering(write, partial(some_of, turn=turn, known=known)):
            scene.assert_reads_rightly(when)
            scene.recover()
            scene.assert_whole(when)
