"""`rescue-commits`: make a branch of the commits that a stale writer made while another branch is main.

The snapshots are copied to the branch, with the schemas of the main that the writer used, and then deleted
from the table directory. The journal entry that the copy is complete is the point of no return.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec

from paimark.core.actions.change import operations
from paimark.core.actions.change.change import Change, Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import fingerprint, require_unmoved, required_text
from paimark.core.actions.context import Context, Remark
from paimark.core.actions.names import name_refusal
from paimark.core.actions.plan import Item, Plan, Refusal, Step, raise_first
from paimark.core.actions.roots.barrier import put_barrier, stray_commits
from paimark.core.actions.roots.branch_files import is_anothers
from paimark.core.actions.roots.root_files import (
    SNAPSHOTS,
    delete_files,
    part_of,
    remove_root,
    root_files,
    same_files,
    snapshot_ids,
)
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.definition.retention import with_retention
from paimark.core.table.layout import Root, TablePath, merge_tag
from paimark.core.table.lineage.edits import MovedRoot
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_branch_name, root_exists
from paimark.core.table.records import Snapshot, TableSchema


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name` of the new branch."""
    name = required_text(arguments, "name")
    files, target = context.files, table.root(name)
    strays = stray_commits(files, table)
    ids = ", ".join(str(each.id) for each in strays[:5]) + (" ..." if len(strays) > 5 else "")
    count = counted(len(strays), "commit")
    return Plan(
        headline=f"Make branch {name} of {table.full_name} of {count} by stale writers.",
        arguments={"name": name},
        fingerprint=_seen(strays),
        steps=(
            Step("copy", f"branch {name}", f"snapshot {ids}, with the schemas of the previous main"),
            Step("delete", table.root().snapshots, count),
        )
        if strays
        else (),
        items=(Item("keeps", "every row that they wrote; main as it is"),) if strays else (),
        refusals=tuple(_refusals(context, target, strays)),
        empty=not strays,
    )


class RescueState(msgspec.Struct, frozen=True):
    """The branch to make, and the commits for it."""

    name: str  # the branch to be made
    ids: tuple[int, ...]  # the ids of the stray snapshots


class RescueCommits(Change[RescueState]):
    """The journal entry that the copy is complete is the point of no return."""

    State = RescueState

    @classmethod
    def begin(cls, work: Work) -> Self:
        name, strays = str(work.plan.arguments["name"]), stray_commits(work.files, work.table)
        require_unmoved(work.table, work.plan, _seen(strays))
        raise_first(_refusals(work.context, work.table.root(name), strays))
        return cls(work, RescueState(name, tuple(each.id for each in strays)))

    @classmethod
    def nothing(cls, plan: Plan) -> dict[str, str | int | bool | None]:
        return {"branch_name": plan.arguments["name"], "commits": 0}

    @property
    def _target(self) -> Root:
        return self.work.table.root(self.state.name)

    def prepare(self, hold: Hold) -> None:
        own = self.work.table.root()
        # When the previous main is main again, its expiry would take what the rescued commits are built on.
        for path, data in self._pins().items():
            self.work.files.create(path, data)
        commits = {number: self.work.files.read(own.snapshot(number)) for number in self.state.ids}
        for path, data in _copies(self.work.context, self._target, commits).items():
            if not self.work.files.create(path, data) and self.work.files.read(path) != data:
                raise Refused(f"Somebody else has just written {path}", "Choose another name.")
        self.work.progress(f"copied {counted(len(self.state.ids), 'commit')} to branch {self.state.name}")

    def finish(self, hold: Hold) -> None:
        _remove_rescued(self.work.files, self._target)

    def take_back(self, hold: Hold) -> None:
        """Remove the copy. If it alone holds a commit by now, as an engine expired that, make it whole."""
        work, target = self.work, self._target
        if alone := self._held_alone():
            _complete(work.context, target, self.state.ids)
            _remove_rescued(work.files, target)
            ids = ", ".join(map(str, alone))
            work.progress(Remark(f"branch {self.state.name} stays, for it alone holds snapshot {ids}"))
        elif others := _remove_copies(work.context, target, self.state.ids):
            work.progress(Remark(f"branch {self.state.name} stays, for others wrote {', '.join(others)}"))
        else:
            for path, data in self._pins().items():
                if read_if_there(work.files, path) == data:
                    work.files.delete(path)

    def _pins(self) -> dict[str, bytes]:
        """The tag of the previous main's snapshot before the first of the commits, if it has that."""
        base = min(self.state.ids) - 1
        archive = _archive(self.work.context, self.work.table)
        data = None if archive is None else read_if_there(self.work.files, archive.snapshot(base))
        if archive is None or data is None:
            return {}
        return {archive.tag(merge_tag(self.state.name, base)): data}

    def _held_alone(self) -> list[int]:
        """The ids of commits that are gone from the table directory, and copied to the branch before."""
        context, target = self.work.context, self._target
        own, copied = (_held(context.files, root, self.state.ids) for root in (target.table.root(), target))
        gone = sorted(copied.keys() - own.keys())
        newest = max(_schemas(context, target.table), default=0)
        return [] if is_anothers(context.files, target, newest) else gone

    def no_way_back(self) -> str:
        command = shell_line(
            ["paimark", "delete-branch", self.work.table.full_name, "--name", self.state.name]
        )
        return f"`{command}` deletes the branch with these commits"

    def done(self) -> Done:
        name, count = self.state.name, counted(len(self.state.ids), "commit")
        return Done(
            message=f"Made branch {name} of {self.work.plan.table} of {count} by stale writers",
            result={"branch_name": name, "commits": len(self.state.ids)},
            before="stray commits",
            after=f"branch {name}",
        )

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        if interrupted.is_committed:
            return [Step("delete", self.work.table.root().snapshots, f"what branch {self.state.name} holds")]
        if self._held_alone():
            return [
                Step("create", f"branch {self.state.name}", "what it lacks: it alone holds commits by now")
            ]
        return [Step("delete", f"branch {self.state.name}", "the commits stay where they are")]


