"""`rollback --truncate`: main ends at an earlier snapshot again; the later ones become a branch.

The branch is written completely first. Then main's later snapshots are deleted, the newest first: every state
in between is one that main had. If another process commits on one of them meanwhile, main stays there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimark.core.actions.context import Progress
from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.merge.fast_forward import (
    append_between,
    has_appended,
    newest_id,
    point_at_newest,
    points_of,
)
from paimark.core.actions.roots.root_files import (
    SCHEMAS,
    SNAPSHOTS,
    TAGS,
    copy_files,
    delete_files,
    part_of,
    root_files,
    same_files,
    snapshot_ids,
    take_back_copy,
)
from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.commits import Landed
from paimark.core.table.definition.retention import with_retention
from paimark.core.table.layout import (
    SCHEMA_PREFIX,
    SNAPSHOT_PREFIX,
    TAG_PREFIX,
    Root,
    TablePath,
    truncation_tag,
)
from paimark.core.table.lineage.edits import HistoryEdit
from paimark.core.table.lineage.forks import Side, find_forks
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, root_exists
from paimark.core.table.manifests.chain import break_between
from paimark.core.table.records import Point, Snapshot, is_same_commit


@dataclass(frozen=True)
class Cut:
    """Main is to end at snapshot `keep` instead of `head`; `archive` is the branch that gets the rest."""

    main: Root
    archive: Root
    last: Point
    newest: Point

    @property
    def keep(self) -> int:
        return self.last.id

    @property
    def head(self) -> int:
        return self.newest.id

    @property
    def later(self) -> range:
        return range(self.keep + 1, self.head + 1)


def cut_of(table: TablePath, edit: HistoryEdit) -> Cut:
    """The cut that an operation, or a journal, describes."""
    return Cut(table.root(edit.root), table.root(edit.kept_as), edit.after, edit.before)


def later_tags(files: Files, root: Root, after: int, archive: Root | None = None) -> list[str]:
    """The paths below a root of its tags after a snapshot; with `archive` only tags of commits that it has.

    Raises `Corrupt`.
    """
    held = None if archive is None else Side(files, archive)
    return [
        f"tag/{TAG_PREFIX}{name}"
        for name, tag in sorted(Side(files, root).tags.items())
        if tag.id > after and (held is None or _holds(held, tag))
    ]


def stranded(files: Files, main: Root, keep: Snapshot) -> list[str]:
    """The branches that depend on a later snapshot of main, and do not have the one to keep."""
    others = [root for root in all_roots(files, main.table) if root != main]
    forks = find_forks(files, Side(files, main), others)
    later = [
        Side(files, root)
        for root, fork in zip(others, forks, strict=True)
        if fork.snapshot_id is None or fork.snapshot_id > keep.id
    ]
    holding = each_of(lambda side: _holds(side, keep), later)
    return [side.root.label for side, holds in zip(later, holding, strict=True) if not holds]


def archive_rest(files: Files, cut: Cut) -> None:
    """Write the branch, and pin the snapshot that main shares with it. Existing files are skipped."""
    names = part_of(root_files(files, cut.main), SCHEMAS)
    newest = Lineage(files, cut.main).schema_ids()[-1]
    path = f"{SCHEMAS}/{SCHEMA_PREFIX}{newest}"
    off = with_retention(files.read(cut.main.schema(newest)), path)
    copy_files(files, cut.main, cut.archive, names, {path: off})
    copy_files(files, cut.main, cut.archive, later_tags(files, cut.main, cut.keep))
    snapshots = [f"snapshot/{SNAPSHOT_PREFIX}{each}" for each in (cut.keep, *cut.later)]
    copy_files(files, cut.main, cut.archive, snapshots)
    files.create(cut.archive.earliest_hint, str(cut.keep).encode())
    files.create(cut.archive.latest_hint, str(cut.head).encode())
    pin = truncation_tag(cut.archive.label, cut.keep)
    files.create(cut.main.tag(pin), files.read(cut.main.snapshot(cut.keep)))


def forget_archive(files: Files, cut: Cut, progress: Progress) -> None:
    """Remove the branch and the pin, because main keeps all its snapshots."""
    if forget_branch(files, cut, progress):
        forget_pin(files, cut)


def forget_branch(files: Files, cut: Cut, progress: Progress) -> bool:
    """Remove the branch but not the pin; return whether the branch is gone."""
    clean(files, cut)
    take_back_copy(files, cut.archive, cut.main, progress)
    return not root_exists(files, cut.archive)


def forget_pin(files: Files, cut: Cut) -> None:
    files.delete(cut.main.tag(truncation_tag(cut.archive.label, cut.keep)))


def cut_off(files: Files, cut: Cut) -> int:
    """Remove from main the snapshots that the branch has; return main's newest one.

    It is later than `keep` if another process committed on a later one meanwhile. Idempotent.
    """
    if has_gone_on(files, cut):
        # A process that died may have lowered the hint before the others committed.
        _follow_newest(files, cut.main, cut.keep)
        if not is_put_back(files, cut):
            _refuse_merges(files, cut)
        return cut.head
    _restore_expired(files, cut)
    if not files.exists(cut.main.snapshot(cut.keep)):
        # Others committed while it was half done, and the snapshot `keep` has expired: main can't end there.
        _follow_newest(files, cut.main, cut.keep)
        _refuse_merges(files, cut)
        return cut.head
    # Replaced before they go: engines fail on a hint to a missing snapshot, not on one that is too low.
    files.replace(cut.main.latest_hint, str(cut.keep).encode())
    reached = _remove_later(files, cut)
    _follow_newest(files, cut.main, cut.keep)
    going = later_tags(files, cut.main, reached, cut.archive)
    # Again: an engine may have moved a tag since the branch got it.
    copy_files(files, cut.main, cut.archive, going, replacing=True)
    delete_files(files, cut.main, going)
    merge_history.move(files, cut.main, cut.archive, reached)
    return reached


def will_reach(files: Files, cut: Cut) -> int:
    """The snapshot at which `cut_off` would let main end, as main is now."""
    ids = snapshot_ids(files, cut.main)
    if has_gone_on(files, cut) or (ids and ids[0] > cut.keep):
        return cut.head
    ours = _later_of_ours(files, cut)
    return next((each - 1 for each in ids if each > cut.keep and each not in ours), cut.keep)


def will_go(files: Files, cut: Cut) -> list[int]:
    """The ids of main's snapshots that `cut_off` would delete, as main is now."""
    reached = will_reach(files, cut)
    return sorted(each for each in _later_of_ours(files, cut) if each > reached)


