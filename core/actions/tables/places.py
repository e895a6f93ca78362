"""The two places of a table that is moved on an object store: what both have, and what only one has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.tables.walking import Listed, files_of, is_of_schemas, joined, walked
from paimark.core.errors import FileMissing
from paimark.core.storage.files import Files, written_at
from paimark.core.storage.parallel import each_of
from paimark.core.storage.paths import is_inside
from paimark.core.table.layout import TablePath

COPIED = "the files are copied"


class Copied(msgspec.Struct, frozen=True):
    """The id of main's newest schema, whose copy is the commit."""

    schema: int


@dataclass
class Places:
    """The old place and the new one. One of them has the lock, and the other a copy of it."""

    hold: Hold
    source: TablePath
    to: TablePath

    @property
    def _files(self) -> Files:
        return self.hold.context.files

    @property
    def _copied(self) -> Copied:
        copied = self.hold.journaled.noted(COPIED, Copied)
        assert copied is not None, "it is noted before the commit"
        return copied

    @property
    def _copied_at(self) -> int:
        """When the copy was whole, by the store's clock."""
        number = next(
            number for number, each in enumerate(self.hold.journaled.entries, 1) if each.step == COPIED
        )
        path = self.hold.table.journal_step(self.hold.journal.token, number)
        return written_at(self._files, [path]).get(path, 0)

    def _both(self) -> Iterator[tuple[Listed, Listed]]:
        """Each directory of the old place, with the same one of the new place."""

        def beside(listed: Listed) -> tuple[Listed, Listed]:
            there = self._files.entries(joined(self.to.directory, listed.directory))
            return listed, files_of(listed.directory, there)

        return each_of(beside, walked(self._files, self.source.directory))

    def _changed_since(self, at: TablePath) -> list[str]:
        """What was written at one place after the copy was whole, and the other does not have."""
        other = self.to if at == self.source else self.source
        moment, files = self._copied_at, self._files
        return [
            path
            for listed in walked(files, at.directory)
            for each in listed.files
            if each.modified >= moment
            and not is_of_schemas(listed.directory)
            and files.size(joined(other.directory, path := listed.path(each))) != each.size
        ]

    def _copy(self, item: tuple[str, int]) -> bool:
        """False if a job has deleted the file by now."""
        path, size = item
        try:
            self._files.copy(joined(self.source.directory, path), joined(self.to.directory, path), size)
        except FileMissing:
            return False
        return True

    def _remove(self, table: TablePath) -> None:
        """Delete all files but the lock and its journal."""
        for listed in walked(self._files, table.directory, journal=table != self.hold.table):
            paths = [listed.path(each) for each in listed.files if is_inside(each.name)]
            self._delete([joined(table.directory, path) for path in paths])

    def _delete(self, paths: list[str]) -> None:
        # The claim goes when nothing else is left.
        for _ in each_of(self._files.delete, [each for each in paths if each != self.to.journal]):
            pass
