"""Whether a change's tag, branch or savepoint is as the change left it; log changes that need no lock.

An undo deletes nothing that was changed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from paimark.core.actions.change.journal import new_token
from paimark.core.actions.change.operations import Operation, Undoable, append
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Outcome, Plan
from paimark.core.actions.roots.root_state import own_state, schema_state
from paimark.core.errors import NotFound, Unavailable
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root, root_exists
from paimark.core.text import whole_number


def is_untouched(files: Files, table: TablePath, entry: Undoable) -> bool:
    """Whether the thing that a change made is unchanged. Mostly true for a change without an inverse action.

    The rows of a write are gone with its branch, and what a truncation cut off with the snapshots that moved.
    """
    if entry.inverse is None:
        return not (_is_of_deleted_branch(files, table, entry) or _has_lost_commits(files, table, entry))
    try:
        return holds(files, table, entry.inverse, entry.arguments or {}) == entry.holds
    except NotFound:
        return False


def is_gone(files: Files, table: TablePath, entry: Undoable) -> bool:
    """Whether the thing that a change with an inverse action made, or a write's branch, is there no more."""
    if entry.inverse is None:
        return _is_of_deleted_branch(files, table, entry)
    try:
        holds(files, table, entry.inverse or "", entry.arguments or {})
    except NotFound:
        return True
    return False


def _is_of_deleted_branch(files: Files, table: TablePath, entry: Undoable) -> bool:
    named = entry.root if entry.is_write else entry.kept_as if entry.is_truncation else None
    return named is not None and not root_exists(files, table.root(named))


def _has_lost_commits(files: Files, table: TablePath, entry: Undoable) -> bool:
    """Whether the branch of a truncation lacks snapshots that followed main's present one: they expired."""
    if not entry.is_truncation or entry.before is None or entry.after is None:
        return False
    there = Lineage(files, table.root(entry.kept_as)).snapshot_ids()
    return not {*there}.issuperset(range(entry.after.id + 1, entry.before.id + 1))


def changed_since(entry: Undoable) -> str:
    """The sentence on a change whose thing was changed since."""
    if entry.is_truncation:
        return f"Branch {entry.kept_as} has lost commits that {entry.description} moved there"
    if entry.is_write:
        return f"Branch {entry.root} is gone since {entry.description}"
    if entry.inverse == entry.action:
        # The arguments are changes, of which some may be secret.
        return f"What {entry.description} changed has been changed since"
    made = " ".join(str(each) for each in (entry.arguments or {}).values() if each is not None)
    return f"What {entry.action} made ({made}) has been changed since"


def holds(files: Files, table: TablePath, inverse: str, arguments: dict[str, object]) -> str:
    """The fingerprint of the thing that the inverse action would change. Raises `NotFound`."""
    branch = arguments.get("branch")
    named = None if branch is None else str(branch)
    if inverse == "delete-branch":
        return own_state(files, branch_root(files, table, str(arguments["name"])))
    if inverse == "delete-savepoint":
        return fingerprint(files.read(table.savepoint(whole_number(str(arguments["id"])) or 0)))
    root = branch_root(files, table, named)
    if inverse in ("delete-tag", "rename-tag"):
        return fingerprint(files.read(root.tag(str(arguments["name"]))))
    schema = Lineage(files, root).latest_schema()
    return "" if schema is None else schema_state(root, schema)


def log(
    context: Context,
    table: TablePath,
    plan: Plan,
    outcome: Outcome,
    *,
    inverse: str | None = None,
    arguments: Mapping[str, Any] = MappingProxyType({}),
    snapshot: int | None = None,
    before: str = "",
    after: str | None = None,
    token: str | None = None,
    no_way_back: str | None = None,
) -> None:
    """Log an operation that needed no lock, with the inverse action that undoes it, if there is one.

    A redo uses the same `snapshot`, even if the newest was asked for. `after` is the outcome's message if
    None. With a `token` it is idempotent. Raises `Unavailable`, whose message says that the operation is
    done.
    """
    name, now, entry = token or new_token(), context.clock(), None
    if inverse is not None:
        # If main is another root by now, without the new thing, it was made, but an undo can't find it.
        with suppress(NotFound):
            entry = Undoable(
                token=name,
                action=plan.action,
                user=context.user,
                time=now,
                inverse=inverse,
                arguments=dict(arguments),
                holds=holds(context.files, table, inverse, dict(arguments)),
            )
    operation = Operation(
        number=0,
        token=name,
        action=plan.action,
        request={**plan.request, **({} if snapshot is None else {"snapshot": snapshot})},
        user=context.user,
        host=context.host,
        time=now,
        summary=outcome.message,
        before=before,
        after=outcome.message if after is None else after,
        way_back=entry,
        no_way_back=no_way_back,
        redoes=plan.redoes,
        group=plan.group,
    )
    try:
        append(context.files, table, operation)
    except Unavailable as error:
        message = f"{outcome.message}, but it could not be written down: {error.message}"
        raise type(error)(
            message, "It is there: do not make it again. An undo may not know of it."
        ) from error
