"""Another engine deleted the branch that is main: what main was before becomes main from where it lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots import guard_tags
from paimark.core.errors import Corrupt, Refused
from paimark.core.table.lineage.main_branch import main_root
from tests.actions.acting import ORDERS, applied, codes, done, planned, texts
from tests.actions.taking_over import branched, main_rows
from tests.wording import about


@pytest.fixture
def archive(context: Context, orders: Path) -> str:
    """What main is kept as, when the branch that replaced it has gone."""
    branched(context)
    kept = str(done(context, "replace-main-branch", name="fix").result["previous_main"])
    shutil.rmtree(orders / "branch/branch-fix")
    return kept


def test_the_archive_becomes_main(context: Context, archive: str, orders: Path) -> None:
    with pytest.raises(Corrupt) as lost:
        main_root(context.files, ORDERS)
    assert about("paimark recover shop.orders --main NAME").search(lost.value.hint)
    plan = planned(context, "recover", main=archive)
    assert plan.refusals == () and codes(plan) == ["commits-leave-main", "final"]
    [lost_with_it] = texts(plan, "loses")
    assert about("branch fix", "main", "gone").search(lost_with_it)
    applied(context, plan)
    assert main_root(context.files, ORDERS).label == archive
    assert len(main_rows(context)) == 8
    assert guard_tags.mismatches(context.files, ORDERS) == []
    done(context, "create-savepoint")


def test_it_is_refused_while_main_is_there(context: Context) -> None:
    branched(context)
    with pytest.raises(Refused, match=about("main", "shop.orders", "there")):
        planned(context, "recover", main="fix")


def test_a_branch_that_is_not_there_is_refused(context: Context, archive: str) -> None:
    with pytest.raises(Refused, match=about("no branch nix")):
        planned(context, "recover", main="nix")
