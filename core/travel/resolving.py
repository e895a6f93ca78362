"""Resolve the table names of a statement, and refuse missing ones before an engine starts.

Of a plain query they are found without Spark. Also: versions and times of one root as snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo
from itertools import islice

from paimark.core.errors import NotFound, failing_at
from paimark.core.quoting import quoted_if_needed
from paimark.core.storage.files import Files
from paimark.core.table.catalog import databases, find_table, require_database, table_exists
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import CHOOSE_DATABASE, SystemName, is_safe_name, split_system_name
from paimark.core.travel.parse.statement import Clause, SqlRefused, Statement, TableUse, TokenCursor
from paimark.core.travel.times import epoch_ms, from_epoch, instant, read_date, read_timestamp
from paimark.core.travel.version import Resolved, resolve_latest, resolve_time, resolve_version

# Each database takes a request, and three names are enough for a hint.
_MOST_NAMED = 3
_LISTED = "SHOW TABLES lists what there is; write database.table."


def resolve_name(files: Files, use: TableUse, database: str | None) -> tuple[TablePath, SystemName] | None:
    """Find the existing table that a statement names; None for a name that Spark may know.

    `database` is the current one. Raises `NotFound` if the table is missing and the name can't be Spark's.
    """
    is_ours = use.clause is not None or "$" in use.parts[-1]
    if len(use.parts) == 2 and not is_safe_name(use.parts[0]):
        # Neither a database nor a file format of Spark's has such a name.
        written = ".".join(map(quoted_if_needed, use.parts))
        raise NotFound(f"There is no table {written}", _LISTED)
    if len(use.parts) > 2 or not all(map(is_safe_name, use.parts)):
        return None
    named = use.parts[0] if len(use.parts) == 2 else database
    if named is None:
        if is_ours:
            raise _no_database(files, use.parts[0])
        return None
    if len(use.parts) == 2 and is_ours:
        require_database(files, named)
    elif len(use.parts) == 2 and named not in databases(files):
        return None
    name = split_system_name(use.parts[-1])
    table = TablePath(named, name.table)
    if not table_exists(files, table):
        if len(use.parts) == 1 and not is_ours:
            return None
        find_table(files, table.full_name)
    return table, name


def require_versions(files: Files, statement: Statement, database: str | None) -> None:
    """Raises `StatementFailed`, with its position, for a missing table, branch or version.

    The run of the statement checks them again, and those that aren't seen here; this check fails before an
    engine starts.
    """
    for use in plain_uses(statement):
        with failing_at(use.position):
            resolved = resolve_name(files, use, database)
            if resolved is None:
                continue
            table, name = resolved
            root = branch_root(files, table, name.branch)
            if use.version is not None:
                resolve_version(files, root, use.version)


def tables_called(files: Files, name: str) -> str:
    """Name the tables called so in all databases, quoted for SQL: `a.t or b.t`; empty if there are none."""
    table = name.partition("$")[0]
    if not is_safe_name(table):
        return ""
    having = (each for each in databases(files) if table_exists(files, TablePath(each, table)))
    written = quoted_if_needed(name)
    return " or ".join(f"{quoted_if_needed(each)}.{written}" for each in islice(having, _MOST_NAMED))


def _no_database(files: Files, name: str) -> NotFound:
    hint = f"Write {tables_called(files, name) or 'database.table'}. {CHOOSE_DATABASE}"
    return NotFound(f"No database is chosen to have {name}", hint)


_QUALIFIED = 2


def plain_uses(statement: Statement) -> Iterator[TableUse]:
    """The tables behind FROM and JOIN outside parentheses, with a database, a `$` or a clause.

    A name alone may be that of a view. A time is left to Spark.
    """
    cursor, depth = TokenCursor.of(statement), 0
    if statement.kind != "query" or cursor.upper(0) != "SELECT":
        return
    for index, token in enumerate(statement.tokens):
        depth += (token.text == "(") - (token.text == ")")
        is_distinct_from = cursor.upper(index - 1) == "DISTINCT"
        if depth or token.upper not in ("FROM", "JOIN") or is_distinct_from or not cursor.is_name(index + 1):
            continue
        parts, behind = cursor.read_name(index + 1)
        is_past = cursor.is_clause(behind)
        is_known = len(parts) == _QUALIFIED or "$" in parts[0] or is_past
        if not is_known or cursor.text(behind) in ("(", "/*+"):
            continue
        start, end = statement.tokens[index + 1].start, statement.tokens[behind - 1].end
        cursor.index = behind + (cursor.upper(behind) == "FOR")
        version = None
        if cursor.takes("VERSION", "AS", "OF") or cursor.takes("SYSTEM_VERSION", "AS", "OF"):
            behind_of = statement.tokens[cursor.index : cursor.index + 1]
            version = next((each.value for each in behind_of if each.kind in ("number", "string")), None)
        yield TableUse(parts, start, end, Clause("", end, end, version) if is_past else None)


@dataclass(frozen=True, slots=True)
class TravelSource:
    """Reads a root as of a version or a time. `zone` is the session's, and that of the times in messages."""

    files: Files
    root: Root
    zone: tzinfo = UTC

    def apply_snapshot(self, timestamp_ms: int, requested: str = "") -> Resolved:
        """The newest state at or before the time (epoch ms). Raises `NotFound` when all are later."""
        return resolve_time(self.files, self.root, timestamp_ms, requested, zone=self.zone)

    def as_written(self, sql: str, use: TableUse, *, now_ms: int) -> Resolved | None:
        """Resolve the clause that the statement has for this table; without a clause, the latest snapshot.

        `now_ms` is the current time for the whole statement, epoch ms. Raises `NotFound`, `Corrupt`,
        `SqlRefused`.
        """
        if use.clause is None:
            return resolve_latest(self.files, self.root)
        if use.clause.is_tag and use.version is not None:
            # Fail for a missing tag: `resolve_version` would take a number for a snapshot.
            Lineage(self.files, self.root).tag(use.version)
        if use.version is not None:
            return resolve_version(self.files, self.root, use.version)
        time_ms = use.clause.time_ms
        if time_ms is None:
            time_ms = literal_time(sql, use.clause, now_ms=now_ms, zone=self.zone)
        return self.apply_snapshot(time_ms, use.clause.time or "")


_OUTSIDE = (
    "The time is outside the years 1 to 9999",
    "A number counts seconds since 1970: timestamp_millis(n) takes milliseconds.",
)
_CONSTANT = (
    "The time is a constant: a literal, CURRENT_TIMESTAMP or now(), intervals added or taken away, and "
    "functions of these."
)


# A time without a zone is in the session's. The caller passes the current time, one per statement, because a
# time of day is today's.
def literal_time(sql: str, clause: Clause, *, now_ms: int, zone: tzinfo) -> int:
    """The epoch milliseconds, rounded down, of the clause's literal.

    Raises `SqlRefused` with the position in `sql`.
    """
    text, kind = clause.literal or "", clause.literal_type
    try:
        if kind == "DATE":
            return epoch_ms(instant(datetime.combine(read_date(text), time()), zone))
        local = read_timestamp(text, from_epoch(milliseconds=now_ms).astimezone(zone).date())
        if kind == "TIMESTAMP_NTZ" and local.tzinfo is not None:
            raise ValueError("A TIMESTAMP_NTZ has no time zone")
        return epoch_ms(instant(local.replace(tzinfo=None), local.tzinfo or zone))
    except OverflowError as error:
        raise SqlRefused(*_OUTSIDE, sql, clause.time_start) from error
    except ValueError as error:
        raise SqlRefused(str(error), _CONSTANT, sql, clause.time_start) from error
