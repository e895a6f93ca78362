"""While a branch is main, the table directory holds exactly what stock engines must find there."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.actions import guards
from core.actions.context import Context
from tests.actions.acting import ORDERS, contents, done
from tests.actions.taking_over import branched


@pytest.fixture
def replaced(context: Context) -> Context:
    """Branch `fix` is main, with a tag of its own that has a time to live."""
    branched(context)
    done(context, "create-tag", name="own", branch="fix", retain="9 d")
    done(context, "replace-main-branch", name="fix")
    return context


def test_a_table_of_which_no_branch_is_main_needs_none(context: Context) -> None:
    assert guards.mismatches(context.files, ORDERS) == []


def test_what_is_wrong_is_said_and_reconciled(replaced: Context, orders: Path) -> None:
    whole = contents(orders)
    (orders / "tag/tag-own").unlink()
    (orders / "tag/tag-v2").write_bytes(b"{}")
    (orders / "tag/tag-foreign").write_bytes(whole["tag/tag-own"])
    assert guards.mismatches(replaced.files, ORDERS) == [
        "Tag own of main has no guard: stock expiry on a branch can destroy it",
        "Tag v2 of main has no guard: stock expiry on a branch can destroy it",
        "Tag foreign in the table directory guards no tag of main",
    ]
    guards.reconcile(replaced.files, ORDERS, ORDERS.root("fix"))
    assert contents(orders) == whole
    guards.reconcile(replaced.files, ORDERS, ORDERS.root("fix"))
    assert contents(orders) == whole


def test_a_guard_whose_tag_has_gone_goes_too(replaced: Context, orders: Path) -> None:
    (orders / "branch/branch-fix/tag/tag-own").unlink()
    guards.reconcile(replaced.files, ORDERS, ORDERS.root("fix"))
    assert [path.name for path in (orders / "tag").iterdir()] == ["tag-v2"]


def test_the_last_tag_of_a_savepoint_is_never_taken_for_a_guard(replaced: Context, orders: Path) -> None:
    done(replaced, "create-savepoint")
    (orders / "branch/branch-fix/tag/tag-savepoint.1").unlink()
    guards.reconcile(replaced.files, ORDERS, ORDERS.root("fix"))
    assert (orders / "tag/tag-savepoint.1").exists()


@pytest.mark.parametrize("deed", ["without", "beside"])
def test_a_notice_that_does_not_stand_alone_is_said(replaced: Context, orders: Path, deed: str) -> None:
    if deed == "without":
        (orders / "schema/schema-0").unlink()
    else:
        (orders / "schema/schema-1").write_bytes(b"{}")
    [sentence] = guards.mismatches(replaced.files, ORDERS)
    assert sentence.startswith("Stock engines can make a table over this one")
