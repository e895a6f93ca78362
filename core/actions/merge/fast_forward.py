"""Main goes on along the branch: its later snapshots, tags and schemas are appended to main's, byte for byte.

Every step is idempotent. Before main has the first of the snapshots, everything but the schemas can be taken
back; after it, every further snapshot is a state that the branch had, and the fast-forward is finished.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.divergence import Divergence
from paimark.core.actions.roots.guard_tags import guard, unguard
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot
from paimark.core.actions.roots.root_files import snapshot_ids
from paimark.core.errors import Corrupt, FileMissing, Refused
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.commits import Landed, is_unchanged
from paimark.core.table.layout import Root, merge_tag
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.chain import marked_unless_proven, without_mark
from paimark.core.table.records import Point, Snapshot, is_apart, is_same_commit, point_of


def new_tags(files: Files, divergence: Divergence) -> tuple[dict[str, Snapshot], list[str]]:
    """The branch's tags after the base that main lacks, and the names that main has at another snapshot."""
    main, branch = Side(files, divergence.start.root), Side(files, divergence.branch.root)
    later = {
        name: tag
        for name, tag in branch.tags.items()
        if divergence.base.id < tag.id <= divergence.branch.snapshot.id
    }
    clashes = [name for name in later if name in main.tags and main.tags[name].id != later[name].id]
    return {name: tag for name, tag in later.items() if name not in main.tags}, clashes


def remove_schemas(files: Files, root: Root, new: list[tuple[int, bytes]], head: int) -> None:
    """Take the schemas back if they are the newest and nothing was committed after snapshot `head`."""
    if any(number > head for number in Lineage(files, root).snapshot_ids()):
        return
    for number, data in reversed(new):
        path = root.schema(number)
        if files.exists(root.schema(number + 1)):
            return
        try:
            if files.read(path) != data:
                return
        except FileMissing:
            continue
        files.delete(path)


def append_snapshots(
    context: Context, divergence: Divergence, points: Sequence[Point], progress: Progress
) -> Snapshot:
    """Append the branch's snapshots `points` to main's; return the last that main then has of them.

    It is older than the branch's head if another process committed to main in between, or deleted the branch.
    Raises `Refused` if that happened before the first snapshot.
    """
    files, main, branch = context.files, divergence.start.root, divergence.branch.root
    head = divergence.branch.snapshot
    pin = merge_tag(branch.label, head.id)
    files.create(main.tag(pin), divergence.branch.data)
    guard(files, main, pin)
    last = append_between(files, branch, main, points)
    if last is None:
        raise _refused(files, divergence, points[0].id)
    if last.snapshot.id < head.id:
        # Pin the branch's snapshots that main has, and no others.
        reached = merge_tag(branch.label, last.snapshot.id)
        files.create(main.tag(reached), last.data)
        guard(files, main, reached)
        _delete_pin(files, main, pin, divergence.branch.data)
    else:
        point_at_newest(files, main, last.snapshot.id)
    progress(f"appended snapshots {points[0].id} to {last.snapshot.id}")
    return last.snapshot


def _refused(files: Files, divergence: Divergence, first: int) -> Refused:
    main, branch = divergence.start.root, divergence.branch.root
    if files.exists(main.snapshot(first)):
        reason = f"main of {main.table.full_name} moved: it has a snapshot {first} of its own"
    else:
        reason = f"Branch {branch.label} of {main.table.full_name} has lost its snapshot {first}"
    return Refused(reason, "Make a new plan.")


def _delete_pin(files: Files, main: Root, name: str, data: bytes) -> None:
    files.delete(main.tag(name))
    unguard(files, main, name, data)


def is_pinned(files: Files, main: Root, branch: str, head: Snapshot) -> bool:
    """Whether main has a whole pin of this head of the branch."""
    path = main.tag(merge_tag(branch, head.id))
    there = _snapshot_in(read_if_there(files, path), path)
    return there is not None and is_same_commit(there, head)


def take_back_pin(files: Files, main: Root, branch: str, head: Snapshot, *, stays: bool) -> None:
    """After a fast-forward that added nothing to main: take its pin back. Idempotent.

    If the pin `stays`, in case main has some of the snapshots, it is marked: it does not prove a common past.
    A pin of another snapshot with this id belongs to an earlier merge.
    """
    name = merge_tag(branch, head.id)
    pin = read_if_there(files, main.tag(name))
    there = _snapshot_in(pin, main.tag(name))
    if pin is None or (there is not None and not is_same_commit(there, head)):
        return
    if stays:
        _mark(files, main, name, head)
    else:
        _delete_pin(files, main, name, pin)


def _mark(files: Files, main: Root, name: str, tag: Snapshot) -> None:
    marked = marked_unless_proven(files, main, tag)
    if is_apart(marked):
        files.replace(main.tag(name), marked.to_json())
        guard(files, main, name)


def _snapshot_in(tag: bytes | None, path: str) -> Snapshot | None:
    """The snapshot that a tag holds; None without a tag, and if a process that died has half written it."""
    try:
        return None if tag is None else Snapshot.from_json(tag, path)
    except Corrupt:
        return None


