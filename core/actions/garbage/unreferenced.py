"""Reference counting: find files reachable only from the references being deleted.

They are the files of these references without the files of the deciding others. If a list or manifest of
these is missing, every manifest of every reference is read. Files are identified by name alone: when unsure,
keep.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from paimark.core.actions.garbage.count import Freed, Incomplete, Tally
from paimark.core.actions.garbage.reachability import Progress
from paimark.core.actions.garbage.references import Reference, ToDelete, surviving, twins
from paimark.core.errors import Corrupt, FileMissing, PaimarkError, Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.manifests.iceberg import REMEDY
from paimark.core.table.records import commit_key

__all__ = ["FileCount", "Freed"]

# Seconds before another attempt: a running expiry deletes the snapshot file last.
_WAITS = (0.05, 0.2, 0.5)


class FileCount:
    """Counts the files that deleting references frees, and updates the count by reading only new references.

    The caller may reduce `to_delete` to those of the same references that still exist.
    """

    def __init__(
        self,
        files: Files,
        table: TablePath,
        to_delete: ToDelete,
        progress: Progress = lambda line: None,
        *,
        with_data: bool = True,
    ) -> None:
        self.to_delete = to_delete
        self._of = _held_by(to_delete)
        self._files = files
        self._table = table
        self._progress = progress
        self._with_data = with_data
        self._tally: Tally | None = None
        self._freed: Freed | None = None

    def is_of(self, to_delete: ToDelete) -> bool:
        """Whether the count covers these references: the same ones, or those of them that still exist."""
        return _held_by(to_delete) <= self._of

    def freed(self) -> Freed:
        """Every existing file that only the references to delete keep now, with its size.

        Without data, the manifests of the references to delete may be gone. Raises `Refused` when a reference
        that may keep files can't be read.
        """
        return self._retried(exactly=True)

    def still_freed(self, among: Collection[Root] | None = None) -> Freed:
        """The freed files that no new reference needs. References that have gone meanwhile free nothing here.

        With `among` only these roots are examined. It returns the same object if none is new.
        """
        return self._retried(exactly=False, among=among)

    def _retried(self, *, exactly: bool, among: Collection[Root] | None = None) -> Freed:
        for wait in (*_WAITS, None):
            try:
                return self._followed(exactly=exactly, among=among)
            except Corrupt as error:
                raise self._untold(error) from error
            except FileMissing as error:
                # Another process may have expired the reference after it was listed.
                if wait is None:
                    raise self._untold(error) from error
                time.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _followed(self, *, exactly: bool, among: Collection[Root] | None) -> Freed:
        tally = self._tally
        everything = tally is not None and tally.everything
        references = surviving(
            self._files,
            self._table,
            self.to_delete,
            everything=everything,
            among=among,
            progress=self._progress,
        )
        if tally is None or (exactly and tally.has_lost(references)):
            self._freed = None
            tally = self._tally = self._tallied(references, everything=everything)
        elif tally.follow(references):
            self._freed = None
        if self._freed is None:
            twin = next(iter(twins(self.to_delete, references)), None)
            is_read = twin is not None and twin.of_read
            name = twin.name if twin is not None and not is_read else ""
            self._freed = replace(tally.freed(), twin=name, is_read=is_read)
        return self._freed

    def _tallied(self, references: list[Reference], *, everything: bool) -> Tally:
        try:
            return self._made(references, everything=everything)
        except Incomplete:
            # The missing file may have recorded an old deletion, so neighbours can't decide any more.
            references = surviving(
                self._files, self._table, self.to_delete, everything=True, progress=self._progress
            )
            return self._made(references, everything=True)

    def _made(self, references: list[Reference], *, everything: bool) -> Tally:
        return Tally(
            self._files,
            self._table,
            self.to_delete,
            references,
            self._progress,
            with_data=self._with_data,
            everything=everything,
        )

    def _untold(self, why: PaimarkError) -> Refused:
        return Refused(
            f"What keeps the files of {self._table.full_name} can't be told: {why.message}",
            f"Nothing was deleted{self._remedy(why)}",
        )

    def _remedy(self, why: PaimarkError) -> str:
        if why.hint == REMEDY:
            return f". {REMEDY}"
        return (
            f": paimark verify {self._table.word} lists each damaged or missing file, and what needs it. "
            "Restore the file, or delete the snapshot, tag or branch that needs it first."
        )


def _held_by(to_delete: ToDelete) -> frozenset[object]:
    return frozenset([*map(commit_key, to_delete.records), to_delete.full_list, *to_delete.paths])
