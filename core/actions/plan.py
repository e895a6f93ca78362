"""A plan: what an action will do, said before it does anything, and what is lost by it first.

The dialog, `--dry-run`, JSON and the audit line show the same plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from paimark.core.errors import Refused
from paimark.core.figures import counted, size
from paimark.core.table.layout import MAIN
from paimark.core.table.lineage.notes import Note
from paimark.core.table.operations import CheckResult, Group
from paimark.core.table.records import Point

# The detail of a step that moves metadata.
NO_DATA_FILE = "no data file is touched"

ItemKind = Literal[
    "first", "not", "loses", "final", "unknown", "checks", "affects", "keeps", "frees", "undo", "by", "how"
]
KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
# What a person who only looks for danger reads: the rest says what stays, and how.
_BEFORE_KEEPS = ("first", "not", "loses", "final", "unknown", "affects")


class Item(msgspec.Struct, frozen=True):
    """One line of a plan. `kind` is its label, and items stand in the order of `KINDS`.

    first    a loss, unless it is done before
    not      what an undo leaves as it is; what a recovery does not bring about
    loses    what a reader of that name sees now and not afterwards, though it be kept aside
    final    there is no way back
    unknown  what is known only once it is done
    checks   what the checks of its rows found
    affects  who else notices
    keeps    what stays
    frees    files and bytes that leave the store
    undo     how it is taken back
    by       who began what is recovered
    how      the steps and their cost

    With `is_grave` a person is asked before the plan is applied. `code` is for programs and never changes.
    `newest` is epoch ms.
    """

    # `first`, `not`, `loses`, `final`, `unknown`, `affects`, `keeps`, `frees`, `undo`, `by` or `how`
    kind: ItemKind
    text: str  # for people
    # the same for every text of this meaning, for programs: `commits-leave-main`, `version-gone`, ...
    code: str = ""
    is_grave: bool = False  # a person is asked because of it
    count: int | None = None  # how many commits, versions, records, ...
    unit: str = ""  # what `count` counts
    bytes: int | None = None  # bytes that leave the store
    newest: int | None = None  # time of the newest of them, epoch milliseconds
    names: tuple[str, ...] = ()  # their names


class Step(msgspec.Struct, frozen=True):
    """One step of the action."""

    verb: str  # `create`, `copy`, `move`, `replace`, `delete` or `check`
    target: str  # a path or a name
    detail: str = ""  # for people
    size: int = 0  # bytes


class Taken(msgspec.Struct, frozen=True):
    """What a plan lets go, moves, or gives other rows: a thing that is protected stands against it."""

    # a `branch` gets other rows or another history; a `root` goes, or gets another name; a `tag` or
    # `savepoint` goes, or leaves main; the `table` goes
    what: Literal["table", "root", "branch", "tag", "savepoint"]
    name: str = ""  # its name; of a savepoint its number
    branch: str = MAIN  # of a tag


class Instead(msgspec.Struct, frozen=True):
    """The action, with its arguments, that does what a refused plan would have done."""

    action: str
    arguments: dict[str, str | int | bool | None]

    def __hash__(self) -> int:
        return hash((self.action, *self.arguments.items()))


class Refusal(msgspec.Struct, frozen=True):
    """Why the change can't be made, in one sentence, and what to do about it. `code` is for programs."""

    reason: str  # one sentence
    hint: str = ""  # what to do about it
    code: str = ""  # for programs
    instead: Instead | None = None  # the action on the same table that does it: its `action` and `arguments`


def raise_first(refusals: Iterable[Refusal]) -> None:
    """Raise `Refused` for the first refusal, if there is any."""
    for refusal in refusals:
        raise Refused(refusal.reason, refusal.hint)


class TakeBack(msgspec.Struct, frozen=True):
    """How a change is taken back: by `command`, at the latest before `until`; `never`: there is no way."""

    how: Literal["undo", "redo", "command", "never"]
    command: str = ""
    until: str = ""


class Ask(msgspec.Struct, frozen=True):
    """What a person is asked: nothing, or to type the `phrase`."""

    kind: Literal["none", "type"]
    phrase: str = ""


