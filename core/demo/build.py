"""Build the demo warehouse: two weeks of a small shop, a faulty load, and a branch that repairs it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.actions.context import NO_AUDIT, Context, Progress, open_context
from paimark.core.actions.plan import Plan, raise_first
from paimark.core.actions.registry import action
from paimark.core.demo import rows
from paimark.core.demo.directory import DATABASE, UNFINISHED, alone, is_demo, write_marker
from paimark.core.demo.placing import put_in_place, require_free
from paimark.core.errors import Refused, Unavailable
from paimark.core.table.layout import TablePath

HOUR_MS = 3_600_000
DAYS = 14

ORDER_LOADS = 18
LAUNCH = 2
SAVED = 4
MONTH_END = 11
FAULTY = 12


def build_demo(
    directory: Path, progress: Progress, now_ms: int | None = None, fresh: Plan | None = None
) -> None:
    """Build the demo; under a minute. The rows depend on the day of `now_ms` only.

    With `fresh`, made by `plan_fresh`, the tables that have its names are dropped first. Raises `Refused` if
    the directory holds something else, or one of them has changed since that plan; `Unavailable` if it can't
    be written.
    """
    is_demo(directory)
    if fresh is not None:
        raise_first(fresh.refusals)
    now = int(time.time() * 1000) if now_ms is None else now_ms
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with alone(directory):
            write_marker(directory)
            if fresh is None:
                require_free(directory)
            # On the same file system as the place of the tables.
            with TemporaryDirectory(prefix=UNFINISHED, dir=directory, ignore_cleanup_errors=True) as beside:
                _Builder(Path(beside), now - now % HOUR_MS, progress).build()
                put_in_place(directory, Path(beside), fresh, progress)
    except OSError as error:
        raise Unavailable(f"The demo can't be written to {directory}: {error.strerror or error}") from error


class _Builder:
    """Makes the commits in the order of their times. `anchor` is the full hour before now."""

    def __init__(self, directory: Path, anchor_ms: int, progress: Progress) -> None:
        self._anchor = anchor_ms
        self._progress = progress
        self._writer = DemoWriter(directory, DATABASE)
        self._context = replace(open_context(str(directory), {}, read_only=False), audit_path=NO_AUDIT)

    def build(self) -> None:
        self._customers()
        self._events()
        self._orders()
        self._fix_prices()

    def _days_ago(self, days: float) -> int:
        return self._anchor - round(days * 24 * 3600) * 1000

    def _date(self, days_ago: int) -> date:
        return datetime.fromtimestamp(self._anchor / 1000, UTC).date() - timedelta(days=days_ago)

    def _customers(self) -> None:
        writer = self._writer
        writer.create_table(
            "customers",
            rows.CUSTOMERS_V0,
            self._days_ago(13.6),
            primary_keys=["customer_id"],
            options={"bucket": "1", "commit.user-prefix": "crm-sync"},
            comment="Who buys; the tier column came later",
        )
        writer.commit("customers", rows.customers(1, 1000, with_tier=False), self._days_ago(13.5))
        writer.add_column("customers", "tier", "STRING", self._days_ago(6.2))
        writer.commit("customers", rows.customers(901, 1100, with_tier=True), self._days_ago(6.1))
        writer.commit("customers", rows.customers(1051, rows.CUSTOMERS, with_tier=True), self._days_ago(1.4))
        self._progress("shop.customers: 3 commits, 2 schemas")

    def _events(self) -> None:
        self._writer.create_table(
            "events",
            rows.EVENTS,
            self._days_ago(13.8),
            partition_keys=["day"],
            options={"commit.user-prefix": "web-events"},
            comment="What visitors did, a partition a day",
        )
        for days_ago in range(DAYS - 1, -1, -1):
            day = self._date(days_ago + 1)
            self._writer.commit("events", rows.events(day), self._days_ago(days_ago + 0.05))
        self._progress(f"shop.events: {DAYS} commits, a partition a day")

    def _orders(self) -> None:
        self._writer.create_table(
            "orders",
            rows.ORDERS,
            self._days_ago(13.9),
            primary_keys=["order_id"],
            options={"bucket": "2", "commit.user-prefix": "order-load"},
            comment="One row an order, updated as it is paid, shipped and delivered",
        )
        ages = [13.8 - 13.7 * number / (ORDER_LOADS - 1) for number in range(ORDER_LOADS)]
        times = [self._days_ago(age) for age in ages]
        self._loads = list(rows.order_loads([self._date(ceil(age)) for age in ages], faulty=FAULTY - 1))
        for load, time_ms in zip(self._loads, times, strict=True):
            snapshot_id = self._writer.commit("orders", load.as_loaded, time_ms)
            if snapshot_id == LAUNCH:
                self._act("create-tag", time_ms, name="v1-launch")
            elif snapshot_id == SAVED:
                self._act("create-savepoint", time_ms + HOUR_MS, comment="before the new price feed")
            elif snapshot_id == MONTH_END:
                self._act("create-tag", time_ms, name="month-end")
            elif snapshot_id == ORDER_LOADS - 1:
                self._act("expire-snapshots", time_ms + HOUR_MS, retain_last=snapshot_id - SAVED)
        self._progress(
            f"shop.orders: {ORDER_LOADS} commits, tags, savepoint 1; snapshots 1-{SAVED} have expired"
        )

    def _fix_prices(self) -> None:
        self._act("create-branch", self._days_ago(0.4), name="fix_prices", tag="month-end")
        self._writer.date_branch("orders", "fix_prices", self._days_ago(0.4))
        corrected = [load.corrected for load in self._loads[FAULTY - 1 :]]
        for number, load in enumerate(corrected):
            time_ms = self._days_ago(0.35) + number * HOUR_MS // 2
            self._writer.commit("orders", load, time_ms, branch="fix_prices")
        self._progress(f"shop.orders: branch fix_prices, {len(corrected)} loads again with the right prices")

    def _act(self, action_name: str, time_ms: int, /, **arguments: object) -> None:
        context: Context = replace(self._context, clock=lambda: time_ms)
        chosen = action(action_name)
        plan = chosen.plan(context, TablePath(DATABASE, "orders"), arguments)
        if plan.refusals:
            raise Refused(plan.refusals[0].reason, plan.refusals[0].hint)
        chosen.apply(context, plan, lambda line: None)


class DemoWriter:
    """One database of a local warehouse. Times are epoch milliseconds."""

    def __init__(self, warehouse: Path, database: str) -> None:
        self._directory = warehouse / f"{database}.db"
        self._database = database
        self._catalog = CatalogFactory.create({"warehouse": str(warehouse)})
        self._catalog.create_database(database, True)

    def create_table(
        self,
        name: str,
        columns: pa.Schema,
        time_ms: int,
        *,
        primary_keys: Sequence[str] = (),
        partition_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str,
    ) -> None:
        definition = Schema.from_pyarrow_schema(
            columns,
            primary_keys=list(primary_keys),
            partition_keys=list(partition_keys),
            options=dict(options or {}),
            comment=comment,
        )
        self._catalog.create_table(f"{self._database}.{name}", definition, False)
        _set_time(self._directory / name / "schema" / "schema-0", time_ms)

    def add_column(self, name: str, column: str, sql_type: str, time_ms: int) -> None:
        change = SchemaChange.add_column(column, AtomicType(sql_type))
        self._catalog.alter_table(f"{self._database}.{name}", [change])
        schemas = self._directory / name / "schema"
        newest = max(schemas.glob("schema-*"), key=lambda path: int(path.name.removeprefix("schema-")))
        _set_time(newest, time_ms)

    def commit(self, name: str, rows: pa.Table, time_ms: int, branch: str | None = None) -> int:
        """Commit rows to main or a branch; returns the snapshot's id."""
        suffix = f"$branch_{branch}" if branch else ""
        builder = self._catalog.get_table(f"{self._database}.{name}{suffix}").new_batch_write_builder()
        writer, committer = builder.new_write(), builder.new_commit()
        writer.write_arrow(rows)
        committer.commit(writer.prepare_commit())
        writer.close()
        committer.close()
        root = self._directory / name / (f"branch/branch-{branch}" if branch else "")
        snapshot_id = int((root / "snapshot" / "LATEST").read_text())
        _set_time(root / "snapshot" / f"snapshot-{snapshot_id}", time_ms)
        return snapshot_id

    def date_branch(self, name: str, branch: str, time_ms: int) -> None:
        """Backdate a branch: its creation time is the modification time of its first schema file."""
        for path in (self._directory / name / "branch" / f"branch-{branch}" / "schema").iterdir():
            os.utime(path, (time_ms / 1000, time_ms / 1000))


def _set_time(path: Path, time_ms: int) -> None:
    record: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "timeMillis": time_ms}, indent=2))
    os.utime(path, (time_ms / 1000, time_ms / 1000))
