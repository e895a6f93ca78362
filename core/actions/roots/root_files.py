"""List all files of a branch root, copy them to another root, remove them.

Schemas are written first and deleted last, because a root without a schema stops stock orphan cleaning of
the whole table. Snapshots are written oldest first and the hints after them, in the order of a writer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from paimark.core.actions.context import Progress, Remark
from paimark.core.actions.temp_files import meant_for
from paimark.core.errors import Corrupt, Refused
from paimark.core.storage.files import Files, Unanswered
from paimark.core.storage.paths import is_inside, walked
from paimark.core.table.layout import BARRIER_ID, HINTS, PARTS, SNAPSHOT_PREFIX, TAG_PREFIX, Root, numbered
from paimark.core.table.read_tags import is_file_of_read, is_permanent
from paimark.core.table.records import Tag

SCHEMAS, TAGS, SNAPSHOTS = "schema", "tag", "snapshot"

# A thread pool is worth starting for more than a few files; a batch of bytes is in memory at once.
_FEW = 32
_IN_FLIGHT = 16
_BATCH = 512


def root_files(files: Files, root: Root) -> dict[str, int]:
    """Path below the root (`tag/tag-v1`) and size of every file, in the order to write them.

    Half-written files are left out.
    """
    sizes: dict[str, int] = {}
    for part in PARTS:
        of_part = dict(_whole_files(files, root, part))
        order = _snapshot_order(of_part) if part == SNAPSHOTS else sorted(of_part)
        sizes.update((name, of_part[name]) for name in order)
    return sizes


def snapshot_ids(files: Files, root: Root) -> list[int]:
    """The ids of the snapshots in a root, ascending; empty if the root is gone."""
    return numbered(files.names(root.snapshots), SNAPSHOT_PREFIX)


def part_of(names: Iterable[str], part: str) -> list[str]:
    """The paths in one part of a root."""
    return [name for name in names if name.startswith(f"{part}/")]


def copy_files(
    files: Files,
    source: Root,
    target: Root,
    names: Sequence[str],
    changed: Mapping[str, bytes] | None = None,
    *,
    replacing: bool = False,
) -> None:
    """Copy files of one root to another, byte for byte except those in `changed`.

    A file that was deleted after the listing is skipped. Raises `Refused` when a different file has one of
    the names, unless `replacing`.
    """
    changed = changed or {}
    put = partial(_put, files, replacing)
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        contents = files.read_many(f"{source.directory}/{name}" for name in batch)
        pairs = [
            (f"{target.directory}/{name}", changed.get(name, data))
            for name, data in zip(batch, contents, strict=True)
            if data is not None
        ]
        _each(put, pairs)


def same_files(files: Files, source: Root, target: Root, names: Sequence[str]) -> Iterator[str]:
    """The names of files with the same bytes in both roots."""
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        left = files.read_many(f"{source.directory}/{name}" for name in batch)
        right = files.read_many(f"{target.directory}/{name}" for name in batch)
        for name, mine, other in zip(batch, left, right, strict=True):
            if mine is not None and mine == other:
                yield name


class Swap(NamedTuple):
    """A file that differs in the copy of a root: `name` below the root, its bytes here and there."""

    name: str
    source: bytes
    target: bytes


def remove_copied(
    files: Files, source: Root, target: Root, names: Sequence[str], swap: Swap | None = None
) -> list[str]:
    """Delete the files of a root that another has byte for byte; return the names of those that differ.

    Schemas go last. Raises `Refused` for a differing snapshot or schema, because neither is ever rewritten.
    """
    held = set(same_files(files, source, target, names))
    if swap is not None and swap.name in names:
        pair = [f"{root.directory}/{swap.name}" for root in (source, target)]
        if list(files.read_many(pair)) == [swap.source, swap.target]:
            held.add(swap.name)
    different = [name for name in names if name not in held]
    for name in different:
        part = name.partition("/")[0]
        if part in (SCHEMAS, SNAPSHOTS) and numbered([name.rpartition("/")[2]], f"{part}-"):
            raise Refused(
                f"{source.directory}/{name} and its copy of {target.label} differ",
                "Look at both before you try again: nothing of it was removed.",
            )
    schemas = part_of(names, SCHEMAS)
    delete_files(files, source, [name for name in names if name in held and name not in schemas])
    if not different:
        delete_files(files, source, [name for name in schemas if name in held])
    return different


def has_more(files: Files, root: Root, head: int, target: Root, known: Collection[str] | None = None) -> bool:
    """Whether a root has a commit after snapshot `head`, or a commit or a tag that `target` lacks.

    With `known`, tags of these names existed before, and do not count; and `target` may have been rolled back
    since, so that other commits of the same ids say nothing about the root.
    """
    if _has_later(files, root, head):
        return True
    # A job may have rolled the root back, and committed: then the ids are not above the head.
    if known is None and not _is_same_where_shared(files, root, target):
        return True
    return not set(known or ()).issuperset(_tags_besides(files, root, target))


def _is_same_where_shared(files: Files, one: Root, other: Root) -> bool:
    """Whether the snapshots with ids that both roots have are the same."""
    shared = sorted(set(snapshot_ids(files, one)).intersection(snapshot_ids(files, other)))
    names = [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{number}" for number in shared]
    return len(list(same_files(files, one, other, names))) == len(names)


def _has_later(files: Files, root: Root, head: int) -> bool:
    return any(number > head for number in snapshot_ids(files, root))


def _tags_besides(files: Files, root: Root, target: Root) -> list[str]:
    """The names of the tags of a root that another lacks, without those of statements that read."""
    held = set(files.names(target.tags))
    there = (name for name in files.names(root.tags) if not is_file_of_read(name))
    names = [name for name in there if name not in held and meant_for(name) is None]
    return [name.removeprefix(TAG_PREFIX) for name in names]


def _are_engines(files: Files, root: Root, names: Sequence[str]) -> bool:
    """Whether engines delete all these tags by themselves: then they were in the root that was copied."""
    paths = [root.tag(name) for name in names]
    try:
        return not any(
            data is not None and is_permanent(name, Tag.from_json(data, path))
            for name, path, data in zip(names, paths, files.read_many(paths), strict=True)
        )
    except Corrupt:
        return False


def delete_files(files: Files, root: Root, names: Sequence[str]) -> None:
    """Delete these files of a root; a small number in the given order."""
    _each(files.delete, [f"{root.directory}/{name}" for name in names])


def remove_root(files: Files, root: Root) -> None:
    """Remove a branch root with all its files, also half-written ones, and links themselves.

    The removal mark goes last. `unwritable_paths` stay.
    """
    if root.branch is None:
        raise ValueError("the table directory is never removed")
    there = filter(is_inside, paths_below(files, root.directory))
    paths = sorted(there, key=lambda path: path.startswith(f"{root.schemas}/"))
    mark = root.snapshot(BARRIER_ID)
    last = [root.earliest_hint, root.latest_hint, mark] if mark in paths else []
    _each(files.delete, [path for path in paths if path not in last])
    for path in last:
        if path in paths:
            files.delete(path)
    files.prune(root.directory)


def take_back_copy(
    files: Files,
    copy: Root,
    source: Root,
    progress: Progress,
    goes: Callable[[bool], bool] = bool,
) -> None:
    """Remove an unpublished copy of a root, unless another process has written to it.

    `goes` decides; its argument says whether the source has everything that the copy has.
    """
    is_same = _is_same_where_shared(files, source, copy)
    is_all = not _has_later(files, copy, max(snapshot_ids(files, source), default=0))
    is_less = is_same and is_all and _are_engines(files, copy, _tags_besides(files, copy, source))
    if goes(is_less):
        remove_root(files, copy)
    else:
        progress(Remark(f"branch {copy.label} stays: it has commits or tags that {source.label} lacks"))


def _put(files: Files, replacing: bool, pair: tuple[str, bytes]) -> None:
    path, data = pair
    if files.create(path, data):
        return
    [there] = files.read_many([path])
    if there == data:
        return
    if not replacing:
        raise Refused(f"Somebody else has just written {path}", "Look at it before you try again.")
    files.replace(path, data)


def _snapshot_order(names: Iterable[str]) -> list[str]:
    """Snapshots by id, everything else after them, hints last."""
    plain = {name.rpartition("/")[2]: name for name in names}
    snapshots = [f"{SNAPSHOT_PREFIX}{number}" for number in numbered(plain, SNAPSHOT_PREFIX)]
    hints = [name for name in HINTS if name in plain]
    others = sorted(plain.keys() - {*snapshots, *hints})
    return [plain[name] for name in (*snapshots, *others, *hints)]


def _whole_files(files: Files, root: Root, part: str) -> Iterator[tuple[str, int]]:
    for listed in walked(files, f"{root.directory}/{part}"):
        directory = listed.directory.removeprefix(f"{root.directory}/")
        for each in listed.files:
            # No change that would have to move an unwritable name begins; one under way leaves it there.
            # The target of a link is not part of the root.
            if is_inside(each.name) and not each.is_directory and meant_for(each.name) is None:
                yield f"{directory}/{each.name}", each.size


def paths_below(files: Files, directory: str) -> Iterator[str]:
    """The paths of `sizes_below`."""
    return (path for path, _ in sizes_below(files, directory))


def sizes_below(files: Files, directory: str) -> Iterator[tuple[str, int]]:
    """All paths of files below a directory with their sizes, also half-written ones."""
    for listed in walked(files, directory):
        yield from ((f"{listed.directory}/{each.name}", each.size) for each in listed.files)


def unwritable_paths(files: Files, root: Root) -> list[str]:
    """What other programs made in a root under names that can't be written: it can't be moved or removed."""
    whole = [root.directory] if root.branch else [f"{root.directory}/{part}" for part in PARTS]
    return [path for each in whole for path in paths_below(files, each) if not is_inside(path)]


def _each(do: Callable[..., None], items: Sequence[object]) -> None:
    """Call `do` in parallel, unless there are few.

    Raises `Unanswered` before any other error or interrupt.
    """
    if len(items) < _FEW:
        for item in items:
            do(item)
        return
    calls: list[Future[None]] = []
    try:
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            calls += (pool.submit(do, item) for item in items)
            try:
                for call in calls:
                    call.result()
            finally:
                for call in calls:
                    call.cancel()
    except BaseException as error:
        errors = (call.exception() for call in calls if call.done() and not call.cancelled())
        if unanswered := next((each for each in errors if isinstance(each, Unanswered)), None):
            raise unanswered from error
        raise
