"""Apply a change of many: one part after the other, each like a change of its own.

If the process dies, whole parts are done and the others are not begun; the interrupted part is in the
journal, for `recover`. If something changed since the plan, only its part is refused, and the others stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from paimark.core import figures
from paimark.core.actions.change.journal import JournaledChange, TakenOver, new_token
from paimark.core.actions.change.operations import Stacks, stacks
from paimark.core.actions.checks import require_allowed
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.garbage.sweep import Removed
from paimark.core.actions.plan import Outcome, Plan
from paimark.core.cancelling import begin_again
from paimark.core.errors import Cancelled, NotFound, PaimarkError, Refused
from paimark.core.figures import MOST_NAMES, counted, some_of
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import Group, Operation, read_operations

Apply = Callable[[Plan], Outcome]


class PartlyDone(Refused):
    """Some parts of a change of many were not done. `outcome` describes those that were."""

    def __init__(self, message: str, hint: str, outcome: Outcome, exit_code: int) -> None:
        super().__init__(message, hint)
        self.outcome = outcome
        self.exit_code = exit_code


def apply_each(context: Context, plan: Plan, progress: Progress, apply: Apply) -> Outcome:
    """Apply the parts by `apply`. Raises `PartlyDone`, or the first part's error if nothing was done.

    A refused part is skipped; any other error, and a cancel, ends the change there.
    """
    require_allowed(context, plan)
    run = _Run(plan)
    for number, part in enumerate(plan.parts, 1):
        group = Group(run.id, number, run.names)
        try:
            begin_again()
            run.done(part, apply(replace(part, group=group)))
        except KeyboardInterrupt:
            progress(Remark(run.told("Interrupted")))
            raise
        except (Refused, NotFound) as error:
            run.refused(part, error)
            if isinstance(error, TakenOver):
                break
            continue
        except PaimarkError as error:
            run.refused(part, error)
            break
        progress(Remark(part_done(number, len(plan.parts), run.outcomes[-1].message)))
    return run.outcome()


class _Run:
    """The results of the parts so far."""

    def __init__(self, plan: Plan) -> None:
        self.id = new_token()
        self.names = tuple(name_of(each) for each in plan.parts)
        self.outcomes: list[Outcome] = []
        self._plan = plan
        self._done: list[Plan] = []
        self._errors: list[tuple[Plan, PaimarkError]] = []

    def done(self, part: Plan, outcome: Outcome) -> None:
        self._done.append(part)
        self.outcomes.append(outcome)

    def refused(self, part: Plan, error: PaimarkError) -> None:
        self._errors.append((part, error))

    def outcome(self) -> Outcome:
        """The outcome. Raises `PartlyDone`, or the error if no other part was done or tried."""
        if not self._errors:
            return self._so_far(self._message())
        _, error = self._errors[-1]
        if not self._done and len(self._errors) == 1 and not isinstance(error, Refused | NotFound):
            raise error
        message = self.told("Cancelled" if isinstance(error, Cancelled) else "")
        raise PartlyDone(message, error.hint, self._so_far(message), error.exit_code) from error

    def told(self, why: str) -> str:
        """Which parts were done, which were not, and why."""
        count = f"{len(self._done)} of {len(self.names)} done"
        said = [f"{why}: {count}" if why else count]
        if self._done:
            said[0] += f": {listed([name_of(each) for each in self._done])}"
        said += [
            f"not done: {name_of(part)} ({error.message})"
            for part, error in self._errors
            if not isinstance(error, Cancelled)
        ]
        tried = {id(part) for part in (*self._done, *(part for part, _ in self._errors))}
        if left := [name_of(each) for each in self._plan.parts if id(each) not in tried]:
            said.append(f"not begun: {listed(left)}")
        return "; ".join(said)

    def _so_far(self, message: str) -> Outcome:
        undo = {each.undo for each in self.outcomes}
        return Outcome(
            action=self._plan.action,
            table=self._plan.table,
            message=message,
            result={"count": len(self._done), **self._freed},
            undo=undo.pop() if len(undo) == 1 else "",
            parts=tuple(self.outcomes),
            falls_short=any(each.falls_short for each in self.outcomes),
        )

    def _message(self) -> str:
        said = was_done(self._plan.parts, self._plan.table)
        return f"{said}{Removed(*self._freed.values()).said(self._plan)}" if self._freed else said

    @property
    def _freed(self) -> dict[str, int]:
        """The files and bytes that the parts freed; empty for an action that frees nothing."""
        return {
            name: sum(int(each.result[name] or 0) for each in self.outcomes)
            for name in ("freed_files", "freed_bytes")
            if self.outcomes and all(name in each.result for each in self.outcomes)
        }


# By kind of change: the verb of a plan, the verb of an outcome, the noun, and the name of one part.
_KINDS = {
    "create-savepoint": ("Make", "Made", "savepoint", "savepoint of snapshot {snapshot}"),
    "create-tag": ("Make", "Made", "tag", "tag {name}"),
    "delete-branch": ("Delete", "Deleted", "branch", "branch {name}"),
    "delete-savepoint": ("Delete", "Deleted", "savepoint", "savepoint {savepoint_id}"),
    "delete-tag": ("Delete", "Deleted", "tag", "tag {tag_name}"),
    "retire-branch": ("Retire", "Retired", "branch", "branch {name}"),
    "undo-retirement": ("Bring back", "Brought back", "branch", "branch {branch_name}"),
}
_OTHER = ("Make", "Made", "change", "")
# The number of names shown of a long list.
_SHOWN = 20


def name_of(part: Plan) -> str:
    """`tag nightly-12`, `savepoint 3`; the summary for a kind of change without such a name."""
    form = _KINDS.get(part.kind, _OTHER)[3]
    return form.format_map(part.arguments) if form else part.summary


def verb_of(part: Plan) -> str:
    """The verb of the part's step in the plan of many."""
    return "create" if _KINDS.get(part.kind, _OTHER)[0] in ("Make", "Bring back") else "delete"


