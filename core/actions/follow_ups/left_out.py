"""What plans say of that which a stock engine does after its commit or tag, and this program does not."""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions.features import newest_options
from paimark.core.actions.plan import Item, Refusal
from paimark.core.errors import PaimarkError
from paimark.core.storage.files import Files
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.follow_ups import iceberg
from paimark.core.table.follow_ups.options import Event, left_out
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.main_branch import main_root

TRACKING = "row-tracking.enabled"


def items(files: Files, table: TablePath, event: Event) -> tuple[Item, ...]:
    """What readers by other ways do not see of a change of main, or of a tag."""
    try:
        options = newest_options(files, main_root(files, table))
    except PaimarkError:
        # Whoever repairs a damaged table plans, too.
        return ()
    if event == "rows" and is_on(options, TRACKING):
        new_ids = Item(
            "affects", f"rows that are written again get new row ids ({TRACKING} = true)", "new-row-ids"
        )
        return (*items_of(options, event), new_ids)
    return items_of(options, event)


def items_of(options: Mapping[str, str], event: Event) -> tuple[Item, ...]:
    return tuple(Item("affects", text, code) for code, text in left_out(options, event))


def ids_given_again(files: Files, table: TablePath, newest: int, instead: str = "") -> list[Refusal]:
    """Why main can't go on from the snapshot `newest`: Iceberg metadata knows later ones by their ids.

    Its versions are those ids. A stock commit of such an id finds the old version, and leaves it as it is:
    Iceberg readers would see the rows of the other history for good.
    """
    known = iceberg.newest_version(files, table)
    if known is None or known <= newest:
        return []
    anew = f"elete what holds it, {' and '.join(iceberg.in_use(files, table))}: a stock commit writes it anew"
    those = f"id {known}" if known == newest + 1 else f"ids {newest + 1} to {known}"
    return [
        Refusal(
            f"Iceberg readers of {table.full_name} know what main has as {those}, and would not see what "
            f"comes under {'it' if known == newest + 1 else 'them'} next",
            f"{instead}, or d{anew}." if instead else f"D{anew}.",
            "iceberg-knows-ids",
        )
    ]
