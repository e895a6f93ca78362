"""One query of one version of a table after the other, of which some may expire meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.repair.row_condition import errors_of_condition
from paimark.core.actions.rewrite.spark_rewrite import answer_of
from paimark.core.errors import NotFound, PaimarkError
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Ask
from paimark.core.spark.protocol import Version as Rows
from paimark.core.table.definition.column_types import nullable
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.travel.version import resolve_version
from paimark.core.travel.when import Version

_TABLE = "this"


def snapshot_of(context: Context, root: Root, version: Version) -> Snapshot | None:
    """None if it has expired meanwhile."""
    try:
        return resolve_version(context.files, root, version.name).snapshot
    except NotFound:
        return None


def as_then(now: TableSchema, then: TableSchema) -> TableSchema:
    """The present columns, to read a version with the definition `then`.

    A column that was dropped, and added again by its name, is another one for Paimon. Readers of that version
    see the dropped one, and so does this.
    """
    kept, old = ({field.id for field in each.fields} for each in (now, then))
    dropped = {field.name.lower(): field for field in then.fields if field.id not in kept}
    fields = [
        replace(there, name=field.name, type=nullable(there.type))
        if field.id not in old and (there := dropped.get(field.name.lower()))
        else field
        for field in now.fields
    ]
    # No file is of this definition: its columns are found by their ids.
    return now if fields == now.fields else replace(now, id=now.id + 1, fields=fields)


@dataclass(frozen=True, slots=True)
class VersionQuery:
    """`SELECT selection FROM the version WHERE condition`, with more behind it.

    Each version is read with the columns of `schema`, so that a renamed column is found under its present
    name, one that was dropped and added again as the version has it, and one that a version lacks is null
    there.
    """

    context: Context
    engine: Engine
    root: Root
    schema: TableSchema
    selection: str
    condition: str
    progress: Progress
    more: str = ""

    def rows(
        self, version: Version, only: tuple[str, ...] | None = None
    ) -> tuple[Snapshot, tuple[str, ...]] | None:
        """The snapshot, and the rows as JSON; None if it has expired meanwhile. Raises the engine's error.

        `only` are the names of the data files that are read, None for all.
        """
        snapshot = snapshot_of(self.context, self.root, version)
        if snapshot is None:
            return None
        # Without the alias, Spark would take WHERE for one, and a column in brackets for its columns.
        sql = f"SELECT {self.selection} FROM {_TABLE} AS {_TABLE} WHERE {self.condition}{self.more}"
        at = {_TABLE: Rows(self.root.branch, snapshot.to_json().decode(), only=only)}
        try:
            then = Lineage(self.context.files, self.root).schema(snapshot.schema_id)
            schema = as_then(self.schema, then).to_json().decode()
            ask = Ask(0, self.root.table.full_name, schema, at, sql)
            with errors_of_condition(self.condition):
                return snapshot, answer_of(self.engine, ask, self.progress).rows
        except PaimarkError:
            # Reading it may fail because it has expired meanwhile.
            if snapshot_of(self.context, self.root, version) is None:
                return None
            raise
