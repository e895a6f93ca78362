"""Read a table's savepoints.

Ids are unique in the table, across all roots. A savepoint belongs to every root that holds its tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paimark.core.errors import FileMissing, NotFound
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.catalog import table_exists
from paimark.core.table.definition.retention import schemas_digest
from paimark.core.table.layout import (
    SAVEPOINT_PREFIX,
    SAVEPOINT_TAG_PREFIX,
    TAG_PREFIX,
    Root,
    TablePath,
    numbered,
    savepoint_tag,
)
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.records import Savepoint, Tag, read_records
from paimark.core.table.trash import table_missing

if TYPE_CHECKING:
    from paimark.core.table.manifests.manifests import ManifestMeta


def tagged_savepoints(files: Files, root: Root) -> set[int]:
    """The numbers in the names of a root's tags that are named like savepoint tags."""
    return set(numbered(files.names(root.tags), TAG_PREFIX + SAVEPOINT_TAG_PREFIX))


def has_schemas_of(files: Files, root: Root, savepoint: Savepoint) -> bool | None:
    """Whether a root has the schemas with which a savepoint was made; None if its record does not tell.

    Raises `Corrupt`.
    """
    if savepoint.schema_digest is None:
        return None
    return schemas_digest(files, root, savepoint.schema_id) == savepoint.schema_digest


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
        """All ids, ascending, from one listing, without claims. Raises `NotFound` if the table is gone."""
        ids = numbered(self.files.names(self.savepoint_directory), SAVEPOINT_PREFIX)
        if not ids and not table_exists(self.files, self.table):
            raise table_missing(self.files, self.table)
        return ids

    def savepoint(self, savepoint_id: int) -> Savepoint:
        """Raises `NotFound` and `Corrupt`."""
        try:
            return Savepoint.from_path(self.files, self.savepoint_path(savepoint_id))
        except FileMissing as error:
            known = self.ids()
            few = ", ".join(map(str, known)) if len(known) < 10 else f"{known[0]} to {known[-1]}"
            hint = f"It has {few}." if known else "It has none yet."
            raise NotFound(f"{self.table.full_name} has no savepoint {savepoint_id}", hint) from error

    def data_manifests(self, savepoint_id: int) -> list[ManifestMeta]:
        """The manifests of the saved state, from its full list. Raises `NotFound` and `Corrupt`."""
        # Imported late: looking around needs no Avro.
        from paimark.core.table.manifests.manifests import read_manifest_list

        full_list = self.savepoint(savepoint_id).full_manifest_list
        return read_manifest_list(self.files, self.table.savepoint_file(full_list))

    def savepoint_exists(self, savepoint_id: int) -> bool:
        return self.files.exists(self.savepoint_path(savepoint_id))

    def earliest_savepoint_id(self) -> int | None:
        return min(self.ids(), default=None)

    def latest_savepoint_id(self) -> int | None:
        return max(self.ids(), default=None)

    def all(self) -> list[Savepoint]:
        """Every savepoint of the table by id, in whichever root."""
        return self._read(self.ids())

    def of_root(self, root: Root) -> list[Savepoint]:
        """The savepoints whose tag this root holds, by id."""
        tagged = self._tagged(root)
        return self._read([each for each in self.ids() if each in tagged])

    def health_of_root(self, root: Root) -> list[tuple[Savepoint, str]]:
        """The root's savepoints by id, each with its health: `ok`, `unprotected` or `unverified`.

        Unprotected: made in this root, and no root holds its tag, so the next expiry may delete its files.
        Unverified: it records no time at which its tag was proven to have been made early enough.
        """
        here = self._tagged(root)
        ids = self.ids()
        loose = set(ids) - here
        if loose:
            loose -= self._tagged_anywhere()
        savepoints = self._read([each for each in ids if each in here or each in loose])
        return [
            (each, _health(each, is_tagged=each.id not in loose))
            for each in savepoints
            if each.id in here or each.branch == root.label
        ]

    def health(self) -> list[tuple[Savepoint, str]]:
        """Every savepoint by id with its health, as `health_of_root`, from one listing of each root."""
        tagged = self._tagged_anywhere()
        return [(each, _health(each, is_tagged=each.id in tagged)) for each in self.all()]

    def foreign(self) -> list[tuple[Root, str]]:
        """The foreign tags of every root, as `foreign_tags`, each with its root."""
        roots, ids = all_roots(self.files, self.table), set(self.ids())
        tagged = zip(roots, each_of(self._tagged, roots), strict=True)
        return [
            (root, savepoint_tag(each)) for root, tagged_ids in tagged for each in sorted(tagged_ids - ids)
        ]

    def foreign_tags(self, root: Root) -> list[str]:
        """The root's tags that are named like a savepoint's tag, but whose savepoint does not exist."""
        return [savepoint_tag(each) for each in sorted(self._tagged(root).difference(self.ids()))]

    def replaced_tags(self) -> list[tuple[Root, Savepoint, Tag]]:
        """The tags of every root that are named like a savepoint's, and are of another snapshot than it."""
        known = {savepoint_tag(each.id): each for each in self.all()}
        return [
            (root, known[name], tag)
            for root in (all_roots(self.files, self.table) if known else [])
            for name, tag in Lineage(self.files, root).tags()
            if name in known and not known[name].is_of(tag)
        ]

    def _tagged_anywhere(self) -> set[int]:
        return set[int]().union(*each_of(self._tagged, all_roots(self.files, self.table)))

    def _tagged(self, root: Root) -> set[int]:
        return tagged_savepoints(self.files, root)

    def _read(self, ids: Sequence[int]) -> list[Savepoint]:
        paths = [self.savepoint_path(each) for each in ids]
        return [savepoint for _, savepoint in read_records(Savepoint, self.files, paths, self.unreadable)]


def _health(savepoint: Savepoint, *, is_tagged: bool) -> str:
    if not is_tagged:
        return "unprotected"
    return "unverified" if savepoint.verified_at is None else "ok"
