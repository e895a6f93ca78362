"""A plan: a description of what an action will do, made before it does anything.

The dialog, `--dry-run`, JSON and the audit line show the same plan.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from paimark.core.errors import Refused
from paimark.core.table.operations import Group
from paimark.core.table.records import Point

# The detail of a step that moves metadata.
NO_DATA_FILE = "no data file is touched"


class Step(msgspec.Struct, frozen=True):
    """One step of the action.

    `verb` is create, copy, move, replace, delete or check; `target` a path or a name; `size` bytes.
    """

    verb: str
    target: str
    detail: str = ""
    size: int = 0


class Refusal(msgspec.Struct, frozen=True):
    """Why the change can't be made, in one sentence, and what to do about it."""

    reason: str
    hint: str = ""


def raise_first(refusals: Iterable[Refusal]) -> None:
    """Raise `Refused` for the first refusal, if there is any."""
    for refusal in refusals:
        raise Refused(refusal.reason, refusal.hint)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of an action on a table. Made by reading only; `apply` checks `fingerprint` again.

    The registry fills in `action` and `table`. `summary` is one sentence; `kept` says what stays recoverable;
    `warnings` are what a person should know first; `undo` is the command that takes it back; `arguments` are
    the resolved arguments that `apply` uses; `change` names the kind of change that `apply` makes, if it
    differs from the action's name; `request` holds the arguments as given. `lasting` is the fingerprint of
    what must stay the same even if main goes on from `main_at`. `undoes` and `redoes` are tokens of
    operations. `freed_files` and `freed_bytes` count what leaves the store. `parts` are the plans of a change
    of many, in the order of application; `group` says which part of one it is, once it is applied. A plan
    with refusals can't be applied.
    """

    action: str = ""
    table: str = ""
    summary: str
    arguments: dict[str, str | int | bool | None]
    fingerprint: str = ""
    steps: tuple[Step, ...] = ()
    kept: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    freed_files: int = 0
    freed_bytes: int = 0
    undo: str = ""
    # Nothing to do: the requested state exists already.
    empty: bool = False
    # The plan removes something, although its action need not: the person is asked first.
    removes: bool = False
    change: str = ""
    request: dict[str, str | int | bool | None] = {}
    lasting: str = ""
    main_at: Point | None = None
    undoes: str | None = None
    redoes: str | None = None
    parts: tuple[Plan, ...] = ()
    group: Group | None = None

    @property
    def kind(self) -> str:
        """The kind of change, by name."""
        return self.change or self.action


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an action. `message` is one sentence; `result` its facts (`savepoint_id`, ...).

    `parts` are the outcomes of a change of many.
    """

    action: str
    table: str
    message: str
    result: dict[str, str | int | bool | None]
    undo: str = ""
    parts: tuple[Outcome, ...] = ()
