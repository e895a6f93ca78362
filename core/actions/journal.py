"""`branch/ACTION`: the one exclusive change of a table that is running, or was interrupted.

It is taken by create-if-absent before the first write and removed after the last. Who recovers an interrupted
change leaves it in place, so that a third can go on, and wins the right to act by creating a file that
carries the journal's token: of many at once exactly one does.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from core.actions.context import Context
from core.actions.owner import Owner, Standing, standing, this_process
from core.actions.plan import Plan, Refusal
from core.errors import Corrupt, FileMissing, PaimarkError, Refused
from core.table.layout import RECOVERY_PREFIX, TablePath
from core.table.records import Record

VERSION = 1


class Journal(Record, frozen=True, kw_only=True):
    """What was begun. `plan` is the plan as JSON, `steps` what has ended.

    `leaving` holds what a deletion needs to go on after the files that said it are gone.
    """

    version: int = VERSION
    token: str
    action: str
    table: str
    plan: dict[str, Any]
    steps: list[str]
    owner: Owner
    leaving: dict[str, Any] | None = None

    def planned(self) -> Plan:
        """The plan. Raises `Corrupt` when this version can't read it."""
        try:
            return msgspec.convert(self.plan, Plan)
        except msgspec.ValidationError as error:
            raise Corrupt(f"The journal of {self.action} on {self.table} holds no plan ({error})") from error


class Recoverer(Record, frozen=True, kw_only=True):
    """Who finishes or undoes an interrupted change."""

    token: str
    owner: Owner


@dataclass(frozen=True)
class Hold:
    """The right to act under a journal: its owner's, or that of who recovers it."""

    table: TablePath
    journal: Journal
    token: str


class TakenOver(Refused):
    """Somebody who thought this process dead recovers its change: this process must touch nothing more."""


def current(context: Context, table: TablePath) -> Journal | None:
    """The journal there is. Raises `Corrupt` for one that this version can't read."""
    try:
        data = context.files.read(table.journal)
    except FileMissing:
        return None
    journal = Journal.from_json(data, table.journal)
    if journal.version != VERSION:
        raise Corrupt(
            f"{table.journal} has format {journal.version}, and this version knows {VERSION}",
            "Recover it with the version of Paimark that began the change.",
        )
    return journal


def holder(context: Context, table: TablePath, journal: Journal) -> tuple[Owner, Standing]:
    """Who acts under the journal, its owner or the last who recovers it, and whether that process lives."""
    owner, token = _acting(context, table, journal)
    return owner, standing(context, owner, token)


def refusal(context: Context, table: TablePath) -> Refusal | None:
    """Why no exclusive change can begin now; None when one can."""
    journal = current(context, table)
    if journal is None:
        return None
    owner, state = holder(context, table, journal)
    what = f"{journal.action} by {owner}"
    if state == "gone":
        return Refusal(
            f"{table.full_name} has an interrupted {what}", f"Run `paimark recover {table.full_name}`."
        )
    return Refusal(
        f"{table.full_name} is held by {what}",
        f"Wait for it to end. If it died, run `paimark recover {table.full_name}`.",
    )


def new_token() -> str:
    return uuid.uuid4().hex


def take(
    context: Context, table: TablePath, plan: Plan, token: str, leaving: dict[str, Any] | None = None
) -> Hold:
    """Hold the table for one exclusive change. Raises `Refused` when another holds it."""
    journal = Journal(
        token=token,
        action=plan.action,
        table=table.full_name,
        plan=msgspec.to_builtins(plan),
        steps=[],
        owner=this_process(context),
        leaving=leaving,
    )
    if not context.files.create(table.journal, journal.to_json()):
        why = refusal(context, table)
        if why is None:
            raise Refused(f"{table.full_name} was held by another change just now", "Try again.")
        raise Refused(why.reason, why.hint)
    return Hold(table, journal, token)


def take_over(context: Context, table: TablePath, journal: Journal, token: str) -> Hold:
    """Hold an interrupted change to recover it. Raises `Refused` when it is held, or is gone by now."""
    files = context.files
    mine = Recoverer(token=token, owner=this_process(context)).to_json()
    for attempt in itertools.count():
        path = table.recovery(journal.token, attempt)
        if files.create(path, mine):
            break
        other = _recoverer(context, table, journal, attempt)
        if other is not None and standing(context, other.owner, other.token) != "gone":
            raise Refused(f"{table.full_name} is being recovered by {other.owner}", "Wait for it to end.")
    now = current(context, table)
    if now is None or now.token != journal.token:
        files.delete(path)
        raise Refused(f"{table.full_name} has just been recovered by another", "Nothing was changed.")
    return Hold(table, now, token)


def require_hold(context: Context, hold: Hold) -> None:
    """Raises `TakenOver` when another acts under the journal now, or has ended it."""
    now = current(context, hold.table)
    is_there = now is not None and now.token == hold.journal.token
    if not is_there or _acting(context, hold.table, hold.journal)[1] != hold.token:
        raise TakenOver(
            f"Another process took over this {hold.journal.action} of {hold.table.full_name}",
            "Look at the table before you try again.",
        )


def note(context: Context, hold: Hold, step: str) -> Hold:
    """Write down that a step ended. Raises `TakenOver`."""
    require_hold(context, hold)
    journal = msgspec.structs.replace(hold.journal, steps=[*hold.journal.steps, step])
    context.files.replace(hold.table.journal, journal.to_json())
    return replace(hold, journal=journal)


def beat(context: Context, hold: Hold) -> None:
    """Say in the journal that its owner lives: other machines give up what has long been silent.

    Raises `TakenOver`.
    """
    require_hold(context, hold)
    owner = msgspec.structs.replace(hold.journal.owner, alive=context.clock())
    context.files.replace(hold.table.journal, msgspec.structs.replace(hold.journal, owner=owner).to_json())


@contextmanager
def beating(context: Context, hold: Hold, every: float = 60) -> Iterator[None]:
    """Beat every so many seconds while something inside takes long, and notes nothing."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(every):
            # What fails now may not the next time; that another took over is for the change itself to find.
            with suppress(PaimarkError):
                beat(context, hold)

    thread = threading.Thread(target=run, name="journal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def release(context: Context, hold: Hold) -> None:
    """The change is finished or undone: others may begin."""
    context.files.delete(hold.table.journal)
    for path in recoveries(context, hold.table):
        if f"/{RECOVERY_PREFIX}{hold.journal.token}-" in path:
            context.files.delete(path)


def give_up(context: Context, hold: Hold, take_back: Callable[[], object] = lambda: None) -> None:
    """End a change that did not come about, after `take_back`; whoever took it over ends it instead."""
    try:
        require_hold(context, hold)
    except TakenOver:
        return
    take_back()
    release(context, hold)


def recoveries(context: Context, table: TablePath) -> list[str]:
    """The paths of all files that say who recovers, sorted."""
    names = context.files.names(table.branches)
    return sorted(f"{table.branches}/{name}" for name in names if name.startswith(RECOVERY_PREFIX))


def _acting(context: Context, table: TablePath, journal: Journal) -> tuple[Owner, str]:
    owner, token = journal.owner, journal.token
    attempt = 0
    while recoverer := _recoverer(context, table, journal, attempt):
        owner, token = recoverer.owner, recoverer.token
        attempt += 1
    return owner, token


def _recoverer(context: Context, table: TablePath, journal: Journal, attempt: int) -> Recoverer | None:
    path = table.recovery(journal.token, attempt)
    try:
        return Recoverer.from_json(context.files.read(path), path)
    except FileMissing:
        return None
