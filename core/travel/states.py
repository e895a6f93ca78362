"""The readable states of a root: its snapshots, and expired snapshots that a tag or savepoint keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from paimark.core.errors import NotFound
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, savepoint_tag
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.read_tags import is_read_tag
from paimark.core.table.records import Snapshot, commit_key, is_apart
from paimark.core.table.savepoints import SavepointManager

StateKind = Literal["snapshot", "savepoint", "tag"]


@dataclass(frozen=True, slots=True)
class State:
    """`name` is a version that resolves to this state: `snapshot.5`, `savepoint.3`, a tag's name."""

    kind: StateKind
    name: str
    snapshot: Snapshot

    @property
    def time(self) -> int:
        """Commit time of the snapshot, epoch ms."""
        return self.snapshot.time_millis

    @property
    def label(self) -> str:
        """`savepoint.3 (snapshot 5)`."""
        return self.name if self.kind == "snapshot" else f"{self.name} (snapshot {self.snapshot.id})"


class Saved(NamedTuple):
    """The tags and savepoints of one snapshot id. `same` keep the snapshot, best first; `others` keep one of
    a history that is, or may be, another. Without `is_proven`, `same` only follows from commit times.
    """

    same: list[State]
    others: list[State]
    is_proven: bool = False


@dataclass
class States:
    """One root's states. The tags are read once, at the first use."""

    files: Files
    root: Root
    lineage: Lineage = field(init=False)
    savepoints: SavepointManager = field(init=False)

    def __post_init__(self) -> None:
        self.lineage = Lineage(self.files, self.root)
        self.savepoints = SavepointManager(self.files, self.root.table)

    @property
    def table_name(self) -> str:
        name = self.root.table.full_name
        return name if self.root.branch is None else f"{name} (branch {self.root.branch})"

    @cached_property
    def tag_states(self) -> list[State]:
        """The states of the root's tags, without half-written ones. A savepoint's tag is its savepoint."""
        savepoint_tags = {savepoint_tag(each) for each in self.savepoints.ids()}
        return [
            State("savepoint" if name in savepoint_tags else "tag", name, tag)
            for name, tag in self.lineage.tags()
            # A read tag is deleted when its statement ends.
            if not is_read_tag(name)
        ]

    @property
    def savepoint_states(self) -> list[State]:
        return [state for state in self.tag_states if state.kind == "savepoint"]

    def snapshot(self, snapshot_id: int) -> State | None:
        """A snapshot by id; None if its file is gone. Raises `Corrupt`."""
        try:
            return State("snapshot", f"snapshot.{snapshot_id}", self.lineage.snapshot(snapshot_id))
        except NotFound:
            return None

    def tag(self, name: str) -> State | None:
        """A tag by name, also a savepoint's tag; None if it is missing. Raises `Corrupt`."""
        if not self.lineage.has_tag(name):
            return None
        return State("tag", name, self.lineage.tag(name))

    def at_or_before(self, time_ms: int) -> State | None:
        """The newest state at or before that time. At equal times a live snapshot wins, then a savepoint."""
        live = self.lineage.at_or_before(time_ms)
        candidates = [] if live is None else [State("snapshot", f"snapshot.{live.id}", live)]
        candidates += [state for state in self.tag_states if state.time <= time_ms]
        return max(candidates, key=_newest_then_livest, default=None)

    def earliest(self) -> State | None:
        first = self.lineage.oldest()
        live = None if first is None else State("snapshot", f"snapshot.{first.id}", first)
        return min([*([live] if live else []), *self.tag_states], key=lambda state: state.time, default=None)

    def that_saved(self, snapshot_id: int) -> Saved:
        """Find the tags and savepoints that keep an expired snapshot of this root.

        Neither id nor time identifies it: a rollback reuses ids, and clocks fall back. The manifests of the
        next snapshot that still exists prove what it is based on. If those were merged since, and only one
        commit of that id is kept, its time must lie between those of the snapshots around it.
        """
        holders = [state for state in self.tag_states if state.snapshot.id == snapshot_id]
        holders.sort(key=_newest_then_livest, reverse=True)
        ids = self.lineage.snapshot_ids() if holders else []
        if ids and snapshot_id > ids[-1]:
            # The root was rolled back to a snapshot before this one.
            return Saved([], holders)
        above = self._nearest([each for each in ids if each > snapshot_id], min)
        commits = {commit_key(state.snapshot): state for state in holders}
        is_past = {key: self._is_past_of(above, state) for key, state in commits.items()}
        if proven := [state for state in holders if is_past[commit_key(state.snapshot)]]:
            return Saved(proven, [state for state in holders if state not in proven], is_proven=True)
        possible = [
            state
            for state in holders
            if is_past[commit_key(state.snapshot)] is None and not is_apart(state.snapshot)
        ]
        below = self._nearest([each for each in ids if each < snapshot_id], max)
        if len({commit_key(state.snapshot) for state in possible}) == 1:
            time = possible[0].time
            if (below is None or below.time <= time) and (above is None or time <= above.time):
                return Saved(possible, [state for state in holders if state not in possible])
        return Saved([], holders)

    def _is_past_of(self, above: State | None, state: State) -> bool | None:
        if above is None:
            return None
        # Imported here: it loads fastavro, and only an expired state needs it.
        from paimark.core.table.manifests.chain import comes_from

        return comes_from(self.files, self.root.table, above.snapshot, state.snapshot)

    def _nearest(self, ids: list[int], choose: Callable[[list[int]], int]) -> State | None:
        return self.snapshot(choose(ids)) if ids else None


def _newest_then_livest(state: State) -> tuple[int, int, int]:
    return state.time, ("tag", "savepoint", "snapshot").index(state.kind), state.snapshot.id
