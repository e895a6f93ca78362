"""Find the keys that both sides changed to different rows, in a merge or a repair. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import msgspec

from paimark.core.actions.checks import integer_argument, required_text, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.conflict_file import key_lines
from paimark.core.actions.merge.conflict_lines import BASE, MERGE, At, KeyLine, header_of
from paimark.core.actions.merge.divergence import Divergence, find_divergence
from paimark.core.actions.merge.history import events
from paimark.core.actions.merge.resolution import Between, Resolution, moved, resolved
from paimark.core.actions.merge.rows import keyed_queries, rewriting, versions_of
from paimark.core.actions.merge.sql import Choices, exactly
from paimark.core.actions.plan import Refusal, raise_first
from paimark.core.actions.rewrite.spark_rewrite import run_query
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.spark.protocol import Version
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.records import Snapshot
from paimark.core.text import compared, quoted_if_unclear

# This many are shown; all are counted.
SHOWN = 1000
# A longer text is cut: the shown conflicts must fit into memory, whatever the table holds.
LONGEST = 1000
NO_ROW = "(no row)"


def line_columns(sides: Sequence[str]) -> tuple[str, ...]:
    """The columns of a line after those of the key."""
    return ("column", BASE, *sides)


Row = dict[str, msgspec.Raw]
# A cell is a number only if its JSON is a whole number. Texts are not cleaned yet.
ConflictLine = tuple[str | int, ...]


@dataclass(frozen=True)
class Conflict:
    """A key with its rows at the base, in main and in the branch; None for no row.

    A row maps columns to their values as JSON. `columns` are those in which main's and the branch's row
    differ; if one side has no row, those in which the other side's row differs from the base. `both` are
    those of `columns` that both sides changed. In a repair `main` is the row of now, `branch` that which
    it shall be.
    """

    key: Row
    columns: tuple[str, ...]
    both: tuple[str, ...]
    base: Row | None
    main: Row | None
    branch: Row | None

    @classmethod
    def of(cls, line: KeyLine) -> Conflict:
        """The conflict of a line in a file of conflicts."""
        rows = (
            None if (raw := bytes(each) or b"null") == b"null" else msgspec.json.decode(raw, type=Row)
            for each in (line.base, line.main, line.branch)
        )
        return cls(line.key, line.columns, line.both, *rows)

    def cut(self) -> Conflict:
        """With values of at most `LONGEST` characters; longer ones end in `…`."""
        rows = (None if each is None else _cut(each) for each in self.rows)
        return Conflict(_cut(self.key), self.columns, self.both, *rows)

    def as_json(self, sides: Sequence[str]) -> dict[str, object]:
        """The conflict for JSON; `sides` are the words for main and the branch."""
        rows = dict(zip((BASE, *sides), self.rows, strict=True))
        return {"key": self.key, "columns": self.columns, "both": self.both, **rows}

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


# Why a merge can have no conflicts, by its kind.
_WHY_NONE = {
    "nothing": "all of the branch is there already",
    "fast-forward": "only the branch has changed since",
    "append": "the table has no primary key, so rows are added and removed whole",
}


def find_conflicts(
    context: Context, between: Between, progress: Progress
) -> tuple[tuple[Conflict, ...], int]:
    """The first `SHOWN` conflicts that there would be now, in the order of their keys, and their number.

    Raises `NotFound`, `Refused` if the sides can't be compared, and the engine's error.
    """
    if (compared := between.compare()) is None:
        return (), 0
    with closing(key_lines(context, between, compared, progress, exactly(()), SHOWN + 1)) as lines:
        first = tuple(Conflict.of(line).cut() for line in lines)
    if len(first) <= SHOWN:
        return first, len(first)
    versions, queries = compared
    (answer,) = run_query(context, between.start, versions, queries.count_conflicts, progress, between.texts)
    return first[:SHOWN], int(answer["conflicts"])


def summary(between: Between, shown: int, count: int) -> str:
    """How many conflicts there are, and how many of them are shown."""
    if not count:
        return f"no conflicts: {between.why_none}" if between.why_none else "no conflicts"
    said = counted(count, "key") + " in conflict"
    return said if count == shown else f"the first {shown:,} of {said}"


def conflicting(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Between:
    """Between main, or the branch `into`, and the branch `name` up to its snapshot `up_to`.

    Raises `NotFound`.
    """
    name, up_to = required_text(arguments, "name"), integer_argument(arguments, "up_to")
    divergence = find_divergence(context.files, table, name, text_argument(arguments, "into"), up_to=up_to)
    return between_of(context, divergence)


def between_of(context: Context, divergence: Divergence) -> Between:
    main, branch = divergence.start.head.snapshot, divergence.branch
    return Between(
        header_of(
            divergence.target,
            MERGE,
            branch.root.label,
            divergence.base,
            main,
            branch.snapshot,
            into="" if divergence.start.is_main else divergence.start.root.label,
        ),
        divergence.target,
        lambda: compare(context, divergence),
        _WHY_NONE.get(divergence.kind, ""),
        lambda: _states(context.files, divergence.start.root, main),
    )


def chosen(
    context: Context, divergence: Divergence, path: str, digest: str | None
) -> tuple[Divergence, Resolution, list[Refusal]]:
    """The merge with a person's choices for it, and why they may be for an earlier state of it.

    `digest` is the file's earlier one, None for the first time. Raises as `resolved`.
    """
    if divergence.kind != "keyed":
        branch = divergence.branch.root.label
        raise Refused(f"A merge of branch {branch} has no keys in conflict now", "Leave the choices out.")
    between = between_of(context, divergence)
    resolution = resolved(between, path, digest)
    return replace(divergence, choices=resolution.digest), resolution, moved(between, path, resolution.header)


def _states(files: Files, main: Root, snapshot: Snapshot) -> list[At]:
    """The target's earlier snapshots whose rows an undo restored in this one."""
    states = [At.of(snapshot)]
    for event in reversed(events(files, main.table)):
        made = At(event.main.id, event.main.delta_manifest_list)
        if event.kind == "rollback" and event.root == main.branch and made == states[-1] and event.then:
            states.append(At(event.then.id, event.then.delta_manifest_list))
    return states


def compare(context: Context, divergence: Divergence) -> tuple[Mapping[str, Version], Choices] | None:
    """The versions to compare for conflicts, and the queries; None if there can be none. Raises `Refused`."""
    if divergence.kind != "keyed":
        return None
    raise_first((*divergence.schema_refusals, *rewriting(context, divergence)[1]))
    return versions_of(divergence), Choices(keyed_queries(context, divergence))


def _cut(row: Row) -> Row:
    return {name: _short(value) for name, value in row.items()}


def _short(value: msgspec.Raw) -> msgspec.Raw:
    """A value, cut if it is long; a nested one is a text then. It does not keep the whole row in memory."""
    text = bytes(value).decode()
    if len(text) > LONGEST and text.startswith('"'):
        text = msgspec.json.decode(value, type=str)
    if len(text) <= LONGEST:
        return value.copy()
    return msgspec.Raw(msgspec.json.encode(text[:LONGEST] + "…"))


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