# The code of an item: to make the plan, an interrupted change was recovered.
RECOVERED = "recovered-first"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of an action on a table. Made by reading only; `apply` checks `fingerprint` again.

    The registry fills in `action`, `table` and `note`. `items` lack those that follow from other fields.
    `parts` stand in the order of application. A plan with refusals can't be applied.
    """

    action: str = ""  # the action that was asked for
    table: str = ""  # as in the journal
    headline: str  # one sentence
    arguments: dict[str, str | int | bool | None]  # the arguments that it is applied with, resolved
    fingerprint: str = ""  # of what the plan saw
    items: tuple[Item, ...] = ()  # what a person should know: items. Empty in a journal
    phrase: str = ""  # what a person types if something is lost; empty for the table's name
    steps: tuple[Step, ...] = ()  # what will be done: steps
    cost: str = ""  # what the steps come to, for people
    refusals: tuple[Refusal, ...] = ()  # why it can't be done: refusals. Empty in a journal
    freed_files: int = 0  # how many files leave the store
    freed_bytes: int = 0  # their bytes
    undo: str = ""  # the command that takes it back, for people
    until: str = ""  # how long that is possible, for people
    empty: bool = False  # there is nothing to do. Never true in a journal
    change: str = ""  # the kind of change, where that is not the action
    # the arguments as they were given, for the operation log and a redo
    request: dict[str, str | int | bool | None] = {}
    # fingerprint of what must stay though main goes on; `kept` if something else must keep what goes
    lasting: str = ""
    # the newest snapshot of main when the plan was made, or of the branch that becomes main: it may go on
    # from there
    main_at: Point | None = None
    undoes: str | None = None  # token of the operation that it undoes
    redoes: str | None = None  # token of the operation that it redoes
    # the plans of a change of many. Empty in a journal: each part is a change of its own
    parts: tuple[Plan, ...] = ()
    group: Group | None = None  # which part of a change of many it is: a [group](#operation-log)
    # what the [checks](#operation-log) of the rows that it publishes found
    checks: tuple[CheckResult, ...] = ()
    note: Note = Note()  # what its `message` and `author` in the log will be; empty: none
    # what it lets go, moves, or gives other rows: a [protected](#protected) thing among these stands
    # against it
    takes: tuple[Taken, ...] = ()

    @property
    def commits_rows(self) -> bool:
        """Whether a step is a commit of rows."""
        return any(f"one {kind}" in step.detail for kind in ("OVERWRITE", "APPEND") for step in self.steps)

    def noted(self, note: Note) -> Plan:
        """The plan with a note on it, and on its parts."""
        return msgspec.structs.replace(self, note=note, parts=tuple(each.noted(note) for each in self.parts))

    @property
    def kind(self) -> str:
        """The kind of change, by name."""
        return self.change or self.action

    @property
    def lines(self) -> tuple[Item, ...]:
        """All items in their order."""
        return in_order((*self.items, *self._derived()))

    @property
    def take_back(self) -> TakeBack:
        return take_back(self.undo, self.until)

    @property
    def ask(self) -> Ask:
        """Whether a person agrees before the plan is applied, and by typing what."""
        if self.empty or not any(each.is_grave for each in self.items):
            return Ask("none")
        return Ask("type", self.phrase or self.table)

    @property
    def unchanged(self) -> str:
        """What a plan that is not applied has changed, as a sentence."""
        if any(each.code == RECOVERED for each in self.items):
            return "The interrupted change was recovered, and nothing else was changed."
        return "Nothing was changed."

    @property
    def summary(self) -> str:
        """The headline, as a sentence to put into another one."""
        return self.headline.removesuffix(".")

    @property
    def kept(self) -> tuple[str, ...]:
        return tuple(each.text for each in self.items if each.kind == "keeps")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What warns, with its label: a log or a list shows each by itself."""
        return tuple(f"{each.kind}: {each.text}" for each in self.items if _warns(each))

    def facts(self) -> dict[str, Any]:
        """The plan for JSON: its fields, and what follows from them. Every text may change, no code does."""
        fields = msgspec.to_builtins(self)
        return {
            **fields,
            "summary": self.summary,
            "items": msgspec.to_builtins(self.lines),
            "kept": self.kept,
            "warnings": self.warnings,
            "take_back": msgspec.to_builtins(self.take_back),
            "ask": msgspec.to_builtins(self.ask),
            "parts": [each.facts() for each in self.parts],
        }

    def _derived(self) -> Iterable[Item]:
        if self.empty:
            return
        if self.freed_files and not any(each.kind == "frees" for each in self.items):
            yield frees(self.freed_files, self.freed_bytes)
        if self.undo:
            yield undone_by(self.undo, self.until)
        if self.steps:
            yield Item("how", ", ".join(filter(None, (counted(len(self.steps), "step"), self.cost))))


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an action. `message` is one sentence; `result` its facts (`savepoint_id`, ...).

    `items` are what is needed next: where the rows from before are, what stays open. `parts` are the
    outcomes of a change of many. `falls_short`: others committed meanwhile, and it did less than was planned.
    """

    action: str
    table: str
    message: str
    result: dict[str, str | int | bool | None]
    items: tuple[Item, ...] = ()
    undo: str = ""
    until: str = ""
    parts: tuple[Outcome, ...] = ()
    falls_short: bool = False

    @property
    def lines(self) -> tuple[Item, ...]:
        """All items in their order."""
        return in_order((*self.items, *((undone_by(self.undo, self.until),) if self.undo else ())))


class Done(NamedTuple):
    """What is so once a plan is applied: `message` is one sentence, `before` and `after` name the references.

    `items` and `falls_short` are as in `Outcome`.
    """

    message: str
    result: dict[str, str | int | bool | None]
    before: str
    after: str
    items: tuple[Item, ...] = ()
    falls_short: bool = False


def _warns(item: Item) -> bool:
    """Whether it says more than that nothing is lost."""
    return item.kind in _BEFORE_KEEPS and (item.kind != "loses" or bool(item.code))


def in_order(items: Iterable[Item]) -> tuple[Item, ...]:
    """Items in the order of their kinds."""
    return tuple(sorted(items, key=lambda each: KINDS.index(each.kind)))


def frees(files: int, bytes_: int, stays: str = "") -> Item:
    """The item on files that leave the store; `stays` says why others do not."""
    text = f"{counted(files, 'file')}, {size(bytes_)}" + (f"; {stays}" if stays else "")
    return Item("frees", text, count=files, unit="files", bytes=bytes_)


# As long a commit of rows can be undone.
UNTIL_NEW_COMMIT = "there is a new commit"


def undone_by(command: str, until: str = "") -> Item:
    """The item on the command that takes a change back."""
    return Item("undo", f"{command}, until {until}" if until else command)


def take_back(command: str, until: str = "") -> TakeBack:
    """The way back that a command is; none without one."""
    if not command:
        return TakeBack("never")
    if command.startswith("paimark undo "):
        return TakeBack("undo", command, until)
    return TakeBack("redo" if command.startswith("paimark redo ") else "command", command, until)
