"""Run checks on a version, or on what a change will publish, whose plan is refused if one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from paimark.core.actions.checks import text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Item, Plan, Refusal
from paimark.core.actions.rewrite.spark_rewrite import answer_of, engine_of, version_of
from paimark.core.actions.row_checks.check_file import (
    MAIN,
    THIS,
    Check,
    CheckFile,
    called,
    file_of_table,
    read_check_file,
)
from paimark.core.errors import NotFound, PaimarkError, Refused, reworded
from paimark.core.figures import counted
from paimark.core.quoting import shell_line
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Ask, Version
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.operations import CheckResult, checks_said
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.text import capitalised
from paimark.core.travel.diff.versions import find_version, parse_version
from paimark.core.travel.requested_version import RequestedVersion
from paimark.core.travel.version import resolve_latest

# How many rows of a check that fails are kept.
FIRST = 10
_AS_JSON = "to_json(struct(*), map('ignoreNullFields', 'false'))"
Argument = str | int | bool | None


@dataclass(frozen=True)
class CheckedRows:
    """The rows under check, `label` for people. `versions` and `common`, SQL by name, give `THIS` and `MAIN`.

    `version` names them for `paimark check`; empty if they are none yet. `schema` is theirs, with which a
    version is read that has none of its own.
    """

    label: str
    table: TablePath
    schema: TableSchema
    versions: Mapping[str, Version]
    common: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def rows_at(
    label: str, root: Root, snapshot: Snapshot, schema: TableSchema, main: Version | None
) -> CheckedRows:
    """The rows of one version, beside those of main, which may have none."""
    versions = {THIS: version_of(root, snapshot)} | ({} if main is None else {MAIN: main})
    return CheckedRows(label, root.table, schema, versions, version=f"{root.label}:{snapshot.id}")


def head_of_main(files: Files, table: TablePath) -> Version | None:
    """Main's newest rows, with its own columns; None if it has no snapshot."""
    root = main_root(files, table)
    newest, schema = resolve_latest(files, root), Lineage(files, root).latest_schema()
    if newest is None or schema is None:
        return None
    return Version(root.branch, newest.snapshot.to_json().decode(), schema.to_json().decode())


def run_checks(
    context: Context, checks: Sequence[Check], rows: CheckedRows, progress: Progress
) -> Iterator[CheckResult]:
    """The result of each check, in order. Raises the engine's error, with the name of the check."""
    # A rule on a column that is not there is told before the first one runs.
    queries = []
    for check in checks:
        with _naming(check):
            queries.append(check.sql(rows.schema))
    with engine_of(context) as engine:
        for check, sql in zip(checks, queries, strict=True):
            with _naming(check):
                first = _ask(engine, rows, f"{_AS_JSON} AS found", sql, f" LIMIT {FIRST + 1}", progress)
                found = len(first)
                if found > FIRST:
                    [found] = _ask(engine, rows, "count(*) AS found", sql, "", progress)
            kept = tuple(str(each) for each in first[:FIRST])
            yield CheckResult(check.name, found, check.warns, kept)


def _ask(
    engine: Engine, rows: CheckedRows, selection: str, sql: str, more: str, progress: Progress
) -> list[Any]:
    named = ", ".join(f"{name} AS (\n{text}\n)" for name, text in rows.common.items())
    # A comment at the end of the check would hide the bracket.
    query = f"{f'WITH {named} ' if named else ''}SELECT {selection} FROM (\n{sql}\n) AS found{more}"
    if MAIN in query and MAIN not in {**rows.versions, **rows.common}:
        raise Refused(f"main of {rows.table.full_name} has no snapshot", "Leave {main} out.")
    versions = {name: version for name, version in rows.versions.items() if name in query}
    schema = rows.schema.to_json().decode()
    ask = Ask(0, rows.table.full_name, schema, versions, query, rows.texts, reads_others=True)
    return [msgspec.json.decode(row)["found"] for row in answer_of(engine, ask, progress).rows]


@contextmanager
def _naming(check: Check) -> Iterator[None]:
    """Name the check in an error, and its tables as the file does."""

    def reword(text: str) -> str:
        return text.replace(THIS, "{this}").replace(MAIN, "{main}")

    with reworded(reword):
        try:
            yield
        except PaimarkError as error:
            error.message = f"{capitalised(called(check.name))}: {error.message}"
            error.args = (error.message,)
            raise


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


@dataclass(frozen=True)
class Verdict:
    """What the checks add to a plan. `arguments` are the file and its digest; none without checks."""

    results: tuple[CheckResult, ...] = ()
    items: tuple[Item, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    arguments: Mapping[str, Argument] = field(default_factory=dict)

    def request(self, given: Mapping[str, object]) -> dict[str, Argument]:
        """The arguments of the log: the file by its whole path. Empty if they are those given."""
        if "check" not in self.arguments:
            return {}
        kept = {name: value for name, value in given.items() if isinstance(value, str | int | bool)}
        return {**kept, "check": self.arguments["check"]}


def verdict(
    context: Context, table: TablePath, arguments: Mapping[str, object], rows: Callable[[], CheckedRows]
) -> Verdict:
    """Make the checks of the argument `check`, else those that the table always has.

    Raises `NotFound` and `UsageError` for an invalid file. What `rows` refuses is a refusal of the plan.
    """
    path = text_argument(arguments, "check") or file_of_table(table)
    if path is None:
        return Verdict()
    file = read_check_file(path)
    named: dict[str, Argument] = {"check": file.path, "check_digest": file.digest}
    try:
        under = rows()
    except Refused as error:
        return Verdict(refusals=(Refusal(error.message, error.hint),), arguments=named)
    results = tuple(run_checks(context, file.checks, under, context.progress))
    item = Item("checks", f"{checks_said(results)}, on {under.label}", "checks", count=len(results))
    return Verdict(results, (item,), _refusals(results, under, file.path), named)


def checked_again(
    context: Context, plan: Plan, under: CheckedRows, progress: Progress
) -> tuple[CheckResult, ...]:
    """Make the checks of a plan on other rows than it saw. Raises `Refused` if one fails."""
    file = read_check_file(str(plan.arguments["check"]), str(plan.arguments["check_digest"]))
    results = tuple(run_checks(context, file.checks, under, progress))
    for refusal in _refusals(results, under, file.path):
        raise Refused(refusal.reason, refusal.hint)
    return results


def is_checked(plan: Plan) -> bool:
    """Whether exactly what the plan saw may be published."""
    return "check" in plan.arguments


def _refusals(results: tuple[CheckResult, ...], under: CheckedRows, path: str) -> tuple[Refusal, ...]:
    if under.version:
        words = ["paimark", "check", under.table.word, under.version, "--check", path]
        hint = f"`{shell_line(words)}` shows its rows."
    else:
        hint = "Repair the branch, and make a new plan."
    return tuple(
        Refusal(
            f"{capitalised(called(each.name))} fails on {under.label}: "
            f"{counted(each.rows, 'row')}, first {each.first[0]}",
            hint,
            "check-fails",
        )
        for each in results
        if each.stops
    )
