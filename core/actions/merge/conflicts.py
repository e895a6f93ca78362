"""Find the keys that both sides changed to different rows, in a merge or a repair. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from paimark.core.actions.checks import integer_argument, required_text, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.conflict_lines import BASE, MERGE, RENAMED, At, KeyLine, header_of
from paimark.core.actions.merge.history import events
from paimark.core.actions.merge.resolution import Between, Resolution, moved, resolved
from paimark.core.actions.merge.rows import resolved_queries, rewriting, versions_of
from paimark.core.actions.merge.sql import Resolved
from paimark.core.actions.merge.survey import Survey, survey_merge
from paimark.core.actions.plan import Refusal, raise_first
from paimark.core.actions.rewrite.spark_rewrite import run_query
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.spark.protocol import Version
from paimark.core.storage.files import Files
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.text import compared, quoted_if_unclear

# This many are shown; all are counted.
SHOWN = 1000
# A longer text is cut: the shown conflicts must fit into memory, whatever the table holds.
LONGEST = 1000
NO_ROW = "(no row)"
_TEXTS = ("CHAR", "VARCHAR", "STRING")
_BYTES = ("BINARY", "VARBINARY", "BYTES")


def line_columns(sides: Sequence[str]) -> tuple[str, ...]:
    """The columns of a line after those of the key."""
    return ("column", BASE, *sides)


Row = dict[str, msgspec.Raw]
# A cell is a number only if its JSON is a whole number. Texts are not cleaned yet.
ConflictLine = tuple[str | int, ...]


class Conflict(msgspec.Struct, frozen=True):
    """A key with its rows at the base, in main and in the branch; None for no row.

    A row maps columns to their values as JSON, exact except texts over `LONGEST`, which end in `…`. `columns`
    are those in which main's and the branch's row differ; if one side has no row, those in which the other
    side's row differs from the base. In a repair `main` is the row of now,
    `branch` what it shall be. `both` are those of `columns` that both sides changed.
    """

    key: Row
    columns: tuple[str, ...]
    both: tuple[str, ...]
    base: Row | None
    main: Row | None
    branch: Row | None

    @classmethod
    def of(cls, line: KeyLine) -> Conflict:
        """The conflict of a line in a file of conflicts, with texts of any length."""
        rows = (
            None if (raw := bytes(each) or b"null") == b"null" else msgspec.json.decode(raw, type=Row)
            for each in (line.base, line.main, line.branch)
        )
        return cls(line.key, line.columns, line.both, *rows)

    @property
    def lines(self) -> list[ConflictLine]:
        """One line per differing column; a single line without a column if the rows have only the key."""
        key = [*map(_shown, self.key.values())]
        return [(*key, column, *self._cells(column)) for column in self.columns or ("",)]

    def _cells(self, column: str) -> Iterator[str | int]:
        """The column's value on each side; long texts show where they differ from the others."""
        cells = [_cell(row, column) for row in self.rows]
        texts = iter(compared([each for each in cells if isinstance(each, str) and each != NO_ROW]))
        return (each if isinstance(each, int) or each == NO_ROW else next(texts) for each in cells)

    @property
    def rows(self) -> tuple[Row | None, ...]:
        """The rows in the order of base, main, branch."""
        return (self.base, self.main, self.branch)

    @property
    def key_text(self) -> str:
        """The values of the key, as they are shown."""
        return " ".join(str(_shown(value)) for value in self.key.values())

    def facts(self, sides: Sequence[str]) -> list[tuple[str, str]]:
        """The text of every value of `named`. Not cleaned yet."""
        return [(name, NO_ROW if value is None else str(_shown(value))) for name, value in self.named(sides)]

    def named(self, sides: Sequence[str]) -> list[tuple[str, msgspec.Raw | None]]:
        """Every value with a name: first differing ones per side, then equal ones; None without a row.

        `sides` are the words for main and the branch.
        """
        whole = next(row for row in self.rows if row is not None)
        differing = [
            (f"{column} in {side}", None if row is None else row[column])
            for column in self.columns
            for side, row in zip((BASE, *sides), self.rows, strict=True)
        ]
        return [*differing, *((name, value) for name, value in whole.items() if name not in self.columns)]


