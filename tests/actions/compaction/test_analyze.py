"""The columns that `analyze` is given as one text."""

from __future__ import annotations

import pytest

from paimark.core.actions.compaction.analyze import plan
from paimark.core.actions.context import Context
from paimark.core.errors import PaimarkError
from paimark.core.table.layout import TablePath

ORDERS = TablePath("shop", "orders")


def test_names_may_be_quoted(context: Context) -> None:
    headline = plan(context, ORDERS, {"columns": "`price`,order_id"}).headline
    assert headline == "Compute statistics of price, order_id of main of shop.orders."


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("price order_id", "order_id is no name of a column"),
        ("`price, order_id`", "There is no column price, order_id"),
        ("orders.price", "orders.price is no column, but a part of one"),
        ("`prize`", "There is no column prize"),
    ],
)
def test_what_is_no_column_is_refused(context: Context, columns: str, said: str) -> None:
    with pytest.raises(PaimarkError) as refused:
        plan(context, ORDERS, {"columns": columns})
    assert refused.value.message.startswith(said)
