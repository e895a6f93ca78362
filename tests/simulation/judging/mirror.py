"""Write a simulated table to a real disk, with the rows that stock readers must find there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from paimark.core.table.layout import Root
from tests.simulation.formats import Identity, Rows
from tests.simulation.judging import view
from tests.simulation.world import TABLE, World


class Readable(msgspec.Struct, frozen=True):
    """A version as stock engines name it, with its rows. Without a tag, the newest snapshot."""

    table: str
    tag: str | None
    rows: Rows


def readables(world: World) -> Iterator[Readable]:
    """All references that a stock reader can name now."""
    store = world.store
    for root in view.roots(store):
        # While a branch is main, stock engines fail on the plain name, as intended.
        if root.branch is None and view.main_root(store) != root:
            continue
        if found := view.head(store, root):
            yield _readable(world, root, None, found)
        # The stock reader looks up a tag in the table directory, even for a branch.
        for name, tagged in view.tags(store, root).items() if root.branch is None else ():
            yield _readable(world, root, name, tagged)


def write_mirror(world: World, warehouse: Path) -> None:
    """Make a directory hold exactly the files of the store."""
    wanted = world.store.files
    for path in [each for each in warehouse.rglob("*") if each.is_file()]:
        if str(path.relative_to(warehouse)) not in wanted:
            path.unlink()
    for name, data in wanted.items():
        path = warehouse / name
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def dump(world: World, directory: Path) -> None:
    """Write the warehouse, and `expected.json` with its readables."""
    write_mirror(world, directory / "warehouse")
    (directory / "expected.json").write_bytes(msgspec.json.encode(list(readables(world))))


def load_expected(directory: Path) -> list[Readable]:
    return msgspec.json.decode((directory / "expected.json").read_bytes(), type=list[Readable])


def _readable(world: World, root: Root, tag: str | None, found: Identity) -> Readable:
    name = TABLE.full_name if root.branch is None else f"{TABLE.full_name}$branch_{root.branch}"
    return Readable(name, tag, world.commits[found].rows)
