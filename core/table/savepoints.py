"""A table's savepoints, the reading side.

Ids are given once per table over all roots. A savepoint belongs to every root that holds its tag.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import Corrupt, FileMissing, NotFound
from core.storage.files import Files
from core.table.layout import SAVEPOINT_PREFIX, SAVEPOINT_TAG_PREFIX, TAG_PREFIX, Root, TablePath
from core.table.lineage import numbered
from core.table.records import Savepoint


class SavepointManager:
    """Reads savepoint files. `unreadable` maps the path of each half-written one to a sentence about it."""

    def __init__(self, files: Files, table: TablePath) -> None:
        self.files = files
        self.table = table
        self.unreadable: dict[str, str] = {}

    @property
    def savepoint_directory(self) -> str:
        return self.table.savepoints

    def savepoint_path(self, savepoint_id: int) -> str:
        return self.table.savepoint(savepoint_id)

    def ids(self) -> list[int]:
        """All ids, ascending, from one listing. Claims and manifest lists are not savepoints."""
        return numbered(self.files.names(self.savepoint_directory), SAVEPOINT_PREFIX)

    def savepoint(self, savepoint_id: int) -> Savepoint:
        """Raises `NotFound` and `Corrupt`."""
        path = self.savepoint_path(savepoint_id)
        try:
            return Savepoint.from_json(self.files.read(path), path)
        except FileMissing as error:
            known = self.ids()
            hint = f"It has {known[0]} to {known[-1]}." if known else "It has none yet."
            raise NotFound(f"{self.table.full_name} has no savepoint {savepoint_id}", hint) from error

    def savepoint_exists(self, savepoint_id: int) -> bool:
        return self.files.exists(self.savepoint_path(savepoint_id))

    def earliest_savepoint_id(self) -> int | None:
        return min(self.ids(), default=None)

    def latest_savepoint_id(self) -> int | None:
        return max(self.ids(), default=None)

    def all(self) -> list[Savepoint]:
        """Every savepoint of the table by id, whichever root it belongs to."""
        return self._read(self.ids())

    def of_root(self, root: Root) -> list[Savepoint]:
        """The savepoints whose tag this root holds, by id."""
        tagged = set(numbered(self.files.names(root.tags), TAG_PREFIX + SAVEPOINT_TAG_PREFIX))
        return self._read([each for each in self.ids() if each in tagged])

    def _read(self, ids: Sequence[int]) -> list[Savepoint]:
        found = []
        paths = [self.savepoint_path(each) for each in ids]
        for path, data in zip(paths, self.files.read_many(paths), strict=True):
            if data is None:
                continue
            try:
                found.append(Savepoint.from_json(data, path))
            except Corrupt as error:
                self.unreadable[path] = error.message
        return found
