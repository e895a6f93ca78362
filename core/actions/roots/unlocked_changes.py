"""Whether a tag, branch, savepoint or definition is as a change left it; to log changes without a lock."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import msgspec

from paimark.core.actions.change.journal import new_token
from paimark.core.actions.change.operations import Operation, append
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.roots.root_state import own_state, schema_state
from paimark.core.errors import NotFound, Unavailable, hint_before
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import Edits, MadeEdit, SchemaEdit
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.text import whole_number


def made(
    files: Files,
    table: TablePath,
    what: Literal["tag", "savepoint", "branch"],
    name: str,
    *,
    branch: str | None = None,
    was: str | None = None,
) -> MadeEdit:
    """The edit of a thing that is there now. Raises `NotFound`."""
    edit = MadeEdit(what=what, name=name, branch=branch, was=was, state="")
    return msgspec.structs.replace(edit, state=made_state(files, table, edit))


def made_state(files: Files, table: TablePath, edit: MadeEdit) -> str:
    """The fingerprint of the thing as it is now. Raises `NotFound`."""
    if edit.what == "branch":
        return own_state(files, branch_root(files, table, edit.name))
    if edit.what == "savepoint":
        return fingerprint(files.read(table.savepoint(whole_number(edit.name) or 0)))
    return fingerprint(files.read(branch_root(files, table, edit.branch).tag(edit.name)))


def defined_state(files: Files, table: TablePath, edit: SchemaEdit) -> str:
    """The fingerprint of the definition as it is now. Raises `NotFound`."""
    root = branch_root(files, table, edit.branch)
    schema = Lineage(files, root).latest_schema()
    return "" if schema is None else schema_state(root, schema)


def log(
    context: Context,
    table: TablePath,
    plan: Plan,
    message: str,
    *,
    edit: Callable[[], MadeEdit] | None = None,
    snapshot: int | None = None,
    before: str = "",
    after: str | None = None,
    token: str | None = None,
    no_way_back: str | None = None,
) -> None:
    """Log an operation that needed no lock, with what it made, if an undo deletes that.

    A redo uses the same `snapshot`, even if the newest was asked for. `after` is the message if None. With a
    `token` it is idempotent. Raises `Unavailable`, whose message says that the operation is done.
    """
    edits = None
    if edit is not None:
        # If main is another root by now, without the new thing, it was made, but an undo can't find it.
        with suppress(NotFound):
            edits = Edits(made=edit())
    operation = Operation(
        number=0,
        token=token or new_token(),
        action=plan.action,
        request={**plan.request, **({} if snapshot is None else {"snapshot": snapshot})},
        user=context.user,
        host=context.host,
        time=context.clock(),
        summary=message,
        before=before,
        after=message if after is None else after,
        edits=edits,
        no_way_back=no_way_back,
        redoes=plan.redoes,
        group=plan.group,
        message=plan.note.message or None,
        author=plan.note.author or None,
    )
    try:
        append(context.files, table, operation)
    except Unavailable as error:
        raise type(error)(
            f"{message}, but it could not be written down: {error.message}",
            hint_before(error, "It is there: do not make it again. An undo may not know of it."),
        ) from error
