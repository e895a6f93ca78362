"""`branch/ACTION`: the lock of a table, and the journal of the one exclusive change that holds it.

The lock is created if absent before the first write of a change, and removed after the last. Each finished
step is written beside it as a numbered entry, one file each: `STEP-<token>-<n>`. An entry is created only if
no entry has its number. So if two processes both believe that they hold the lock, one fails at once: a
recovery first writes an entry of its own, after which the owner, if it is still alive, can write no more.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from paimark.core.actions.change.fence import Fence
from paimark.core.actions.change.owner import Owner, Standing, standing, this_process
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan, Refusal, raise_first
from paimark.core.actions.temp_files import meant_for
from paimark.core.errors import Corrupt, NotFound, PaimarkError, Refused, Unavailable
from paimark.core.storage.files import read_if_there
from paimark.core.table.catalog import find_table, parse_table_name
from paimark.core.table.layout import STEP_PREFIX, TablePath, numbered
from paimark.core.table.names import OF_A_CHANGE
from paimark.core.table.records import Record

VERSION = 1
# Two steps that every change has: it may begin, and it can no longer be taken back.
CHECKED = "nothing is in the way"
COMMITTED = "committed"
# The changes that take a whole table to another place.
MOVES = frozenset({"drop-table", "rename-table", "undrop"})
# A recovery notes its decision before it acts on it, because the evidence may disappear.
NOT_COMMITTED = "was not committed"

N = TypeVar("N", bound=msgspec.Struct)


class Journal(Record, frozen=True, kw_only=True):
    """The lock file, from which a change can be resumed. It is never rewritten."""

    version: int = VERSION  # the journal's format
    token: str  # the change's token
    action: str  # what the user asked for, such as `undo`
    change: str  # the kind of [change](#changes), such as `undo-replacement`
    table: str  # `database.table`, a part in backticks where it has a dot, a backtick or blanks at its ends
    plan: dict[str, Any]  # a [plan](#lock-and-journal): below
    state: dict[str, Any]  # what it takes to go on: see [Changes](#changes)
    owner: Owner  # the process that began it

    def planned(self) -> Plan:
        """The plan. Raises `Corrupt` when this version can't read it."""
        try:
            return msgspec.convert(self.plan, Plan)
        except msgspec.ValidationError as error:
            raise Corrupt(f"The journal of {self.action} on {self.table} holds no plan ({error})") from error


class JournalEntry(Record, frozen=True, kw_only=True):
    """A finished step; or, with an `owner`, the note that another process goes on from here."""

    token: str  # of the process that wrote the entry: the journal's, or that of a recovery
    # 32 random hex digits: tells the writer's own entry from an equal one when a store lost its answer
    uuid: str
    step: str = ""  # the step that ended; empty in an entry that takes over
    data: dict[str, Any] | None = None  # what of the step is needed later
    owner: Owner | None = None  # the process that takes over


class TakenOver(Refused):
    """Another process took this one for dead and recovers its change: this one must not write any more."""


class TableGone(Unavailable):
    """The table or the warehouse is no longer there, and with it the journal."""


