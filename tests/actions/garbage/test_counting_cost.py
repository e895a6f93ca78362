"""What counting costs: memory an entry, reads of what is new alone, and many roots at once."""

from __future__ import annotations

import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.unreferenced import FileCount
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.garbage.test_unreferenced import expected, random_history
from tests.actions.histories import TABLE, History, needed_by_all
from tests.long import unhurried
from tests.storage.wrapped import Wrapped
from tests.table.lineages import CountingFiles

ENTRIES = 20_000


def of_tag(history: History, root: Root, name: str) -> ToDelete:
    return ToDelete((root,), 0, (Lineage(history.files, root).tag(name),), frozenset({root.tag(name)}))


def with_a_large_manifest(warehouse: Path, entries: int = ENTRIES) -> History:
    """Tag `kept`, of an expired snapshot, has one manifest of many entries; later ones have none of them."""
    history = History(warehouse, Random(1))
    line = history.lines[None]
    names = [f"data-5ec5d4cd-5a37-4a4b-9f5c-{number:012}-0.parquet" for number in range(entries)]
    manifest = history._manifest([(0, name, 0) for name in names])
    line.manifests.append((manifest, ()))
    history.commit()
    history.tag("kept", 1)
    line.manifests = []
    history.commit()
    history.drop_snapshots(2)
    return history


@pytest.mark.long
def test_an_entry_takes_some_hundred_bytes(tmp_path: Path) -> None:
    history = with_a_large_manifest(tmp_path)
    to_delete = of_tag(history, TABLE.root(), "kept")
    tracemalloc.start()
    try:
        # None of them is there, but a data file's size is known.
        assert len(FileCount(history.files, TABLE, to_delete).freed().data) == ENTRIES
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / ENTRIES < 1000


def test_of_what_comes_meanwhile_only_that_is_read(tmp_path: Path) -> None:
    history = History(tmp_path, Random(3))
    for number in range(1, 121):
        history.commit()
        if number % 10 == 0:
            history.tag(f"t{number}", number)
    history.drop_snapshots(115)
    files = CountingFiles(history.files)
    count = FileCount(files, TABLE, of_tag(history, TABLE.root(), "t60"))
    freed = count.freed()
    assert freed.data
    files.reads.clear()
    assert count.still_freed() == count.freed() == freed
    assert not metadata(files.reads)
    history.commit()
    history.tag("late", 121)
    history.fork("b", "t50")
    files.reads.clear()
    assert count.still_freed().files == freed.files
    # The branch begins as t50, which was read, and the tag is far from what decides.
    assert not [path for path in metadata(files.reads) if "/manifest/manifest-0" in path]
    root = TABLE.root()
    history.files.create(root.tag("close"), history.files.read(root.tag("t60")))
    assert count.still_freed().data == ()


def metadata(reads: list[str]) -> list[str]:
    """Lists and manifests."""
    return [path for path in reads if path.startswith(TABLE.manifests)]


@unhurried(30)
@given(st.randoms(use_true_random=False))
def test_a_count_that_follows_tells_what_a_new_one_does(random: Random) -> None:
    with tempfile.TemporaryDirectory() as directory:
        history = random_history(Path(directory), random)
        counts = {
            (root, name): FileCount(history.files, TABLE, of_tag(history, root, name))
            for root in map(TABLE.root, history.lines)
            for name in Lineage(history.files, root).tag_names()
        }
        before = {key: {each.path for each in count.freed().files} for key, count in counts.items()}
        touched: set[Root] = set()
        for number in range(random.randint(1, 4)):
            branch = random.choice([*history.lines])
            touched.add(TABLE.root(branch))
            history.commit(branch)
            history.tag(f"new{number}", random.choice(snapshots(history, branch)), branch)
            if random.random() < 0.3:
                history.drop_snapshots(random.choice(snapshots(history, branch)), branch)
        for (root, name), count in counts.items():
            # Looking where something happened is enough.
            among = random.choice([None, touched])
            still = {each.path for each in count.still_freed(among).files}
            assert still == before[root, name] - needed_without(history, count.to_delete)
            assert {each.path for each in count.freed().files} == expected(history, count.to_delete, root)


def snapshots(history: History, branch: str | None) -> list[int]:
    return Lineage(history.files, TABLE.root(branch)).snapshot_ids()


def needed_without(history: History, to_delete: ToDelete) -> set[str]:
    """What any other reference needs."""
    kept = {path: history.files.read(path) for path in to_delete.paths}
    for path in to_delete.paths:
        history.files.delete(path)
    needed = needed_by_all(history.files, TABLE)
    for path, data in kept.items():
        history.files.create(path, data)
    return needed


class Crowd(Wrapped):
    """A store that tells whether many listings and look-ups are asked of it at once.

    Each waits a moment for the others: on a busy machine threads start late.
    """

    MANY = 9

    def __init__(self, inner: Files) -> None:
        super().__init__(inner)
        self._asked = threading.Condition()
        self._now = self.most = 0

    def names(self, directory: str) -> list[str]:
        with self._counted_request():
            return super().names(directory)

    def exists(self, path: str) -> bool:
        with self._counted_request():
            return super().exists(path)

    @contextmanager
    def _counted_request(self) -> Iterator[None]:
        with self._asked:
            self._now += 1
            self.most = max(self.most, self._now)
            self._asked.notify_all()
            self._asked.wait_for(lambda: self.most >= self.MANY, timeout=0.05)
        try:
            yield
        finally:
            with self._asked:
                self._now -= 1


def test_many_roots_are_looked_at_at_once(tmp_path: Path) -> None:
    history = History(tmp_path, Random(3))
    for _ in range(4):
        history.commit()
    history.tag("t", 2)
    for number in range(40):
        history.fork(f"b{number}", "t")
    files = Crowd(history.files)
    history.tag("goes", 3)
    FileCount(files, TABLE, of_tag(history, TABLE.root(), "goes")).freed()
    assert files.most >= files.MANY
