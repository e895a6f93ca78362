"""A process stands still right before it writes the main-branch file, is recovered, and writes it then."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.table.lineage.main_branch import main_branch_name
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, contents, done, planned, texts
from tests.actions.taking_over import add, branched, main_rows, rows_of
from tests.actions.test_late_recovery import died
from tests.cli.command import Paimark

ARCHIVED, RESTORED = r"branch-main-[^/]+/snapshot/LATEST$", r"orders/schema/schema-0$"


def given_up(context: Context, warehouse: Path, last: str, action: str, **arguments: object) -> None:
    """The action is taken back while its process stands still: `last` is its last write but that one."""
    died(warehouse, last, action, **arguments)
    done(context, "recover")
    assert planned(context, "recover").empty


def wakes(context: Context, names: str) -> None:
    context.files.replace(ORDERS.main_branch_file, names.encode())


def test_main_is_the_table_directory_again(context: Context, warehouse: Path, orders: Path) -> None:
    branched(context)
    given_up(context, warehouse, ARCHIVED, "replace-main-branch", name="fix")
    before, rows = contents(orders), main_rows(context)
    wakes(context, "fix")
    plan = planned(context, "recover")
    assert "branch fix named as main by a process that went on after it was recovered" in plan.headline
    assert texts(plan, "affects") == [
        "commits to main since that process went on are on branch fix, and stay there"
    ]
    done(context, "recover")
    assert main_branch_name(context.files, ORDERS) is None and main_rows(context) == rows
    after = contents(orders)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert not {path for path in changed if "operations" not in path and "MAIN-BRANCH" not in path}
    assert verify(context, ORDERS).problems == () and planned(context, "recover").empty


def test_commits_and_tags_meanwhile_stay_and_close_nothing(context: Context, warehouse: Path) -> None:
    branched(context)
    given_up(context, warehouse, ARCHIVED, "replace-main-branch", name="fix")
    rows = main_rows(context)
    wakes(context, "fix")
    # An action repairs the guards of what it takes for main: the barrier would close the real one.
    done(context, "create-tag", name="meanwhile")
    add(context, "shop.orders$branch_fix", 901)
    done(context, "recover")
    assert main_rows(context) == rows
    assert 901 in {row["order_id"] for row in rows_of(context, ORDERS.root("fix"))}
    assert verify(context, ORDERS).problems == ()


def test_the_branch_is_main_again_after_a_late_undo(context: Context, warehouse: Path) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    rows = main_rows(context)
    given_up(context, warehouse, RESTORED, "undo")
    wakes(context, "")
    done(context, "recover")
    assert main_branch_name(context.files, ORDERS) == "fix" and main_rows(context) == rows
    assert verify(context, ORDERS).problems == ()


def test_doctor_says_it(
    context: Context, warehouse: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent))
    branched(context)
    wakes(context, "fix")
    ran = Paimark(capsys)("doctor", "shop.orders", "--warehouse", warehouse)
    assert "named as main by a process that went on after it was recovered" in ran.out
    assert "stray" not in ran.out and "guard" not in ran.out


# An overwrite starts Spark.
@pytest.mark.parametrize("layout", ["pointer", pytest.param("overwrite", marks=pytest.mark.long)])
def test_a_replacement_that_ended_is_none(context: Context, layout: str) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix", layout=layout)
    assert planned(context, "recover").empty
    done(context, "undo")
    assert planned(context, "recover").empty