def _later_of_ours(files: Files, cut: Cut) -> set[int]:
    """The ids of main's later snapshots that the branch has, too."""
    names = {f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{each}": each for each in snapshot_ids(files, cut.main)}
    later = [name for name, each in names.items() if each > cut.keep]
    return {names[each] for each in same_files(files, cut.main, cut.archive, later)}


def stay_without_archive(files: Files, cut: Cut) -> int:
    """Leave main as it is, because another engine deleted the branch; return main's newest snapshot.

    The snapshots that main has already lost are lost for good. Idempotent.
    """
    reached = min(newest_id(files, cut.main), cut.head)
    _follow_newest(files, cut.main, 0)
    forget_pin(files, cut)
    merge_history.move(files, cut.main, cut.archive, reached)
    return reached


def _follow_newest(files: Files, main: Root, after: int) -> None:
    """Raise main's hint to its newest snapshot, if that is later than `after`.

    Whoever committed meanwhile may have raised the hint before it was lowered. Once the snapshot of a low
    hint has expired, engines can neither read the table nor write to it.
    """
    newest = newest_id(files, main)
    while newest > after:
        point_at_newest(files, main, newest)
        pointed, newest = newest, newest_id(files, main)
        if newest == pointed:
            return


def _refuse_merges(files: Files, cut: Cut) -> None:
    """Record that main may have some of the branch's commits: a merge could bring their rows in twice."""
    # Not read from the branch: an engine may have deleted a part of it.
    event = merge_history.MergeEvent(
        kind="merge",
        root=cut.main.branch,
        main=Point(id=cut.head, delta_manifest_list=""),
        branch=cut.archive.label,
        head=cut.newest,
        base_head=cut.last,
        base_main=cut.last,
    )
    merge_history.record(files, cut.main.table, event)


def _restore_expired(files: Files, cut: Cut) -> None:
    """Restore the snapshot at which main is to end, if it expired after the cut was decided.

    The pin has kept its files. If main has other snapshots by now, it need not end there any more.
    """
    ids = snapshot_ids(files, cut.main)
    names = [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{number}" for number in ids]
    if cut.keep in ids or len(list(same_files(files, cut.main, cut.archive, names))) < len(ids):
        return
    if files.create(cut.main.snapshot(cut.keep), files.read(cut.archive.snapshot(cut.keep))):
        files.replace(cut.main.earliest_hint, str(cut.keep).encode())


def has_gone_on(files: Files, cut: Cut) -> bool:
    """Whether others committed after the head meanwhile, so that nothing is to be cut off.

    The snapshot before theirs may have expired: then it is unknown whether that was the head.
    """
    ids = snapshot_ids(files, cut.main)
    if not ids or ids[-1] <= cut.head:
        return False
    return is_put_back(files, cut) or not any(number in cut.later for number in ids)


def put_back_tags(files: Files, cut: Cut) -> None:
    """Copy the tags of the later snapshots to main, before the snapshots."""
    copy_files(files, cut.archive, cut.main, later_tags(files, cut.archive, cut.keep))


def is_put_back(files: Files, cut: Cut) -> bool:
    """Whether main has any of the later snapshots: the first may have expired since."""
    return has_appended(files, cut.main, cut.keep, later_points(files, cut)) is Landed.YES


def later_points(files: Files, cut: Cut) -> list[Point]:
    """The later snapshots, as the branch has them."""
    return points_of(files, cut.archive, cut.keep, cut.head)


def put_back(files: Files, cut: Cut, later: Sequence[Point]) -> int:
    """Append the other snapshots to main until a foreign commit is there; return main's newest of them.

    If main has gone on and all of them have expired there, that is the snapshot of the cut.
    """
    last = append_between(files, cut.archive, cut.main, later)
    if last is None:
        # Main may depend on any of them: their tags stay.
        return cut.keep
    reached = last.snapshot.id
    merge_history.move(files, cut.archive, cut.main, cut.keep, until=reached)
    if reached == cut.head:
        point_at_newest(files, cut.main, cut.head)
    else:
        delete_files(files, cut.main, later_tags(files, cut.main, reached, cut.archive))
    return reached


def take_tags_back(files: Files, cut: Cut) -> None:
    """Remove the tags of the later snapshots from main, because the snapshots did not come back."""
    delete_files(files, cut.main, later_tags(files, cut.main, cut.keep, cut.archive))
    clean(files, cut)


def clean(files: Files, cut: Cut) -> None:
    """Remove half-written files that a killed writer of this cut left."""
    snapshots = {f"{SNAPSHOT_PREFIX}{each}" for each in cut.later}
    delete_temporaries(files, cut.main.snapshots, snapshots)
    pin = f"{TAG_PREFIX}{truncation_tag(cut.archive.label, cut.keep)}"
    tags = {name.rpartition("/")[2] for name in part_of(root_files(files, cut.archive), TAGS)}
    for directory in (cut.main.tags, cut.archive.tags):
        delete_temporaries(files, directory, {pin, *tags})


def _holds(side: Side, commit: Snapshot) -> bool:
    record = side.record(commit.id)
    return record is not None and is_same_commit(record, commit)


def _remove_later(files: Files, cut: Cut) -> int:
    main, archive = cut.main, cut.archive
    for number in reversed(cut.later):
        there, copy = files.read_many([main.snapshot(number), archive.snapshot(number)])
        if files.exists(main.snapshot(number + 1)):
            # Another process committed on this snapshot, so it must exist.
            if there is None and copy is not None:
                if not _stands_on(files, cut, number):
                    return cut.keep
                files.create(main.snapshot(number), copy)
            return number
        if there is not None and there == copy:
            files.delete(main.snapshot(number))
    later = [each for each in snapshot_ids(files, main) if each > cut.keep]
    if not later or later[0] == cut.keep + 1:
        return cut.keep
    if not _stands_on(files, cut, later[0] - 1):
        return cut.keep
    # Another process committed on a snapshot while it was being deleted.
    copy_files(
        files, archive, main, [f"snapshot/{SNAPSHOT_PREFIX}{each}" for each in range(cut.keep + 1, later[0])]
    )
    return later[0] - 1


def _stands_on(files: Files, cut: Cut, number: int) -> bool:
    """Whether main's next snapshot was built on the archive's of this id, or that is unknown.

    If not, others went on from the snapshot of the cut, and theirs of this id has expired since.
    """
    paths = (cut.archive.snapshot(number), cut.main.snapshot(number + 1))
    [copy, after] = [
        None if data is None else Snapshot.from_json(data, path)
        for path, data in zip(paths, files.read_many(paths), strict=True)
    ]
    return copy is None or after is None or break_between(files, cut.main.table, copy, after) is None
