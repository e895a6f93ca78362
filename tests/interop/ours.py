"""Run Paimark's actions as the command does."""

from __future__ import annotations

from pathlib import Path

from paimark.core.actions.context import open_context
from paimark.core.actions.plan import Outcome
from paimark.core.actions.registry import action
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION
from paimark.core.table.catalog import parse_table_name


def act(warehouse: Path, name: str, table: str, /, **arguments: object) -> Outcome:
    """Plan and apply at once."""
    chosen = action(name)
    # The judge is idle meanwhile, so there is no expiry to wait for.
    context = open_context(str(warehouse), {VERIFY_WAIT_OPTION: "1 ms"}, read_only=False)
    plan = chosen.plan(context, parse_table_name(table), arguments)
    assert plan.refusals == ()
    return chosen.apply(context, plan, lambda line: None)
