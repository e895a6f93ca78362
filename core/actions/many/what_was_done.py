"""Which parts of a change of many were done, as far as the log and the journal tell."""

from __future__ import annotations

from core.actions.change.journal import JournaledChange
from core.actions.context import Context
from core.actions.many.words import listed
from core.table.layout import TablePath
from core.table.operations import Group, read_operations


def told_of(context: Context, table: TablePath, interrupted: JournaledChange | None) -> str:
    """A sentence on the change of many that was interrupted, in a part or between two; else empty.

    Raises `Corrupt`.
    """
    known = read_operations(context.files, table)
    group: Group | None = known[-1].group if known else None
    action = known[-1].action if known else ""
    if interrupted is not None:
        action, group = interrupted.journal.action, interrupted.journal.planned().group
    if group is None:
        return ""
    done = {each.group.number for each in known if each.group is not None and each.group.id == group.id}
    if len(done) == len(group.names):
        return ""
    by_done: dict[bool, list[str]] = {True: [], False: []}
    for number, name in enumerate(group.names, 1):
        by_done[number in done].append(name)
    said = f"The log has {len(done)} of the {len(group.names)} parts of a {action}"
    said += f": {listed(by_done[True])}" if done else ""
    return f"{said}. Not in it: {listed(by_done[False])}"
