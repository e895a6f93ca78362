"""What there is to read of a table, looked up on disk: snapshots, tags and branches, with their columns."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from pypaimon.common.json_util import JSON
from pypaimon.schema.data_types import PyarrowFieldParser
from pypaimon.schema.table_schema import TableSchema as PypaimonSchema

from paimark.core.spark.datasource.field_types import type_name
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.records import TableSchema
from tests.spark.generated_tables import Column


@dataclass(frozen=True)
class Version:
    """`sql` is what a statement calls it; to stock it is `judged`, at a snapshot or at the tag in a file."""

    sql: str
    judged: str
    columns: tuple[Column, ...]
    snapshot: int | None = None
    tag: str | None = None


def heads(files: Files, table: TablePath) -> list[Version]:
    """The newest of each branch, of main first."""
    main = main_root(files, table)
    roots = [main, *(root for root in roots_of(files, table) if root != main)]
    return [_head(files, root, is_main=root == main) for root in roots]


def past(random: Random, files: Files, table: TablePath) -> list[Version]:
    """Snapshots of all branches by id or by time, tags and savepoints."""
    main = main_root(files, table)
    return [
        version
        for root in roots_of(files, table)
        for version in _past(random, files, root, is_main=root == main)
    ]


def roots_of(files: Files, table: TablePath) -> list[Root]:
    """Without the table directory where a branch is main: nobody reads it."""
    main = main_root(files, table)
    return [root for root in all_roots(files, table) if root.branch is not None or root == main]


def judged(root: Root) -> str:
    """As stock names it."""
    full = root.table.full_name
    return full if root.branch is None else f"{full}$branch_{root.branch}"


def _head(files: Files, root: Root, *, is_main: bool) -> Version:
    suffix = "" if is_main else f"$branch_{root.branch}"
    name = f"`{root.table.database}`.`{root.table.name}{suffix}`"
    return Version(name, judged(root), columns_of(Lineage(files, root).require_schema()))


def _past(random: Random, files: Files, root: Root, *, is_main: bool) -> list[Version]:
    lineage, head = Lineage(files, root), _head(files, root, is_main=is_main)
    snapshots, saved = list(lineage.snapshots()), lineage.tags()
    times = [each.time_millis for each in [*snapshots, *(tag for _, tag in saved)]]
    found = []
    for snapshot in snapshots:
        clauses = [f"VERSION AS OF {snapshot.id}", f"FOR VERSION AS OF 'snapshot.{snapshot.id}'"]
        if times.count(snapshot.time_millis) == 1:
            clauses.append(f"TIMESTAMP AS OF TIMESTAMP_MILLIS({snapshot.time_millis})")
        columns = columns_of(lineage.schema(snapshot.schema_id))
        # One number is drawn however many there are: two commits may be of one millisecond, or not.
        clause = clauses[int(random.random() * len(clauses))]
        found.append(Version(f"{head.sql} {clause}", head.judged, columns, snapshot.id))
    for name, tag in saved:
        columns = columns_of(lineage.schema(tag.schema_id))
        found.append(
            Version(f"{head.sql} VERSION AS OF '{name}'", head.judged, columns, None, root.tag(name))
        )
    return found


def columns_of(schema: TableSchema) -> tuple[Column, ...]:
    """As generated tables have them, with the roles that they were generated with."""
    fields: list[Any] = JSON.from_json(schema.to_json().decode(), PypaimonSchema).fields
    return tuple(_column(schema, field) for field in fields)


def _column(schema: TableSchema, field: Any) -> Column:
    kind = str(field.type)
    word = kind.removesuffix(" NOT NULL") if type_name(kind) in ("CHAR", "VARCHAR") else ""
    role = _role(schema, field.name)
    is_required = not role and not field.type.nullable
    return Column(field.name, PyarrowFieldParser.from_paimon_type(field.type), role, word, is_required)


def _role(schema: TableSchema, name: str) -> str:
    options = schema.options
    if name in schema.partition_keys:
        return "partition"
    if name in schema.primary_keys:
        return "key"
    if name in [each.strip() for each in options.get("sequence.field", "").split(",")]:
        return "sequence"
    if name == options.get("rowkind.field"):
        return "rowkind"
    return options.get(f"fields.{name}.aggregate-function", "")
