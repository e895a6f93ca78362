"""Taking back a replacement of main: the archived main moves into the table directory again.

The main-branch file is the point of no return here too. The branch that was main keeps every commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.actions import journal, undo_log
from core.actions.checks import fingerprint
from core.actions.context import Context, Progress
from core.actions.plan import Refusal, Step
from core.actions.pointer import clean_table_directory, clear_table_directory, drop_guards, restore
from core.actions.removal import said
from core.actions.replace_checks import claim_refusals
from core.actions.root_files import remove_root, root_files
from core.actions.strays import stray_commits
from core.actions.takeover import State, moved, state, unreadable_refusals
from core.actions.undo_log import Undoable
from core.errors import NotFound, Refused, Unavailable
from core.storage.files import Files
from core.table.layout import SNAPSHOT_PREFIX, Root, TablePath
from core.table.main_branch import main_branch_name
from core.table.reading import numbered

_RESTORED = "took the guards out of the table directory"


@dataclass(frozen=True)
class Reversal:
    """A replacement to take back: `main` is the branch that is main, `previous` what is to be main again.

    `archive` is the branch that moves into the table directory, None when the previous main is a branch.
    """

    entry: Undoable
    main: State
    previous: State
    archive: Root | None

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.entry.token, self.main.newest, self.previous.fingerprint)

    @property
    def said(self) -> str:
        return f"{self.main.said} and {self.previous.said}"

    @property
    def summary(self) -> str:
        name = self.main.root.table.full_name
        change = f"{self.main.said} -> {self.previous.said}"
        return f"Take back that branch {self.main.root.label} became main of {name}: {change}"

    def refusals(self, context: Context) -> list[Refusal]:
        """What is in the way."""
        table = self.main.root.table
        reasons = unreadable_refusals(context, self.previous) if self.previous.head else []
        if self.archive is not None:
            reasons += claim_refusals(context, self.archive)
            if strays := stray_commits(context.files, table):
                reason = (
                    f"A stale writer left {said(len(strays), 'commit')} in the directory of {table.full_name}"
                )
                reasons.append(
                    Refusal(reason, f"Run `paimark rescue-commits {table.full_name} --name BRANCH` first.")
                )
        return reasons

    def steps(self, context: Context) -> list[Step]:
        """What will be done, for the plan."""
        table, name = self.main.root.table, self.main.root.label
        pointer = Step("replace", table.main_branch_file, f"{name} -> {self.entry.previous or 'blank'}")
        if self.archive is None:
            detail = f"guards and notice of {self.previous.root.label} instead of those of {name}"
            return [pointer, Step("replace", table.directory, detail)]
        sizes = root_files(context.files, self.archive)
        return [
            Step(
                "copy",
                table.directory,
                f"{said(len(sizes), 'file')} of branch {self.archive.label}: the previous main, whole",
                sum(sizes.values()),
            ),
            pointer,
            Step("delete", table.root().tags, f"guards of {name} from after the fork"),
            Step("delete", f"branch {self.archive.label}", "it is main again", sum(sizes.values())),
        ]

    def kept(self) -> list[str]:
        """What the branch keeps, its commits since listed."""
        name, head = self.main.root.label, self.main.head
        since = self.entry.head or 0
        if head is None or head.snapshot.id <= since:
            return [f"Branch {name} stays as it is; nothing was committed to it since"]
        first, last = since + 1, head.snapshot.id
        which = f"snapshot {last}" if first == last else f"snapshots {first} to {last}"
        count = said(last - since, "commit")
        return [f"Branch {name} stays, with the {count} made since it became main: {which}"]

    def warnings(self) -> list[str]:
        table = self.main.root.table
        when = datetime.fromtimestamp(self.entry.time / 1000)
        done = f"{self.entry.user} made {self.entry.branch} main on {when:%Y-%m-%d %H:%M}"
        if self.archive is None:
            return [f"{done}; {self.previous.root.label} is main again"]
        return [f"Stock engines see {table.full_name} again, as it was; {done}"]

    def go(self, context: Context, hold: journal.Hold, progress: Progress) -> journal.Hold:
        """Up to the point of no return, and over it. Raises `Refused` when anything moved."""
        files, table = context.files, hold.table
        if self.archive is not None:
            _restore(files, table, self.entry, self.archive)
            progress(f"copied branch {self.archive.label} into the table directory")
        journal.require_hold(context, hold)
        now = find(files, table, self.entry)
        is_same = now.previous.fingerprint == self.previous.fingerprint
        if not is_same or (
            self.archive is not None and _ids(files, table.root()) != _ids(files, self.archive)
        ):
            raise moved(table, self.said, now.said)
        for reason in self.refusals(context):
            raise Refused(reason.reason, reason.hint)
        files.replace(table.main_branch_file, (self.entry.previous or "").encode())
        return hold

    def _is_whole(self, files: Files) -> bool:
        """Whether the table directory holds the archive's snapshots, and no others."""
        if self.archive is None:
            return True
        return _ids(files, self.main.root.table.root()) == _ids(files, self.archive)

    def finish(self, context: Context, hold: journal.Hold, progress: Progress) -> None:
        finish(context, hold, self.entry, progress)

    def take_back(self, context: Context, hold: journal.Hold) -> None:
        take_back(context, hold, self.entry)


