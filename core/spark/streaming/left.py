"""What is left of a table for a stream that can't begin where it was told to."""

from __future__ import annotations

from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import TableSchema
from paimark.core.travel.states import State, States


def tells_changes_later(schema: TableSchema) -> bool:
    """Whether rows are in the table before the changelog of a later snapshot has their changes."""
    return changelog_producer(schema) in ("lookup", "full-compaction")


def changelog_producer(schema: TableSchema) -> str:
    return schema.options.get("changelog-producer", "none").lower()


def begins_whole(states: States) -> bool:
    """Whether a stream of the table may begin with a whole state."""
    return not tells_changes_later(Lineage(states.files, states.root).require_schema())


def begin_anew(states: States) -> str:
    """How a query begins anew, with all rows where the table allows that."""
    mode = "latest-full" if begins_whole(states) else "latest"
    return f"begin anew with another checkpoint and scan.mode {mode}"


def what_begins(states: States) -> str:
    """A hint on the starts of a stream that work, though what was asked for has expired."""
    oldest = states.lineage.oldest()
    if oldest is None:
        return f"{begin_anew(states).capitalize()}."
    if not begins_whole(states):
        return (
            f"scan.mode from-snapshot with scan.snapshot-id {oldest.id} begins with the changes left, and "
            "scan.gap=earliest does so too and says what is missing."
        )
    first = _first_followed(states) or State("snapshot", f"snapshot.{oldest.id}", oldest)
    return (
        f"scan.mode from-snapshot-full with scan.snapshot-id {first.name} begins with all rows of snapshot "
        f"{first.snapshot.id}, and has every change since; scan.gap=earliest begins with the earliest rows "
        "left, and says what is missing."
    )


def is_followed(states: States, state: State) -> bool:
    """Whether every snapshot after a kept state is left, in its file or in a tag."""
    earliest = states.lineage.earliest_id()
    ids = range(state.snapshot.id + 1, earliest or 0)
    return earliest is not None and all(states.that_saved(each).same for each in ids)


def _first_followed(states: States) -> State | None:
    """The earliest kept state, before the snapshots that are left, that is followed."""
    earliest = states.lineage.earliest_id() or 0
    kept = [
        state
        for state in states.tag_states
        # A number is taken for the id of a snapshot.
        if state.snapshot.id < earliest and not state.name.isdecimal() and is_followed(states, state)
    ]
    return min(kept, key=lambda state: (state.snapshot.id, state.kind == "tag"), default=None)
