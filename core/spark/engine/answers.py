"""Answer statements that need no Spark from the metadata of the warehouse or a table: SHOW, USE, DESCRIBE."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from fnmatch import fnmatchcase
from typing import NamedTuple

from paimark.core.errors import NotFound, StatementFailed, UsageError, failing_at
from paimark.core.quoting import literal, quoted
from paimark.core.spark.arrow import cells_batch
from paimark.core.spark.datasource.field_types import fields_of
from paimark.core.spark.datasource.types import spark_schema
from paimark.core.spark.launch.session_settings import DEFAULTS, setting_asked
from paimark.core.spark.protocol import Batch, Columns, Finished
from paimark.core.spark.session_conf import ZONE
from paimark.core.storage.files import Files
from paimark.core.table.catalog import database_directory, databases, require_database, tables
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.manifests.partition_values import PartitionValues
from paimark.core.table.names import CHOOSE_DATABASE, split_name
from paimark.core.table.records import TableSchema
from paimark.core.table.system_tables import system_table
from paimark.core.travel.parse.statement import Statement, TableUse
from paimark.core.travel.resolving import resolve_name
from paimark.core.travel.statements.shows import GLOBAL_VIEWS, Show, read_show
from paimark.core.travel.times import zone_of

_PART = r"(?:`(?:[^`]|``)+`|[\w$-]+)"
_NAME = rf"(?P<name>{_PART}(?:\s*\.\s*{_PART})*)"
_LIKE = r"(?:\s+(?:LIKE\s+)?(?P<quote>['\"])(?P<like>(?:(?!(?P=quote))[^\\])*)(?P=quote))?"
# A list that Spark would make of its own catalog, which has no tables of ours.
_LISTED = re.compile(r"SHOW\s+(DATABASES|SCHEMAS|NAMESPACES|TABLES)\b", re.IGNORECASE)
_SHOW_DATABASES = re.compile(rf"SHOW\s+(?:DATABASES|SCHEMAS|NAMESPACES){_LIKE}", re.IGNORECASE)
_SHOW_TABLES = re.compile(rf"SHOW\s+TABLES(?:\s+(?:IN|FROM)\s+{_NAME})?{_LIKE}", re.IGNORECASE)
_SHOW_VIEWS = re.compile(rf"SHOW\s+VIEWS(?:\s+(?:IN|FROM)\s+{_NAME})?{_LIKE}", re.IGNORECASE)
_SHOW_CURRENT = re.compile(r"SHOW\s+CURRENT\s+(?:NAMESPACE|DATABASE|SCHEMA)", re.IGNORECASE)
_DESCRIBE_DATABASE = re.compile(
    rf"(?:DESCRIBE|DESC)\s+(?:DATABASE|SCHEMA|NAMESPACE)\s+(?P<more>EXTENDED\s+)?{_NAME}", re.IGNORECASE
)
_DROP_VIEW = re.compile(rf"DROP\s+VIEW\s+(?P<if>IF\s+EXISTS\s+)?{_NAME}", re.IGNORECASE)
_USE = re.compile(rf"USE\s+(?:(?:DATABASE|SCHEMA|NAMESPACE)\s+)?{_NAME}", re.IGNORECASE)

_SHOW_FORM = "Write SHOW DATABASES or SHOW TABLES IN db, with LIKE 'o*' behind it for some of them."
_COLUMNS = {
    "columns": ("col_name",),
    "properties": ("key", "value"),
    "create": ("createtab_stmt",),
    "partitions": ("partition",),
}


class Answer(NamedTuple):
    """Rows of texts and booleans. `database` is the new current database, if the statement chooses one."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str | bool, ...]] = ()
    message: str = ""
    database: str | None = None


class OfSession(NamedTuple):
    """Reads the session's temporary views, those that all sessions see, and a setting or its default.

    `lacks` tells whether there is no temporary view of a name.
    """

    temporary: Callable[[], Sequence[str]]
    of_all_sessions: Callable[[], Sequence[str]]
    lacks: Callable[[Sequence[str]], bool]
    setting: Callable[[str, str], str]


