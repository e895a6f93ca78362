"""Reference counting against counting everything over everything, on histories of every kind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.unreferenced import FileCount
from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.chain import marked_unless_proven
from paimark.core.table.manifests.files import data_manifests
from paimark.core.table.records import Snapshot
from tests.actions.acting import context_on, done
from tests.actions.histories import TABLE, History, needed_by_all, reached
from tests.long import unhurried
from tests.storage.wrapped import Wrapped
from tests.table.lineages import CountingFiles

BRANCHES = (None, "a", "b")


def random_history(warehouse: Path, random: Random) -> History:
    history = History(warehouse, random)
    tags = 0
    for _ in range(random.randint(3, 14)):
        branch = random.choice([*history.lines])
        match random.choice(("commit", "commit", "commit", "tag", "fork", "drop")):
            case "commit":
                history.commit(branch)
            case "tag":
                ids = Lineage(history.files, TABLE.root(branch)).snapshot_ids()
                if ids:
                    tags += 1
                    history.tag(f"t{tags}", random.choice(ids), branch)
            case "fork":
                # In an order of their own, not of the file system's.
                names = sorted(Lineage(history.files, TABLE.root()).tag_names())
                name = random.choice("ab")
                if names and name not in history.lines:
                    history.fork(name, random.choice(names))
            case "drop" if random.random() < 0.5:
                ids = Lineage(history.files, TABLE.root(branch)).snapshot_ids()
                if len(ids) > 1:
                    history.drop_snapshots(random.choice(ids[1:]), branch)
    return history


def expected(history: History, to_delete: ToDelete, root: Root) -> set[str]:
    """The files to delete: reached by these references, and by nothing once their files are away."""
    files = history.files
    reach = set()
    for record in to_delete.records:
        reach |= reached(files, root, record, changelog=to_delete.is_expiry)
    kept = {path: files.read(path) for path in to_delete.paths}
    for path in to_delete.paths:
        files.delete(path)
    reach -= needed_by_all(files, TABLE)
    for path, data in kept.items():
        files.create(path, data)
    return {path for path in reach if files.exists(path)}


def freed_paths(history: History, to_delete: ToDelete) -> set[str]:
    return {each.path for each in FileCount(history.files, TABLE, to_delete).freed().files}


@unhurried(40)
@given(st.randoms(use_true_random=False))
def test_a_tag_frees_what_it_alone_keeps(random: Random) -> None:
    with tempfile.TemporaryDirectory() as directory:
        history = random_history(Path(directory), random)
        for branch in history.lines:
            root = TABLE.root(branch)
            for name, tag in Lineage(history.files, root).tags():
                to_delete = ToDelete((root,), 0, (tag,), frozenset({root.tag(name)}))
                assert freed_paths(history, to_delete) == expected(history, to_delete, root)


@unhurried(40)
@given(st.randoms(use_true_random=False))
# A file that was moved up twice: the manifest that adds its first level is used by others too.
@example(Random(782))
def test_expired_snapshots_free_what_they_alone_keep(random: Random) -> None:
    with tempfile.TemporaryDirectory() as directory:
        history = random_history(Path(directory), random)
        for branch in history.lines:
            lineage = Lineage(history.files, TABLE.root(branch))
            ids = lineage.snapshot_ids()
            for end in range(1, len(ids)):
                to_delete = expiry(lineage, ids[:end])
                assert freed_paths(history, to_delete) == expected(history, to_delete, lineage.root)


@pytest.mark.parametrize("seed", [4, 7, 13, 18])
def test_a_tag_of_a_history_that_was_rolled_back_is_no_earlier_state(tmp_path: Path, seed: int) -> None:
    """Another engine rolled main from 12 back to 8, and a savepoint of 12 has its tag again."""
    history, root = History(tmp_path, Random(seed)), TABLE.root()
    for _ in range(8):
        history.commit()
    history.tag("five", 5)
    history.tag("eight", 8)
    history.fork("cut off", "eight")
    for _ in range(4):
        history.commit("cut off")
    cut_off = Lineage(history.files, TABLE.root("cut off")).snapshot(12)
    shutil.rmtree(tmp_path / TABLE.root("cut off").directory)
    history.files.delete(root.tag("eight"))
    history.files.create(root.tag("old"), marked_unless_proven(history.files, root, cut_off).to_json())
    for _ in range(12):
        history.commit()
    history.drop_snapshots(14)
    lineage = Lineage(history.files, root)
    ids = lineage.snapshot_ids()
    for end in range(1, len(ids)):
        to_delete = expiry(lineage, ids[:end])
        assert freed_paths(history, to_delete) == expected(history, to_delete, root)
    for name, tag in lineage.tags():
        to_delete = ToDelete((root,), 0, (tag,), frozenset({root.tag(name)}))
        assert freed_paths(history, to_delete) == expected(history, to_delete, root)


def expiry(lineage: Lineage, ids: list[int]) -> ToDelete:
    records: tuple[Snapshot, ...] = tuple(lineage.snapshot(each) for each in ids)
    paths = frozenset(lineage.root.snapshot(each) for each in ids)
    return ToDelete((lineage.root,), 0, records, paths, is_expiry=True)


def test_only_the_manifests_that_decide_are_read(tmp_path: Path) -> None:
    """However many snapshots, tags and manifests there are: those in which its neighbours differ from it."""
    history = History(tmp_path, Random(3))
    for number in range(1, 121):
        history.commit()
        if number % 10 == 0:
            history.tag(f"t{number}", number)
    history.drop_snapshots(115)
    root = TABLE.root()
    for name, neighbours in (("t60", ("t50", "t70")), ("t10", ("t20",)), ("t110", ("t100",))):
        tag = Lineage(history.files, root).tag(name)
        beside: list[Snapshot] = [Lineage(history.files, root).tag(each) for each in neighbours]
        if name == "t110":
            beside.append(Lineage(history.files, root).snapshot(115))
        states = [manifests(history, record) for record in (tag, *beside)]
        files = CountingFiles(history.files)
        freed = FileCount(files, TABLE, ToDelete((root,), 0, (tag,), frozenset({root.tag(name)}))).freed()
        read = {path for path in files.reads if path.startswith(f"{TABLE.manifests}/manifest-0")}
        # Nor any that deletes nothing and that another has too, unless somebody deletes a file of it.
        assert read <= {
            each for state in states for each in state if not all(each in other for other in states)
        }
        assert freed.data


def manifests(history: History, record: Snapshot) -> set[str]:
    return {TABLE.manifest(meta.file_name) for meta in data_manifests(history.files, TABLE, record)}


class AfterTags(Wrapped):
    """A store on which somebody does something, once, right after the tags of main were listed."""

    def __init__(self, inner: Files, deed: Callable[[], object]) -> None:
        super().__init__(inner)
        self._deed: Callable[[], object] | None = deed

    def entries(self, directory: str) -> list[DirectoryEntry]:
        listed = super().entries(directory)
        self._happen(directory)
        return listed

    def names(self, directory: str) -> list[str]:
        listed = super().names(directory)
        self._happen(directory)
        return listed

    def _happen(self, directory: str) -> None:
        deed = self._deed
        if deed is not None and directory == TABLE.root().tags:
            self._deed = None
            deed()


def test_a_savepoint_made_while_references_are_read_keeps_no_more_than_its_tag(tmp_path: Path) -> None:
    """Without its tag it would keep all that its manifests name."""
    history, root = History(tmp_path / "warehouse", Random(5)), TABLE.root()
    for _ in range(8):
        history.commit()
    history.tag("kept", 4)
    history.drop_snapshots(8)
    to_delete = ToDelete(
        (root,), 0, (Lineage(history.files, root).tag("kept"),), frozenset({root.tag("kept")})
    )
    alone, context = freed_paths(history, to_delete), context_on(history.warehouse)
    files = AfterTags(history.files, lambda: done(context, "create-savepoint", TABLE))
    assert {each.path for each in FileCount(files, TABLE, to_delete).freed().files} == alone
