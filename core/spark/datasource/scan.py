"""A scan: one table at one snapshot, as a value that is sent to Spark's workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import msgspec

from paimark.core.errors import Refused
from paimark.core.redaction import HidesSecrets
from paimark.core.spark.datasource.table_options import ReadScope, require_obeyed
from paimark.core.storage.files import Files
from paimark.core.storage.open import options_for_others
from paimark.core.table.definition.newer import require_known_types
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Snapshot, TableSchema


class TableAddress(HidesSecrets, frozen=True):
    """A root of a table, which is sent to Spark's workers as text. `branch` is None for the table directory.

    `options` are catalog options and may contain secrets. `schema` is the JSON of the schema with which the
    root is read or written, so that the workers need not look it up.
    """

    warehouse: str
    options: Mapping[str, str]
    database: str
    table: str
    branch: str | None
    schema: str

    def to_text(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)

    @property
    def root(self) -> Root:
        return TablePath(self.database, self.table).root(self.branch)

    @property
    def name(self) -> str:
        """The table's full name."""
        return self.root.table.full_name

    @property
    def table_schema(self) -> TableSchema:
        return TableSchema.from_json(self.schema.encode(), self.root.schemas)


class Beside(msgspec.Struct, frozen=True):
    """Another state of the same table, with fields as in `Scan`. Both states have the files named in `alike`.

    Rows of these files that are in both states need not be read from either.
    """

    branch: str | None
    snapshot: str
    schema: str
    only: tuple[str, ...] | None
    alike: tuple[str, ...]


class Scan(TableAddress, frozen=True):
    """A table at a snapshot. `snapshot` is the record's JSON, empty for a table without one.

    `columns` are those that a program reads, None for all. `only` are the names of the data files to read,
    None for all of the snapshot. `beside` is for the native readers.
    """

    snapshot: str = ""
    columns: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None
    beside: Beside | None = None


@dataclass(frozen=True, slots=True)
class WarehouseAccess:
    """A warehouse: its files, and the catalog options with which they were opened."""

    files: Files
    uri: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def client_options(self) -> dict[str, str]:
        """The options for pypaimon's clients."""
        return options_for_others(self.files, self.options)

    def address(self, root: Root) -> tuple[str, dict[str, str], str, str, str | None]:
        """The first fields of a `TableAddress` of the root."""
        return self.uri, self.client_options, root.table.database, root.table.name, root.branch

    def scan(self, root: Root, snapshot: str, schema: str) -> Scan:
        """The scan of a root. `snapshot` and `schema` are records' JSON."""
        return Scan(*self.address(root), schema, snapshot)


def require_counts(name: str, snapshot: Snapshot) -> None:
    """Raises `Refused` for a snapshot without numbers of records: pypaimon reads none, and writes on none."""
    if snapshot.total_record_count is None or snapshot.delta_record_count is None:
        raise Refused(
            f"Snapshot {snapshot.id} of {name} does not say how many records it has, as those of Paimon 0.3 "
            "and older do not, and this version can't use it",
            "Let a stock engine of today commit to the table: its next snapshot has the numbers.",
        )


def make_scan(
    warehouse: WarehouseAccess,
    root: Root,
    snapshot: Snapshot | None,
    *,
    pinned: bool,
    scope: ReadScope | None = None,
    by_library: bool = False,
) -> Scan:
    """Make the scan of a root at a snapshot (None: a table without one).

    `pinned` reads have the columns that the table had at the snapshot; others its current ones, as in Paimon.
    `scope` is what the statement names; None: a version if it is pinned, otherwise the current table.
    `by_library`: Paimon's library may read it.

    Raises `NotFound` if the schema is missing, `Refused` for an option or type that no reader here supports.
    """
    lineage = Lineage(warehouse.files, root)
    if pinned and snapshot is not None:
        schema = lineage.schema(snapshot.schema_id)
    else:
        schema = lineage.require_schema()
    named: ReadScope = scope or ("version" if pinned else "table")
    require_known_types(root.table.full_name, schema)
    require_obeyed(root.table.full_name, schema.options, root.branch, named, by_library=by_library)
    if snapshot is not None:
        require_counts(root.table.full_name, snapshot)
    record = snapshot.to_json().decode() if snapshot is not None else ""
    return warehouse.scan(root, record, schema.to_json().decode())
