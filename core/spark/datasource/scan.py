"""One table at one snapshot, as everything that reads it is told: a value that travels to the workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import msgspec

from core.redaction import HidesSecrets
from core.spark.datasource.table_options import Asked, require_obeyed
from core.storage.files import Files
from core.table.layout import Root
from core.table.lineage.lineage import Lineage
from core.table.records import Snapshot

# A schema of one column, for what is to be tried without a table.
NO_TABLE = """{"version": 3, "id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"}], "highestFieldId": 0,
"partitionKeys": [], "primaryKeys": [], "options": {}, "timeMillis": 0}"""


class Sendable(HidesSecrets, frozen=True):
    """Goes to Spark's workers as text."""

    def to_text(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)


class Scan(Sendable, frozen=True):
    """A table at a snapshot. `snapshot` and `schema` are their JSON, so that no reader looks them up again.

    `snapshot` is empty for a table that has none yet. `options` are catalog options and may hold secrets.
    `columns` are those the statement needs, None for all: the others come back as nulls. `limit` is the most
    rows that any one reader has to give. Without `filters` the reader gives the rows of every plan that it is
    in: Spark tells it the conditions of one of them, and would read the others by those too.
    """

    warehouse: str
    options: Mapping[str, str]
    database: str
    table: str
    branch: str | None
    snapshot: str
    schema: str
    columns: tuple[str, ...] | None = None
    limit: int | None = None
    filters: bool = True


@dataclass(frozen=True, slots=True)
class WarehouseAccess:
    """Where tables are: the files, and what pypaimon needs to open them."""

    files: Files
    uri: str
    options: Mapping[str, str] = field(repr=False)

    def scan(self, root: Root, snapshot: str, schema: str) -> Scan:
        """Both are records' JSON."""
        table = root.table
        return Scan(self.uri, dict(self.options), table.database, table.name, root.branch, snapshot, schema)


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
