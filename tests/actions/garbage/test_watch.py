"""Deleting files while others make references: what is looked at again, how often, and what it spares."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from paimark.core.actions.garbage import sweep
from paimark.core.actions.plan import Outcome
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import each_needed_file
from tests.actions.acting import applied, contents, context_on, planned
from tests.actions.garbage.test_counting_cost import Crowd, metadata
from tests.actions.histories import TABLE, History
from tests.storage.wrapped import Wrapped
from tests.table.lineages import CountingFiles

BRANCHES = 20


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Twenty commits, tagged at 10, of which 1 to 12 leave; branches from an earlier tag."""
    made = History(tmp_path / "warehouse", Random(5))
    for number in range(1, 21):
        made.commit()
        if number in (3, 10):
            made.tag(f"t{number}", number)
    for number in range(BRANCHES):
        made.fork(f"b{number}", "t3")
    return made


@pytest.fixture
def each_file_is_looked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What seconds tell apart for real."""
    monkeypatch.setattr(sweep, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(sweep, "_AT_ONCE", 1)


class OnDelete(Wrapped):
    """A store on which somebody else does something after each file that is deleted."""

    def __init__(self, inner: Files, deed: Callable[[int], None]) -> None:
        super().__init__(inner)
        self._deed = deed
        self.deleted: list[str] = []

    def delete(self, path: str) -> None:
        self.inner.delete(path)
        self.deleted.append(path)
        self._deed(len(self.deleted))


def expire(history: History, files: Files, retain_last: int = 8) -> Outcome:
    plan = planned(context_on(history.warehouse), "expire-snapshots", TABLE, retain_last=retain_last)
    return applied(context_on(history.warehouse, files), plan)


def late_tags(history: History) -> Callable[[int], None]:
    """A tag of an ever newer snapshot, and a commit, after each file that goes."""

    def make(number: int) -> None:
        snapshot = history.commit()
        history.tag(f"late{number}", snapshot)

    return make


@pytest.mark.usefixtures("each_file_is_looked_before")
def test_a_tag_after_each_file_does_not_make_it_count_again(history: History) -> None:
    plan_reads, reads = CountingFiles(history.files), CountingFiles(history.files)
    plan = planned(context_on(history.warehouse, plan_reads), "expire-snapshots", TABLE, retain_last=8)
    deleting = OnDelete(reads, late_tags(history))
    applied(context_on(history.warehouse, deleting), plan)
    assert len(deleting.deleted) > 20
    # None of the tags is near what leaves.
    assert sorted(metadata(reads.reads)) == sorted(metadata(plan_reads.reads))


@pytest.mark.usefixtures("each_file_is_looked_before")
def test_a_look_lists_no_branch_that_was_there_before(history: History) -> None:
    files = CountingFiles(history.files)
    deleting = OnDelete(files, late_tags(history))
    expire(history, deleting)
    of_a_branch = [each for each in files.listings if each == TABLE.root("b7").tags]
    # To check, to count and before the first file; not before each.
    assert len(deleting.deleted) > 20
    assert len(of_a_branch) < 10


def test_all_branches_are_looked_at_at_once(history: History) -> None:
    files = Crowd(history.files)
    expire(history, files)
    assert files.most >= files.MANY


@pytest.mark.usefixtures("each_file_is_looked_before")
@pytest.mark.parametrize("everywhere", [0.0, 10.0])
@pytest.mark.parametrize("branch", [None, "new"])
def test_a_tag_of_what_goes_spares_what_is_left_of_it(
    history: History, monkeypatch: pytest.MonkeyPatch, branch: str | None, everywhere: float
) -> None:
    """In the root itself, and in a branch that is made meanwhile."""
    monkeypatch.setattr(sweep, "_LOOK_EVERYWHERE_EVERY", everywhere)
    to_delete, going = history.files.read(TABLE.root().snapshot(12)), only_in_12(history)
    gone_before: set[str] = set()

    def make(number: int) -> None:
        if number == 2:
            root = TABLE.root(branch)
            if branch:
                history.files.create(root.schema(0), history.files.read(TABLE.root().schema(0)))
            history.files.create(root.tag("late"), to_delete)
            gone_before.update(path for path in going if not history.files.exists(path))

    deleting = OnDelete(history.files, make)
    expire(history, deleting)
    assert {path for path in going if not history.files.exists(path)} == gone_before < going


def test_after_a_sleep_of_the_computer_it_looks_before_it_deletes(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most clocks stand still meanwhile, and a process elsewhere had time to make a tag and to prove it.

    Also among files that are deleted at once.
    """
    slept, gone, to_delete = 0.0, 0, history.files.read(TABLE.root().snapshot(12))
    monkeypatch.setattr(time, "clock_gettime", lambda clock: time.monotonic() + slept)

    def sleep(number: int) -> None:
        nonlocal slept, gone
        if not slept and "/manifest-list-" in deleting.deleted[-1]:
            history.files.create(TABLE.root().tag("late"), to_delete)
            slept, gone = 3600.0, number

    going, deleting = only_in_12(history), OnDelete(history.files, sleep)
    expire(history, deleting)
    assert going and gone < len(deleting.deleted) and not going.intersection(deleting.deleted[gone:])


@pytest.mark.usefixtures("each_file_is_looked_before")
def test_other_branches_are_looked_at_less_often(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tag that only a copying tool can have made."""
    monkeypatch.setattr(sweep, "_LOOK_EVERYWHERE_EVERY", 0.0)
    to_delete, going = history.files.read(TABLE.root().snapshot(12)), only_in_12(history)

    def make(number: int) -> None:
        if number == 2:
            history.files.create(TABLE.root("b7").tag("late"), to_delete)

    deleting = OnDelete(history.files, make)
    expire(history, deleting)
    assert going and not going.intersection(deleting.deleted[2:])


def only_in_12(history: History) -> set[str]:
    """What snapshot 12 holds and nothing that stays: it goes."""
    root = TABLE.root()
    lineage = Lineage(history.files, root)
    staying = [*map(lineage.snapshot, range(13, 21)), *(tag for _, tag in lineage.tags())]
    needed = [
        {each.path for each in each_needed_file(history.files, root, record)}
        for record in (lineage.snapshot(12), *staying)
    ]
    return needed[0].difference(*needed[1:])


def test_what_cannot_be_counted_is_refused_before_anything_goes(history: History) -> None:
    """A manifest list that is damaged after the plan was made."""
    warehouse = history.warehouse
    plan = planned(context_on(warehouse), "expire-snapshots", TABLE, retain_last=8)
    newest = Lineage(history.files, TABLE.root()).snapshot(13)
    (warehouse / TABLE.manifest(newest.base_manifest_list)).write_bytes(b"Obj")
    before = contents(warehouse)
    with pytest.raises(Refused, match="can't be told"):
        applied(context_on(warehouse), plan)
    assert contents(warehouse) == before
