"""`protect`: from now on no action lets a branch, tag or savepoint go, for a reason that a refusal gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec

from paimark.core.actions.change.change import Change, Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import (
    fingerprint,
    integer_argument,
    require_unmoved,
    required_text,
    text_argument,
)
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.protection_guard import arguments_of, unprotect
from paimark.core.errors import NotFound, UsageError
from paimark.core.figures import minute
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, SAVEPOINT_TAG_PREFIX, TablePath, number_in
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.lineage.protected import Protected, protected, write
from paimark.core.table.read_tags import is_permanent, kept_until_ms
from paimark.core.table.records import Savepoint
from paimark.core.table.savepoints import SavepointManager
from paimark.core.text import capitalised

_OTHERS = "other engines know nothing of it, and can delete it all the same"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `tag`, `savepoint` or `branch`, and `reason`. Raises `NotFound` and `UsageError`."""
    files, reason = context.files, required_text(arguments, "reason")
    thing = _named(context, table, arguments, reason)
    refusals = _refusals(files, table, thing)
    return plan_of(files, table, thing, thing, f"Protect {thing.said} of {table.full_name}.", refusals)


def plan_of(
    files: Files,
    table: TablePath,
    thing: Protected,
    wanted: Protected | None,
    headline: str,
    refusals: list[Refusal],
) -> Plan:
    """The plan to protect a thing as is `wanted`, or no longer."""
    before = _now(files, table, thing)
    arguments = {
        "what": thing.what,
        "name": thing.name,
        "of": thing.branch,
        "reason": None if wanted is None else wanted.reason,
    }
    if (before and before.reason) == (wanted and wanted.reason):
        is_so = "is protected already" if wanted else "is not protected"
        headline = f"{capitalised(thing.said)} of {table.full_name} {is_so}."
        return Plan(headline=headline, arguments=dict(arguments), empty=True)
    is_branch = wanted is not None and thing.what == "branch"
    earlier = "" if before is None else f"{before.user} protected it before: {before.reason}"
    return Plan(
        headline=headline,
        arguments=dict(arguments),
        fingerprint=_seen(files, table, before, wanted),
        steps=(Step("replace", table.protected),),
        items=(
            Item("affects", _OTHERS if wanted else "actions may delete, rename or replace it again"),
            *([Item("keeps", "jobs and statements write to it as before")] if is_branch else []),
            *([Item("affects", earlier)] if earlier else []),
        ),
        cost="1 small file",
        refusals=tuple(refusals),
        undo=_command(table, thing, before),
    )


def thing_of(
    context: Context, table: TablePath, arguments: Mapping[str, object], reason: str = ""
) -> Protected:
    """The thing that arguments name, whether it is there or not. Raises `UsageError`."""
    tag, number = text_argument(arguments, "tag"), integer_argument(arguments, "savepoint")
    if tag is not None and number is None and (of_tag := number_in(tag, SAVEPOINT_TAG_PREFIX)) is not None:
        tag, number = None, of_tag
    branch = text_argument(arguments, "branch")
    if tag is not None and number is not None:
        raise UsageError("A tag and a savepoint are given", "Leave one out.")
    if tag is None and number is None and branch is None:
        raise UsageError("What to protect is missing", "Give --tag, --savepoint or --branch.")
    label = branch or MAIN
    what, name, of = ("branch", label, None) if number is None else ("savepoint", str(number), None)
    if tag is not None:
        what, name, of = "tag", tag, label
    fields = {"what": what, "name": name, "branch": of, "reason": reason}
    return msgspec.convert({**fields, "user": context.user, "time": context.clock()}, Protected)


def _named(context: Context, table: TablePath, arguments: Mapping[str, object], reason: str) -> Protected:
    """Raises `NotFound` if it is not there."""
    files, thing = context.files, thing_of(context, table, arguments, reason)
    branch = text_argument(arguments, "branch")
    _state(files, table, thing)
    if thing.what == "savepoint" and branch is not None:
        number = int(thing.name)
        if number not in {each.id for each in _savepoints(files, table, branch)}:
            raise NotFound(f"{branch} of {table.full_name} has no savepoint {number}", "Leave --branch out.")
    return thing


