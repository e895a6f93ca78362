"""`reset-consumer`: let a streaming reader go on at another snapshot, or forget where it was.

Expiry keeps every snapshot from the one on that a consumer reads next. So one whose job is long gone keeps
all of them, and a new one makes it wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

import msgspec

from paimark.core.actions.change.change import Change, Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import (
    fingerprint,
    integer_argument,
    require_unmoved,
    required_text,
    text_argument,
)
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Plan, Refusal, Step, raise_first
from paimark.core.actions.plan_wording import consumers_of, otherwise
from paimark.core.errors import Corrupt, NotFound
from paimark.core.figures import counted
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage, said_ids
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import checked_name, near_or_all_names
from paimark.core.table.records import Consumer
from paimark.core.text import capitalised

# Consumers of this kind hold expiry back while a change of Paimark runs.
_OWN = "paimark-"
# Whatever bytes its file has, the journal gives the same ones back.
_ANY = "latin-1"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, `snapshot` (forgotten when None), `branch`. Raises `NotFound`, `UsageError`."""
    name, to = required_text(arguments, "name"), integer_argument(arguments, "snapshot")
    branch = text_argument(arguments, "branch")
    place = _place(context.files, table, branch, name, to)
    number = place.snapshot
    reader = f"consumer {name} of {place.root.label} of {table.full_name}"
    return Plan(
        headline=f"Forget {reader}." if to is None else f"Let {reader} go on at snapshot {to}.",
        arguments={"name": name, "snapshot": to, "branch": branch},
        fingerprint=place.fingerprint,
        steps=(
            Step("delete", place.path) if to is None else Step("replace", place.path, f"at snapshot {to}"),
        ),
        items=(_held(name, to),) if place.data is None else (*_changed(name, number, to),),
        phrase=name,
        cost="1 small file",
        refusals=tuple(_refusals(context.files, place, name, to)),
        undo=_way_back(place, name),
        empty=to is not None and number == to,
    )


class _Place(NamedTuple):
    """Where a consumer is; both are None if there is none, `snapshot` also if its file does not tell."""

    root: Root
    path: str
    data: bytes | None
    snapshot: int | None

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.path, self.data or b"")


def _place(files: Files, table: TablePath, branch: str | None, name: str, to: int | None) -> _Place:
    """Raises `NotFound` if there is none to forget."""
    root = branch_root(files, table, branch)
    path = root.consumer(checked_name(name, "consumer"))
    data = read_if_there(files, path)
    if data is None and to is None:
        hint = near_or_all_names(name, consumers_of(files, root))
        raise NotFound(f"{root.label} of {table.full_name} has no consumer {name}", hint)
    return _Place(root, path, data, _next_snapshot(data, path))


def _next_snapshot(data: bytes | None, path: str) -> int | None:
    try:
        return None if data is None else Consumer.from_json(data, path).next_snapshot
    except Corrupt:
        return None


def _refusals(files: Files, place: _Place, name: str, to: int | None) -> list[Refusal]:
    if name.startswith(_OWN):
        reason = f"Consumer {name} holds expiry back for a change of Paimark"
        hint = f"`paimark recover {place.root.table.word}` ends that, if it was interrupted."
        return [Refusal(reason, hint)]
    ids = Lineage(files, place.root).snapshot_ids()
    # A new one may be for expiry alone, which could outrun whoever names the oldest snapshot.
    if to is None or (ids and (place.data is None or ids[0] <= to) and 0 < to <= ids[-1] + 1):
        return []
    reason = f"{place.root.label} of {place.root.table.full_name} has no snapshot {to} to read on from"
    return [Refusal(reason, f"{capitalised(said_ids(ids))}; {ids[-1] + 1 if ids else 1} is the next one.")]


def _changed(name: str, number: int | None, to: int | None) -> list[Item]:
    stop = f"stop the job that reads as {name}: a running one writes its own place again"
    return [*_lost(name, number, to), Item("first", stop)]


def _held(name: str, to: int | None) -> Item:
    text = f"expiry keeps snapshot {to} and all later ones that are there now, until {name} is forgotten"
    return Item("affects", text, "expiry-waits", names=(name,))


