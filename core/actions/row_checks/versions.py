"""`check`: the checks of a table on one of its versions, as command and in Python."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.row_checks.check_file import CheckFile, file_of_table, read_check_file
from paimark.core.actions.row_checks.checking import CheckedRows, head_of_main, rows_at, run_checks
from paimark.core.errors import NotFound
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import CheckResult
from paimark.core.travel.diff.versions import find_version, parse_version
from paimark.core.travel.requested_version import RequestedVersion


def checks_for(table: TablePath, path: str | None) -> CheckFile:
    """The checks of a file, else those that the table always has. Raises `NotFound` and `UsageError`."""
    path = path or file_of_table(table)
    if path is None:
        raise NotFound(
            f"{table.full_name} has no checks",
            f"Give a file with --check, or write checks/{table.full_name}.sql beside the configuration.",
        )
    return read_check_file(path)


def version_to_check(context: Context, table: TablePath, version: str | None) -> CheckedRows:
    """A version as a difference names it; main's newest for None. Raises `NotFound` and `UsageError`."""
    files = context.files
    requested = RequestedVersion() if version is None else parse_version(files, table, version)
    found = find_version(files, table, requested)
    if found.snapshot is None:
        raise NotFound(
            f"{found.label} of {table.full_name} has no snapshot yet", "There is nothing to check."
        )
    label = found.label if found.name is not None else f"{found.label} at snapshot {found.snapshot.id}"
    return rows_at(label, found.root, found.snapshot, found.schema, head_of_main(files, table))


def check_version(
    context: Context, table: TablePath, version: str | None, path: str | None, progress: Progress
) -> tuple[str, Iterator[CheckResult]]:
    """What is checked, for people, and the result of each check as it is made."""
    checks, rows = checks_for(table, path), version_to_check(context, table, version)
    return rows.label, run_checks(context, checks.checks, rows, progress)