def find(files: Files, table: TablePath, entry: Undoable) -> Reversal:
    """Raises `Refused` when the way back is gone, and `Corrupt`."""
    name = main_branch_name(files, table)
    if name != entry.branch:
        raise Refused(
            f"Main of {table.full_name} is not branch {entry.branch}, which the last replacement made it",
            "Replace main with the branch that is to be main.",
        )
    if entry.was_dropped:
        raise Refused(
            f"The main that branch {entry.branch} replaced was dropped", "Replace main with another branch."
        )
    back = entry.kept_as or entry.previous
    assert back is not None
    try:
        previous = state(files, table.root(back))
    except NotFound as error:
        raise Refused(
            f"Branch {back}, which was main before, is gone", "Replace main with another branch."
        ) from error
    archive = table.root(entry.kept_as) if entry.kept_as else None
    return Reversal(entry, state(files, table.root(entry.branch)), previous, archive)


def finish(context: Context, hold: journal.Hold, entry: Undoable, progress: Progress) -> None:
    """What follows the point of no return; every step can be done twice."""
    files, table = context.files, hold.table
    archive = table.root(entry.kept_as) if entry.kept_as else None
    progress(f"{entry.previous or 'the table directory'} is main again")
    if archive is None:
        clear_table_directory(files, table, table.root(entry.previous), None)
    elif _RESTORED not in hold.journal.steps:
        drop_guards(files, table, archive)
        journal.note(context, hold, _RESTORED)
        progress(_RESTORED)
    undo_log.remove(context, table, entry.token)
    if archive is not None:
        remove_root(files, archive)


def take_back(context: Context, hold: journal.Hold, entry: Undoable) -> None:
    """The point of no return was not reached: the branch stays main. Raises `Unavailable` when it was."""
    files, table = context.files, hold.table
    if is_past(files, table, entry):
        raise Unavailable(f"{table.full_name} is at its previous main already")
    if entry.kept_as is not None:
        main, archive = table.root(entry.branch), table.root(entry.kept_as)
        clear_table_directory(files, table, main, archive)
        clean_table_directory(files, table, main, archive)


def recover(context: Context, hold: journal.Hold, entry: Undoable, progress: Progress) -> None:
    """Finish when the previous main is main again, else take it back. The caller ends it."""
    files, table = context.files, hold.table
    if not is_past(files, table, entry):
        take_back(context, hold, entry)
        progress(f"branch {entry.branch} stays main: nothing is left of the undoing")
        return
    archive = table.root(entry.kept_as) if entry.kept_as else None
    clean_table_directory(files, table, table.root(entry.previous), archive)
    finish(context, hold, entry, progress)


def is_past(files: Files, table: TablePath, entry: Undoable) -> bool:
    """Whether the main-branch file names the previous main."""
    return main_branch_name(files, table) == entry.previous


def _restore(files: Files, table: TablePath, entry: Undoable, archive: Root) -> None:
    schema_id, schema = entry.schema_id or 0, entry.schema or ""
    restore(files, table, archive, schema_id, schema.encode())


def _ids(files: Files, root: Root) -> list[int]:
    return numbered(files.names(root.snapshots), SNAPSHOT_PREFIX)
