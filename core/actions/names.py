"""The names that a tag or branch may get, and the existing ones that an argument may have.

Stock engines accept more, and then lose some of them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from paimark.core.actions.change.operations import stacks_of
from paimark.core.actions.context import Context
from paimark.core.actions.declared.kinds import (
    Argument,
    Branch,
    BranchName,
    Choice,
    ConsumerName,
    DroppedId,
    OperationNumber,
    SavepointId,
    TagName,
    TagOfMain,
    Version,
)
from paimark.core.actions.plan import Refusal
from paimark.core.actions.plan_wording import consumers_of
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, PIN_PREFIXES, SAVEPOINT_TAG_PREFIX, TablePath, number_in
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, branch_root, main_root
from paimark.core.table.names import is_archive
from paimark.core.table.operations import read_operations
from paimark.core.table.read_tags import STOCK_READ_TAG_PREFIX
from paimark.core.table.savepoints import SavepointManager
from paimark.core.table.trash import dropped_tables
from paimark.core.text import unseen_in

# A placeholder in the name of a new tag, for the id of the snapshot.
ID_IN_NAME = "{id}"
_MAX_BYTES = 200
_FORBIDDEN = frozenset("/\\$")
# Reserved: programs delete tags with such names, and a person's tag would lose its snapshot.
_RESERVED_TAGS = (SAVEPOINT_TAG_PREFIX, "snapshot.", "paimark.", STOCK_READ_TAG_PREFIX)

_RETIRED = re.compile(r"retired-(?P<name>.+)-\d{8}T\d{6}", re.DOTALL)
# `orders@savepoint.3` is a savepoint of main, and a person would read a branch of that name as one.
_A_VERSION = re.compile(r"(savepoint|snapshot)\.\d+$", re.IGNORECASE)
# Tags that Paimark makes; each is deleted with what needs it.
_NOT_GIVEN = (SAVEPOINT_TAG_PREFIX, *PIN_PREFIXES)

# The arguments are the table, and the branch that is acted on; None for main.
Names = Callable[[Files, TablePath, str | None], Sequence[str]]


def name_refusal(name: str, kind: Literal["tag", "branch"]) -> Refusal | None:
    """Why a new tag or branch can't have this name; None when it can."""
    hint = f"Choose another name for the {kind}."
    if not name.strip():
        return Refusal(f"The name of a {kind} can't be blank", hint)
    if reason := unseen_reason(name, f"a {kind}"):
        return Refusal(reason, hint)
    if name != name.strip():
        return Refusal(f"The name of a {kind} can't begin or end with a blank", hint)
    if name == MAIN:
        return Refusal(f"A {kind} can't be called {MAIN}", hint)
    if name.isdigit():
        return Refusal(f"A {kind} called {name} would hide snapshot {name}", "Put a letter in front.")
    if forbidden := _FORBIDDEN.intersection(name):
        return Refusal(f"The name of a {kind} can't hold {' or '.join(sorted(forbidden))}", hint)
    if name.startswith("."):
        return Refusal(f"The name of a {kind} can't begin with a dot", hint)
    if len(name.encode()) > _MAX_BYTES:
        return Refusal(f"The name of a {kind} can't be longer than {_MAX_BYTES} bytes", hint)
    if kind == "branch" and _A_VERSION.match(name):
        return Refusal(f"A branch called {name} would read like a version of the table", hint)
    if kind == "tag":
        for prefix in _RESERVED_TAGS:
            if name.startswith(prefix):
                return Refusal(f"Tag names beginning with {prefix} are given by programs", hint)
    return None


def unseen_reason(name: str, what: str) -> str | None:
    """Why no new thing may get this name: it has an invisible character. None if it has none."""
    unseen = unseen_in(name)
    return f"The name of {what} can't hold U+{ord(unseen):04X}, which nobody sees" if unseen else None


def archive_name(context: Context) -> str:
    """The branch that keeps the previous main: `main-20260501T120000-1f2e3d`."""
    return f"{MAIN}-{_now(context)}-{secrets.token_hex(3)}"


def retired_name(context: Context, name: str) -> str:
    """The branch that keeps a deleted one with all its files: `retired-fix-20260501T120000`."""
    return f"retired-{name}-{_now(context)}"


def first_name(branch: str) -> str:
    """The name of a branch before it was retired."""
    retired = _RETIRED.fullmatch(branch)
    return retired["name"] if retired else branch


def was_moved(branch: str) -> bool:
    """Whether its name is that of a root which has all files of another: of main before, or a retired one."""
    return bool(is_archive(branch) or _RETIRED.fullmatch(branch))


def _now(context: Context) -> str:
    return f"{datetime.fromtimestamp(context.clock() / 1000, UTC):%Y%m%dT%H%M%S}"


def known_names(
    argument: Argument, files: Files, table: TablePath, branch: str | None = None
) -> Sequence[str] | None:
    """The values of an argument that there are now, each with a word on it after a blank, if it needs one.

    None for an argument that names nothing, or one of too many. Raises the errors of reads.
    """
    if isinstance(argument, Choice):
        return argument.among
    names = _NAMES.get(type(argument))
    return None if names is None else names(files, table, branch)


def _tags(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The tags of the branch, including those of savepoints, which come first, the newest in front."""
    names = Lineage(files, branch_root(files, table, branch)).tag_names()
    saved = {name for name in names if name.startswith(SAVEPOINT_TAG_PREFIX)}
    newest_first = sorted(saved, key=lambda name: number_in(name, SAVEPOINT_TAG_PREFIX) or 0, reverse=True)
    return [*newest_first, *(name for name in names if name not in saved)]


def _given_tags(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return [name for name in _tags(files, table, branch) if not name.startswith(_NOT_GIVEN)]


def _savepoints(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The savepoints of all branches, because ids are unique within the table."""
    return [str(each) for each in reversed(SavepointManager(files, table).ids())]


def _branches(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return branch_names(files, table)


def _others(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """The branches that are not main."""
    main = main_root(files, table).branch
    return [name for name in branch_names(files, table) if name != main]


def _consumers(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return consumers_of(files, branch_root(files, table, branch))


def _operations(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    """What a restore can go to: what can be undone, and what was undone last; the newest first."""
    now = stacks_of(files, table)
    reachable = {each.token for each in now.undo} | {each.token for each in now.redo}
    made = [each for each in read_operations(files, table) if each.token in reachable]
    return [*(f"{each.number} {each.action}" for each in reversed(made)), "0 for before all"]


def _dropped(files: Files, table: TablePath, branch: str | None) -> Sequence[str]:
    return [each.id for each in dropped_tables(files, table.database) if each.table == table]


_NAMES: Mapping[type[Argument], Names] = {
    TagOfMain: lambda files, table, branch: _tags(files, table, None),
    Version: lambda files, table, branch: _tags(files, table, None),
    TagName: _given_tags,
    SavepointId: _savepoints,
    Branch: _branches,
    BranchName: _others,
    ConsumerName: _consumers,
    OperationNumber: _operations,
    DroppedId: _dropped,
}