def to_do(parts: Sequence[Plan], table: str) -> str:
    """`Delete tags a and b of shop.orders`, `Delete 9 tags of shop.orders`."""
    return f"{_KINDS.get(parts[0].kind, _OTHER)[0]} {_things(parts)} of {table}"


def was_done(parts: Sequence[Plan], table: str) -> str:
    """As `to_do`, of what was done."""
    return f"{_KINDS.get(parts[0].kind, _OTHER)[1]} {_things(parts)} of {table}"


def part_done(number: int, count: int, message: str) -> str:
    """The line that reports a finished part."""
    return f"{number} of {count}: {message}"


def parts_done(line: str) -> int | None:
    """The number of finished parts, if the line is one of `part_done`."""
    number, of, rest = line.partition(" of ")
    return int(number) if of and number.isdigit() and rest.partition(":")[0].isdigit() else None


def listed(names: Sequence[str]) -> str:
    """The names, as many as a sentence can hold."""
    return some_of(names, _SHOWN)


def _things(parts: Sequence[Plan]) -> str:
    """Up to three by their names, more by their number."""
    _, _, noun, form = _KINDS.get(parts[0].kind, _OTHER)
    plural = "branches" if noun == "branch" else f"{noun}s"
    if not form.startswith(f"{noun} {{") or not 1 < len(parts) <= MOST_NAMES:
        return counted(len(parts), noun, plural)
    return f"{plural} {figures.listed([name_of(each).removeprefix(f'{noun} ') for each in parts])}"


# A change of many that nobody continued for so long is left as it is (milliseconds).
_MENTIONED_FOR = 7 * 24 * 3600 * 1000
# The arguments of an action that tell its parts apart, as their names end with them.
_NAMING = ("name", "id", "snapshot")


def describe_interrupted(context: Context, table: TablePath, interrupted: JournaledChange | None) -> str:
    """A sentence on the change of many that was interrupted, in a part or between two; else empty.

    Without an interrupted part it is the newest one of the log, unless somebody has done the rest since, or
    taken back what was done, or a week has passed. Raises `Corrupt`.
    """
    known = read_operations(context.files, table)
    if interrupted is not None:
        group, action = interrupted.journal.planned().group, interrupted.journal.action
    else:
        group, action = _newest(known, context.clock())
    if group is None:
        return ""
    done = [each for each in known if each.group is not None and each.group.id == group.id]
    numbers = {each.group.number for each in done if each.group is not None}
    parts = list(enumerate(group.names, 1))
    left = [name for number, name in parts if number not in numbers]
    if not left:
        return ""
    article = "an" if action[0] in "aeiou" else "a"
    said = f"The log has {len(numbers)} of the {len(group.names)} parts of {article} {action}"
    if numbers:
        said += f": {listed([name for number, name in parts if number in numbers])}"
    said += f". Not in it: {listed(left)}"
    if interrupted is not None:
        return said
    open_ones = stacks(context, table)
    return "" if _is_settled(known, left, done, open_ones) else f"{said}. {_ways_on(table, done, open_ones)}"


def _newest(known: Sequence[Operation], now: int) -> tuple[Group | None, str]:
    """The newest change of many in the log, and its action."""
    last = next((each for each in reversed(known) if each.group is not None), None)
    if last is None or now - last.time > _MENTIONED_FOR:
        return None, ""
    return last.group, last.action


def _is_settled(
    known: Sequence[Operation], left: Sequence[str], done: Sequence[Operation], open_ones: Stacks
) -> bool:
    """Whether a part was taken back since, or each part that was not done was done later."""
    first, last = done[0], done[-1]
    if first.undoes is not None:
        return open_ones.together(first.undoes).isdisjoint(each.token for each in open_ones.undo)
    if first.redoes is not None:
        return open_ones.together(first.redoes).isdisjoint(each.token for each in open_ones.redo)
    tokens = {each.token for each in done}
    if any(each.undoes in tokens for each in known):
        return True
    later = [each for each in known if each.action == first.action and each.number > last.number]
    return all(any(_is_of(each, name) for each in later) for name in left)


def _is_of(operation: Operation, name: str) -> bool:
    given = (operation.request.get(each) for each in _NAMING)
    return any(name.endswith(f" {each}") for each in given if each is not None)


def _ways_on(table: TablePath, done: Sequence[Operation], open_ones: Stacks) -> str:
    """How to continue, and how to take back what was done."""
    first, undo = done[0], open_ones.undo
    if first.undoes is not None or first.redoes is not None:
        return f"`paimark {'redo' if first.undoes is None else 'undo'} {table.word}` goes on"
    said = f"Run {first.action} for these to go on"
    if undo and undo[-1].token in {each.token for each in done}:
        return f"{said}, or `{table.undo}` to take back the others"
    return said
