"""Tables with branches to take over, and what is read of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimark.core.actions.context import Context
from paimark.core.actions.roots.barrier import put_barrier, remove_barrier
from paimark.core.table.layout import Root
from paimark.core.table.lineage.main_branch import main_branch_name, main_root
from tests.actions.acting import ORDERS, done
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, open_table, read_rows

Rows = list[dict[str, Any]]


def add(context: Context, table: str, order_id: int, customer: str = "new") -> None:
    """One commit of one row to `shop.orders` or `shop.orders$branch_b`."""
    rows = {"order_id": [order_id], "customer": [customer], "price": [1.0]}
    commit(context.files.uri, table, pa.table(rows, schema=ORDERS_SCHEMA))


def branched(context: Context, name: str = "fix", tag: str = "v2", order_id: int = 100) -> Root:
    """A branch from a tag of main with one commit of its own."""
    done(context, "create-branch", name=name, tag=tag)
    add(context, f"shop.orders$branch_{name}", order_id)
    return ORDERS.root(name)


def rows_of(context: Context, root: Root) -> Rows:
    """As pypaimon reads the root, by its own name."""
    name = "shop.orders" if root.branch is None else f"shop.orders$branch_{root.branch}"
    return sorted(read_rows(Path(context.files.uri), name), key=lambda row: row["order_id"])


def main_rows(context: Context) -> Rows:
    return rows_of(context, main_root(context.files, ORDERS))


def left_stray(context: Context, meanwhile: Callable[[], object]) -> None:
    """A job opens `shop.orders`, something happens, and it commits order 900 where it knows the table.

    It reads the table's snapshots right before the barrier stands, which would stop it.
    """
    builder = open_table(context.files.uri, "shop.orders").new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    meanwhile()
    main = main_branch_name(context.files, ORDERS)
    remove_barrier(context.files, ORDERS, None)
    rows = {"order_id": [900], "customer": ["stale"], "price": [1.0]}
    writer.write_arrow(pa.table(rows, schema=ORDERS_SCHEMA))
    committer.commit(writer.prepare_commit())
    if main is not None:
        put_barrier(context.files, ORDERS, main)
