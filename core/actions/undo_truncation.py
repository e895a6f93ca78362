"""Taking back a truncation of main: the snapshots that went to a branch are appended to main again.

The first of them is the point of no return: only where main has none of that id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.actions import journal, truncation, undo_log
from core.actions.checks import fingerprint
from core.actions.context import Context, Progress
from core.actions.plan import Refusal, Step
from core.actions.removal import said
from core.actions.replace_checks import claim_refusals
from core.actions.takeover import State, moved, state
from core.actions.truncation import Cut, cut_of
from core.actions.undo_log import Undoable
from core.errors import NotFound, Refused
from core.storage.files import Files
from core.table.forks import Side
from core.table.layout import TablePath
from core.table.main_branch import main_root

_PUT_BACK = "main has its later snapshots again"


@dataclass(frozen=True)
class Restoring:
    """`main` ends where it was cut, `archive` has the rest."""

    entry: Undoable
    cut: Cut
    main: State
    archive: State

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.entry.token, self.main.newest, self.archive.fingerprint)

    @property
    def said(self) -> str:
        return f"{self.main.said} and {self.archive.said}"

    @property
    def summary(self) -> str:
        name, cut = self.main.root.table.full_name, self.cut
        goes_on = f"main of {name} goes on from snapshot {cut.keep} to {cut.head} again"
        return f"Take back {self.entry.said}: {goes_on}"

    def refusals(self, context: Context) -> list[Refusal]:
        files, main = context.files, Side(context.files, self.cut.main)
        found = claim_refusals(context, self.cut.archive)
        tags = Side(files, self.cut.archive).tags
        clashes = [name for name, tag in tags.items() if tag.id > self.cut.keep and name in main.tags]
        lost = [name for name, tag in tags.items() if tag.id <= self.cut.keep and name not in main.tags]
        if lost:
            reason = (
                f"Branch {self.cut.archive.label} would go with its tag {', '.join(lost)}, which main lacks"
            )
            found.append(Refusal(reason, "Make it on main, then delete it there, first."))
        if clashes:
            reason = f"Main has other tags of these names by now: {', '.join(clashes)}"
            found.append(Refusal(reason, "Delete them first."))
        return found

    def steps(self, context: Context) -> list[Step]:
        cut = self.cut
        tags = truncation.later_tags(context.files, cut.archive, cut.keep)
        return [
            Step("copy", cut.main.tags, said(len(tags), "tag")),
            Step("copy", cut.main.snapshots, f"snapshots {cut.keep + 1} to {cut.head}"),
            Step("delete", f"branch {cut.archive.label}", "main has it again"),
        ]

    def kept(self) -> list[str]:
        return [f"Every snapshot, tag and savepoint of branch {self.cut.archive.label}, in main"]

    def warnings(self) -> list[str]:
        when = datetime.fromtimestamp(self.entry.time / 1000)
        return [f"{self.entry.user} did it on {when:%Y-%m-%d %H:%M}"]

    def go(self, context: Context, hold: journal.Hold, progress: Progress) -> journal.Hold:
        now = find(context.files, hold.table, self.entry)
        if now.fingerprint != self.fingerprint or not truncation.put_back_first(context.files, self.cut):
            raise moved(hold.table, self.said, now.said)
        return hold

    def finish(self, context: Context, hold: journal.Hold, progress: Progress) -> None:
        _finish(context, hold, self.entry, progress)

    def take_back(self, context: Context, hold: journal.Hold) -> None:
        recover(context, hold, self.entry, lambda line: None)


def find(files: Files, table: TablePath, entry: Undoable) -> Restoring:
    """Raises `Refused` when main or the branch has moved since, and `Corrupt`."""
    cut = cut_of(table, entry)
    before, after = entry.before, entry.after
    assert before is not None and after is not None
    if main_root(files, table) != cut.main:
        raise Refused(
            f"Main of {table.full_name} is another than at {entry.said}",
            "Take that back first: `paimark undo --replacement`.",
        )
    try:
        main, archive = state(files, cut.main), state(files, cut.archive)
    except NotFound as error:
        raise Refused(f"Branch {cut.archive.label}, which has what came later, is gone", "") from error
    hint = f"Merge branch {cut.archive.label} instead, or make it main."
    if main.head is None or not after.is_of(main.head.snapshot):
        was, now = f"snapshot {after.id}", main.said
        raise Refused(f"main of {table.full_name} moved since {entry.said}: then at {was}, now {now}", hint)
    if archive.head is None or not before.is_of(archive.head.snapshot):
        raise Refused(f"Branch {cut.archive.label} of {table.full_name} has gone on since {entry.said}", hint)
    return Restoring(entry, cut, main, archive)


def recover(context: Context, hold: journal.Hold, entry: Undoable, progress: Progress) -> None:
    """Finish when main has the first of the snapshots again, else take it back. The caller ends it."""
    cut = cut_of(hold.table, entry)
    if _PUT_BACK in hold.journal.steps or truncation.is_put_back(context.files, cut):
        _finish(context, hold, entry, progress)
    else:
        truncation.take_tags_back(context.files, cut)
        progress(f"main stays as it is, and branch {cut.archive.label} too")


def _finish(context: Context, hold: journal.Hold, entry: Undoable, progress: Progress) -> None:
    """What follows the point of no return; it can be done twice."""
    files, cut = context.files, cut_of(hold.table, entry)
    if _PUT_BACK not in hold.journal.steps:
        last = truncation.put_back(files, cut)
        progress(f"main goes on to snapshot {last}")
        if last < cut.head:
            progress(
                f"somebody committed there just then: branch {cut.archive.label} stays, and has the rest"
            )
            undo_log.remove(context, hold.table, entry.token)
            return
        hold = journal.note(context, hold, _PUT_BACK)
    undo_log.remove(context, hold.table, entry.token)
    truncation.forget_archive(files, cut)
