"""`try` as the simulation runs it: a script of one statement on a branch, and a check of one value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from paimark.core.actions.registry import Action
from paimark.core.actions.row_checks.check_file import THIS
from paimark.core.statements.try_script import TRY_SCRIPT
from tests.simulation.actors.edits import file_of
from tests.simulation.formats import VALUE, Rows
from tests.simulation.judging.expected import Sides, keyed_merge, unkeyed_merge

TRY: Action = TRY_SCRIPT
_CHECK = re.compile(rf"\n?SELECT \* FROM {THIS} WHERE {VALUE} = ([0-9]+)")


def arguments_of(arguments: Mapping[str, object], sql: str) -> dict[str, object]:
    """What the action takes; no row may have the value `wrong`."""
    check = f"SELECT * FROM {{this}} WHERE {VALUE} = {arguments['wrong']};\n"
    taken = {name: arguments[name] for name in ("name", "publish") if name in arguments}
    return {**taken, "file": file_of(f"{sql};\n"), "check": file_of(check)}


def wrong_value(sql: str) -> int | None:
    """The value that a query of the check looks for; None for another query."""
    found = _CHECK.search(sql)
    return None if found is None else int(found[1])


def rows_under_check(rows: Mapping[str, Rows], sides: Callable[[], Sides], *, keyed: bool) -> Rows:
    """Those of a version, or those that a merge will give main."""
    if THIS in rows:
        return rows[THIS]
    if keyed:
        return keyed_merge(sides(), branch_wins=False)[0]
    return unkeyed_merge(sides(), removes=False)
