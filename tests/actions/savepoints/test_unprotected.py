"""A savepoint whose tag another engine deleted is read meanwhile, and gets its tag again."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.savepoints import unprotected
from paimark.core.cli.checks import doctor
from paimark.core.cli.options import GlobalOptions
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.chain import warnings
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.table.records import Snapshot, is_apart
from paimark.core.table.savepoints import SavepointManager
from paimark.core.travel.version import resolve_version
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, NoWrites, context_on, done, planned, replace_rows, texts
from tests.paimon import read_rows
from tests.wording import about


def stock_rollback(orders: Path) -> None:
    """What stock rollback to snapshot 1 leaves: later snapshots and the tags of them are gone."""
    for number in (2, 3, 4, 5, 6):
        (orders / f"snapshot/snapshot-{number}").unlink(missing_ok=True)
    (orders / "snapshot/LATEST").write_text("1")
    (orders / "tag/tag-savepoint.1").unlink()


def test_it_is_read_meanwhile_and_said_to_be_unprotected(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    saved = (orders / "snapshot/snapshot-3").read_bytes()
    stock_rollback(orders)
    resolved = resolve_version(context.files, ORDERS.root(), "savepoint.1")
    assert resolved.snapshot == Snapshot.from_json(saved, "snapshot-3")
    assert (
        resolved.note is not None and "unprotected" in resolved.note and "`paimark recover`" in resolved.note
    )


def test_recover_writes_the_tag_again(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    rows = read_rows(warehouse, "shop.orders", tag="savepoint.1")
    stock_rollback(orders)
    plan = planned(context_on(warehouse, NoWrites(context.files)), "recover")
    assert [(step.verb, step.target) for step in plan.steps] == [
        ("create", "shop.db/orders/tag/tag-savepoint.1")
    ]
    done(context, "recover")
    assert read_rows(warehouse, "shop.orders", tag="savepoint.1") == rows
    [(_, health)] = SavepointManager(context.files, ORDERS).health_of_root(ORDERS.root())
    assert health == "ok"
    done(context, "create-branch", name="fix", tag="savepoint.1")
    assert planned(context, "recover").empty


def test_one_that_lost_a_file_is_left_alone(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    snapshot = Lineage(context.files, ORDERS.root()).snapshot(3)
    stock_rollback(orders)
    (orders / f"manifest/{snapshot.base_manifest_list}").unlink()
    assert planned(context, "recover").empty
    assert not (orders / "tag/tag-savepoint.1").exists()


def test_older_tags_that_its_tag_endangers_are_named(context: Context, warehouse: Path, orders: Path) -> None:
    """Stock expiry spares what the nearest earlier tag holds, of whatever history that is."""
    replace_rows(warehouse)
    done(context, "create-savepoint")
    done(context, "create-tag", name="first", snapshot=1)
    stock_rollback(orders)
    [told] = texts(planned(context, "recover"), "unknown")
    assert about("savepoint 1", "may", "main", "rolled back", "(first, v2)").search(told)
    done(context, "recover")
    tags = dict(Lineage(context.files, ORDERS.root()).tags())
    assert [name for name, tag in tags.items() if is_apart(tag)] == ["savepoint.1"]
    [warned] = warnings(context.files, ORDERS.root())
    assert verify(context, ORDERS).warnings == (warned,)
    findings = doctor._table(GlobalOptions(warehouse=context.files.uri), "shop.orders")
    assert warned in [each.detail for each in findings if each.state == "warning"]
    assert about("tag savepoint.1", "may", "history", "(first, v2)").search(warned)


def test_older_tags_whose_files_it_has_are_in_no_danger(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    stock_rollback(orders)
    assert not planned(context, "recover").warnings
    done(context, "recover")
    assert is_apart(Lineage(context.files, ORDERS.root()).tag("savepoint.1"))
    assert warnings(context.files, ORDERS.root()) == []


def test_a_tag_that_is_of_its_history_is_not_marked(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    snapshots = [orders / f"snapshot/snapshot-{number}" for number in (1, 2, 3)]
    for gone in ([], snapshots):
        for path in gone:
            path.unlink()
        (orders / "tag/tag-savepoint.1").unlink()
        assert not planned(context, "recover").warnings
        done(context, "recover")
        assert not is_apart(Lineage(context.files, ORDERS.root()).tag("savepoint.1"))


@pytest.mark.parametrize("is_expiring", [True, False])
def test_a_tag_that_came_too_late_for_an_expiry_is_found_after_a_wait(
    context: Context, orders: Path, monkeypatch: pytest.MonkeyPatch, is_expiring: bool
) -> None:
    """It had listed the tags before this one was there again, and deletes while we look."""
    for number in (2, 3):
        done(context, "create-savepoint", snapshot=number)
        (orders / f"tag/tag-savepoint.{number - 1}").unlink()
    untagged = unprotected.unprotected(context.files, ORDERS)
    waited: list[float] = []

    def expiry(seconds: float, progress: Progress) -> None:
        waited.append(seconds)
        if is_expiring:
            context.files.delete(manifest_list_paths(ORDERS, untagged[1].snapshot)[0])

    monkeypatch.setattr(unprotected, "wait_for_expiry", expiry)
    told: list[str] = []
    unprotected.protect_all(context.files, untagged, told.append, 5)
    assert waited == [5]
    assert any(map(about("savepoint 1", "tag again", "every file").search, told))
    [line] = [each for each in told if each.startswith("savepoint 2 ")]
    assert about(*(("lost", "tag", "too late") if is_expiring else ("every file",))).search(line)
    assert isinstance(line, Remark) == is_expiring


def test_without_a_wait_it_is_said_that_nothing_is_proven(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    (orders / "tag/tag-savepoint.1").unlink()
    [each] = unprotected.unprotected(context.files, ORDERS)
    told: list[str] = []
    unprotected.protect_all(context.files, [each], told.append)
    [line] = told
    assert about(
        "savepoint 1", "tag again", "every file", "not proven", "`paimark verify shop.orders`"
    ).search(line)
