"""Links inside a table lead no change out of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.errors import Refused
from tests.actions.acting import EVENTS, applied, contents, done, planned
from tests.actions.taking_over import branched
from tests.paimon import commit
from tests.wording import about


@pytest.fixture
def victim(warehouse: Path) -> Path:
    """A table's directory beside `shop.orders` that no change of that one may touch."""
    shutil.copytree(warehouse / "shop.db/orders", warehouse / "shop.db/victim")
    return warehouse / "shop.db/victim"


def linked(place: Path, to: Path) -> None:
    """Put a link where a directory is, or may be."""
    if place.exists():
        shutil.rmtree(place)
    place.symlink_to(to)


CHANGES: dict[str, Callable[[Context], object]] = {
    "create-savepoint": lambda context: done(context, "create-savepoint"),
    "create-tag": lambda context: done(context, "create-tag", name="t"),
    "create-branch": lambda context: done(context, "create-branch", name="other", tag="v2"),
    "delete-tag": lambda context: done(context, "delete-tag", name="v2"),
    "delete-branch": lambda context: done(context, "delete-branch", name="fix"),
    "expire": lambda context: done(context, "expire-snapshots", retain_last=1),
    "replace": lambda context: done(context, "replace-main-branch", name="fix"),
    "merge": lambda context: done(context, "merge-branch", name="fix"),
    "truncate": lambda context: done(context, "rollback", to="snapshot.3", truncate=True),
    "alter": lambda context: done(context, "alter-branch-schema", add="note STRING"),
    "recover": lambda context: done(context, "recover"),
}


@pytest.mark.parametrize("place", ["schema", "tag", "manifest", "branch/branch-fix/tag"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_link_in_a_directorys_place_refuses_every_change(
    context: Context, orders: Path, victim: Path, place: str, change: str
) -> None:
    branched(context)
    target = victim / place.rpartition("/")[2]
    linked(orders / place, target)
    before, own = contents(victim), contents(orders)
    with pytest.raises(Refused, match=about(f"shop.db/orders/{place}", "link")):
        CHANGES[change](context)
    assert contents(victim) == before
    assert contents(orders) == own


def test_a_link_in_the_place_of_all_branches_refuses_a_change(
    context: Context, orders: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    linked(orders / "branch", tmp_path / "outside")
    with pytest.raises(Refused, match=about("shop.db/orders/branch", "link")):
        CHANGES["truncate"](context)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_plan_says_that_a_link_is_in_the_way(context: Context, orders: Path, victim: Path) -> None:
    linked(orders / "tag", victim / "tag")
    [refusal] = planned(context, "create-savepoint").refusals
    assert about("shop.db/orders/tag", "link").search(refusal.reason)


def test_a_link_that_came_after_the_plan_refuses_the_change(
    context: Context, orders: Path, victim: Path
) -> None:
    plan = planned(context, "create-tag", name="t")
    linked(orders / "tag", victim / "tag")
    with pytest.raises(Refused, match=about("link")):
        applied(context, plan)


@pytest.mark.parametrize("keep", [False, True])
def test_deleting_a_branch_deletes_a_link_in_it_and_not_what_it_leads_to(
    context: Context, orders: Path, tmp_path: Path, keep: bool
) -> None:
    branched(context)
    (tmp_path / "outside/deep").mkdir(parents=True)
    (tmp_path / "outside/deep/precious").write_bytes(b"x")
    (orders / "branch/branch-fix/notes").symlink_to(tmp_path / "outside")
    (orders / "branch/branch-fix/tag/more").symlink_to(tmp_path / "outside")
    done(context, "delete-branch", name="fix", keep=keep)
    assert contents(tmp_path / "outside") == {"deep/precious": b"x"}
    assert not (orders / "branch/branch-fix").exists()


def test_an_expiry_keeps_the_files_of_a_bucket_that_is_a_link_and_says_so(
    context: Context, warehouse: Path, tmp_path: Path
) -> None:
    bucket = warehouse / "shop.db/events/day=2026-05-01/bucket-0"
    shutil.move(bucket, tmp_path / "elsewhere")
    bucket.symlink_to(tmp_path / "elsewhere")
    commit(warehouse, "shop.events", pa.table({"day": ["2026-05-01"], "kind": ["new"]}), overwrite=True)
    before = contents(tmp_path / "elsewhere")
    told: list[str] = []
    plan = action("expire-snapshots").plan(context, EVENTS, {"retain_last": 1})
    applied(context, plan, told)
    assert contents(tmp_path / "elsewhere") == before
    assert any(about("shop.db/events/day=2026-05-01/bucket-0", "link", "kept").search(each) for each in told)