def _savepoints(files: Files, table: TablePath, branch: str) -> list[Savepoint]:
    return SavepointManager(files, table).of_root(branch_root(files, table, branch))


def _refusals(files: Files, table: TablePath, thing: Protected) -> list[Refusal]:
    """A tag that goes by itself can't be held."""
    if thing.what != "tag":
        return []
    tag = Lineage(files, branch_root(files, table, thing.branch)).tag(thing.name)
    if is_permanent(thing.name, tag):
        return []
    until = kept_until_ms(tag)
    goes = "by itself" if until is None else f"by itself after {minute(until)}"
    command = shell_line(
        ["paimark", "create-tag", table.full_name, "--name", "NAME", "--snapshot", str(tag.id)]
    )
    return [Refusal(f"Tag {thing.name} goes {goes}: engines delete it", f"Protect another tag: `{command}`.")]


def _now(files: Files, table: TablePath, thing: Protected) -> Protected | None:
    return next((each for each in protected(files, table) if each.thing == thing.thing), None)


def _state(files: Files, table: TablePath, thing: Protected) -> bytes:
    """What the thing is, as another of its name is something else. Raises `NotFound`."""
    if thing.what == "savepoint":
        return SavepointManager(files, table).savepoint(int(thing.name)).to_json()
    root = branch_root(files, table, thing.branch or thing.name)
    if thing.what == "branch":
        # Jobs go on writing to it.
        return b""
    return Lineage(files, root).tag(thing.name).to_json()


def _seen(files: Files, table: TablePath, before: Protected | None, wanted: Protected | None) -> str:
    thing = b"" if wanted is None else _state(files, table, wanted)
    return fingerprint("" if before is None else before.to_json(), thing)


def _command(table: TablePath, thing: Protected, before: Protected | None) -> str:
    """The command that protects it as before, or not at all."""
    if before is None:
        return unprotect(table, thing)
    return shell_line(
        ["paimark", "protect", table.full_name, *arguments_of(thing), "--reason", before.reason]
    )


class ProtectionState(msgspec.Struct, frozen=True):
    """What is to be protected, or no longer."""

    thing: Protected  # the [protected thing](#protected)
    wanted: bool  # whether it is protected afterwards


class SetProtection(Change[ProtectionState]):
    """The journal entry is the point of no return: one small file is written after it."""

    State = ProtectionState

    @classmethod
    def begin(cls, work: Work) -> Self:
        given = work.plan.arguments
        reason = text_argument(given, "reason")
        named = {"what": given["what"], "name": given["name"], "branch": given["of"], "reason": reason or ""}
        thing = msgspec.convert({**named, "user": work.user, "time": work.since}, Protected)
        before = _now(work.files, work.table, thing)
        seen = _seen(work.files, work.table, before, None if reason is None else thing)
        require_unmoved(work.table, work.plan, seen, thing.said)
        return cls(work, ProtectionState(thing, reason is not None))

    @classmethod
    def nothing(cls, plan: Plan) -> dict[str, str | int | bool | None]:
        return dict(plan.arguments)

    def finish(self, hold: Hold) -> None:
        files, table, thing = self.work.files, self.work.table, self.state.thing
        known = protected(files, table)
        others = [each for each in known if each.thing != thing.thing]
        wanted = [*others, *([thing] if self.state.wanted else [])]
        if wanted != known:
            write(files, table, wanted)

    def no_way_back(self) -> str:
        return f"`{self.work.plan.undo}` takes it back"

    def done(self) -> Done:
        thing, table = self.state.thing, self.work.plan.table
        now = "protected" if self.state.wanted else "no longer protected"
        return Done(
            message=f"{capitalised(thing.said)} of {table} is {now}",
            result=dict(self.work.plan.arguments),
            before=f"{thing.said}",
            after=f"{thing.said}, {now}",
        )

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        return [Step("replace", self.work.table.protected)] if interrupted.is_committed else []