@dataclass(frozen=True)
class JournaledChange:
    """A change that holds the table, with the entries of its journal."""

    journal: Journal
    entries: tuple[JournalEntry, ...]

    @property
    def acting(self) -> tuple[Owner, str]:
        """The process that acts under the journal (the owner, or the last to recover it), and its token."""
        owner, token = self.journal.owner, self.journal.token
        for entry in self.entries:
            if entry.owner is not None:
                owner, token = entry.owner, entry.token
        return owner, token

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of the finished steps, in order."""
        return tuple(entry.step for entry in self.entries if entry.step)

    @property
    def is_checked(self) -> bool:
        return CHECKED in self.steps

    @property
    def is_committed(self) -> bool:
        return COMMITTED in self.steps

    @property
    def is_taken_back(self) -> bool:
        return NOT_COMMITTED in self.steps

    def data_of(self, step: str) -> dict[str, Any] | None:
        """The data noted with the last step of this name."""
        return next((entry.data for entry in reversed(self.entries) if entry.step == step), None)

    def noted(self, step: str, kind: type[N]) -> N | None:
        """The data of the last step of this name, as `kind`; None if there is none. Raises `Corrupt`."""
        return next(reversed(self.all_noted(step, kind)), None)

    def all_noted(self, step: str, kind: type[N]) -> list[N]:
        """The data of each step of this name, as `kind`. Raises `Corrupt` if the data has another shape."""
        matching = [entry for entry in self.entries if entry.step == step]
        try:
            return [msgspec.convert(entry.data or {}, kind) for entry in matching]
        except msgspec.ValidationError as error:
            began = self.journal
            raise Corrupt(
                f"The journal of {began.action} on {began.table} can't be read where it says that {step} "
                f"({error})",
                "Nothing more was done. Look whether main has the rows, and repair that entry.",
            ) from error

    def standing(self, context: Context) -> Standing:
        """Whether the process that acts under the journal is alive."""
        return standing(context, *self.acting)


class Hold:
    """The right to act under a journal; its owner has it, or the process that recovers it.

    What is written through its `context` is fenced.
    """

    def __init__(self, context: Context, table: TablePath, journaled: JournaledChange, token: str) -> None:
        self._files, self._fence = context.files, Fence(context, self.require)
        self.context = self._fence.context
        self.table = table
        self.journaled = journaled
        self.token = token

    @property
    def journal(self) -> Journal:
        return self.journaled.journal

    @property
    def is_recovery(self) -> bool:
        """Whether this is not the process that began the change."""
        return self.token != self.journal.token

    @property
    def steps(self) -> tuple[str, ...]:
        return self.journaled.steps

    @property
    def next_entry(self) -> str:
        """The path of the journal entry by which another process would take the change over."""
        return self.table.journal_step(self.journal.token, len(self.journaled.entries) + 1)

    def require(self) -> None:
        """Raises `TakenOver` when another process acts under the journal, or has ended it; `TableGone`."""
        if not self.is_current:
            raise self._taken_over()
        while (there := _entry(self.context, self.next_entry)) is not None:
            self._adopt(there)
        self._fence.looked()

    def note(self, step: str, data: Mapping[str, Any] | None = None) -> None:
        """Note that a step ended. Raises `TakenOver`."""
        self._append(
            JournalEntry(token=self.token, uuid=new_token(), step=step, data=dict(data) if data else None)
        )

    def take_over(self) -> None:
        """Note that this process goes on with the change. Raises `TakenOver` when another was faster."""
        self._append(JournalEntry(token=self.token, uuid=new_token(), owner=this_process(self.context)))

    def release(self) -> None:
        """End the finished or undone change, so that others may begin. Raises `TakenOver`."""
        self.require()
        # Delete the lock first: entries without a lock mean nothing, but a lock without its entries would.
        self._files.delete_own(self.table.journal, self._is_of_it)
        tokens = {self.journal.token, *(entry.token for entry in self.journaled.entries)}
        for path in leftovers(self.context, self.table, tokens):
            self._files.delete(path)

    def _append(self, entry: JournalEntry) -> None:
        while not self._files.create(path := self.next_entry, entry.to_json()):
            there = _entry(self.context, path)
            # A client may miss the store's answer, retry, and find its own entry.
            if there is not None and there.uuid == entry.uuid:
                break
            self._adopt(there)
        if not self.is_current:
            self._files.delete(path)
            raise self._taken_over()
        self.journaled = JournaledChange(self.journal, (*self.journaled.entries, entry))

    def _adopt(self, there: JournalEntry | None) -> None:
        """Take an own entry that was written late, unnoticed. Raises `TakenOver` for another's."""
        if there is None or there.token != self.token:
            raise self._taken_over()
        self.journaled = JournaledChange(self.journal, (*self.journaled.entries, there))

    @property
    def is_current(self) -> bool:
        """Whether the lock is that of this change: nobody has ended it."""
        data = read_if_there(self.context.files, self.table.journal)
        return data is not None and self._is_of_it(data)

    def _is_of_it(self, lock: bytes) -> bool:
        return _decoded(lock, self.table).token == self.journal.token

    def require_table(self) -> None:
        """Raises `TableGone` when the table is no longer there."""
        if (gone := table_gone(self.context, self.table)) is not None:
            raise gone

    def _taken_over(self) -> TakenOver:
        """The error of a journal that is not as this process left it. Raises `TableGone`."""
        self.require_table()
        return TakenOver(
            f"Another process took over this {self.journal.action} of {self.table.full_name}",
            f"Look at the table before you try again: `paimark doctor {self.table.word}`.",
        )


def table_gone(context: Context, table: TablePath) -> TableGone | None:
    """The error of a change whose table was dropped or moved away meanwhile; None if the table is there."""
    try:
        find_table(context.files, table.full_name)
    except NotFound as error:
        return TableGone(
            f"{error.message} any more: what was begun is half done",
            f"If it comes back, run `paimark recover {table.word}`.",
        )
    except PaimarkError:
        # The store does not answer: nobody knows.
        return None
    return None


