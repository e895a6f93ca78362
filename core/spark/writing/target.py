"""The target of a write: a value that is sent to the tasks that write, and to the commit."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping

import msgspec

from paimark.core.errors import Outrun, Refused, UsageError
from paimark.core.spark.datasource.options import catalog_options
from paimark.core.spark.datasource.scan import Scan, TableAddress, WarehouseAccess
from paimark.core.storage.files import Files, read_if_there
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import find_table
from paimark.core.table.definition import kinds
from paimark.core.table.definition.row_changes import change_rules
from paimark.core.table.layout import MAIN
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import require_newest
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.lineage.notes import Note, checked
from paimark.core.table.operations import STREAM
from paimark.core.table.records import COMMIT_USER, Snapshot, commit_key

# `module:function`, called with the warehouse, its options and the root. It returns a message, or nothing.
# Operations that add rows as they are.
ADDING = ("insert-into", "write", STREAM)
# How long a recovery is waited for that began right before a commit.
_RECOVERY_SECONDS, _LOOK_EVERY = 60.0, 0.1
DUE_SAVEPOINT = "paimark.core.actions.savepoints.auto_savepoint:after_write"


class WriteTarget(TableAddress, frozen=True, kw_only=True):
    """A root, and the conditions and the kind of its next commit.

    With `follows_main` the root must still be main at the commit. The files are written with `schema`. `head`
    is the JSON of the snapshot that must still be the newest: None for any, empty for no snapshot. With
    `may_go_on` others may have committed after it. `known` is the id of the newest before anything was
    written, 0 for none: this commit has a later one. An overwrite replaces the whole table, or with `dynamic`
    the partitions that rows came for, unless its writer names some. `after_commit` is the step after the
    commit; None for an action, which runs it itself. `lock` is the token of the change that makes the commit,
    None without a lock: the lock must still exist, and its journal must not have `next_entry`, by which
    another process takes it over. `done` is what the operation log says of the rows, if not the records that
    files count. `note` goes into the log, and into the snapshot.
    """

    follows_main: bool
    commit_user: str
    overwrite: bool = False
    dynamic: bool = False
    head: str | None = None
    may_go_on: bool = False
    known: int = 0
    after_commit: str | None = DUE_SAVEPOINT
    lock: str | None = None
    next_entry: str = ""
    operation: str | None = None
    done: str = ""
    statement: str | None = None
    note: Note = Note()

    @property
    def scan(self) -> Scan:
        """A scan for the root's columns, not for rows."""
        return Scan(self.warehouse, self.options, self.database, self.table, self.branch, self.schema)


def require_writable(target: WriteTarget) -> None:
    """Raises `Refused` for a kind of table that can't be written correctly."""
    schema, adds = target.table_schema, target.operation in ADDING and not target.overwrite
    own = target.branch or MAIN
    if (named := schema.options.get("branch", own)) != own:
        raise Refused(
            f"{target.name} has the option branch = {named}: stock Spark writes to that branch by it",
            f"Name the branch: `{target.table}$branch_{named}`; or ALTER TABLE ... UNSET TBLPROPERTIES "
            "('branch') first.",
        )
    for each in (*kinds.refusals(schema), *(kinds.adding_refusals(schema) if adds else [])):
        raise Refused(f"{target.name} {each.reason}", each.hint)


def require_changeable(target: WriteTarget, command: str) -> None:
    """Raises `Refused` for a kind of table whose rows that `Command` can't change."""
    for each in change_rules(target.table_schema, command):
        raise Refused(f"{target.name} {each.reason}", each.hint)


