"""Answer a SHOW about one table from its metadata: columns, properties, partitions, CREATE statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from typing import NamedTuple

from pypaimon.common.json_util import JSON
from pypaimon.schema.table_schema import TableSchema as PypaimonSchema

from paimark.core.errors import NotFound, UsageError, failing_at
from paimark.core.quoting import literal, quoted
from paimark.core.spark.datasource.types import spark_schema
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.manifests.partition_values import PartitionValues
from paimark.core.table.records import TableSchema
from paimark.core.table.system_tables import system_table
from paimark.core.travel.parse.statement import Statement, TableUse
from paimark.core.travel.resolving import resolve_name
from paimark.core.travel.statements.shows import Show, read_show

_COLUMNS = {
    "columns": ("col_name",),
    "properties": ("key", "value"),
    "create": ("createtab_stmt",),
    "partitions": ("partition",),
}


class Shown(NamedTuple):
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def shown(
    statement: Statement,
    files: Files,
    database: str | None,
    temporary: Callable[[], Sequence[str]],
    zone: Callable[[], tzinfo],
) -> Shown | None:
    """Answer a SHOW; None for other statements, and for a temporary view.

    `temporary` lists the session's views, `zone` reads its time zone. Raises `StatementFailed` with the
    position of the table's name.
    """
    show = read_show(statement)
    if show is None or (len(show.parts) == 1 and show.parts[0].lower() in map(str.lower, temporary())):
        return None
    with failing_at(show.position):
        return Shown(_COLUMNS[show.kind], _rows(show, files, database, zone))


def _rows(
    show: Show, files: Files, database: str | None, zone: Callable[[], tzinfo]
) -> list[tuple[str, ...]]:
    use = TableUse(show.parts, show.position)
    resolved = resolve_name(files, use, database)
    if resolved is None:
        name = ".".join(show.parts)
        raise NotFound(f"There is no table {name}", "SHOW TABLES lists what there is; write database.table.")
    table, name_parts = resolved
    root = branch_root(files, table, name_parts.branch)
    if name_parts.system is not None:
        if show.kind != "columns":
            raise UsageError(
                f"{show.parts[-1]} is a system table, which has columns only", "Use SHOW COLUMNS."
            )
        return [(column.name,) for column in system_table(name_parts.system).columns]
    schema = Lineage(files, root).require_schema()
    match show.kind:
        case "columns":
            return [(field.name,) for field in schema.fields]
        case "properties":
            return _properties(schema, show.key, table.full_name)
        case "create":
            return [(_create(schema, show.parts),)]
    return _partitions(files, root, schema, zone)


def _properties(schema: TableSchema, key: str | None, name: str) -> list[tuple[str, ...]]:
    options = _options(schema)
    if key is not None:
        return [(key, options.get(key, f"Table {name} does not have property: {key}"))]
    return sorted(options.items())


def _options(schema: TableSchema) -> dict[str, str]:
    """The options, with the primary key as an option, as Paimon takes it in CREATE TABLE."""
    keys = {"primary-key": ",".join(schema.primary_keys)} if schema.primary_keys else {}
    return {**schema.options, **keys}


def _partitions(
    files: Files, root: Root, schema: TableSchema, zone: Callable[[], tzinfo]
) -> list[tuple[str, ...]]:
    if not schema.partition_keys:
        raise UsageError(f"{root.table.full_name} has no partitions", "Its data lies in buckets alone.")
    snapshot = Lineage(files, root).latest()
    if snapshot is None:
        return []
    values = PartitionValues(schema, zone())
    partitions = {each.key.partition for each in snapshot_facts(files, root.table, snapshot)}
    return [(text,) for text in sorted(map(values.text, partitions))]


def _create(schema: TableSchema, parts: Sequence[str]) -> str:
    lines = [
        f"CREATE TABLE {'.'.join(map(quoted, parts))} (",
        ",\n".join(_columns(schema)) + ")",
        "USING paimon",
    ]
    if schema.partition_keys:
        lines.append(f"PARTITIONED BY ({', '.join(map(quoted, schema.partition_keys))})")
    if schema.comment:
        lines.append(f"COMMENT {literal(schema.comment)}")
    if options := _options(schema):
        pairs = (f"  {literal(name)} = {literal(value)}" for name, value in sorted(options.items()))
        lines.append("TBLPROPERTIES (\n" + ",\n".join(pairs) + ")")
    return "\n".join(lines)


def _columns(schema: TableSchema) -> Iterator[str]:
    fields = JSON.from_json(schema.to_json().decode(), PypaimonSchema).fields
    for field, kind, described in zip(fields, spark_schema(fields).fields, schema.fields, strict=True):
        never_null = "" if field.type.nullable else " NOT NULL"
        comment = f" COMMENT {literal(described.description)}" if described.description else ""
        yield f"  {quoted(field.name)} {kind.dataType.simpleString()}{never_null}{comment}"
