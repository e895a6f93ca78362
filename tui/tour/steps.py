"""The steps of the tour: their texts, and the conditions for their end. They use the demo's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from paimark.core.demo.directory import DATABASE
from paimark.core.table.layout import TablePath
from paimark.tui.session import Target
from paimark.tui.tabs import Tab

TABLE = TablePath(DATABASE, "orders")
# The last good load of the demo, and the faulty one after it.
GOOD, FAULTY = 11, 12


@dataclass(slots=True)
class Seen:
    """What the person did since the step began. `row` and `compared` are snapshot ids; `compared` also has
    names of branches."""

    target: Target | None = None
    tab: Tab = Tab.SNAPSHOTS
    row: int | None = None
    compared: frozenset[int | str] = frozenset()
    applied: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    is_repaired: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """Values for the texts: a `time` with right prices, in the format of `@`, and the person's `branch`."""

    time: str
    branch: str = "repair"


@dataclass(frozen=True, slots=True)
class Step:
    """`text` has placeholders for keys by the ids of their bindings, `{0[act.branch]}`, and for `Known`,
    `{1.branch}`."""

    name: str
    title: str
    text: str
    is_done: Callable[[Seen, Known], bool]


def _is_compared(seen: Seen, *both: int | str) -> bool:
    return set(both) <= seen.compared


def repair_statement(known: Known) -> str:
    """The statement that puts the prices right on the person's branch."""
    return f"UPDATE {Target(TABLE, known.branch).sql_name}\nSET price = abs(price)\nWHERE price < 0"


# Replaces the text of the step "repair" once the statement is in the query pane.
WRITTEN = (
    "The UPDATE changes only the prices below zero. {0[query.run]} runs it: the plan counts its rows."
    " {0[dialog.confirm]}, shop.orders and enter confirm it, {0[dialog.apply]} applies, in some seconds."
)

STEPS = (
    Step(
        "history",
        "bad prices",
        "Customers say that orders have prices below zero. Since when? Press {0[tab.timeline]} for the"
        " history of the table and its branches, newest on top.",
        lambda seen, known: seen.tab is Tab.TIMELINE and _is_of_table(seen),
    ),
    Step(
        "when",
        "find when",
        "On {1.time} they were right. Press {0[timeline.jump]}, type {1.time} and press enter: the cursor"
        " goes to what the table was then.",
        lambda seen, known: seen.tab is Tab.TIMELINE and seen.row == GOOD,
    ),
    Step(
        "compare",
        "look at the difference",
        "Snapshot 11 is the last good one: {0[browse.mark]} marks it. Go up to 12 on main, mark that with"
        " {0[browse.mark]} as well, and press {0[browse.diff]}: the rows in which the two differ.",
        lambda seen, known: _is_compared(seen, GOOD, FAULTY),
    ),
    Step(
        "branch",
        "a branch",
        "So load 12 turned prices negative. Press {0[tab.snapshots]} for the snapshots. On the newest press"
        " {0[act.branch]}, type {1.branch}, press enter: it becomes a branch, as {0[dialog.apply]} applies.",
        lambda seen, known: "create-branch" in seen.applied,
    ),
    Step(
        "repair",
        "repair",
        "{1.branch} has the rows of main, and main goes on beside it. {0[tour.next]} writes an UPDATE that"
        " puts the prices on {1.branch} right.",
        lambda seen, known: seen.is_repaired,
    ),
    Step(
        "check",
        "check it",
        "Committed. Press {0[browse.up]} and {0[tab.branches]}, go to {1.branch} and press {0[browse.diff]}:"
        " 600 rows differ from main, and only in the price.",
        lambda seen, known: _is_compared(seen, known.branch),
    ),
    Step(
        "replace",
        "replace main",
        "Right prices, nothing else: it should be main. On {1.branch} press {0[act.replace]}. Read the plan:"
        " {1.branch} has all of main's commits, so nothing is lost, and {0[dialog.apply]} applies.",
        lambda seen, known: "replace-main-branch" in seen.applied,
    ),
    Step(
        "undo",
        "and back",
        "The top line says MAIN = {1.branch}; the old main is kept as a branch. {0[act.undo]} takes it back:"
        " nothing is lost by that, so {0[dialog.apply]} applies at once.",
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


def _is_of_table(seen: Seen) -> bool:
    return seen.target is not None and seen.target.table == TABLE
