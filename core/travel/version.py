"""Resolve a version to one snapshot: a number, `snapshot.5`, `savepoint.3`, a tag, a watermark, or a time.

Reads metadata only. The error for a missing version lists the existing ones. A time never resolves to a
later state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

from paimark.core.errors import Corrupt, NotFound
from paimark.core.figures import counted, duration
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import MAIN, Root, savepoint_tag
from paimark.core.table.lineage.main_branch import all_roots, branch_names
from paimark.core.table.names import is_safe_name, near_names
from paimark.core.table.records import Savepoint, Snapshot, is_same_commit
from paimark.core.table.savepoints import has_schemas_of
from paimark.core.text import cut_middle
from paimark.core.travel.name_clashes import another_name, clash
from paimark.core.travel.states import State, StateKind, States
from paimark.core.travel.times import shown_time

_State = TypeVar("_State", covariant=True)
# A time that a message quotes may be any expression.
_LONGEST = 100
_SNAPSHOT = re.compile(r"snapshot\.([0-9]{1,18})")
_SAVEPOINT = re.compile(r"savepoint\.([0-9]{1,18})")
_WATERMARK = re.compile(r"watermark-(-?[0-9]{1,18})")
_NUMBER = re.compile(r"([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Resolved:
    """The snapshot to read. `name` is a version that resolves to it; `note` explains the choice."""

    root: Root
    kind: StateKind
    name: str
    snapshot: Snapshot
    requested: str
    note: str = ""


@runtime_checkable
class SupportsTimeTravel(Protocol[_State]):
    """A source that can be read as of a time."""

    def apply_snapshot(self, timestamp_ms: int) -> _State:
        """The newest state at or before the time (epoch ms). Raises `NotFound` when all are later."""


def resolve_version(files: Files, root: Root, requested: str) -> Resolved:
    """Resolve a version. Raises `NotFound`, and `Corrupt` if the file of that version is half-written.

    A tag whose name is a number wins over that snapshot, as in Paimon. Only names of tags are case-sensitive.
    """
    return _Versions(States(files, root), requested).resolve()


def resolve_time(
    files: Files, root: Root, time_ms: int, requested: str = "", *, zone: tzinfo = UTC
) -> Resolved:
    """The newest state at or before the time (epoch ms). Raises `NotFound` when all are later.

    `zone` is for the times in messages; `requested` is the time as it was written.
    """
    states = States(files, root)
    state = states.at_or_before(time_ms)
    if state is None:
        shown = shown_time(time_ms, zone)
        written = cut_middle(requested, _LONGEST)
        raise _nothing_so_old(states, f"{written} ({shown})" if requested else shown, zone)
    note = ""
    if state.kind != "snapshot":
        older = _age_difference(time_ms - state.time)
        note = f"No snapshot from then is left: {state.label} serves, {older}."
    note = " ".join(part for part in (note, _unread(states)) if part)
    return _resolved(states, state, requested or shown_time(time_ms, zone), note)


def resolve_latest(files: Files, root: Root) -> Resolved | None:
    """The newest snapshot; None for a table without one. Raises `NotFound` when the table is gone."""
    states = States(files, root)
    latest = states.lineage.latest()
    if latest is None:
        return None
    return _resolved(states, State("snapshot", f"snapshot.{latest.id}", latest), "")


class _Versions:
    def __init__(self, states: States, requested: str) -> None:
        self.states = states
        self.requested = requested
        self.text = requested.strip()

    def resolve(self) -> Resolved:
        if match := _SNAPSHOT.fullmatch(self.text):
            return self._snapshot(int(match[1]))
        if match := _SAVEPOINT.fullmatch(self.text):
            return self._savepoint(int(match[1]))
        tag = self.states.tag(self.text) if is_safe_name(self.text) else None
        if tag is not None:
            return self._tag(tag)
        lowered = self.text.lower()
        if match := _NUMBER.fullmatch(lowered) or _SNAPSHOT.fullmatch(lowered):
            return self._snapshot(int(match[1]))
        if match := _SAVEPOINT.fullmatch(lowered):
            return self._savepoint(int(match[1]))
        if match := _WATERMARK.fullmatch(lowered):
            return self._watermark(int(match[1]))
        raise self._unknown(self._branch() or near_names(self.text, self.states.lineage.tag_names()))

    def _branch(self) -> str:
        """The hint for a version that is the name of a branch; empty otherwise."""
        table = self.states.root.table
        if self.text == MAIN:
            return f"main is a branch: read `{table.name}` without a version."
        if self.text not in branch_names(self.states.files, table):
            return ""
        return f"{self.text} is a branch: read `{table.name}$branch_{self.text}`."

    def _tag(self, tag: State) -> Resolved:
        return self._result(tag, clash(tag.name, tag.snapshot.id))

    def _snapshot(self, snapshot_id: int) -> Resolved:
        live = self.states.snapshot(snapshot_id)
        hidden = self._hidden(live)
        if live is not None:
            return self._result(live, hidden)
        same, others, is_proven = self.states.that_saved(snapshot_id)
        if same:
            name = same[0].name
            note = f"Snapshot {snapshot_id} has expired: it is read from {name}, which saved it."
            if not is_proven:
                note = (
                    f"Snapshot {snapshot_id} has expired: {name} is read, which saved one of that number "
                    "at a time that fits those around it."
                )
            return self._result(same[0], f"{note} {hidden}".strip())
        reused = hidden
        if others:
            names = ", ".join(state.name for state in others)
            reused = (
                f"{reused} {names} saved a snapshot of that number, and nothing tells that it was one of "
                f"this history: ids are given again after a rollback. To read it, ask for '{others[0].name}'."
            )
        raise self._unknown(reused.strip(), near=snapshot_id)

    def _hidden(self, live: State | None) -> str:
        """What to say of a tag that is called as this snapshot is; empty if it is of this snapshot itself."""
        tag = self.states.tag(self.text) if _SNAPSHOT.fullmatch(self.text) else None
        if tag is None or (live is not None and is_same_commit(tag.snapshot, live.snapshot)):
            return ""
        return f"{clash(tag.name, tag.snapshot.id)} {another_name(self.states.root, tag.name)}"

    def _savepoint(self, savepoint_id: int) -> Resolved:
        tag = self.states.tag(savepoint_tag(savepoint_id))
        if not self.states.savepoints.savepoint_exists(savepoint_id):
            if tag is None:
                raise self._unknown("")
            note = f"{tag.name} is a tag only: there is no savepoint {savepoint_id} in this table."
            return self._result(tag, note)
        savepoint = self.states.savepoints.savepoint(savepoint_id)
        if tag is None:
            return self._without_tag(savepoint)
        if not savepoint.is_of(tag.snapshot):
            raise Corrupt(
                f"Savepoint {savepoint_id} saved snapshot {savepoint.saved_snapshot_id}, and its tag "
                f"{tag.name} is of another: snapshot {tag.snapshot.id}",
                "Somebody replaced the tag or the file: run `paimark doctor`.",
            )
        return self._result(State("savepoint", tag.name, tag.snapshot))

    def _without_tag(self, savepoint: Savepoint) -> Resolved:
        """Resolve a savepoint that has no tag in this root: it belongs to another root, or is unprotected."""
        savepoint_id, snapshot_id = savepoint.id, savepoint.saved_snapshot_id
        name = savepoint_tag(savepoint_id)
        files, here = self.states.files, self.states.root
        others = [root for root in all_roots(files, here.table) if root != here]
        holding = each_of(lambda root: files.exists(root.tag(name)), others)
        holders = [root for root, holds in zip(others, holding, strict=True) if holds]
        if holders:
            table = self.states.root.table.name
            branches = [root.branch for root in holders if root.branch is not None]
            where = f"`{table}$branch_{branches[0]}`" if branches else f"`{table}`"
            raise NotFound(
                f"Savepoint {savepoint_id} belongs to {' and '.join(root.label for root in holders)}, "
                f"and not to {self.states.table_name}",
                f"Read it from there: {where} VERSION AS OF '{name}'.",
            )
        if has_schemas_of(files, here, savepoint) is False:
            raise NotFound(
                f"Savepoint {savepoint_id} was made on {savepoint.branch} with other schemas than "
                f"{self.states.table_name} has, and no branch has its tag",
                "Another engine deleted that branch: run `paimark doctor`.",
            )
        live = self.states.snapshot(snapshot_id)
        if live is not None and live.time == savepoint.snapshot_time:
            return self._result(
                State("savepoint", name, live.snapshot),
                f"Savepoint {savepoint_id} is unprotected: its tag is missing, and it is lost when snapshot "
                f"{snapshot_id} expires. `paimark recover` writes the tag again.",
            )
        if savepoint.snapshot is None:
            raise NotFound(
                f"Savepoint {savepoint_id} of {self.states.table_name} lost its tag, and snapshot "
                f"{snapshot_id}, which it saved, has expired",
                "Its data may be gone: run `paimark doctor`.",
            )
        path = self.states.root.table.savepoint(savepoint_id)
        snapshot_copy = Snapshot.from_json(msgspec.json.encode(savepoint.snapshot), path)
        return self._result(
            State("savepoint", name, snapshot_copy),
            f"Savepoint {savepoint_id} is unprotected: its tag is missing, and any expiry may take its "
            "files. `paimark recover` writes the tag again while they are there.",
        )

    def _watermark(self, watermark: int) -> Resolved:
        """The earliest snapshot whose watermark is at or after this one; those without one are skipped."""
        for each in self.states.lineage.snapshots():
            # Watermarks may fall: a writer without one omits it, and the next writer starts again.
            if each.watermark is not None and each.watermark >= watermark:
                reached = State("snapshot", f"snapshot.{each.id}", each)
                note = f"{reached.name} is the earliest with a watermark of {watermark} or later."
                return self._result(reached, f"{note} {_unread(self.states)}".strip())
        raise self._unknown(f"No snapshot has a watermark so late. {_unread(self.states)}".strip())

    def _unknown(self, hint: str, near: int | None = None) -> NotFound:
        ids = self.states.lineage.snapshot_ids()
        if not ids:
            exist = "it has no snapshots"
        elif ids[-1] - ids[0] == len(ids) - 1:
            exist = (
                f"snapshots {ids[0]} to {ids[-1]} exist" if len(ids) > 1 else f"only snapshot {ids[0]} exists"
            )
        else:
            exist = f"{counted(len(ids), 'snapshot')} from {ids[0]} to {ids[-1]} exist"
        target = ids[-1] if near is None and ids else near or 0
        savepoints = sorted(self.states.savepoint_states, key=lambda state: abs(state.snapshot.id - target))[
            :3
        ]
        nearest = ", ".join(state.label for state in savepoints)
        return NotFound(
            f"{self.states.table_name} has no version '{self.text}': {exist}",
            " ".join(part for part in (hint, f"Nearest savepoints: {nearest}." if nearest else "") if part),
        )

    def _result(self, state: State, note: str = "") -> Resolved:
        return _resolved(self.states, state, self.requested, note)


def _resolved(states: States, state: State, requested: str, note: str = "") -> Resolved:
    return Resolved(states.root, state.kind, state.name, state.snapshot, requested, note)


def _unread(states: States) -> str:
    """A sentence on the unreadable files, which were passed over; empty if there are none."""
    sentences = list(states.lineage.unreadable.values())
    if not sentences:
        return ""
    more = f", and {len(sentences) - 1} more can't be read" if len(sentences) > 1 else ""
    return f"{sentences[0]}{more}."


def _nothing_so_old(states: States, requested: str, zone: tzinfo) -> NotFound:
    earliest = states.earliest()
    if earliest is None:
        return NotFound(
            f"{states.table_name} has no snapshot yet, so none as of {requested}", "Commit some rows first."
        )
    later = min(states.savepoint_states, key=lambda state: state.time, default=None)
    closest = ""
    if later is not None:
        closest = f"The closest savepoint is {later.label}, of {shown_time(later.time, zone)}."
    return NotFound(
        f"{states.table_name} has nothing as old as {requested}: the earliest state is {earliest.label}, "
        f"of {shown_time(earliest.time, zone)}",
        closest,
    )


def _age_difference(milliseconds: int) -> str:
    if milliseconds == 0:
        return "of exactly the time asked for"
    return f"{duration(milliseconds)} older than the time asked for"