def current(context: Context, table: TablePath) -> JournaledChange | None:
    """The change that holds the table. Raises `Corrupt` for a journal that this version can't read."""
    data = read_if_there(context.files, table.journal)
    if data is None:
        return None
    journal = _decoded(data, table)
    prefix = f"{STEP_PREFIX}{journal.token}-"
    numbers = numbered(context.files.names(table.branches), prefix)
    entries = [_entry(context, table.journal_step(journal.token, number)) for number in numbers]
    return JournaledChange(journal, tuple(each for each in entries if each is not None))


def refusals(context: Context, table: TablePath, of: Collection[str] | None = None) -> list[Refusal]:
    """Why no exclusive change can begin now; empty if one can. With `of`, only if one of these is made."""
    holder = current(context, table)
    if holder is None or (of is not None and holder.journal.change not in of):
        return []
    owner, _ = holder.acting
    what = f"{holder.journal.action} by {owner}"
    recover = f"`paimark recover {(claimed_for(context, table, holder) or table).word}`"
    if holder.standing(context) == "gone":
        return [Refusal(f"{table.full_name} has an interrupted {what}", f"Run {recover}.")]
    return [
        Refusal(f"{table.full_name} is held by {what}", f"Wait for it to end. If it died, run {recover}.")
    ]


def claimed_for(context: Context, table: TablePath, held: JournaledChange) -> TablePath | None:
    """The table that is just being moved here, whose journal is still with its own name; else None."""
    if held.journal.table == table.full_name:
        return None
    other = parse_table_name(held.journal.table)
    there = read_if_there(context.files, other.journal)
    is_there = there is not None and _decoded(there, other).token == held.journal.token
    return other if is_there else None


def new_token() -> str:
    return uuid.uuid4().hex


def take(
    context: Context, table: TablePath, plan: Plan, token: str, change: str, state: Mapping[str, Any]
) -> Hold:
    """Hold the table for one exclusive change. Raises `Refused` when another holds it."""
    journal = Journal(
        token=token,
        action=plan.action,
        change=change,
        table=table.full_name,
        # What was said to a person is not needed to go on.
        plan=msgspec.to_builtins(msgspec.structs.replace(plan, items=())),
        state=dict(state),
        owner=this_process(context),
    )
    hold = Hold(context, table, JournaledChange(journal, ()), token)
    # A client may miss the store's answer, retry, and find its own lock.
    if context.files.create(table.journal, journal.to_json()) or hold.is_current:
        return hold
    raise_first(refusals(context, table))
    raise Refused(f"{table.full_name} was held by another change just now", "Try again.")


def take_over(context: Context, table: TablePath, interrupted: JournaledChange, token: str) -> Hold:
    """Hold an interrupted change to recover it. Raises `Refused` if another does, or it just ended."""
    hold = Hold(context, table, interrupted, token)
    try:
        hold.take_over()
    except TakenOver as error:
        now = current(context, table)
        if now is None or now.journal.token != interrupted.journal.token:
            raise Refused(
                f"{table.full_name} has just been recovered by another", "Nothing was changed."
            ) from error
        owner, _ = now.acting
        raise Refused(f"{table.full_name} is being recovered by {owner}", "Wait for it to end.") from error
    return hold


def leftovers(context: Context, table: TablePath, tokens: Collection[str] | None = None) -> list[str]:
    """The sorted paths of journal entries and heartbeats, also half-written, of these tokens or of all."""
    names = context.files.names(table.branches)
    matches = ((name, re.fullmatch(OF_A_CHANGE, meant_for(name) or name)) for name in names)
    return sorted(
        f"{table.branches}/{name}" for name, of in matches if of and (tokens is None or of["token"] in tokens)
    )


def _decoded(data: bytes, table: TablePath) -> Journal:
    journal = Journal.from_json(data, table.journal) if _version(data) == VERSION else None
    if journal is None:
        raise Corrupt(
            f"{table.journal} has format {_version(data)}, and this version knows {VERSION}",
            "Recover it with the version of Paimark that began the change.",
        )
    return journal


def _version(data: bytes) -> object:
    try:
        return msgspec.json.decode(data, type=dict[str, Any]).get("version", VERSION)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The caller decodes it, and reports errors.
        return VERSION


def _entry(context: Context, path: str) -> JournalEntry | None:
    data = read_if_there(context.files, path)
    return None if data is None else JournalEntry.from_json(data, path)
