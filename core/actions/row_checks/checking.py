"""Run checks on a version, or on the rows that a change will publish, and say what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.rewrite.spark_rewrite import answer_of, engine_of, version_of
from paimark.core.actions.row_checks.check_file import MAIN, THIS, Check, called
from paimark.core.errors import PaimarkError, Refused, reworded
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Ask, Version
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.operations import CheckResult
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.text import capitalised
from paimark.core.travel.version import resolve_latest

# How many rows of a check that fails are kept.
FIRST = 10
_AS_JSON = "to_json(struct(*), map('ignoreNullFields', 'false'))"


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