def answer(statement: Statement, files: Files, database: str | None, session: OfSession) -> Answer | None:
    """Answer a statement of these kinds; None for all others.

    Raises `StatementFailed` for a missing database.
    """
    if statement.kind not in ("show", "describe", "session", "drop"):
        return None
    text = statement.without_comments
    if match := _DROP_VIEW.fullmatch(text):
        return _missing_view(statement, match, session)

    def named_database(match: re.Match[str]) -> str:
        with failing_at(statement.sql.rindex(match["name"], 0, statement.tokens[-1].end)):
            return _database(files, match["name"])

    if match := _SHOW_DATABASES.fullmatch(text):
        names = [name for name in databases(files) if _matches(name, match["like"])]
        return Answer(("namespace",), [(name,) for name in names])
    if match := _SHOW_TABLES.fullmatch(text):
        chosen = named_database(match) if match["name"] else database
        return _tables(files, chosen, match["like"], session.temporary())
    if match := _USE.fullmatch(text):
        name = named_database(match)
        return Answer((), message=f"The current database is {name}", database=name)
    if match := _SHOW_VIEWS.fullmatch(text):
        is_global = _is_global(match["name"])
        if match["name"] and not is_global:
            # A database has no views of its own; the session's views are visible in each.
            named_database(match)
        rows = [(GLOBAL_VIEWS, name, True) for name in (session.of_all_sessions() if is_global else ())]
        rows += [("", name, True) for name in session.temporary()]
        shown_rows = [row for row in rows if _matches(row[1], match["like"])]
        return Answer(("namespace", "viewName", "isTemporary"), shown_rows)
    if (asked := setting_asked(statement)) is not None:
        return Answer(("key", "value"), [(asked, session.setting(asked, DEFAULTS[asked]))])
    if _SHOW_CURRENT.fullmatch(text):
        return Answer(("namespace",), [(database,)] if database is not None else [])
    if match := _DESCRIBE_DATABASE.fullmatch(text):
        name = named_database(match)
        location = f"{files.uri.rstrip('/')}/{database_directory(name)}"
        more = [("Properties", "")] if match["more"] else []
        return Answer(("info_name", "info_value"), [("Namespace Name", name), ("Location", location), *more])

    def zone() -> tzinfo:
        return zone_of(session.setting(ZONE, "UTC"))

    if (listing := shown(statement, files, database, session.temporary, zone)) is not None:
        return Answer(listing.columns, listing.rows)
    if match := _LISTED.match(text):
        raise StatementFailed(f"SHOW {match[1].upper()} is not answered in this form", _SHOW_FORM, 0)
    return None


def _missing_view(statement: Statement, match: re.Match[str], session: OfSession) -> Answer | None:
    """Answer the DROP of a view that is not there: our catalog, which Spark would ask, has none."""
    if not session.lacks(split_name(match["name"])):
        return None
    reason = f"There is no temporary view {match['name']}"
    if match["if"]:
        return Answer((), message=f"{reason}: nothing was done")
    position = statement.sql.rindex(match["name"], 0, statement.tokens[-1].end)
    raise StatementFailed(reason, "SHOW VIEWS lists what there is.", position)


def _database(files: Files, written: str) -> str:
    """The database of that name. Raises `NotFound`, also for a name of several parts."""
    parts = split_name(written)
    if len(parts) > 1:
        raise NotFound(f"There is no database {written}", "The name of a database has one part: USE db.")
    require_database(files, parts[0])
    return parts[0]


def _is_global(name: str | None) -> bool:
    return name is not None and split_name(name)[0].lower() == GLOBAL_VIEWS


def _tables(files: Files, database: str | None, like: str | None, temporary: Sequence[str]) -> Answer:
    if database is None:
        raise StatementFailed("No database is chosen", f"Write SHOW TABLES IN db. {CHOOSE_DATABASE}")
    rows = [(table.database, table.name, False) for table in tables(files, database)]
    everything = [*rows, *(("", name, True) for name in temporary)]
    return Answer(
        ("namespace", "tableName", "isTemporary"), [row for row in everything if _matches(row[1], like)]
    )


def _matches(name: str, like: str | None) -> bool:
    """Match Spark's pattern: `*` for any text, `|` between alternatives, case-insensitive."""
    if like is None:
        return True
    return any(fnmatchcase(name.lower(), each.strip().replace("%", "*").lower()) for each in like.split("|"))


def tell_answer(reply: Answer, tell: Callable[[Columns | Batch], None]) -> Finished:
    """Report the rows of an answer like those of a statement."""
    if reply.columns:
        columns = {name: "boolean" if name == "isTemporary" else "string" for name in reply.columns}
        tell(Columns(reply.columns, tuple(columns.values())))
        if reply.rows:
            tell(cells_batch(columns, reply.rows))
    return Finished(len(reply.rows), False, message=reply.message, database=reply.database)


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
    fields = fields_of(schema.to_json().decode())
    for field, kind, described in zip(fields, spark_schema(fields).fields, schema.fields, strict=True):
        never_null = "" if field.type.nullable else " NOT NULL"
        comment = f" COMMENT {literal(described.description)}" if described.description else ""
        yield f"  {quoted(field.name)} {kind.dataType.simpleString()}{never_null}{comment}"