def _refusals(context: Context, target: Root, strays: list[Snapshot]) -> list[Refusal]:
    files, table = context.files, target.table
    if refusal := name_refusal(target.label, "branch"):
        return [refusal]
    if files.entries(target.directory):
        return [Refusal(f"{table.full_name} has a branch {target.label} already", "Choose another name.")]
    missing = {each.schema_id for each in strays} - _schemas(context, table).keys()
    if missing:
        reason = f"Schema {', '.join(map(str, sorted(missing)))} of these commits is gone"
        return [Refusal(reason, "Restore it in the branch that was main before.")]
    return []


def _moved(context: Context, table: TablePath) -> MovedRoot | None:
    """The move of the main that was in the table directory."""
    moves = (each.turned.moved for each in reversed(operations.undoable(context, table)))
    return next((each for each in moves if each is not None and each.before is None), None)


def _archive(context: Context, table: TablePath) -> Root | None:
    """The branch that keeps that main; None if it is gone."""
    moved = _moved(context, table)
    archive = None if moved is None else table.root(moved.after)
    return archive if archive is not None and root_exists(context.files, archive) else None


def _schemas(context: Context, table: TablePath) -> dict[int, bytes]:
    """The schemas that the table directory had: those of the archived main, else those in the log."""
    files, moved, archive = context.files, _moved(context, table), _archive(context, table)
    if moved is None or moved.schema_id is None:
        return {}
    schemas = {moved.schema_id: (moved.schema or "").encode()}
    if archive is not None:
        schemas |= {each: files.read(archive.schema(each)) for each in Lineage(files, archive).schema_ids()}
    return schemas


def _held(files: Files, root: Root, ids: tuple[int, ...]) -> dict[int, bytes]:
    """The files of these snapshots that the root has."""
    found = zip(ids, files.read_many(map(root.snapshot, ids)), strict=True)
    return {number: data for number, data in found if data is not None}


def _copies(context: Context, target: Root, commits: Mapping[int, bytes]) -> dict[str, bytes]:
    """Every file of a new branch of these commits, in the order of writing."""
    schemas = _schemas(context, target.table)
    newest, copies = max(schemas, default=0), dict[str, bytes]()
    for number, data in sorted(schemas.items()):
        path = target.schema(number)
        TableSchema.from_json(data, path)
        copies[path] = with_retention(data, path) if number == newest else data
    for number, data in sorted(commits.items()):
        copies[target.snapshot(number)] = data
    if commits:
        copies[target.earliest_hint] = str(min(commits)).encode()
        copies[target.latest_hint] = str(max(commits)).encode()
    return copies


def _complete(context: Context, target: Root, ids: tuple[int, ...]) -> None:
    """Write what the branch lacks of the commits that are left, in the table directory or in the branch."""
    files = context.files
    commits = _held(files, target, ids) | _held(files, target.table.root(), ids)
    for path, data in _copies(context, target, commits).items():
        files.create(path, data)


def _remove_copies(context: Context, target: Root, ids: tuple[int, ...]) -> list[str]:
    """Remove the branch if it is an unfinished copy; return the paths of others' files, which keep it."""
    files, names = context.files, list(root_files(context.files, target))
    ours = _copies(context, target, _held(files, target.table.root(), ids))
    paths = [f"{target.directory}/{name}" for name in names]
    others = [p for p, data in zip(paths, files.read_many(paths), strict=True) if data != ours.get(p)]
    if not others:
        remove_root(files, target)
    return others


def _remove_rescued(files: Files, target: Root) -> None:
    """Delete from the table directory only files that the branch has; hints go with the last snapshot."""
    own = target.table.root()
    main = main_branch_name(files, target.table)
    if main is None:
        return
    names = part_of(root_files(files, target), SNAPSHOTS)
    delete_files(files, own, list(same_files(files, own, target, names)))
    if not snapshot_ids(files, own):
        delete_files(files, own, [f"{SNAPSHOTS}/EARLIEST"])
    put_barrier(files, own.table, main)


def _seen(strays: list[Snapshot]) -> str:
    return fingerprint(*(each.to_json() for each in strays))
