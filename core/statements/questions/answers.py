"""`CALL sys.when(...)`, `history`, `blame`, `holders`, `check`: they answer with rows and change nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from paimark.core.actions.checks import text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.declared.kinds import Argument, FileName, Flag, Text
from paimark.core.actions.row_checks.checking import check_version
from paimark.core.errors import PaimarkError, UsageError, failing_at
from paimark.core.figures import counted, moment
from paimark.core.spark.arrow import cells_batch
from paimark.core.spark.protocol import Columns, Event, Failed, Finished
from paimark.core.statements.call import arguments_of
from paimark.core.statements.questions.blame import Blame, unknown_said
from paimark.core.statements.questions.history import Change, History, Values, key_values, written_by
from paimark.core.statements.questions.holders import Holder, Holders, sentence
from paimark.core.statements.questions.when import When, sentences
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import CheckResult, checks_said
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.calls import read_call

Row = tuple[str | int | None, ...]
Answer = Generator[Row, None, str]
_BRANCH = Text("branch", "The branch to look at; main when not given.")


@dataclass(frozen=True, slots=True)
class Question:
    """`answer` yields the rows of `columns`, and returns a sentence about them, or none."""

    arguments: tuple[Argument, ...]
    columns: Mapping[str, str]
    answer: Callable[[Context, TablePath, Mapping[str, object], Progress], Answer]


def answers(
    context: Context, statement: Statement, database: str | None, limit: int | None, tell: Progress
) -> Iterator[Event]:
    """Answer a question, and yield events as `Engine.run`. A version is counted or looked up at a time."""
    began, position = time.monotonic(), None
    try:
        call = read_call(statement)
        question = QUESTIONS[call.procedure]
        named, place, values = arguments_of(call, question.arguments, database)
        position = call.position
        with failing_at(place):
            table = find_table(context.files, named.full_name)
        yield Columns(tuple(question.columns), tuple(question.columns.values()))
        rows, shown, said = question.answer(context, table, values, tell), 0, ""
        while limit is None or shown <= limit:
            try:
                row = next(rows)
            except StopIteration as end:
                said = end.value
                break
            shown += 1
            if limit is None or shown <= limit:
                yield cells_batch(question.columns, [row])
        rows.close()
    except PaimarkError as error:
        yield Failed.of(error, position)
        return
    is_cut = limit is not None and shown > limit
    yield Finished(shown - is_cut, is_cut, time.monotonic() - began, said)


def _when(context: Context, table: TablePath, values: Mapping[str, object], tell: Progress) -> Answer:
    branch, condition, old, new = (
        text_argument(values, each) for each in ("branch", "condition", "from", "to")
    )
    assert condition is not None
    search = When(context, table, branch, condition, old, new)
    if values.get("all"):
        for each in search.every(tell):
            yield each.version.name, moment(each.time_millis), each.rows, None, None
        return ""
    found = search.find(tell)
    first, before = found.first, found.before
    yield (
        first.version.name,
        moment(first.time_millis),
        first.rows,
        None if before is None else before.version.name,
        None if before is None else found.gone,
    )
    return " ".join(sentences(found, condition, table, context.clock()))


def _history(context: Context, table: TablePath, values: Mapping[str, object], tell: Progress) -> Answer:
    key = key_values(_pairs(str(values["key"])), "key")
    changes = 0
    for change in History(context, table, text_argument(values, "branch"), key).find(tell):
        changes += change.kind != "there"
        yield _change(change)
    return f"{counted(changes, 'change')}, newest first" if changes else "No change of it is left"


def _blame(context: Context, table: TablePath, values: Mapping[str, object], tell: Progress) -> Answer:
    unknown = 0
    for key, version, commit in Blame(context, table, text_argument(values, "branch"), values).find(tell):
        unknown += commit is None
        told: Row = (None,) * 4
        if version is not None and commit is not None:
            told = version.name, moment(commit.time_millis), written_by(commit), commit.commit_user
        yield msgspec.json.encode(key).decode(), *told
    return unknown_said(unknown)


def _holders(context: Context, table: TablePath, values: Mapping[str, object], tell: Progress) -> Answer:
    where, key = text_argument(values, "where"), text_argument(values, "key")
    found: list[Holder] = []
    for each in Holders(context, table, where, key_values(_pairs(key), "key") if key else None).find(tell):
        found.append(each)
        yield each.what, each.name, each.snapshot_id, each.rows, "; ".join(each.commands) or None
    return sentence(found, table)


def _check(context: Context, table: TablePath, values: Mapping[str, object], tell: Progress) -> Answer:
    label, found = check_version(
        context, table, text_argument(values, "version"), text_argument(values, "check"), tell
    )
    results: list[CheckResult] = []
    for each in found:
        results.append(each)
        yield each.name, each.verdict, each.rows, " ".join(each.first) or None
    return f"{label}: {checks_said(results)}"


def _change(change: Change) -> Row:
    old, new = change.old, change.new
    if columns := list(change.columns):
        # Of one row, what differs.
        old, new = ({name: was for name, was, _ in columns},), ({name: now for name, _, now in columns},)
    return (
        change.after.name,
        moment(change.commit.time_millis),
        "there already" if change.kind == "there" else change.kind,
        _cells(old),
        _cells(new),
        written_by(change.commit),
        None if change.before is None else change.before.name,
    )


def _pairs(text: str) -> list[str]:
    """`id=1, region=EU`: a comma parts two columns where a name and = follow it."""
    pairs = re.split(r",\s*(?=\w+\s*=)", text)
    if not text.strip():
        raise UsageError("The key is empty", "Write key => 'order_id=42'.")
    return pairs


def _cells(rows: tuple[Values, ...]) -> str | None:
    """The rows as JSON, one after the other; None without any."""
    return " ".join(msgspec.json.encode(row).decode() for row in rows) or None


QUESTIONS: Mapping[str, Question] = {
    "when": Question(
        (
            Text("condition", "What rows shall satisfy: price < 0.", required=True),
            _BRANCH,
            Text("from", "The oldest version to look at."),
            Text("to", "The newest version to look at."),
            Flag("all", "Count each version, instead of a binary search."),
        ),
        {
            "version": "string",
            "time": "string",
            "rows": "bigint",
            "version_before": "string",
            "expired_between": "bigint",
        },
        _when,
    ),
    "history": Question(
        (Text("key", "A column and its value: order_id=42.", required=True), _BRANCH),
        {
            "version": "string",
            "time": "string",
            "change": "string",
            "old": "string",
            "new": "string",
            "writer": "string",
            "version_before": "string",
        },
        _history,
    ),
    "blame": Question(
        (
            Text("keys", "Keys as restore-rows takes them: 42, 43; or JSON."),
            Text("where", "Or the rows of a condition: price < 0."),
            Text("partition", "Or those of partitions: day=2026-05-01."),
            _BRANCH,
        ),
        {"key": "string", "version": "string", "time": "string", "writer": "string", "user": "string"},
        _blame,
    ),
    "holders": Question(
        (Text("where", "The rows: price < 0."), Text("key", "Or a column and its value: order_id=42.")),
        {"what": "string", "name": "string", "snapshot_id": "bigint", "rows": "bigint", "commands": "string"},
        _holders,
    ),
    "check": Question(
        (
            Text("version", "As a difference names it; the newest of main when not given."),
            FileName("check", "File of checks; else the table's own file of them."),
        ),
        {"name": "string", "result": "string", "rows": "bigint", "first": "string"},
        _check,
    ),
}
