"""A simulated table on a real disk, and what stock readers are to find there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from core.table.layout import Root
from tests.simulation.formats import Identity, Rows
from tests.simulation.judging import view
from tests.simulation.world import TABLE, World


class Readable(msgspec.Struct, frozen=True):
    """A version as stock engines name it, with its rows. Without a tag it is the newest snapshot."""

    table: str
    tag: str | None
    rows: Rows


def readables(world: World) -> Iterator[Readable]:
    """Every reference that a stock reader can name now."""
    store = world.store
    for root in view.roots(store):
        # While a branch is main stock engines fail on the plain name, as they are to.
        if root.branch is None and view.main_root(store) != root:
            continue
        if found := view.head(store, root):
            yield _readable(world, root, None, found)
        # A tag that is asked for on a branch is looked up in the table directory by the stock reader.
        for name, tagged in view.tags(store, root).items() if root.branch is None else ():
            yield _readable(world, root, name, tagged)


def write_mirror(world: World, warehouse: Path) -> None:
    """Make a directory hold what the store does, and nothing else."""
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
    """The warehouse, and `expected.json` with its readables."""
    write_mirror(world, directory / "warehouse")
    (directory / "expected.json").write_bytes(msgspec.json.encode(list(readables(world))))


def load_expected(directory: Path) -> list[Readable]:
    return msgspec.json.decode((directory / "expected.json").read_bytes(), type=list[Readable])


def _readable(world: World, root: Root, tag: str | None, found: Identity) -> Readable:
    name = TABLE.full_name if root.branch is None else f"{TABLE.full_name}$branch_{root.branch}"
    return Readable(name, tag, world.commits[found].rows)
