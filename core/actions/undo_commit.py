"""Taking back a merge, a rollback or an overwrite of main: its rows from before become one new commit.

No id is used again, so that no session has to be refreshed; the commit is the point of no return. What was
merged is out of main's rows then, and can be merged again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.actions import journal, merge_base, undo_log
from core.actions.checks import fingerprint
from core.actions.columns import column_refusals
from core.actions.context import Context, Progress
from core.actions.overwriting import (
    Start,
    landed,
    rewrite,
    rewriting_refusals,
    rows_of,
    saved,
    start_of,
)
from core.actions.plan import Refusal, Step
from core.actions.undo_log import Undoable
from core.errors import FileMissing, Refused
from core.storage.files import Files
from core.table.files import size_of
from core.table.forks import Side
from core.table.layout import TablePath
from core.table.lineage import Lineage
from core.table.records import Snapshot


@dataclass(frozen=True)
class GoingBack:
    """`start` is main as the change left it, `then` its snapshot from before."""

    entry: Undoable
    start: Start
    then: Snapshot

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.entry.token, self.start.fingerprint, self.then.to_json())

    @property
    def said(self) -> str:
        return f"{self.start.root.label} at snapshot {self.start.head.snapshot.id}"

    @property
    def summary(self) -> str:
        name = self.start.root.table.full_name
        return (
            f"Take back {self.entry.said}: give main of {name} the rows of snapshot {self.then.id} again, "
            f"instead of those of snapshot {self.start.head.snapshot.id}"
        )

    def refusals(self, context: Context) -> list[Refusal]:
        files, root = context.files, self.start.root
        found = rewriting_refusals(self.start)
        then = Lineage(files, root).schema(self.then.schema_id)
        found += column_refusals(then, f"snapshot {self.then.id}", self.start)
        try:
            size_of(files, root.table, self.then)
        except FileMissing as error:
            found.append(Refusal(f"Snapshot {self.then.id} is not whole: {error.message}", "It has expired."))
        return found

    def steps(self, context: Context) -> list[Step]:
        root = self.start.root
        try:
            rows, size = size_of(context.files, root.table, self.then)
        except FileMissing:
            return []
        return [
            Step(
                "copy",
                f"the rows of snapshot {self.then.id}",
                f"{rows} rows before key merging, through Spark",
                size,
            ),
            Step(
                "create",
                root.snapshot(self.start.head.snapshot.id + 1),
                "one OVERWRITE of the whole table",
            ),
            Step("replace", root.table.merges, "what was merged then can be merged again"),
        ]

    def kept(self) -> list[str]:
        return [f"Every snapshot, tag and savepoint: {self.said} keeps the rows as they were"]

    def warnings(self) -> list[str]:
        when = datetime.fromtimestamp(self.entry.time / 1000)
        warnings = [
            f"{self.entry.user} did it on {when:%Y-%m-%d %H:%M}",
            "Streaming readers skip OVERWRITE commits by default: they will not see the rows go back",
        ]
        if self.then.schema_id != self.start.schema.id:
            warnings.append(f"The definition of the table stays as it is now (schema {self.start.schema.id})")
        return warnings

    def go(self, context: Context, hold: journal.Hold, progress: Progress) -> journal.Hold:
        made = rewrite(context, hold, self.start, rows_of(self.start.root, self.then), progress)
        if made is None:
            raise Refused(
                f"Nothing was committed to {self.start.root.table.full_name}", "Look at the engine's log."
            )
        progress(f"committed snapshot {made.id}")
        return hold

    def finish(self, context: Context, hold: journal.Hold, progress: Progress) -> None:
        # Rows take their time: somebody elsewhere may have thought this process dead.
        journal.require_hold(context, hold)
        _finish(context, hold, self.entry)

    def take_back(self, context: Context, hold: journal.Hold) -> None:
        # Whatever stopped us: what was committed is done.
        _finish(context, hold, self.entry)


def find(files: Files, table: TablePath, entry: Undoable) -> GoingBack:
    """Raises `Refused` when main has moved since, or what it was is gone; `Corrupt`."""
    start = start_of(files, table)
    before, after = entry.before, entry.after
    assert before is not None and after is not None
    if start.root.branch != entry.root:
        was = table.root(entry.root).label
        raise Refused(
            f"Main of {table.full_name} was {was} at {entry.said}, and is {start.root.label} now",
            "Take that back first: `paimark undo --replacement`.",
        )
    if not after.is_of(start.head.snapshot):
        raise Refused(
            f"main of {table.full_name} moved since {entry.said}: "
            f"then at snapshot {after.id}, now at {start.head.snapshot.id}",
            f"`{_by_hand(files, start, before.id)}` gives it the rows from before, without what came since.",
        )
    then = Side(files, start.root).record(before.id)
    if then is None or not before.is_of(then):
        raise Refused(
            f"Snapshot {before.id} of main of {table.full_name}, from before {entry.said}, is gone",
            "It has expired: roll back to another version.",
        )
    return GoingBack(entry, start, then)


def recover(context: Context, hold: journal.Hold, entry: Undoable, progress: Progress) -> None:
    """Finish when the rows from before were committed; else main is as it was. The caller ends it."""
    made = _finish(context, hold, entry)
    progress(f"main is back, as snapshot {made.id}" if made else "nothing was taken back: main is as it was")


def _finish(context: Context, hold: journal.Hold, entry: Undoable) -> Snapshot | None:
    """What follows the commit, if it landed; it can be done twice."""
    files, table = context.files, hold.table
    before, after = entry.before, entry.after
    assert before is not None and after is not None
    made = landed(files, after.id, table.root(entry.root), hold.journal.token)
    if made is not None:
        now = merge_base.point_of(made)
        event = merge_base.Event(kind="rollback", root=entry.root, main=now, to=before.id, then=before)
        merge_base.record(files, table, event)
        undo_log.remove(context, table, entry.token, now)
    return made


def _by_hand(files: Files, start: Start, number: int) -> str:
    kept = saved(files, start.root, number)
    to = f"snapshot.{number}" if kept is None else f"savepoint.{kept}"
    return f"paimark rollback {start.root.table.full_name} --to {to}"
