"""The content of the state file: a bounded number of entries for each warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from paimark.core.redaction import redacted, without_secrets

VERSION = 1
# Beyond these limits the least recently used entries are dropped.
_MOST_WAREHOUSES, _MOST_TABLES, _MOST_COLUMNS = 30, 100, 200
T = TypeVar("T", bound="TableState | WarehouseState")


class GridLook(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a tab's grid, by column names: the chosen `order` and `hidden` columns, `widths` in
    cells, and in `sort` the column that the rows are sorted by, or empty."""

    order: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    widths: dict[str, int] = {}
    sort: str = ""
    descending: bool = False


class Spot(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last location. `tab` is a tab's name in lower case."""

    database: str
    table: str
    branch: str | None = None
    tab: str = "snapshots"


class TourState(msgspec.Struct, frozen=True):
    """The progress of the tour of the demo: the step's name, and the branch that the person made."""

    step: str
    branch: str


class TableState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`used` is epoch milliseconds; `looks` are by tab."""

    used: int = 0
    looks: dict[str, GridLook] = {}


class WarehouseState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`used` is epoch milliseconds; `tables` are by `database.table`, with backticks if needed."""

    used: int = 0
    spot: Spot | None = None
    tour: TourState | None = None
    tables: dict[str, TableState] = {}


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file. `warehouses` are by `warehouse_key`; `sidebar` is the width of the tables, in cells."""

    version: int = VERSION
    sidebar: int | None = None
    warehouses: dict[str, WarehouseState] = {}


def warehouse_key(address: str) -> str:
    """A warehouse's key in the file: its address without secrets."""
    return redacted(without_secrets(address)).rstrip("/")


def with_spot(state: State, key: str, spot: Spot, now_ms: int) -> State:
    known = state.warehouses.get(key, WarehouseState())
    return _with_warehouse(state, key, msgspec.structs.replace(known, spot=spot, used=now_ms))


def with_tour(state: State, key: str, tour: TourState | None, now_ms: int) -> State:
    known = state.warehouses.get(key, WarehouseState())
    return _with_warehouse(state, key, msgspec.structs.replace(known, tour=tour, used=now_ms))


def with_look(state: State, key: str, table: str, tab: str, look: GridLook, now_ms: int) -> State:
    """Set the look of a tab. A look with very many columns is not kept; an empty one removes the entry."""
    known = state.warehouses.get(key, WarehouseState())
    looks = {name: each for name, each in known.tables.get(table, TableState()).looks.items() if name != tab}
    if look != GridLook() and max(len(look.order), len(look.hidden), len(look.widths)) <= _MOST_COLUMNS:
        looks[tab] = look
    others = {name: each for name, each in known.tables.items() if name != table}
    tables = {**others, table: TableState(now_ms, looks)} if looks else others
    tables = _newest(tables, _MOST_TABLES)
    return _with_warehouse(state, key, msgspec.structs.replace(known, tables=tables, used=now_ms))


def _with_warehouse(state: State, key: str, warehouse: WarehouseState) -> State:
    warehouses = _newest({**state.warehouses, key: warehouse}, _MOST_WAREHOUSES)
    return msgspec.structs.replace(state, warehouses=warehouses)


def _newest(named: Mapping[str, T], most: int) -> dict[str, T]:
    kept = sorted(named.items(), key=lambda each: each[1].used)[-most:]
    return dict(kept)
