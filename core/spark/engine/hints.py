"""Better words for a statement that Spark refused: other names for a table, and what replaces a statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from paimark.core.quoting import quoted_if_needed
from paimark.core.spark.engine.failures import NO_TABLE
from paimark.core.spark.protocol import Failed
from paimark.core.storage.files import Files
from paimark.core.table.catalog import databases, table_exists, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import is_safe_name, system_hint
from paimark.core.table.system_tables import SYSTEM_TABLES
from paimark.core.travel.parse.statement import Statement, TableUse
from paimark.core.travel.resolving import resolve_name, tables_called
from paimark.core.travel.statements.refused import foreign

_LONGEST_NAME = 2
_TWO_OF_A_NAME = re.compile(r"(?:Reference|The column) (?:\S+\.)?`([^`]+)` (?:is ambiguous|already exists)")
_BY_TABLE = "Write the column with its table's alias: a.x; two tables of one name need an alias each."
_BY_CASE = (
    "SET spark.sql.caseSensitive = true (as an option: --spark-conf spark.sql.caseSensitive=true) lets Spark "
    "tell them apart."
)
_NO_DEFAULT = (
    "DEFAULT is not supported among the values of an INSERT",
    "Name the columns that get values: INSERT INTO db.t (a, b) VALUES ...; the others become NULL.",
)


def helped(
    end: Failed, statement: Statement, uses: Sequence[TableUse], files: Files, database: str | None
) -> Failed:
    """The failure with our words for what Spark did not know; otherwise as it is. Raises `PaimarkError`."""
    is_unknown = end.hint == NO_TABLE
    if (is_unknown or statement.kind in ("other", "ddl")) and (refusal := foreign(statement)) is not None:
        return Failed.of(refusal)
    if _is_default(end, statement):
        return replace(end, message=_NO_DEFAULT[0], hint=_NO_DEFAULT[1])
    if not is_unknown:
        return _told_by_case(end, uses, files, database)
    use = _failed_use(end, uses)
    if use is None:
        return end
    if not (meant := " or ".join(_meant(files, use, database))) and (hint := system_hint(use.parts[-1])):
        return replace(end, hint=hint)
    return _named(end, use, meant)


def _is_default(end: Failed, statement: Statement) -> bool:
    """Whether the word DEFAULT among the values of an INSERT is at fault."""
    is_insert = statement.kind in ("insert", "overwrite")
    return is_insert and any(
        token.start == end.position and token.upper == "DEFAULT" for token in statement.tokens
    )


def _told_by_case(end: Failed, uses: Sequence[TableUse], files: Files, database: str | None) -> Failed:
    """With a hint if Spark can't tell two columns of a table apart: it reads `id` and `ID` as one name."""
    found = _TWO_OF_A_NAME.match(end.message)
    if found is None:
        return end
    for table, columns in _columns(uses, files, database):
        if len(alike := [each for each in columns if each.lower() == found[1].lower()]) > 1:
            both = " and ".join(map(quoted_if_needed, alike))
            return replace(end, hint=f"{table} has {both}, which differ by case only: {_BY_CASE}")
    return replace(end, hint=end.hint or _BY_TABLE) if "is ambiguous" in found[0] else end


def _columns(uses: Sequence[TableUse], files: Files, database: str | None) -> Iterator[tuple[str, list[str]]]:
    """The names of the tables that a statement uses, with those of their columns. Raises `PaimarkError`."""
    for use in uses:
        resolved = resolve_name(files, use, database)
        if resolved is not None and resolved[1].system is None:
            schema = Lineage(files, branch_root(files, resolved[0], resolved[1].branch)).require_schema()
            yield resolved[0].full_name, [each.name for each in schema.fields]


def _failed_use(end: Failed, uses: Sequence[TableUse]) -> TableUse | None:
    """The table that Spark did not find. It gives no position for a name that is too long."""
    for use in uses:
        is_too_long = end.position is None and len(use.parts) > _LONGEST_NAME
        if use.position == end.position or is_too_long:
            return use
    return None


def _named(end: Failed, use: TableUse, meant: str) -> Failed:
    hint = f"Did you mean {meant}?" if meant else end.hint
    if len(use.parts) <= _LONGEST_NAME:
        return replace(end, hint=hint)
    name = ".".join(map(quoted_if_needed, use.parts))
    return replace(end, message=f"There is no table {name}", hint=hint, position=use.position)


def _meant(files: Files, use: TableUse, database: str | None) -> Iterator[str]:
    """The existing tables that the name may mean."""
    match use.parts:
        case [name]:
            if there := tables_called(files, name):
                yield there
            elif name.count(".") == 1 and _exists(files, *name.split(".")):
                yield ".".join(map(quoted_if_needed, name.split(".")))
        case [table, system] if database is not None and _is_system_table(files, database, table, system):
            yield quoted_if_needed(f"{table}${system}")
        case [within, table, system] if _is_system_table(files, within, table, system):
            yield f"{quoted_if_needed(within)}.{quoted_if_needed(f'{table}${system}')}"
        case [_, within, table] if _exists(files, within, table):
            yield f"{quoted_if_needed(within)}.{quoted_if_needed(table)}"
        case [within, table]:
            yield from _in_other_case(files, within, table)


def _in_other_case(files: Files, within: str, table: str) -> Iterator[str]:
    for database in databases(files):
        if database.lower() == within.lower():
            for path in tables(files, database):
                if path.name.lower() == table.lower():
                    yield f"{quoted_if_needed(database)}.{quoted_if_needed(path.name)}"


def _is_system_table(files: Files, database: str, table: str, system: str) -> bool:
    return system in SYSTEM_TABLES and _exists(files, database, table)


def _exists(files: Files, database: str, table: str) -> bool:
    name = table.partition("$")[0]
    return is_safe_name(database) and is_safe_name(name) and table_exists(files, TablePath(database, name))