def points_of(files: Files, root: Root, after: int, until: int) -> list[Point]:
    """The snapshots of a root after `after`, without those that are gone. Raises `Corrupt`."""
    paths = [root.snapshot(number) for number in range(after + 1, until + 1)]
    return [
        point_of(Snapshot.from_json(data, path))
        for path, data in zip(paths, files.read_many(paths), strict=True)
        if data is not None
    ]


def has_appended(files: Files, target: Root, after: int, points: Sequence[Point]) -> Landed:
    """Whether the target has any of these snapshots after `after`; the first may have expired since.

    UNKNOWN if the target has gone on and the first is missing: it may have been a copy, or a foreign commit.
    """
    there = {each.id: each for each in points_of(files, target, after, points[-1].id if points else after)}
    if any(there.get(point.id) == point for point in points):
        return Landed.YES
    is_passed = not files.exists(target.snapshot(after + 1)) and newest_id(files, target) > after
    return Landed.UNKNOWN if is_passed else Landed.NO


def newest_id(files: Files, root: Root) -> int:
    """The newest id among the snapshot files, ignoring the hint; 0 if there is none."""
    return max(snapshot_ids(files, root), default=0)


def point_at_newest(files: Files, root: Root, number: int) -> None:
    """Raise the hint to a snapshot, unless a later one was committed: a hint is never lowered."""
    if newest_id(files, root) == number:
        files.replace(root.latest_hint, str(number).encode())


def append_between(
    files: Files, source: Root, target: Root, points: Sequence[Point]
) -> ChosenSnapshot | None:
    """Append a root's snapshots to another's until a foreign commit is there; return the last one appended.

    Each is checked again before the next: another engine may have replaced it. A snapshot whose id the target
    has passed is not written again: it, or a foreign one, has expired there. If the source is gone, or is
    another root of its name, the target keeps what it has.
    """
    last: ChosenSnapshot | None = None
    for point in points:
        number = point.id
        before, there = files.read_many([target.snapshot(number - 1), target.snapshot(number)])
        if before is None and there is None:
            # The newest snapshot never expires, so the target has passed this id.
            continue
        [data] = files.read_many([source.snapshot(number)])
        if data is None or not _is_at(point, data, source.snapshot(number)):
            data = there
        if data is None or not _is_at(point, data, target.snapshot(number)):
            break
        if files.create(target.snapshot(number), data):
            is_there = is_unchanged(files, target, number, data)
        else:
            is_there = files.read(target.snapshot(number)) == data
        if not is_there:
            break
        last = ChosenSnapshot(target, Snapshot.from_json(data, target.snapshot(number)), data)
    return last


def will_reach(files: Files, source: Root, target: Root, points: Sequence[Point]) -> int:
    """The id of the last of these snapshots that `append_between` would give the target; 0 for none."""
    last, paths = 0, [root.snapshot(each.id) for each in points for root in (source, target)]
    contents = [*files.read_many(paths)]
    for point, copy, there in zip(points, contents[::2], contents[1::2], strict=True):
        data = copy if there is None else there
        if data is None or not _is_at(point, data, target.snapshot(point.id)):
            break
        last = point.id
    return last


def _is_at(point: Point, data: bytes, path: str) -> bool:
    return point.is_of(Snapshot.from_json(data, path))


def tags_to_copy(files: Files, divergence: Divergence, points: Sequence[Point]) -> list[str]:
    """The branch's tags of these snapshots that main lacks; none if another branch has the name by now."""
    tags, _ = new_tags(files, divergence)
    return [name for name, tag in tags.items() if any(point.is_of(tag) for point in points)]


def copy_tags(files: Files, divergence: Divergence, names: Sequence[str], progress: Progress) -> None:
    """Copy these tags of the branch to main, before main has their snapshots or after it. Idempotent.

    Before, so that a later expiry of main spares their files even if the merge dies in between: the consumer
    that holds expiry back may expire.
    """
    main, paths = divergence.start.root, [divergence.branch.root.tag(name) for name in names]
    for name, data in zip(names, files.read_many(paths), strict=True):
        if data is not None and files.create(main.tag(name), data):
            progress(f"copied tag {name}")
        guard(files, main, name)


def unmark_tags(files: Files, main: Root, points: Sequence[Point]) -> None:
    """Let main's tags of these snapshots prove a common past: they were made before main had them."""
    for name, tag in Side(files, main).tags.items():
        if is_apart(tag) and any(point.is_of(tag) for point in points):
            files.replace(main.tag(name), without_mark(tag).to_json())
            guard(files, main, name)


def take_back_tags(
    files: Files, main: Root, names: Sequence[str], points: Sequence[Point], *, stay: bool
) -> None:
    """Remove the copies of tags whose snapshots `points` did not come to main. Idempotent.

    If they `stay`, in case nothing else has or holds the snapshots, they are marked, as the pin is.
    """
    for name, data in zip(names, files.read_many(map(main.tag, names)), strict=True):
        tag = _snapshot_in(data, main.tag(name))
        if data is None or (tag is not None and not any(point.is_of(tag) for point in points)):
            continue
        if tag is None or not stay:
            _delete_pin(files, main, name, data)
        else:
            _mark(files, main, name, tag)
