"""A commit is found however many came after it; where nothing tells any more, that is the answer."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from paimark.core.table.commits import Fate, Landed, fate_of, find_commit
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import point_of
from tests.table.lineages import TABLE, write_lineage

OURS = "ours"


@pytest.fixture
def lineage(tmp_path: Path) -> Lineage:
    """Snapshots 1 to 100; the commit of `OURS` is 6."""
    lineage = write_lineage(tmp_path, {number: number * 1000 for number in range(1, 101)})
    by(tmp_path, lineage.root, 6, OURS)
    return lineage


def by(warehouse: Path, root: Root, number: int, user: str) -> None:
    path = warehouse / root.snapshot(number)
    path.write_text(path.read_text().replace(f'"user-{number % 50}"', f'"{user}"'))


def expire(warehouse: Path, root: Root, *numbers: int) -> None:
    for number in numbers:
        (warehouse / root.snapshot(number)).unlink()


def tag(warehouse: Path, root: Root, number: int, into: Root) -> None:
    path = warehouse / into.tag(f"t{number}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((warehouse / root.snapshot(number)).read_bytes())


def fate(lineage: Lineage, after: int = 5) -> Fate:
    return find_commit(lineage.files, lineage.root, OURS, after)


def test_it_is_found_below_any_number_of_later_ones(lineage: Lineage) -> None:
    commit_fate = fate(lineage)
    assert commit_fate.landed is Landed.YES
    assert commit_fate.snapshot is not None
    assert commit_fate.snapshot.id == 6
    # Others may have been faster, so that it is not the next one.
    assert fate(lineage, 2).landed is Landed.YES


def test_it_never_came(tmp_path: Path, lineage: Lineage) -> None:
    assert fate(lineage, 6) == Fate(Landed.NO, None, ())
    assert fate(lineage, 100) == fate(lineage, 200) == Fate(Landed.NO, None, ())
    assert find_commit(lineage.files, lineage.root, "somebody", 0).landed is Landed.NO
    empty = write_lineage(tmp_path, {})
    assert fate(empty, 0) == Fate(Landed.NO, None, ())


def test_what_expired_before_does_not_matter(tmp_path: Path, lineage: Lineage) -> None:
    expire(tmp_path, lineage.root, 1, 2, 3, 4, 5)
    assert fate(lineage).landed is Landed.YES
    assert fate(lineage, 6).landed is Landed.NO


def test_nobody_knows_when_the_next_ones_have_expired(tmp_path: Path, lineage: Lineage) -> None:
    expire(tmp_path, lineage.root, 4, 5, 6, 7, 8)
    assert fate(lineage) == Fate(Landed.UNKNOWN, None, (6, 7, 8))
    # One that is there, though, is there.
    by(tmp_path, lineage.root, 40, OURS)
    commit_fate = fate(lineage)
    assert commit_fate.snapshot is not None
    assert commit_fate.snapshot.id == 40


def test_nobody_knows_of_one_that_may_have_come_late(tmp_path: Path, lineage: Lineage) -> None:
    """The request for it was carried out when another commit had had its id, and was gone."""
    commit = point_of(lineage.snapshot(6))
    expire(tmp_path, lineage.root, 1, 2, 3, 4, 5)
    assert fate(lineage).landed is fate_of(lineage.files, lineage.root, commit) is Landed.YES
    expire(tmp_path, lineage.root, 7, 8)
    assert fate(lineage) == Fate(Landed.UNKNOWN, None, (7, 8))
    assert fate_of(lineage.files, lineage.root, commit) is Landed.UNKNOWN


@pytest.mark.parametrize("branch", [None, "b"])
def test_a_tag_of_any_root_holds_it(tmp_path: Path, lineage: Lineage, branch: str | None) -> None:
    other = TABLE.root(branch)
    if branch is not None:
        write_lineage(tmp_path, {1: 1000}, other)
    tag(tmp_path, lineage.root, 6, other)
    expire(tmp_path, lineage.root, *range(1, 9))
    commit_fate = fate(lineage)
    assert commit_fate.landed is Landed.YES
    assert commit_fate.snapshot is not None
    assert commit_fate.snapshot.id == 6


def test_a_branch_has_it_from_before_its_fork(tmp_path: Path, lineage: Lineage) -> None:
    other = TABLE.root("b")
    write_lineage(tmp_path, {6: 6000, 7: 7000}, other)
    by(tmp_path, other, 6, OURS)
    expire(tmp_path, lineage.root, *range(1, 9))
    assert fate(lineage).landed is Landed.YES


def test_tags_and_changelogs_of_others_commits_tell_that_it_was_not_those(
    tmp_path: Path, lineage: Lineage
) -> None:
    changelog = tmp_path / lineage.root.changelog(7)
    changelog.parent.mkdir()
    changelog.write_bytes((tmp_path / lineage.root.snapshot(7)).read_bytes())
    tag(tmp_path, lineage.root, 8, lineage.root)
    expire(tmp_path, lineage.root, 7, 8)
    assert fate(lineage, 6) == Fate(Landed.NO, None, ())
    expire(tmp_path, lineage.root, 9)
    assert fate(lineage, 6) == Fate(Landed.UNKNOWN, None, (9,))


def test_a_tag_elsewhere_of_that_id_is_perhaps_of_another_snapshot(tmp_path: Path, lineage: Lineage) -> None:
    other = TABLE.root("b")
    write_lineage(tmp_path, {1: 1000}, other)
    tag(tmp_path, lineage.root, 7, other)
    expire(tmp_path, lineage.root, 7)
    assert fate(lineage, 6) == Fate(Landed.UNKNOWN, None, (7,))


def test_of_a_branch_that_went_a_copy_in_another_root_tells(tmp_path: Path, lineage: Lineage) -> None:
    """A write whose entry of the log was never settled, on a branch that is gone."""
    gone, commit = TABLE.root("gone"), point_of(lineage.snapshot(9))
    assert fate_of(lineage.files, gone, commit) is Landed.YES
    never = msgspec.structs.replace(commit, delta_manifest_list="manifest-list-of-nobody")
    assert fate_of(lineage.files, gone, never) is Landed.UNKNOWN
