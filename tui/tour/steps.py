"""The steps of the tour: their texts, and the conditions for their end. They use the demo's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paimark.core.demo.directory import CHECKS, DATABASE, SCRIPT
from paimark.core.quoting import literal
from paimark.core.table.layout import TablePath

TABLE = TablePath(DATABASE, "orders")
# The last good load of the demo, and the faulty one after it.
GOOD, FAULTY = 11, 12
# The person's first try forgets some rows.
_SCRIPTS = {
    "try": "UPDATE {this} SET price = abs(price) WHERE price < 0 AND status = 'paid';\n",
    "again": "UPDATE {this} SET price = abs(price) WHERE price < 0;\n",
}
_CHECKS = """\
-- name: no price below zero
SELECT * FROM {this} WHERE price < 0;

-- name: nothing but prices changes
CHANGES ONLY price;
"""


@dataclass(slots=True)
class Seen:
    """What the person did since the step began. `answered` is the statement that was answered in view, and
    `compared` has ids of snapshots and names of branches. `tried` are actions that ended, as they should or
    not, and `applied` the arguments of those that did."""

    answered: str = ""
    compared: frozenset[int | str] = frozenset()
    tried: frozenset[str] = frozenset()
    applied: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """Values for the texts: the person's `branch`, and the `directory` of the demo."""

    branch: str = "repair"
    directory: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """`text` has placeholders for keys by the ids of their bindings, `{0[act.branch]}`, and for `Known`,
    `{1.branch}`. A step with a `statement` offers to write that; then `written` takes the place of `text`.
    """

    name: str
    title: str
    text: str
    is_done: Callable[[Seen, Known], bool]
    statement: Callable[[Known], str] | None = None
    written: str = ""


def _is_compared(seen: Seen, *both: int | str) -> bool:
    return set(both) <= seen.compared


def _try_statement(known: Known, more: str = "") -> str:
    script, checks = (f"{known.directory}/{name}" for name in (SCRIPT, CHECKS))
    return (
        f"CALL sys.try(table => '{TABLE.full_name}', publish => 'no',{more}\n"
        f"  file => {literal(script)},\n  check => {literal(checks)})"
    )


STEPS = (
    Step(
        "when",
        "since when?",
        "Customers say that orders have prices below zero. Since when? {0[tour.next]} writes the question.",
        lambda seen, known: "sys.when" in seen.answered,
        lambda known: f"CALL sys.when(table => '{TABLE.full_name}', condition => 'price < 0')",
        "{0[query.run]} runs it. Paimark counts such rows in a few versions, and halves the range each time."
        " The answer is the first version that has them.",
    ),
    Step(
        "history",
        "what happened to a row",
        "It began with load 12, and the load before is good. What did it do? {0[tour.next]} writes a query"
        " for such rows.",
        lambda seen, known: "sys.history" in seen.answered,
        lambda known: f"SELECT * FROM {TABLE.full_name}\nWHERE price < 0 ORDER BY order_id",
        "{0[query.run]} runs it, {0[browse.up]} goes to its rows. {0[query.row]} on one of them asks what"
        " happened to that order; {0[query.run]} again runs that.",
    ),
    Step(
        "compare",
        "look at the difference",
        "So load 12 turned prices negative. What else? Press {0[browse.up]} and {0[tab.snapshots]}, mark 12"
        " and 11 with {0[browse.mark]}, and press {0[browse.diff]}: the rows in which the two differ.",
        lambda seen, known: _is_compared(seen, GOOD, FAULTY),
    ),
    Step(
        "try",
        "try a repair",
        "Now repair it, beside main. {0[tour.next]} writes an UPDATE and two checks into files,"
        " and the statement that tries them on a branch.",
        lambda seen, known: "try" in seen.tried,
        _try_statement,
        "{0[query.run]} plans it, and {0[dialog.apply]} applies it in a few seconds: a branch, the UPDATE on"
        " it, the checks. One check fails, and main stays as it is.",
    ),
    Step(
        "again",
        "a check failed",
        "The UPDATE changed only paid orders, so others are still wrong: good that you tried it first."
        " {0[tour.next]} writes it without that condition, for branch {1.branch}.",
        lambda seen, known: "try" in seen.applied,
        lambda known: _try_statement(known, f" name => {literal(known.branch)},"),
        "{0[query.run]} plans it, {0[dialog.apply]} applies it. All checks pass, and {1.branch} is right.",
    ),
    Step(
        "check",
        "look at it",
        "Press {0[browse.up]} and {0[tab.branches]}, go to {1.branch} and press {0[browse.diff]}: 600 rows"
        " differ from main, and only in the price.",
        lambda seen, known: _is_compared(seen, known.branch),
    ),
    Step(
        "replace",
        "publish it",
        "Right prices, nothing else: it should be main. On {1.branch} press {0[act.replace]}. Read the plan:"
        " {1.branch} has all of main's commits, so nothing is lost. {0[dialog.apply]} applies it.",
        lambda seen, known: "replace-main-branch" in seen.applied,
    ),
    Step(
        "undo",
        "and back",
        "The top line says MAIN = {1.branch}; the old main is kept as a branch. {0[act.undo]} takes it back:"
        " nothing is lost by that, so {0[dialog.apply]} applies it at once.",
        lambda seen, known: "undo" in seen.applied,
    ),
    Step(
        "end",
        "that was it",
        "Main is what it was, {1.branch} is still there, and {0[act.redo]} would do it again."
        " {0[app.help]} has all keys, {0[app.palette]} finds anything by name.",
        lambda seen, known: False,
    ),
)


def write_files(step: str, directory: str) -> None:
    """The files that the statement of a step names. Raises `OSError`."""
    if step in _SCRIPTS:
        Path(directory, SCRIPT).write_text(_SCRIPTS[step])
        Path(directory, CHECKS).write_text(_CHECKS)
