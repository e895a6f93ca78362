"""Checks of what a change will publish: a part of its plan, which is refused if one fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from paimark.core.actions.checks import text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Item, Plan, Refusal
from paimark.core.actions.row_checks.check_file import called, file_of_table, read_check_file
from paimark.core.actions.row_checks.checking import CheckedRows, run_checks
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.quoting import shell_line
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import CheckResult, checks_said
from paimark.core.text import capitalised

Argument = str | int | bool | None


@dataclass(frozen=True)
class Verdict:
    """What the checks add to a plan. `arguments` are the file and its digest; none without checks."""

    results: tuple[CheckResult, ...] = ()
    items: tuple[Item, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    arguments: Mapping[str, Argument] = field(default_factory=dict)

    def request(self, given: Mapping[str, object]) -> dict[str, Argument]:
        """The arguments of the log: the file by its whole path. Empty if they are those given."""
        if "check" not in self.arguments:
            return {}
        kept = {name: value for name, value in given.items() if isinstance(value, str | int | bool)}
        return {**kept, "check": self.arguments["check"]}


def verdict(
    context: Context, table: TablePath, arguments: Mapping[str, object], rows: Callable[[], CheckedRows]
) -> Verdict:
    """Make the checks of the argument `check`, else those that the table always has.

    Raises `NotFound` and `UsageError` for a file that is none. What `rows` refuses is a refusal of the plan.
    """
    path = text_argument(arguments, "check") or file_of_table(table)
    if path is None:
        return Verdict()
    file = read_check_file(path)
    named: dict[str, Argument] = {"check": file.path, "check_digest": file.digest}
    try:
        under = rows()
    except Refused as error:
        return Verdict(refusals=(Refusal(error.message, error.hint),), arguments=named)
    results = tuple(run_checks(context, file.checks, under, context.progress))
    item = Item("checks", f"{checks_said(results)}, on {under.label}", "checks", count=len(results))
    return Verdict(results, (item,), _refusals(results, under, file.path), named)


def checked_again(
    context: Context, plan: Plan, under: CheckedRows, progress: Progress
) -> tuple[CheckResult, ...]:
    """Make the checks of a plan on other rows than it saw. Raises `Refused` if one fails."""
    file = read_check_file(str(plan.arguments["check"]), str(plan.arguments["check_digest"]))
    results = tuple(run_checks(context, file.checks, under, progress))
    for refusal in _refusals(results, under, file.path):
        raise Refused(refusal.reason, refusal.hint)
    return results


def is_checked(plan: Plan) -> bool:
    """Whether exactly what the plan saw may be published."""
    return "check" in plan.arguments


def _refusals(results: tuple[CheckResult, ...], under: CheckedRows, path: str) -> tuple[Refusal, ...]:
    if under.version:
        words = ["paimark", "check", under.table.word, under.version, "--check", path]
        hint = f"`{shell_line(words)}` shows its rows."
    else:
        hint = "Repair the branch, and make a new plan."
    return tuple(
        Refusal(
            f"{capitalised(called(each.name))} fails on {under.label}: "
            f"{counted(each.rows, 'row')}, first {each.first[0]}",
            hint,
            "check-fails",
        )
        for each in results
        if each.stops
    )
