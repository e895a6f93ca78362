"""The columns that `analyze` is given as one text."""

from __future__ import annotations

import re

import pytest

from paimark.core.actions.compaction.analyze import plan
from paimark.core.actions.context import Context
from paimark.core.errors import PaimarkError
from paimark.core.table.layout import TablePath
from tests.wording import about

ORDERS = TablePath("shop", "orders")


def test_names_may_be_quoted(context: Context) -> None:
    headline = plan(context, ORDERS, {"columns": "`price`,order_id"}).headline
    assert about("statistics", "price, order_id", "main", "shop.orders").search(headline)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("price order_id", about("order_id", "name")),
        ("`price, order_id`", about("no column price, order_id")),
        ("orders.price", about("orders.price", "no column", "part")),
        ("`prize`", about("no column prize")),
    ],
)
def test_what_is_no_column_is_refused(context: Context, columns: str, said: re.Pattern[str]) -> None:
    with pytest.raises(PaimarkError) as refused:
        plan(context, ORDERS, {"columns": columns})
    assert said.search(refused.value.message)
