"""One table at one snapshot, as everything that reads it is told: a value that travels to the workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import msgspec

from core.redaction import HidesSecrets
from core.spark.datasource.table_options import Asked, require_obeyed
from core.storage.files import Files
from core.storage.open import options_for_others
from core.table.layout import Root, TablePath
from core.table.lineage.lineage import Lineage
from core.table.records import Snapshot, TableSchema

# A schema of one column, for what is to be tried without a table.
NO_TABLE = """{"version": 3, "id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"}], "highestFieldId": 0,
"partitionKeys": [], "primaryKeys": [], "options": {}, "timeMillis": 0}"""


class TableAddress(HidesSecrets, frozen=True):
    """A root of a table, with what else goes to Spark's workers, as text. `branch` is None for its directory.

    `options` are catalog options and may hold secrets. `schema` is the JSON of a schema of the root, by which
    it is read or written, so that nobody looks it up again.
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
    """Another state of the same table, as a `Scan` of it has it. Both hold the very files in `alike`.

    Rows of those files that are in both states need not be read of either.
    """

    branch: str | None
    snapshot: str
    schema: str
    only: tuple[str, ...] | None
    alike: tuple[str, ...]


class Scan(TableAddress, frozen=True):
    """A table at a snapshot, which is that record's JSON, empty for a table that has none yet.

    `columns` are those the statement needs, None for all: the others come back as nulls. `limit` is the most
    rows that any one reader has to give. Without `filters` the reader gives the rows of every plan that it is
    in: Spark tells it the conditions of one of them, and would read the others by those too. `only` are the
    names of the data files to read, None for all of the snapshot's. `beside` is for the native readers.
    Without `rust` Python reads all of them.
    """

    snapshot: str = ""
    columns: tuple[str, ...] | None = None
    limit: int | None = None
    filters: bool = True
    only: tuple[str, ...] | None = None
    beside: Beside | None = None
    rust: bool = True


@dataclass(frozen=True, slots=True)
class WarehouseAccess:
    """Where tables are: the files, and the catalog's options that they were opened by."""

    files: Files
    uri: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def told_options(self) -> dict[str, str]:
        """What pypaimon's clients are told."""
        return options_for_others(self.files, self.options)

    def address(self, root: Root) -> tuple[str, dict[str, str], str, str, str | None]:
        """What a `TableAddress` of the root begins with."""
        return self.uri, self.told_options, root.table.database, root.table.name, root.branch

    def scan(self, root: Root, snapshot: str, schema: str) -> Scan:
        """Both are records' JSON."""
        return Scan(*self.address(root), schema, snapshot)


def make_scan(
    warehouse: WarehouseAccess,
    root: Root,
    snapshot: Snapshot | None,
    *,
    pinned: bool,
    asked: Asked | None = None,
) -> Scan:
    """Make the scan of a root at a snapshot (None: a table without one).

    `pinned` reads take the columns the table had at the snapshot; others those it has now, as in Paimon.
    `asked` is what the statement names; None: a version where it is pinned, else the table as it stands.
    Raises `NotFound` when the schema is missing, `Refused` for an option that nothing here obeys.
    """
    lineage = Lineage(warehouse.files, root)
    if pinned and snapshot is not None:
        schema = lineage.schema(snapshot.schema_id)
    else:
        schema = lineage.require_schema()
    named: Asked = asked or ("version" if pinned else "table")
    require_obeyed(root.table.full_name, schema.options, root.branch, named)
    record = snapshot.to_json().decode() if snapshot is not None else ""
    return warehouse.scan(root, record, schema.to_json().decode())