class RepairConflict(Conflict, frozen=True, rename=RENAMED["then"]):
    """As `Conflict`, of a repair."""

    main: Row | None
    branch: Row | None


class EditConflict(Conflict, frozen=True, rename=RENAMED["edited"]):
    """As `Conflict`, of rows that a person edited."""

    main: Row | None
    branch: Row | None


_CONFLICTS: Mapping[str, type[Conflict]] = {
    "branch": Conflict,
    "then": RepairConflict,
    "edited": EditConflict,
}

# Why a merge can have no conflicts, by its kind.
_WHY_NONE = {
    "nothing": "all of the branch is there already",
    "fast-forward": "only the branch has changed since",
    "append": "the table has no primary key, so rows are added and removed whole",
}


class Conflicts(msgspec.Struct, frozen=True):
    """The first `SHOWN` of the `count` conflicts, in the order of their keys.

    `why_none` says why there can be none; empty if the rows were compared.
    """

    title: str
    keys: tuple[str, ...]
    sides: tuple[str, str]
    first: tuple[Conflict, ...]
    count: int
    why_none: str = ""

    @property
    def summary(self) -> str:
        """How many conflicts there are, and how many of them are in `first`."""
        if not self.count:
            return f"no conflicts: {self.why_none}" if self.why_none else "no conflicts"
        said = counted(self.count, "key") + " in conflict"
        return said if self.count == len(self.first) else f"the first {len(self.first):,} of {said}"

    @property
    def columns(self) -> list[str]:
        """The names of a line's cells."""
        return [*self.keys, *line_columns(self.sides)]

    @property
    def lines(self) -> list[ConflictLine]:
        return [line for each in self.first for line in each.lines]


def find_conflicts(context: Context, between: Between, progress: Progress) -> Conflicts:
    """The conflicts that there would be now. Raises `NotFound`, `Refused` if the sides can't be compared, and
    the engine's error."""
    schema = between.start.schema
    compared, keys = between.compare(), between.header.keys
    if compared is None:
        return Conflicts(between.title, keys, between.header.sides, (), 0, between.why_none)
    versions, queries = compared
    kinds = {field.name: ColumnType.of(_type_name(field.type)).name for field in schema.fields}

    def ask(sql: str) -> list[dict[str, Any]]:
        return run_query(context, between.start, versions, sql, progress, between.texts)

    first = ask(queries.every_conflict(lambda column, value: _bounded(kinds[column], value), SHOWN + 1))
    count = len(first)
    if count > SHOWN:
        (answer,) = ask(queries.count_conflicts)
        count = int(answer["conflicts"])
    made = _CONFLICTS[between.header.sides[1]]
    read = tuple(_conflict(made, schema, kinds, each) for each in first[:SHOWN])
    return Conflicts(between.title, keys, between.header.sides, read, count)


