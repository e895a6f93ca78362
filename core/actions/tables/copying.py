"""A table's directory is moved on an object store, which has no rename: copied, looked at again, removed.

    claim the new place -> copy all but schema/ -> compare -> COMMIT -> remove the old schema/ -> the rest

An engine takes for a table what has a schema. So the commit is the newest schema file at the new place, whose
other files are all there by then, and the old place loses its schemas first. The journal stays with the name
by which people know the table, until the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from paimark.core.actions.change.change import Landed
from paimark.core.actions.context import Counting, Progress, Remark
from paimark.core.actions.tables.places import (
    COPIED,
    SCHEMAS,
    Copied,
    Places,
    files_of,
    is_of_schemas,
    joined,
    walked,
)
from paimark.core.cancelling import check_cancelled
from paimark.core.errors import PaimarkError, Refused
from paimark.core.figures import counted
from paimark.core.storage.files import read_if_there
from paimark.core.storage.open import give_up_copies
from paimark.core.storage.parallel import each_of
from paimark.core.storage.paths import is_inside
from paimark.core.table.layout import SCHEMA_PREFIX, SNAPSHOT_PREFIX, number_in, numbered

REMOVING = "the old files go"
_TELL_EVERY = 500
_STOP_JOBS = "Nothing was changed. Stop the jobs that write to it, and try again."


class Removing(msgspec.Struct, frozen=True):
    """Whether what the new place lacks stays at the old one: somebody wrote to both."""

    known_only: bool


@dataclass
class CopiedMove(Places):
    """A move of a table's directory from one place to another, under the lock of one of them.

    `seen` has the mark of each directory when it was copied; a recovery does not know them.
    """

    progress: Progress
    seen: dict[str, bytes] = field(default_factory=dict)

    def prepare(self) -> None:
        """Copy all but the schemas. Raises `Refused` if somebody wrote to either place meanwhile."""
        files = self._files
        if self.to != self.hold.table and not files.create(self.to.journal, self._claim):
            raise Refused(f"{self.to.directory} is just being written by another", "Nothing was changed.")
        copied = 0
        for copied, is_there in enumerate(each_of(self._copy, self._all()), 1):
            if not is_there:
                raise self._moved()
            if copied % _TELL_EVERY == 0:
                self.progress(Counting(f"copied {copied:,} files"))
            check_cancelled()
        self.progress(f"copied {counted(copied, 'file')}")
        newest = max(numbered(files.names(self.source.root().schemas), SCHEMA_PREFIX))
        # What others write from here on is later than this note by the store's clock.
        self.hold.note(COPIED, msgspec.to_builtins(Copied(newest)))
        self._compare()

    def commit(self) -> None:
        data = self._files.read(self.source.root().schema(schema := self._copied.schema))
        is_new = self._files.create(target := self.to.root().schema(schema), data)
        if not is_new and read_if_there(self._files, target) != data:
            raise Refused(f"Somebody else has just made a table in {self.to.directory}", "Look at it.")
        if is_new and not self.hold.is_current:
            # It stood still right before that, and another process ended the change meanwhile.
            self._files.delete_own(target, lambda there: there == data)
            self.hold.require()

    def landed(self) -> Landed:
        copied = self.hold.journaled.noted(COPIED, Copied)
        if copied is None:
            return Landed.NO
        there, data = self._files.read_many(
            [each.root().schema(copied.schema) for each in (self.to, self.source)]
        )
        return Landed.YES if there is not None and there == data else Landed.NO

    def finish(self) -> None:
        """Remove the old directory. What a job wrote there since the comparison is brought along."""
        if not self.seen:
            self._give_up_copies()
        self._move_schemas()
        if (removing := self.hold.journaled.noted(REMOVING, Removing)) is None:
            removing = Removing(known_only=not (self._is_as_seen() or self._follow()))
            self.hold.note(REMOVING, msgspec.to_builtins(removing))
        self._remove_old(known_only=removing.known_only)
        self._release_claim()

    def take_back(self) -> None:
        """Remove the copy. A table that somebody else made there meanwhile stays."""
        self._give_up_copies()
        if self._files.names(self.to.root().schemas):
            self.progress(Remark(f"{self.to.directory} stays: somebody else has made a table there"))
        else:
            self._remove(self.to)
        self._release_claim()

    def _give_up_copies(self) -> None:
        """Those of a process that died. A file's name has a token of its writer: only a copy has it there."""

        def is_copied(path: str) -> bool:
            return is_inside(path) and self._files.size(joined(self.source.directory, path)) is not None

        try:
            if count := give_up_copies(self._files, self.to.directory, is_copied):
                self.progress(Remark(f"gave up {counted(count, 'copy', 'copies')} of large files"))
        except PaimarkError as error:
            # The move is ended all the same: what is left costs only room.
            self.progress(Remark(f"parts of large files may be left in {self.to.directory}: {error.message}"))

    def _release_claim(self) -> None:
        if self.to != self.hold.table:
            self._files.delete_own(self.to.journal, lambda data: data == self._claim)

    @property
    def _claim(self) -> bytes:
        """At the new place, so that nobody else makes a table there: the lock, which names the old one."""
        return self.hold.journal.to_json()

    def _all(self) -> Iterator[tuple[str, int]]:
        """The paths and sizes to copy, noting each directory's mark."""
        for listed in walked(self._files, self.source.directory):
            self.seen[listed.directory] = listed.mark
            if not is_of_schemas(listed.directory):
                yield from ((listed.path(each), each.size) for each in listed.files)

    def _compare(self) -> None:
        """Raises `Refused` if the old place is not as it was, or the new one has anything else."""
        now = 0
        for listed, there in self._both():
            now += 1
            if listed.mark != self.seen.get(listed.directory):
                raise self._moved()
            expected = {} if is_of_schemas(listed.directory) else listed.sizes
            if there.sizes != expected:
                place = joined(self.to.directory, listed.directory)
                raise Refused(f"Somebody else writes to {place}", _STOP_JOBS)
        if now != len(self.seen):
            raise self._moved()

    def _moved(self) -> Refused:
        return Refused(f"Somebody wrote to {self.source.directory} while it was copied", _STOP_JOBS)

    def _move_schemas(self) -> None:
        """Of each root the newest goes last: an engine takes the newest that it finds for the definition."""
        files, source, to = self._files, self.source.directory, self.to.directory
        branches = [each.name for each in files.entries(self.source.branches) if each.is_directory]
        directories = [joined(each, SCHEMAS) for each in ("", *(f"branch/{name}" for name in branches))]
        paths = [
            joined(directory, name)
            for directory in directories
            if is_of_schemas(directory)
            for name in sorted(files.names(joined(source, directory)), key=_schema_order)
        ]
        for path in paths:
            if (data := read_if_there(files, joined(source, path))) is not None:
                files.create(joined(to, path), data)
        for path in paths:
            files.delete(joined(source, path))

    def _is_as_seen(self) -> bool:
        """Whether the old place, but for the schemas, is as it was when it was copied."""
        then = {directory: mark for directory, mark in self.seen.items() if not is_of_schemas(directory)}
        walk = walked(self._files, self.source.directory)
        return then == {each.directory: each.mark for each in walk if not is_of_schemas(each.directory)}

    def _follow(self) -> bool:
        """Make the new place as the old one is by now; False if somebody has written to both."""
        if others := self._changed_since(self.to):
            if late := self._changed_since(self.source):
                self.progress(
                    Remark(
                        f"a job went on writing: {counted(len(late), 'file')} of it stays in "
                        f"{self.source.directory}, because somebody wrote {others[0]} to {self.to.directory}"
                    )
                )
            return not late
        commits, goes, there, moment = list[str](), list[str](), set[str](), self._copied_at
        for listed, copy in self._both():
            there.add(listed.directory)
            if not is_of_schemas(listed.directory):
                known = copy.sizes
                new = [each for each in listed.files if each.modified >= moment or each.name not in known]
                commits += [listed.path(each) for each in new if _is_commit(listed.path(each))]
                paths = [(listed.path(each), each.size) for each in new if not _is_commit(listed.path(each))]
                for _ in each_of(self._copy, paths):
                    pass
                goes += [joined(listed.directory, name) for name in known.keys() - listed.sizes.keys()]
        for path in sorted(commits):
            self._copy((path, 0))
        for listed in walked(self._files, self.to.directory):
            # A branch that a job has deleted.
            if listed.directory not in there and not is_of_schemas(listed.directory):
                goes += map(listed.path, listed.files)
        self._delete([joined(self.to.directory, path) for path in goes])
        if commits:
            self.progress(
                Remark(f"a job went on writing: {counted(len(commits), 'commit')} of it came along")
            )
        return True

    def _remove_old(self, *, known_only: bool) -> None:
        """What was written there since, and what with `known_only` the new place lacks, stays."""
        old = self.source.directory
        stays = {*self._changed_since(self.source)}
        for listed in walked(self._files, old, journal=self.source != self.hold.table):
            place = joined(self.to.directory, listed.directory)
            known = files_of(listed.directory, self._files.entries(place)).sizes if known_only else {}
            goes = [
                each
                for each in listed.files
                if listed.path(each) not in stays
                and is_inside(each.name)
                and (not known_only or known.get(each.name) == each.size)
            ]
            self._delete([joined(old, listed.path(each)) for each in goes])


def _schema_order(name: str) -> tuple[int, str]:
    return number_in(name, SCHEMA_PREFIX) or 0, name


def _is_commit(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    return directory.rpartition("/")[2] == "snapshot" and number_in(name, SNAPSHOT_PREFIX) is not None
