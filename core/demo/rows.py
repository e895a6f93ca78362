"""Rows of the demo shop, from a fixed seed: only the dates differ between builds.

One load has prices with the wrong sign, and later loads update those orders without a repair. The demo's
branch gets the same loads with the right prices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

SEED = 20260501
FIRST_ORDERS = 6000
NEW_PER_LOAD = 350
UPDATED_PER_LOAD = 250
CUSTOMERS = 1200
EVENTS_PER_DAY = 800

PRODUCTS = {
    "notebook": "3.20",
    "fountain pen": "24.90",
    "ink bottle": "9.75",
    "desk lamp": "39.00",
    "paper, 500 sheets": "6.40",
    "stapler": "11.30",
    "ruler": "1.95",
    "globe": "64.50",
}
NEXT_STATUS = {"placed": "paid", "paid": "shipped", "shipped": "delivered"}
CITIES = ("Lisbon", "Utrecht", "Gdansk", "Oulu", "Graz", "Porto", "Lyon", "Bergen")
KINDS = ("view", "view", "view", "search", "add to cart", "checkout")

ORDERS = pa.schema(
    [
        pa.field("order_id", pa.int64(), nullable=False),
        pa.field("customer_id", pa.int64()),
        pa.field("product", pa.string()),
        pa.field("quantity", pa.int32()),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("status", pa.string()),
        pa.field("ordered_on", pa.date32()),
    ]
)
EVENTS = pa.schema(
    [
        pa.field("day", pa.string()),
        pa.field("at", pa.timestamp("ms")),
        pa.field("kind", pa.string()),
        pa.field("customer_id", pa.int64()),
        pa.field("duration_ms", pa.int32()),
    ]
)
CUSTOMERS_V0 = pa.schema(
    [
        pa.field("customer_id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("city", pa.string()),
    ]
)
CUSTOMERS_V1 = CUSTOMERS_V0.append(pa.field("tier", pa.string()))


@dataclass(slots=True)
class ShopOrder:
    """An order with its right price; `wrong` is set once the faulty load wrote it."""

    order_id: int
    customer_id: int
    product: str
    quantity: int
    price: Decimal
    status: str
    ordered_on: date
    wrong: bool = False

    def row(self, *, corrected: bool) -> dict[str, Any]:
        price = -self.price if self.wrong and not corrected else self.price
        return {name: getattr(self, name) for name in ORDERS.names} | {"price": price}


@dataclass(frozen=True, slots=True)
class Load:
    """The rows of one commit: as loaded, and as they should have been."""

    as_loaded: pa.Table
    corrected: pa.Table


def order_loads(days: list[date], faulty: int) -> Iterator[Load]:
    """One load for each day; the first holds all earlier orders. Load `faulty`, from 0, has wrong prices."""
    random = Random(SEED)
    orders: list[ShopOrder] = []
    for number, day in enumerate(days):
        count = NEW_PER_LOAD if number else FIRST_ORDERS
        unfinished = [order for order in orders if order.status in NEXT_STATUS]
        changed = random.sample(unfinished, UPDATED_PER_LOAD) if number else []
        for order in changed:
            order.status = NEXT_STATUS[order.status]
        added = [_order(random, len(orders) + 1 + i, day, number == 0) for i in range(count)]
        orders += added
        touched = changed + added
        if number == faulty:
            for order in touched:
                order.wrong = True
        yield Load(*(_orders(touched, corrected) for corrected in (False, True)))


def events(day: date) -> pa.Table:
    """One day's events, in the order they happened."""
    random = Random(f"{SEED} {(day - date(2026, 1, 1)).days % 28}")
    seconds = sorted(random.randrange(24 * 3600) for _ in range(EVENTS_PER_DAY))
    midnight = datetime.combine(day, datetime.min.time())
    return pa.table(
        {
            "day": [day.isoformat()] * EVENTS_PER_DAY,
            "at": [midnight + timedelta(seconds=second) for second in seconds],
            "kind": [random.choice(KINDS) for _ in seconds],
            "customer_id": [random.randint(1, CUSTOMERS) for _ in seconds],
            "duration_ms": [random.randint(5, 4000) for _ in seconds],
        },
        schema=EVENTS,
    )


def customers(first: int, last: int, *, with_tier: bool) -> pa.Table:
    """Customers `first` to `last`, with or without the column `tier` of the second schema."""
    ids = range(first, last + 1)
    random = [Random(f"{SEED} {customer}") for customer in ids]
    columns: dict[str, list[Any]] = {
        "customer_id": list(ids),
        "name": [f"Customer {customer:04}" for customer in ids],
        "city": [chance.choice(CITIES) for chance in random],
    }
    if with_tier:
        columns["tier"] = [chance.choice(("basic", "silver", "gold")) for chance in random]
    return pa.table(columns, schema=CUSTOMERS_V1 if with_tier else CUSTOMERS_V0)


def _order(random: Random, order_id: int, day: date, past: bool) -> ShopOrder:
    product = random.choice(list(PRODUCTS))
    age = random.randint(0, 60) if past else 0
    return ShopOrder(
        order_id,
        customer_id=random.randint(1, CUSTOMERS),
        product=product,
        quantity=random.randint(1, 5),
        price=Decimal(PRODUCTS[product]),
        status=random.choice(list(NEXT_STATUS)) if past else "placed",
        ordered_on=day - timedelta(days=age),
    )


def _orders(orders: list[ShopOrder], corrected: bool) -> pa.Table:
    return pa.Table.from_pylist([order.row(corrected=corrected) for order in orders], schema=ORDERS)