def conflicting(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Between:
    """Between main, or the branch `into`, and the branch `name` up to its snapshot `up_to`.

    Raises `NotFound`.
    """
    name, up_to = required_text(arguments, "name"), integer_argument(arguments, "up_to")
    survey = survey_merge(context.files, table, name, text_argument(arguments, "into"), up_to=up_to)
    return between_of(context, survey)


def between_of(context: Context, survey: Survey) -> Between:
    main, branch = survey.start.head.snapshot, survey.branch
    return Between(
        header_of(
            survey.target,
            MERGE,
            branch.root.label,
            survey.base,
            main,
            branch.snapshot,
            into="" if survey.start.is_main else survey.start.root.label,
        ),
        survey.target,
        _title(survey.start.root.table, survey),
        lambda: compare(context, survey),
        _WHY_NONE.get(survey.kind, ""),
        lambda: _states(context.files, survey.start.root, main),
    )


def chosen(
    context: Context, survey: Survey, path: str, digest: str | None
) -> tuple[Survey, Resolution, list[Refusal]]:
    """The merge with a person's choices for it, and why they may be for an earlier state of it.

    `digest` is the file's earlier one, None for the first time. Raises as `resolved`.
    """
    if survey.kind != "keyed":
        branch = survey.branch.root.label
        raise Refused(f"A merge of branch {branch} has no keys in conflict now", "Leave the choices out.")
    between = between_of(context, survey)
    resolution = resolved(between, path, digest)
    return replace(survey, choices=resolution.digest), resolution, moved(between, path, resolution.header)


def _states(files: Files, main: Root, snapshot: Snapshot) -> list[At]:
    """The target's earlier snapshots whose rows an undo restored in this one."""
    states = [At.of(snapshot)]
    for event in reversed(events(files, main.table)):
        made = At(event.main.id, event.main.delta_manifest_list)
        if event.kind == "rollback" and event.root == main.branch and made == states[-1] and event.then:
            states.append(At(event.then.id, event.then.delta_manifest_list))
    return states


def compare(context: Context, survey: Survey) -> tuple[Mapping[str, Version], Resolved] | None:
    """The versions to compare for conflicts, and the queries; None if there can be none. Raises `Refused`."""
    if survey.kind != "keyed":
        return None
    raise_first((*survey.schema_refusals, *rewriting(context, survey)[1]))
    versions = versions_of(survey)
    return versions, resolved_queries(context, survey, versions)


def _title(table: TablePath, survey: Survey) -> str:
    name, head, main = survey.branch.root.label, survey.branch.snapshot.id, survey.start.head.snapshot.id
    into = "main" if survey.start.is_main else survey.start.root.label
    return f"{table.full_name}: {name} at snapshot {head}, {into} at {main}, base {survey.base.id}"


def _type_name(kind: object) -> str:
    return kind if isinstance(kind, str) else ""


def _bounded(kind: str, value: str) -> str:
    """The SQL of a value in the answer; nested types become JSON."""
    if kind in _TEXTS:
        return f"left({value}, {LONGEST + 1})"
    if kind in _BYTES:
        return f"left(base64({value}), {LONGEST + 1})"
    return value if kind else f"left(to_json({value}), {LONGEST + 1})"


def _conflict(
    made: type[Conflict], schema: TableSchema, kinds: Mapping[str, str], answer: Mapping[str, Any]
) -> Conflict:
    names = [field.name for field in schema.fields]

    def row(text: str | None, columns: list[str]) -> Row | None:
        if text is None:
            return None
        values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return {each: _value(kinds[each], values.get(f"c{names.index(each)}")) for each in columns}

    key = row(answer["key"], schema.primary_keys)
    assert key is not None
    others = [each for each in names if each not in schema.primary_keys]
    return made(
        key,
        tuple(names[place] for place in answer["differing"]) or tuple(others),
        tuple(names[place] for place in answer["both"]),
        *(row(answer.get(side), names) for side in ("base", "main", "branch")),
    )


def _value(kind: str, value: msgspec.Raw | None) -> msgspec.Raw:
    if value is None:
        return msgspec.Raw(b"null")
    if kind and kind not in (*_TEXTS, *_BYTES):
        return value
    text = msgspec.json.decode(value)
    if not isinstance(text, str):
        return value
    if len(text) > LONGEST:
        return msgspec.Raw(msgspec.json.encode(text[:LONGEST] + "…"))
    return value if kind else msgspec.Raw(text.encode())


def _cell(row: Row | None, column: str) -> str | int:
    if row is None:
        return NO_ROW
    return _shown(row[column]) if column else ""


def _shown(value: msgspec.Raw) -> str | int:
    """A text without its quotes if it is clear without, a whole number as `int`, all else as its JSON."""
    text = bytes(value).decode()
    if text.startswith('"'):
        return quoted_if_unclear(msgspec.json.decode(value, type=str))
    return int(text) if text.removeprefix("-").isdecimal() else text
