"""Reference counting: the files that leaving references alone keep.

What the leaving ones hold, less what the deciding others hold. Where anything of the leaving ones is missing,
every manifest of every reference is read. Files are told apart by name alone, which errs towards keeping.
"""

from __future__ import annotations

from core.actions.count import Freed, Incomplete, Tally
from core.actions.reach import Progress
from core.actions.references import Leaving, Reference, surviving
from core.errors import Corrupt, FileMissing, Refused
from core.storage.files import Files
from core.table.layout import TablePath

__all__ = ["Count", "Freed", "freed_by"]

_ATTEMPTS = 3


def freed_by(
    files: Files,
    table: TablePath,
    leaving: Leaving,
    *,
    with_data: bool = True,
    progress: Progress = lambda line: None,
) -> Freed:
    """Every file that only the leaving references keep, with its size; files that are gone are left out.

    Without data, manifests of the leaving ones may be gone. Raises `Refused` when anything that may keep
    files can't be read.
    """
    return Count(files, table, leaving, progress, with_data=with_data).freed()


class Count:
    """What leaving references free, counted once and kept up to date: of what came since only that is read.

    Whoever asks may change `leaving` to what of the same references is still there.
    """

    def __init__(
        self,
        files: Files,
        table: TablePath,
        leaving: Leaving,
        progress: Progress = lambda line: None,
        *,
        with_data: bool = True,
    ) -> None:
        self.leaving = leaving
        self._files = files
        self._table = table
        self._progress = progress
        self._with_data = with_data
        self._tally: Tally | None = None

    def freed(self) -> Freed:
        """As `freed_by`, now."""
        return self._retried(exactly=True)

    def still_freed(self) -> Freed:
        """Of what was freed that which nobody came to need since: who goes meanwhile frees nothing here."""
        return self._retried(exactly=False)

    def _retried(self, *, exactly: bool) -> Freed:
        for _ in range(_ATTEMPTS):
            try:
                return self._followed(exactly=exactly).freed()
            except Corrupt as error:
                raise self._untold(error.message) from error
            except FileMissing as error:
                # It may have gone with a reference that another process expired since it was listed.
                missing, self._tally = error, None
        raise self._untold(missing.message) from missing

    def _followed(self, *, exactly: bool) -> Tally:
        tally = self._tally
        everything = tally is not None and tally.everything
        references = surviving(self._files, self._table, self.leaving, everything=everything)
        if tally is not None and not (exactly and tally.has_lost(references)):
            tally.follow(references)
            return tally
        try:
            self._tally = self._made(references, everything=everything)
        except Incomplete:
            # What is missing may have told that a file went long ago: no neighbour decides any more.
            references = surviving(self._files, self._table, self.leaving, everything=True)
            self._tally = self._made(references, everything=True)
        return self._tally

    def _made(self, references: list[Reference], *, everything: bool) -> Tally:
        return Tally(
            self._files,
            self._table,
            self.leaving,
            references,
            self._progress,
            with_data=self._with_data,
            everything=everything,
        )

    def _untold(self, why: str) -> Refused:
        return Refused(
            f"What keeps the files of {self._table.full_name} can't be told: {why}",
            "Nothing is deleted while that is so: repair what needs it, or delete that first.",
        )
