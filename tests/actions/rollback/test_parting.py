"""A truncation or its undo was cut short by a job's commit: main and the branch share one pinned snapshot.

Stock expiry on main spares only what main's tags hold, so the newest shared snapshot must be tagged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.replace.point_main import part
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import truncation_tag
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, context_on, done, planned
from tests.actions.taking_over import add, main_rows, rows_of
from tests.faults.fault_files import Death, DiesAfter
from tests.paimon import open_table

MAIN = ORDERS.root()


def cut_short(context: Context, warehouse: Path, name: str, pattern: str, **arguments: Any) -> None:
    """The process dies after such a delete or create of a snapshot of main; a job commits; then recover."""
    writes = "delete" if name == "rollback" else "create"
    dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), pattern, writes=writes))
    with pytest.raises(Death):
        done(dying, name, **arguments)
    add(context, "shop.orders", 901)
    done(context, "recover")
    assert planned(context, "recover").empty and verify(context, ORDERS).problems == ()


def test_a_truncation_cut_short_parts_at_the_newest_that_both_have(context: Context, warehouse: Path) -> None:
    before = rows_of(context, MAIN)
    cut_short(context, warehouse, "rollback", r"orders/snapshot/snapshot-5$", to="snapshot.2", truncate=True)
    [name] = branch_names(context.files, ORDERS)
    archive = Lineage(context.files, ORDERS.root(name))
    assert Lineage(context.files, MAIN).snapshot_ids() == [1, 2, 3, 4, 5]
    assert archive.snapshot_ids() == [4, 5] and archive.earliest_id() == 4
    pin = Lineage(context.files, MAIN).tag(truncation_tag(name, 4))
    assert pin.delta_manifest_list == archive.snapshot(4).delta_manifest_list
    assert rows_of(context, ORDERS.root(name)) == before
    assert 901 in {row["order_id"] for row in main_rows(context)}
    done(context, "delete-branch", name=name)
    assert not [each for each in Lineage(context.files, MAIN).tag_names() if each.startswith("paimark.")]
    assert verify(context, ORDERS).problems == ()


def test_an_undo_cut_short_parts_at_the_newest_that_came_back(context: Context, warehouse: Path) -> None:
    before = rows_of(context, MAIN)
    done(context, "rollback", to="snapshot.2", truncate=True)
    [name] = branch_names(context.files, ORDERS)
    cut_short(context, warehouse, "undo", r"orders/snapshot/snapshot-4$")
    assert Lineage(context.files, ORDERS.root(name)).snapshot_ids() == [4, 5]
    assert Lineage(context.files, MAIN).has_tag(truncation_tag(name, 4))
    assert rows_of(context, ORDERS.root(name)) == before


def test_an_undo_beside_a_commit_to_the_branch_parts_at_the_branchs_old_end(
    context: Context, warehouse: Path
) -> None:
    done(context, "rollback", to="snapshot.2", truncate=True)
    [name] = branch_names(context.files, ORDERS)
    dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), r"orders/snapshot/snapshot-5$"))
    with pytest.raises(Death):
        done(dying, "undo")
    add(context, f"shop.orders$branch_{name}", 902)
    done(context, "recover")
    assert Lineage(context.files, ORDERS.root(name)).snapshot_ids() == [5, 6]
    assert Lineage(context.files, MAIN).has_tag(truncation_tag(name, 5))
    assert verify(context, ORDERS).problems == ()


def test_a_main_that_was_rolled_back_pins_what_the_branch_was_built_on(
    context: Context, warehouse: Path
) -> None:
    done(context, "rollback", to="snapshot.3", truncate=True)
    [name] = branch_names(context.files, ORDERS)
    open_table(warehouse, "shop.orders").rollback_to(2)
    part(context.files, MAIN, ORDERS.root(name), lambda line: None)
    assert Lineage(context.files, MAIN).has_tag(truncation_tag(name, 2))
    assert verify(context, ORDERS).problems == ()
