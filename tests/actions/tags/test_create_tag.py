"""A tag is stock: any engine reads it, and it came in time."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from pypaimon.tag.tag import Tag as StockTag

from paimark.core.actions.context import Context, Remark
from paimark.core.actions.registry import action
from paimark.core.errors import NotFound, Refused, Unavailable, UsageError
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import ORDERS, Meanwhile, applied, contents, context_on, done, planned
from tests.paimon import open_table
from tests.storage.wrapped import Wrapped
from tests.wording import about

NOW = 1_780_000_000_123


def test_without_a_time_to_live_it_is_the_snapshots_bytes(context: Context, orders: Path) -> None:
    outcome = done(context, "create-tag", name="week 18")

    assert outcome.result == {"tag_name": "week 18", "snapshot_id": 5, "branch": "main"}
    assert (orders / "tag/tag-week 18").read_bytes() == (orders / "snapshot/snapshot-5").read_bytes()


def test_with_a_time_to_live_a_stock_engine_reads_both(context: Context, warehouse: Path) -> None:
    fixed = replace(context, clock=lambda: NOW)
    done(fixed, "create-tag", name="short", snapshot=3, retain="36 h")

    tag: StockTag = open_table(warehouse, "shop.orders").tag_manager().get("short")
    assert tag.id == 3
    assert tag.tag_time_retained == timedelta(hours=36)
    assert tag.tag_create_time == datetime.fromtimestamp(NOW / 1000)


def test_a_time_to_live_adds_two_fields_and_takes_none(context: Context, orders: Path) -> None:
    snapshot = orders / "snapshot/snapshot-5"
    fields = msgspec.json.decode(snapshot.read_bytes())
    snapshot.write_bytes(msgspec.json.encode({**fields, "fromTheFuture": {"a": [1]}}))

    done(context, "create-tag", name="short", retain="PT1H30M")

    tag = msgspec.json.decode((orders / "tag/tag-short").read_bytes())
    created = tag.pop("tagCreateTime")
    assert tag == {**fields, "fromTheFuture": {"a": [1]}, "tagTimeRetained": 5400.0}
    assert len(created) == 7


def test_it_is_made_on_a_branch(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-tag", name="on_b", branch="b")
    assert (orders / "branch/branch-b/tag/tag-on_b").exists()
    assert not (orders / "tag/tag-on_b").exists()


@pytest.mark.parametrize(
    ("name", "arguments", "path"),
    [("create-tag", {"name": "there"}, "tag/tag-there"), ("create-savepoint", {}, "tag/tag-savepoint.1")],
)
def test_a_log_that_is_full_does_not_hide_that_it_is_done(
    context: Context, warehouse: Path, orders: Path, name: str, arguments: dict[str, str], path: str
) -> None:
    class Full(Wrapped):
        def create(self, path: str, data: bytes) -> bool:
            if path.startswith(f"{ORDERS.operations}/"):
                raise Unavailable("The disk is full", "Free some space.")
            return super().create(path, data)

    with pytest.raises(Unavailable) as failed:
        done(context_on(warehouse, Full(context.files)), name, ORDERS, **arguments)
    assert about("not", "written down", "the disk is full").search(failed.value.message)
    assert failed.value.hint.startswith("Free some space. ") and about("not", "again").search(
        failed.value.hint
    )
    assert (orders / path).exists()


def test_a_name_that_is_taken_is_refused(context: Context, orders: Path) -> None:
    same = planned(context, "create-tag", name="v2", snapshot=2)
    assert about("main", "shop.orders", "tag v2 already", "this").search(same.refusals[0].reason)
    other = planned(context, "create-tag", name="v2")
    assert about("main", "shop.orders", "tag v2 already", "snapshot 2").search(other.refusals[0].reason)

    plan = planned(context, "create-tag", name="new")
    (orders / "tag/tag-new").write_bytes(b"somebody else's")
    with pytest.raises(Refused, match=about("tag new already")):
        applied(context, plan)
    assert (orders / "tag/tag-new").read_bytes() == b"somebody else's"


@pytest.mark.parametrize("name", ["savepoint.7", "snapshot.1", "paimark.x", "7", "main", "a/b", ""])
def test_a_name_that_would_mislead_is_refused(context: Context, orders: Path, name: str) -> None:
    before = contents(orders)
    with pytest.raises(Refused):
        done(context, "create-tag", name=name)
    assert contents(orders) == before


def test_an_expiry_that_was_faster_undoes_an_explicit_one(
    context: Context, warehouse: Path, orders: Path
) -> None:
    snapshot = Lineage(context.files, ORDERS.root()).snapshot(3)
    delta = orders / "manifest" / snapshot.delta_manifest_list
    files = Meanwhile(context.files, "tag-new", delta.unlink)

    with pytest.raises(Refused, match=about("snapshot 3", "kept")):
        done(context_on(warehouse, files), "create-tag", name="new", snapshot=3)

    assert not (orders / "tag/tag-new").exists()


def test_the_plan_says_when_it_ends_and_which_default_is_not_applied(context: Context, orders: Path) -> None:
    [until] = planned(replace(context, clock=lambda: NOW), "create-tag", name="n", retain="1 d").kept
    end = f"{datetime.fromtimestamp(NOW / 1000) + timedelta(days=1):%Y-%m-%d %H:%M}"
    assert about("rows", f"until {end}", "stock engines", "tag").search(until)

    schema = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
    schema["options"]["tag.default-time-retained"] = "3 d"
    (orders / "schema/schema-0").write_bytes(msgspec.json.encode(schema))
    [_, default] = planned(context, "create-tag", name="n").kept
    assert about("tag for good", "tag.default-time-retained (3 d)", "not").search(default)


def test_what_can_not_be_is_said(context: Context) -> None:
    with pytest.raises(UsageError, match="name is missing"):
        planned(context, "create-tag")
    with pytest.raises(UsageError, match=about("'7'", "length")):
        planned(context, "create-tag", name="n", retain="7")
    with pytest.raises(NotFound, match="no snapshot 9"):
        planned(context, "create-tag", name="n", snapshot=9)
    assert planned(context, "create-tag", name="n", retain="0 s").refusals


def test_a_tag_that_somebody_deletes_while_it_is_made_is_not_said_to_be_there(
    context: Context, orders: Path
) -> None:
    path = orders / "tag/tag-x"

    def delete(line: str) -> None:
        if path.exists():
            path.unlink()

    plan = planned(context, "create-tag", name="x", snapshot=3)
    with pytest.raises(Refused, match=about("somebody", "tag x")):
        action(plan.action).apply(context, plan, delete)


def test_a_temporary_file_that_stays_is_told_and_is_no_failure(
    context: Context, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system that breaks, or where a directory only lets its owner delete."""
    unlink = os.unlink

    def unlink_but(path: str, **options: int | None) -> None:
        if path.startswith(".tag-kept."):
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", unlink_but)
    told: list[str] = []
    applied(context, planned(context, "create-tag", name="kept"), told)
    assert (orders / "tag/tag-kept").exists()
    [said] = [each for each in told if isinstance(each, Remark)]
    [left] = (orders / "tag").glob(".tag-kept.*")
    assert about("temporary file", f"shop.db/orders/tag/{left.name}", "removed", "permission").search(said)
