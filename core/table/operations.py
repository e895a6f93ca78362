"""`branch/operations/`: the operation log of a table, as files.

Each operation is a file of its own, `operation-<number>-<token>`, written once and never changed. That of a
writer's commit is `write-<number>-<token>`. Right before the commit it is written as
`begun-<number>-<token>`, which goes when the commit has landed. If the writer dies in between, the snapshots
tell whether it landed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import msgspec

from paimark.core.errors import Corrupt, PaimarkError
from paimark.core.figures import counted
from paimark.core.storage.files import Files, read_if_there
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import BEGUN_PREFIX, OPERATION_PREFIX, WRITE_PREFIX, TablePath
from paimark.core.table.lineage.edits import Edits
from paimark.core.table.records import Point, Record

STREAM = "write-stream"
COMPACTION, ANALYSIS = "compact", "analyze"
# Commits that change no rows.
KEEP_ROWS = (COMPACTION, ANALYSIS)
# Behind the token, and after a dash behind the user, of the commit that an overwrite in a chain owes.
AFTER_IT = "chain"
_PREFIXES = "|".join(map(re.escape, (OPERATION_PREFIX, WRITE_PREFIX, BEGUN_PREFIX)))
_NAME = re.compile(rf"(?:{_PREFIXES})(?P<number>[0-9]{{1,18}})-(?P<token>[0-9a-z]+)")
# How many unsettled writes of others a writer looks at.
_MOST_SETTLED = 2
# The log keeps so many writes, and so many other operations; each hundredth operation deletes older ones.
_MOST_KEPT, _TRIMMED_EVERY = 1000, 100
# A writer that has not committed for so long after it said that it would has died (milliseconds).
_GIVEN_UP_AFTER, _STREAM_WAITS = 3600 * 1000, 60 * 1000


class Group(msgspec.Struct, frozen=True):
    """The part that an operation has in a change of many: `number` from 1; `names` are those of all parts."""

    id: str  # the same in all parts
    number: int  # the position of the part, from 1
    names: tuple[str, ...]  # what each part is about, for people


class CheckResult(msgspec.Struct, frozen=True):
    """What came of a check of rows."""

    name: str  # the name of the check
    rows: int  # how many rows it found: 0 if it passed
    warns: bool = False  # it only warns
    first: tuple[str, ...] = ()  # the first rows, as JSON in texts; none in the log

    @property
    def stops(self) -> bool:
        return self.rows > 0 and not self.warns

    @property
    def verdict(self) -> str:
        return "passes" if not self.rows else "warns" if self.warns else "fails"


def checks_said(results: Sequence[CheckResult]) -> str:
    """`3 checks pass`, `3 checks, 1 fails: 12 rows`, with those that only warn."""
    parts = []
    for found, verb in (
        ([each for each in results if each.stops], "fail"),
        ([each for each in results if each.rows and each.warns], "warn"),
    ):
        if found:
            number = f"{len(found)} {verb}{'s' if len(found) == 1 else ''}"
            parts.append(f"{number}: {counted(sum(each.rows for each in found), 'row')}")
    checks = counted(len(results), "check")
    if not parts:
        return f"{checks} {'passes' if len(results) == 1 else 'pass'}"
    return f"{checks}, {', '.join(parts)}"


class StreamRun(msgspec.Struct, frozen=True, rename="camel"):
    """One run of a streaming query that writes to one root; for another root it has another entry."""

    query: str  # the query's id
    run: str  # Spark's id of the run, empty if Spark does not tell it
    first: int  # its first batch with rows
    last: int  # its last batch with rows
    at: int  # when it committed that
    is_over: bool = False  # a later run of the query has begun: a data source is told nothing of an end


class Owed(msgspec.Struct, frozen=True, rename="camel"):
    """What an overwrite of a chain's delta branch leaves to a second commit, by which readers see its rows.

    That one's entry has the token of the overwrite's, and `AFTER_IT` behind it.
    """

    branch: str  # the snapshot branch
    head: Point  # its newest snapshot before the overwrite
    partitions: tuple[str, ...]  # the partitions that it is to lose, as manifests have them, in Base64


class Operation(Record, frozen=True, kw_only=True):
    """One finished change, a writer's commit, or a run of a stream.

    An entry of a run is written again with each batch. A commit's is written before it, as not `landed`.
    """

    newest: ClassVar[int | None] = 1

    version: int = 1  # format
    number: int  # the position in the log, from 1
    token: str  # the token of the change
    action: str  # what was asked for
    request: dict[str, Any]  # with which arguments: what a redo plans again
    user: str  # who
    host: str  # where
    time: int  # when it began
    summary: str  # one sentence
    before: str  # the references that it moved, before: for people
    after: str  # and after
    edits: Edits | None = None  # what it changed; missing where nothing of that can be turned round
    no_way_back: str | None = None  # why an undo does not turn the edits round, or what does instead
    undoes: str | None = None  # token of the operation that it undid
    redoes: str | None = None  # token of the operation that it did again
    group: Group | None = None  # which part of a change of many it was
    checks: tuple[CheckResult, ...] | None = None  # what the checks of the rows that it published found
    message: str | None = None  # why: what `--message` said
    author: str | None = None  # who made it, if another than `user` was named
    # of a write: whether it is known that its commit landed; missing for other changes
    landed: bool | None = None
    records_added: int | None = None  # of a write: the records in the files that it added
    records_removed: int | None = None  # of a write: the records in the files that it removed
    stream: StreamRun | None = None  # of a run of a stream: its batches
    owes: Owed | None = None  # of an overwrite in a chain: the commit without which readers do not see it

    @property
    def is_undoable(self) -> bool:
        """Whether it has its turn when operations are undone; a later one may forbid it."""
        return self.edits is not None and self.undoes is None and self.no_way_back is None

    @property
    def has_way_back(self) -> bool:
        return self.is_undoable and not (self.turned.main and self.turned.main.was_dropped)

    @property
    def turned(self) -> Edits:
        """The edits of one that has some."""
        return self.edits or Edits()

    @property
    def keeps_rows(self) -> bool:
        """Whether it changed none: an undo has nothing to take back."""
        return self.action in KEEP_ROWS

    @property
    def description(self) -> str:
        """`merge-branch of fix`, `rollback to v2`, `revert in snapshot 6`: the snapshot that it made."""
        edits = self.turned
        if edits.head is not None and edits.head.to:
            return f"{self.action} to {edits.head.to}"
        if edits.rows is not None and edits.rows.is_write:
            if edits.rows.is_plain_write:
                return f"{self.action} in {edits.rows.snapshots}"
            return f"{self.action} of {edits.rows.branch} into {edits.rows.root}"
        return f"{self.action} of {self.branch}" if self.branch else self.action

    @property
    def branch(self) -> str:
        """The branch that it was about, if it was about one: made main, merged, retired, made or altered."""
        edits = self.turned
        if edits.main is not None:
            return edits.main.after or ""
        if edits.moved is not None:
            return edits.moved.before or ""
        if edits.made is not None:
            return edits.made.name if edits.made.what == "branch" else ""
        return (edits.rows and edits.rows.branch) or (edits.schema and edits.schema.branch) or ""


class Entry(NamedTuple):
    """A file of the log. One that is `begun` is of a write of which it is not known that it landed."""

    number: int
    token: str
    name: str

    @property
    def is_begun(self) -> bool:
        return self.name.startswith(BEGUN_PREFIX)

    @property
    def is_write(self) -> bool:
        return not self.name.startswith(OPERATION_PREFIX)


def log_entries(files: Files, table: TablePath) -> list[Entry]:
    """All files of the log, oldest first: of a write that has just landed there may be two."""
    matches = [_NAME.fullmatch(name) for name in files.names(table.operations)]
    return sorted(Entry(int(each["number"]), each["token"], each[0]) for each in matches if each)


def read_operations(files: Files, table: TablePath, newest: int | None = None) -> list[Operation]:
    """All operations, or the newest, oldest first, without writes that did not land. Raises `Corrupt`."""
    entries = log_entries(files, table)
    return read_entries(files, table, entries if newest is None else entries[-newest:])


def append(files: Files, table: TablePath, operation: Operation) -> None:
    """Add an operation with the next number. Idempotent."""
    entries = log_entries(files, table)
    if any(each.token == operation.token for each in entries):
        return
    number = next_number(entries)
    numbered = msgspec.structs.replace(operation, number=number)
    files.create(table.operation(number, operation.token), numbered.to_json())
    keep_up(files, table, entries, operation.time)


def confirm(files: Files, table: TablePath, operation: Operation, *, landed: bool = True) -> None:
    """Record that a write has landed; with `landed` False, that nothing tells. Idempotent."""
    settled = msgspec.structs.replace(operation, landed=landed)
    # Of a stream, it has the earlier batches.
    files.replace(table.write_operation(operation.number, operation.token), settled.to_json())
    files.delete(table.begun_write(operation.number, operation.token))


def keep_up(files: Files, table: TablePath, entries: Sequence[Entry], now: int) -> None:
    """What whoever adds to the log does for those before: `entries` are theirs, `now` is epoch ms.

    What fails stays as it is.
    """
    for entry in [each for each in entries if each.is_begun][:_MOST_SETTLED]:
        with suppress(PaimarkError):
            _settle(files, table, entry, now)
    if next_number(entries) % _TRIMMED_EVERY == 0:
        with suppress(PaimarkError):
            _trim(files, table, entries)


def next_number(entries: Sequence[Entry]) -> int:
    return max((each.number for each in entries), default=0) + 1


def _settle(files: Files, table: TablePath, entry: Entry, now: int) -> None:
    """Record the fate of a write whose writer died, while the snapshots tell it.

    It may be alive: for an hour an entry stays that did not land, or of which nothing tells, and for a minute
    that of a stream, which writes it again.
    """
    path = f"{table.operations}/{entry.name}"
    if (data := read_if_there(files, path)) is None:
        return
    operation = _operation(data, path, entry)
    age = now - (operation.time if operation.stream is None else operation.stream.at)
    has_landed, is_old = _has_landed(files, table, operation), age > _GIVEN_UP_AFTER
    if has_landed and (operation.stream is None or age > _STREAM_WAITS):
        confirm(files, table, operation)
    elif is_old and has_landed is None and operation.stream is None:
        confirm(files, table, operation, landed=False)
    elif is_old and not has_landed:
        files.delete(path)


def _trim(files: Files, table: TablePath, entries: Sequence[Entry]) -> None:
    """Delete old operations, but for those that only the log can take back, and the undos of these."""
    writes = [each for each in entries if each.is_write]
    others = [each for each in entries if not each.is_write][:-_MOST_KEPT]
    old = read_entries(files, table, others)
    lasting = {each.token for each in old if each.turned.is_lasting}
    kept = {each.token for each in old if lasting & {each.token, each.undoes, each.redoes}}
    gone = [*writes[:-_MOST_KEPT], *(each for each in others if each.token not in kept)]
    for _ in each_of(files.delete, [f"{table.operations}/{each.name}" for each in gone]):
        pass


def read_entries(files: Files, table: TablePath, entries: Sequence[Entry]) -> list[Operation]:
    """The operations of these files. A write of which it is not known that it landed is looked for."""
    paths = [f"{table.operations}/{each.name}" for each in entries]
    read: dict[str, Operation] = {}
    begun: list[Operation] = []
    for entry, path, data in zip(entries, paths, files.read_many(paths), strict=True):
        operation = None if data is None else _operation(data, path, entry)
        if operation is not None and entry.is_begun:
            begun.append(operation)
        elif operation is not None:
            read[operation.token] = operation
    for operation in begun:
        has_landed = _has_landed(files, table, operation)
        # Of a stream, the earlier batches are there.
        if has_landed or (has_landed is None and operation.token not in read):
            read[operation.token] = msgspec.structs.replace(operation, landed=bool(has_landed))
    return sorted(read.values(), key=lambda each: (each.number, each.token))


def _has_landed(files: Files, table: TablePath, operation: Operation) -> bool | None:
    """None if nothing tells."""
    # Here, because it loads Avro, and is rarely needed.
    from paimark.core.table.commits import Landed, fate_of

    rows = operation.turned.rows
    if rows is None:
        return None
    fate = fate_of(files, table.root(rows.root), rows.after)
    return None if fate is Landed.UNKNOWN else fate is Landed.YES


def _operation(data: bytes, path: str, entry: Entry) -> Operation:
    operation = Operation.from_json(data, path)
    if (operation.number, operation.token) != (entry.number, entry.token):
        raise Corrupt(
            f"{path} holds the record of another: operation {operation.number} of {operation.token}"
        )
    return operation
