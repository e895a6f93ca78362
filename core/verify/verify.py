"""Compare the files that a table's versions need with those in the store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from paimark.core.actions.branches.create_branch import root_being_made
from paimark.core.actions.context import Context
from paimark.core.actions.roots.barrier import has_barrier, stray_commits
from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files
from paimark.core.storage.paths import is_inside
from paimark.core.table.layout import BARRIER_ID, TablePath
from paimark.core.table.lineage.holes import Hole, holes
from paimark.core.table.lineage.lost_newest import LostNewest, lost_newest
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests import chain
from paimark.core.table.manifests.iceberg import IcebergFiles
from paimark.core.table.operations import Operation, read_operations
from paimark.core.table.records import is_apart
from paimark.core.verify.history import expired_elsewhere, lost_commits, overwritten_commits, summed_up
from paimark.core.verify.needed_files import needs_of
from paimark.core.verify.needed_paths import Located, SampleFile, iceberg_files, locate
from paimark.core.verify.orphans import (
    Orphans,
    control_directories,
    data_directories,
    is_known,
    left_over,
    owner_of,
)
from paimark.core.verify.report import ProblemCause, Problems, VerifyReport
from paimark.core.verify.versions import Versions, versions

DAY_MS = 24 * 3600 * 1000


def verify(
    context: Context,
    table: TablePath,
    *,
    read_data: float = 0.0,
    older_than: int = DAY_MS,
    progress: Callable[[str], None] = lambda line: None,
) -> VerifyReport:
    """Check that every file that any version needs exists, and find the files that none needs.

    `read_data` is the share of data files to read (0.05 is every twentieth, always the same ones);
    `older_than`, in milliseconds, is the age from which no running writer can be about to commit an orphan.
    It only reads, and can run beside writers: files of versions that expired meanwhile are not reported.

    Raises `NotFound` if there is no such table, `Corrupt` if its roots can't be determined, `Unavailable`.
    """
    files = context.files
    there = versions(files, table)
    needs = needs_of(files, table, there, progress)
    located = locate(files, needs, partial(_is_sampled, share=read_data))
    places = (*located.files.values(), located.anywhere)
    number = sum(map(len, places))
    size = sum(each.size or 0 for files_there in places for each in files_there.values())
    log, unreadable = _log(files, table)
    elsewhere = expired_elsewhere(there, log)
    problems = Problems(files, needs, elsewhere)
    orphans = Orphans(table, context.clock(), older_than)
    problems.add_damaged(there.damaged | needs.damaged)
    problems.add_missing_schemas(located, partial(root_being_made, context, table))
    for sentence in sorted(located.unplaced):
        problems.add("damaged", table.directory, sentence, ())
    iceberg, unread_iceberg = iceberg_files(files, table, located)
    _compare(files, table, there, located, problems, orphans, iceberg)
    lost = {each.path: each for each in overwritten_commits(files, table, there, log)}
    lost |= {each.path: each for each in lost_commits(files, table, there, needs)}
    for path, commit in sorted(lost.items()):
        problems.add("lost", path, commit.detail, ())
    gaps = _holes(files, table, there)
    lost_snapshots: list[LostNewest | Hole] = [*_lost_newest(files, there)]
    lost_snapshots += [each for each in gaps if not each.is_cut_off]
    for each in lost_snapshots:
        problems.add("missing", each.path, each.reason, ())
    for cause, path, detail in barrier_problems(files, table):
        problems.add(cause, path, detail, ())
    unread = _read(files, located.sample, problems, progress) if located.sample else 0
    return VerifyReport(
        table=table.full_name,
        roots=len(there.roots),
        versions=len(there.all),
        files=number,
        bytes=size,
        sampled=len(located.sample) - unread,
        unread=unread,
        unseen=located.unseen,
        problems=tuple(problems.listed),
        problem_count=problems.count,
        lost_count=problems.lost,
        orphans=tuple(orphans.old),
        orphan_count=orphans.old_count,
        orphan_bytes=orphans.old_bytes,
        young=tuple(orphans.young),
        young_count=orphans.young_count,
        leftovers=tuple(orphans.leftovers),
        tells_orphans=needs.is_whole
        and not (there.damaged or located.unplaced or unread_iceberg or lost_snapshots),
        warnings=(*_warnings(files, there), *_of_holes(gaps), *unreadable, *unread_iceberg),
        expired=tuple(summed_up(there, problems.lost_files, elsewhere, main_root(files, table))),
    )


def _log(files: Files, table: TablePath) -> tuple[list[Operation], tuple[str, ...]]:
    """The operation log; empty, with a warning, if it can't be read."""
    try:
        return read_operations(files, table), ()
    except Corrupt as error:
        return [], (f"Whether a commit of Paimark's was overwritten can't be told: {error.message}",)


