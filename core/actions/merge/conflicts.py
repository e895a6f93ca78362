"""Find the keys that both sides of a merge changed to different rows. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.resolution import KeyLine
from paimark.core.actions.merge.rows import resolved_queries, rewriting, versions_of
from paimark.core.actions.merge.sql import Resolved
from paimark.core.actions.merge.survey import Survey, survey_merge
from paimark.core.actions.plan import raise_first
from paimark.core.actions.rewrite.spark_rewrite import run_query
from paimark.core.figures import counted
from paimark.core.spark.protocol import Version
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.layout import TablePath
from paimark.core.table.records import TableSchema
from paimark.core.text import quoted_if_unclear
from paimark.core.travel.diff.compared import compared

# This many are shown; all are counted.
SHOWN = 1000
# A longer text is cut: the shown conflicts must fit into memory, whatever the table holds.
LONGEST = 1000
NO_ROW = "(no row)"
SIDES = ("base", "main", "branch")
# The columns of a line after those of the key.
LINE_COLUMNS = ("column", *SIDES)
_TEXTS = ("CHAR", "VARCHAR", "STRING")
_BYTES = ("BINARY", "VARBINARY", "BYTES")

Row = dict[str, msgspec.Raw]
# A cell is a number only if its JSON is a whole number. Texts are not cleaned yet.
ConflictLine = tuple[str | int, ...]


class Conflict(msgspec.Struct, frozen=True):
    """A key with its rows at the base, in main and in the branch; None for no row.

    A row maps columns to their values as JSON, exact except texts over `LONGEST`, which end in `…`. `columns`
    are those in which main's and the branch's row differ; if one side has no row, those in which the other
    side's row differs from the base. `both` are those of `columns` that both sides changed.
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
        """The rows in the order of `SIDES`."""
        return (self.base, self.main, self.branch)

    @property
    def key_text(self) -> str:
        """The values of the key, as they are shown."""
        return " ".join(str(_shown(value)) for value in self.key.values())

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The text of every value of `named`. Not cleaned yet."""
        return [(name, NO_ROW if value is None else str(_shown(value))) for name, value in self.named]

    @property
    def named(self) -> list[tuple[str, msgspec.Raw | None]]:
        """Every value with a name: first differing ones per side, then equal ones; None without a row."""
        whole = next(row for row in self.rows if row is not None)
        differing = [
            (f"{column} in {side}", None if row is None else row[column])
            for column in self.columns
            for side, row in zip(SIDES, self.rows, strict=True)
        ]
        return [*differing, *((name, value) for name, value in whole.items() if name not in self.columns)]


# Why a merge can have no conflicts, by its kind.
_WHY_NONE = {
    "nothing": "main has all of the branch already",
    "fast-forward": "main has not changed since",
    "append": "the table has no primary key, so rows are added and removed whole",
}


class Conflicts(msgspec.Struct, frozen=True):
    """The first `SHOWN` of the `count` conflicts, in the order of their keys.

    `why_none` says why there can be none; empty if the rows were compared.
    """

    title: str
    keys: tuple[str, ...]
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
    def lines(self) -> list[ConflictLine]:
        return [line for each in self.first for line in each.lines]


def find_conflicts(context: Context, table: TablePath, name: str, progress: Progress) -> Conflicts:
    """The conflicts that a merge of branch `name` into main would have now.

    Raises `NotFound`, `Refused` if the two can't be compared, and the engine's error.
    """
    survey = survey_merge(context.files, table, name)
    schema = survey.target.schema
    compared = compare(context, survey)
    if compared is None:
        keys = tuple(schema.primary_keys)
        return Conflicts(_title(table, survey), keys, (), 0, _WHY_NONE[survey.kind])
    versions, queries = compared
    kinds = {field.name: ColumnType.of(_type_name(field.type)).name for field in schema.fields}
    first = run_query(
        context,
        survey.target,
        versions,
        queries.every_conflict(lambda column, value: _bounded(kinds[column], value), SHOWN + 1),
        progress,
    )
    count = len(first)
    if count > SHOWN:
        (answer,) = run_query(context, survey.target, versions, queries.count_conflicts, progress)
        count = int(answer["conflicts"])
    read = tuple(_conflict(schema, kinds, each) for each in first[:SHOWN])
    return Conflicts(_title(table, survey), tuple(schema.primary_keys), read, count)


def compare(context: Context, survey: Survey) -> tuple[Mapping[str, Version], Resolved] | None:
    """The versions to compare for conflicts, and the queries; None if there can be none. Raises `Refused`."""
    if survey.kind != "keyed":
        return None
    raise_first((*survey.schema_refusals, *rewriting(context, survey)[1]))
    versions = versions_of(survey)
    return versions, resolved_queries(context, survey, versions)


def _title(table: TablePath, survey: Survey) -> str:
    name, head, main = survey.branch.root.label, survey.branch.snapshot.id, survey.start.head.snapshot.id
    return f"{table.full_name}: {name} at snapshot {head}, main at {main}, base {survey.base.id}"


def _type_name(kind: object) -> str:
    return kind if isinstance(kind, str) else ""


def _bounded(kind: str, value: str) -> str:
    """The SQL of a value in the answer; nested types become JSON."""
    if kind in _TEXTS:
        return f"left({value}, {LONGEST + 1})"
    if kind in _BYTES:
        return f"left(base64({value}), {LONGEST + 1})"
    return value if kind else f"left(to_json({value}), {LONGEST + 1})"


def _conflict(schema: TableSchema, kinds: Mapping[str, str], answer: Mapping[str, Any]) -> Conflict:
    names = [field.name for field in schema.fields]

    def row(text: str | None, columns: list[str]) -> Row | None:
        if text is None:
            return None
        values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return {each: _value(kinds[each], values.get(f"c{names.index(each)}")) for each in columns}

    key = row(answer["key"], schema.primary_keys)
    assert key is not None
    others = [each for each in names if each not in schema.primary_keys]
    return Conflict(
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