def _lost(name: str, number: int | None, to: int | None) -> list[Item]:
    if to is None:
        where = "the snapshot that" if number is None else f"snapshot {number}, which"
        text = f"{where} {name} reads next, and the protection from expiry of it and all later ones"
        return [Item("loses", text, "consumer-forgotten", is_grave=True, names=(name,))]
    if number is None or to == number:
        return []
    if to < number:
        return [Item("affects", f"{name} reads {counted(number - to, 'snapshot')} again", "reads-again")]
    text = f"{counted(to - number, 'snapshot')} that {name} has not read yet: it skips them"
    return [Item("loses", text, "consumer-skips", is_grave=True, count=to - number, unit="snapshots")]


def _as_planned(work: Work) -> _Place:
    """Raises `Refused` if the reader has moved on since the plan."""
    asked = work.plan.arguments
    branch, name = text_argument(asked, "branch"), required_text(asked, "name")
    place = _place(work.files, work.table, branch, name, integer_argument(asked, "snapshot"))
    require_unmoved(work.table, work.plan, place.fingerprint)
    return place


def _way_back(place: _Place, name: str) -> str:
    """The command that takes it back; empty if nothing tells where the consumer was."""
    if place.data is not None and place.snapshot is None:
        return ""
    words = ["paimark", "reset-consumer", place.root.table.full_name, "--name", name]
    words += [] if place.snapshot is None else ["--snapshot", str(place.snapshot)]
    return shell_line([*words, *([] if place.root.branch is None else ["--branch", place.root.branch])])


class ResetState(msgspec.Struct, frozen=True):
    """The consumer that goes on elsewhere, or is forgotten."""

    root: str | None  # the branch; null: the table directory
    name: str  # the consumer
    to: int | None  # the snapshot that it reads next; null: it is forgotten
    before: str | None = None  # its file until then; null: there was none


class ResetConsumer(Change[ResetState]):
    """The journal entry is the point of no return: one file is written after it, or deleted."""

    State = ResetState

    def __init__(self, work: Work, state: ResetState) -> None:
        super().__init__(work, state)
        # Why it is as its job left it after all.
        self._stays = ""

    @classmethod
    def begin(cls, work: Work) -> Self:
        place = _as_planned(work)
        before = None if place.data is None else place.data.decode(_ANY)
        name, to = str(work.plan.arguments["name"]), integer_argument(work.plan.arguments, "snapshot")
        raise_first(_refusals(work.files, place, name, to))
        return cls(work, ResetState(place.root.branch, name, to, before))

    @classmethod
    def nothing(cls, plan: Plan) -> dict[str, str | int | bool | None]:
        at = plan.arguments["snapshot"]
        return {"consumer_name": plan.arguments["name"], "snapshot_id": at, "previous_snapshot_id": at}

    def finish(self, hold: Hold) -> None:
        files, path, state = self.work.files, self._path, self.state
        now = read_if_there(files, path)
        if now == self._target:
            return
        if now != self._before:
            self._stays = "its job has written another place since"
        elif self._target is None:
            files.delete(path)
        else:
            files.replace(path, self._target)
        self.work.progress(f"consumer {state.name} {self._stays or 'is reset'}")

    @property
    def _path(self) -> str:
        return self.work.table.root(self.state.root).consumer(self.state.name)

    @property
    def _before(self) -> bytes | None:
        return None if self.state.before is None else self.state.before.encode(_ANY)

    @property
    def _target(self) -> bytes | None:
        return None if self.state.to is None else Consumer(next_snapshot=self.state.to).to_json()

    def no_way_back(self) -> str:
        undo = self.work.plan.undo
        return f"`{undo}` takes it back" if undo else "where it was is not known"

    def done(self) -> Done:
        state, table = self.state, self.work.plan.table
        message = f"Consumer {state.name} of {table} goes on at snapshot {state.to}"
        if state.to is None:
            message = f"Consumer {state.name} of {table} is forgotten"
        before = _next_snapshot(self._before, self._path)
        return Done(
            message=f"Consumer {state.name} of {table} stays: {self._stays}" if self._stays else message,
            result={
                "consumer_name": state.name,
                "snapshot_id": state.to,
                "previous_snapshot_id": before,
                "branch": state.root,
            },
            before=f"consumer {state.name} at {before}" if before else f"no consumer {state.name}",
            after=f"consumer {state.name} at {state.to}" if state.to else f"no consumer {state.name}",
            falls_short=bool(self._stays),
        )

    def prospect(self, hold: Hold) -> Item:
        moved_on = read_if_there(self.work.files, self._path) not in (self._before, self._target)
        return otherwise("it stays where its job is now") if moved_on else super().prospect(hold)

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        if not interrupted.is_committed:
            return []
        return [Step("delete" if self.state.to is None else "replace", self._path)]