def require_unchanged(files: Files, target: WriteTarget) -> None:
    """Check right before the commit that main and the table's schema have not changed.

    And that the newest snapshots are there: a commit would give a lost id again, and hide the loss. Raises
    `Refused`.
    """
    root, name = target.root, target.name
    hint = "Nothing was committed: start again."
    if target.follows_main and main_root(files, root.table) != root:
        raise Refused(f"Another branch of {name} became main while its rows were written", hint)
    expected = target.table_schema
    newest = Lineage(files, root).latest_schema()
    if newest is None or newest.as_written() != expected.as_written():
        raise Refused(
            f"The definition of {name} changed while its rows were written "
            f"(schema {expected.id}, now {newest.id if newest else 'none'})",
            hint,
        )
    require_newest(files, root)


class _Lock(msgspec.Struct):
    token: str


def require_lock(files: Files, target: WriteTarget) -> None:
    """Check right before the commit that no other process recovers its change. Raises `Refused`.
    The process that began it may be dead without this one knowing.
    """
    if target.lock is None:
        return
    if not _is_held(files, target) or files.exists(target.next_entry):
        raise Refused(
            f"Another process took over this change of {target.name}",
            "Nothing was committed: look at the table before you try again.",
        )


def _is_held(files: Files, target: WriteTarget) -> bool:
    data = read_if_there(files, target.root.table.journal)
    return data is not None and msgspec.json.decode(data, type=_Lock).token == target.lock


def was_taken_back(files: Files, target: WriteTarget) -> bool:
    """Right after the commit: whether another process ended its change meanwhile, as one without a commit.

    This process stood still between `require_lock` and the commit. A recovery that is under way may have
    seen the commit: its end is waited for.
    """
    table, until = target.root.table, time.monotonic() + _RECOVERY_SECONDS
    while target.lock is not None and time.monotonic() < until:
        if not _is_held(files, target):
            return not any(name.endswith(target.lock) for name in files.names(table.operations))
        if not files.exists(target.next_entry):
            return False
        time.sleep(_LOOK_EVERY)
    return False


def require_head(files: Files, target: WriteTarget, latest: Snapshot | None) -> None:
    """Raises `Refused` if the newest snapshot is not the one that the rows were made for, or a later one."""
    if target.head is None:
        return
    expected = Snapshot.from_json(target.head.encode(), "the target") if target.head else None
    if target.may_go_on and expected and latest and latest.id > expected.id:
        path = target.root.snapshot(expected.id)
        data = read_if_there(files, path)
        # It may have expired.
        if data is None or commit_key(Snapshot.from_json(data, path)) == commit_key(expected):
            return
    if (latest and commit_key(latest)) != (expected and commit_key(expected)):
        raise has_moved(target, expected.id if expected else None, latest.id if latest else None)


def has_moved(target: WriteTarget, expected: int | None, newest: int | None) -> Outrun:
    """Others committed what the rows should have been made from."""
    return Outrun(
        f"{target.root.label} of {target.name} moved while its rows were written: "
        f"snapshot {expected or 'none'}, now {newest or 'none'}",
        "Nothing was committed: start again.",
    )


def find_target(options: Mapping[str, str], overwrite: bool) -> WriteTarget:
    """The target that the options name, with its newest schema. Raises `UsageError` and `NotFound`."""
    own = catalog_options(options)
    files = open_files(options["warehouse"], own)
    branch = options.get("branch")
    root = branch_root(files, find_table(files, options["table"]), branch)
    lineage = Lineage(files, root)
    mode = options.get("partitionOverwriteMode", "static").lower()
    if mode not in ("static", "dynamic"):
        raise UsageError(f"partitionOverwriteMode is static or dynamic, not {mode}")
    return WriteTarget(
        *WarehouseAccess(files, options["warehouse"], own).address(root),
        lineage.require_schema().to_json().decode(),
        follows_main=branch is None or branch == MAIN,
        commit_user=f"{COMMIT_USER}{uuid.uuid4()}",
        known=lineage.latest_id() or 0,
        overwrite=overwrite,
        dynamic=mode == "dynamic",
        operation="overwrite" if overwrite else "write",
        note=checked(options.get("message", ""), options.get("author", "")),
    )
