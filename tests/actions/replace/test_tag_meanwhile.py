"""Tags of one name in the old main, at the last moment, and in the new one, before the change is finished."""

from __future__ import annotations

from pathlib import Path

from paimark.core.actions.context import Context
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_root
from paimark.core.table.records import Tag
from tests.actions.acting import ORDERS, context_on, done
from tests.actions.replace.test_replace_main_branch import JustBefore
from tests.actions.taking_over import add, branched
from tests.faults.fault_files import Film
from tests.faults.trees import TreeOnDisk


def test_a_tag_of_the_same_name_is_each_mains_own(context: Context, warehouse: Path, orders: Path) -> None:
    def tag(branch: str | None = None) -> Tag:
        return Lineage(context.files, ORDERS.root(branch)).tag("mine")

    branched(context)
    add(context, "shop.orders", 300)
    old: list[Tag] = []

    def late() -> None:
        done(context, "create-tag", name="mine")
        old.append(tag())

    film = Film(JustBefore(context.files, ORDERS.main_branch_file, late), TreeOnDisk(orders))
    done(context_on(warehouse, film), "replace-main-branch", name="fix")
    tried = 0
    for point in film.points():
        film.put_back(point)
        if main_root(context.files, ORDERS).branch != "fix" or not context.files.exists(ORDERS.journal):
            continue
        done(context, "create-tag", name="mine")
        done(context, "recover")
        [archive] = [each for each in branch_names(context.files, ORDERS) if each != "fix"]
        head = Lineage(context.files, ORDERS.root("fix")).latest()
        assert head is not None and head.uuid == tag("fix").uuid, point
        assert tag(archive) == old[0], point
        # The table directory guards the tag of main, not that of the branch that was main.
        assert tag().uuid == tag("fix").uuid != old[0].uuid, point
        tried += 1
    assert tried > 10
