"""A stock orphan cleaning reads the snapshots that it listed one by one, and leaves out what went."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots.waiting import cleanings_to_stop, wait_for_cleanings
from paimark.core.table.layout import BARRIER
from tests.actions.acting import ORDERS, applied, codes, done, look_while_it_waits, planned
from tests.wording import about

MOVES: dict[str, tuple[str, dict[str, object], str, list[str]]] = {
    "pointer": ("replace-main-branch", {"name": "b"}, "", ["snapshot-1", "snapshot-2", "snapshot-5"]),
    "retirement": ("delete-branch", {"name": "b", "keep": True}, "branch/branch-b/", ["snapshot-2"]),
    "undo of a retirement": ("undo", {}, "branch/branch-retired-*/", ["snapshot-2"]),
}


@pytest.mark.parametrize("name", MOVES)
def test_what_is_moved_stays_behind_a_barrier_until_it_is_read(
    context: Context, orders: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Who lists it from then on fails. Who listed it before does not know where it is, and can read on."""
    action, arguments, root, moved = MOVES[name]
    done(context, "create-branch", name="b", tag="v2")
    if action == "undo":
        done(context, "delete-branch", name="b", keep=True)
    there: list[set[str]] = []
    look_while_it_waits(
        monkeypatch, lambda: there.append({path.name for path in orders.glob(f"{root}snapshot/*")})
    )
    waiting = replace(context, verify_wait=0.01)
    applied(waiting, planned(waiting, action, ORDERS, **arguments))
    assert there and all(names >= {BARRIER, *moved} for names in there)
    left = {path.name for path in orders.glob(f"{root}snapshot/*")}
    assert not left.intersection(moved)
    assert (BARRIER in left) == (name == "pointer")


def test_nobody_waits_for_longer_than_a_minute_and_the_plan_says_what_that_leaves(
    context: Context, orders: Path
) -> None:
    done(context, "create-branch", name="b", tag="v2")
    assert "stop-cleanings" not in codes(planned(context, "delete-branch", ORDERS, name="b", keep=True))
    snapshots = orders / "branch/branch-b/snapshot"
    for number in range(3_000):
        (snapshots / f"snapshot-{9_000 + number}").write_bytes((snapshots / "snapshot-2").read_bytes())
    said: list[str] = []
    waiting = replace(context, verify_wait=0.001)
    wait_for_cleanings(waiting, ORDERS.root("b"), said.append)
    [line] = said
    assert about("waiting 0.012 s", "snapshots").search(line)
    [told] = cleanings_to_stop(context.files, ORDERS.root("b"))
    assert (told.kind, told.code, told.is_grave) == ("first", "stop-cleanings", True)