def _lost_newest(files: Files, there: Versions) -> list[LostNewest]:
    return [lost for root in there.roots if (lost := lost_newest(files, root)) is not None]


def _holes(files: Files, table: TablePath, there: Versions) -> list[Hole]:
    """While a branch is main, the table directory has only commits of a stale writer."""
    main = main_root(files, table)
    roots = (root for root in there.roots if root.branch is not None or root == main)
    return [hole for root in roots for hole in holes(files, root)]


def _of_holes(gaps: Iterable[Hole]) -> Iterator[str]:
    """Warnings of holes that are no loss."""
    return (f"{each.reason}. {each.hint}" for each in gaps if each.is_cut_off)


def _warnings(files: Files, there: Versions) -> Iterator[str]:
    """Warnings about roots with tags of histories that were rolled back."""
    tags = (each for each in there.all if each.kind == "tag")
    marked = {each.path.rpartition("/")[0] for each in tags if each.record and is_apart(each.record)}
    for root in there.roots:
        if root.tags in marked:
            yield from chain.warnings(files, root)


def _is_sampled(name: str, share: float) -> bool:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def _compare(
    files: Files,
    table: TablePath,
    there: Versions,
    located: Located,
    problems: Problems,
    orphans: Orphans,
    iceberg: IcebergFiles,
) -> None:
    for listed in data_directories(files, table):
        for entry in listed.entries:
            if entry.is_directory:
                if not is_inside(entry.name):
                    orphans.add(listed.directory, entry, owner_of(table, listed.directory, entry.name))
                continue
            wanted = located.take(listed.directory, entry.name)
            if wanted is None:
                if iceberg.has(listed.directory, entry.name):
                    continue
                owner = owner_of(table, listed.directory, entry.name)
                is_leftover = left_over(table, listed.directory, entry.name) is not None
                orphans.add(listed.directory, entry, owner, is_leftover=is_leftover)
            elif wanted.size is not None and entry.size != wanted.size:
                detail = f"it has {entry.size} bytes, and should have {wanted.size}"
                problems.add_of("size", f"{listed.directory}/{entry.name}", detail, wanted.users)
        problems.add_missing(listed.directory, located.files.pop(listed.directory, {}))
    problems.add_missing(table.directory, located.anywhere)
    for listed in control_directories(files, table, list(there.roots)):
        needed = located.files.pop(listed.directory, {})
        for entry in listed.entries:
            if entry.is_directory or needed.pop(entry.name, None) is not None:
                continue
            holder = left_over(table, listed.directory, entry.name)
            if holder is not None:
                orphans.add(listed.directory, entry, holder, is_leftover=True)
            elif not is_known(table, listed.directory, entry.name):
                orphans.add(listed.directory, entry, owner_of(table, listed.directory, entry.name))
        problems.add_missing(listed.directory, needed)
    for directory, needed in located.files.items():
        problems.add_missing(directory, needed)


def _read(
    files: Files, sample: Sequence[SampleFile], problems: Problems, progress: Callable[[str], None]
) -> int:
    """Read the sample, and return how many files would have taken too much memory."""
    from paimark.core.verify.data_files import file_faults

    unread: list[str] = []
    for each, sentence in file_faults(files, sample, progress, unread):
        problems.add_of("damaged", each.path, sentence, each.users)
    return len(unread)


def barrier_problems(files: Files, table: TablePath) -> Iterator[tuple[ProblemCause, str, str]]:
    """Cause, path and detail; none while a change is unfinished, which may create or delete the barrier.

    Commits of a stale writer may have moved LATEST away from it: `doctor` reports them, and their rescue
    creates the barrier again.
    """
    path, main = table.root().snapshot(BARRIER_ID), main_root(files, table)
    if files.exists(table.journal):
        return
    if main.branch is not None and not has_barrier(files, table) and not stray_commits(files, table):
        yield (
            "missing",
            path,
            f"while branch {main.branch} is main it stops stock sessions that were open, which else read an "
            f"empty table: `paimark auto-savepoint {table.word}` puts it up",
        )
    if main.branch is None and files.exists(path):
        yield (
            "damaged",
            path,
            "no branch is main, and stock engines take it for the newest snapshot: delete it",
        )
