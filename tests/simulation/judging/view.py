"""Read the current store directly, without a storage operation or a turn."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from paimark.core.table.layout import Root
from tests.simulation.formats import Identity, identity_of
from tests.simulation.memory import MemoryStore
from tests.simulation.world import TABLE

_BRANCH = f"{TABLE.branches}/branch-"
# The names of automatic tags. Engines take any tag with such a name for their own.
_AUTOMATIC = re.compile(r"\d+-05-01")


class RootFile(NamedTuple):
    """A file of a root: `part` is snapshot, tag or schema, `name` the text after the prefix."""

    root: Root
    part: str
    name: str


def place_of(path: str) -> RootFile | None:
    """The root, part and name of a path; None for any other file."""
    root, rest = TABLE.root(), path.removeprefix(f"{TABLE.directory}/")
    if path.startswith(_BRANCH):
        branch, _, rest = path.removeprefix(_BRANCH).partition("/")
        root = TABLE.root(branch)
    part, _, name = rest.partition("/")
    if part in ("snapshot", "tag", "schema") and name.startswith(f"{part}-"):
        return RootFile(root, part, name.removeprefix(f"{part}-"))
    return None


@lru_cache(100_000)
def identity(data: bytes | None) -> Identity | None:
    """The commit in a snapshot or tag file; None if there is no file, or if it is no snapshot."""
    try:
        return None if data is None else identity_of(data)
    except ValueError:
        return None


def roots(store: MemoryStore) -> list[Root]:
    """The table directory and every branch with a snapshot, a tag or a schema."""
    names = (each.name for each in store.entries(TABLE.branches) if each.is_directory)
    found = [TABLE.root(name.removeprefix("branch-")) for name in names if name.startswith("branch-")]
    return [TABLE.root(), *(each for each in found if any(map(store.names, _parts(each))))]


def _parts(root: Root) -> tuple[str, str, str]:
    return root.snapshots, root.tags, root.schemas


def main_root(store: MemoryStore) -> Root:
    name = store.files.get(TABLE.main_branch_file, b"").decode().strip()
    return TABLE.root(name or None)


def snapshots(store: MemoryStore, root: Root) -> dict[int, Identity]:
    """The snapshots by ascending id, without files that are no snapshot."""
    found = {}
    for name in store.names(root.snapshots):
        number = name.removeprefix("snapshot-")
        if number.isdigit() and (known := identity(store.files[f"{root.snapshots}/{name}"])):
            found[int(number)] = known
    return dict(sorted(found.items()))


def head(store: MemoryStore, root: Root) -> Identity | None:
    return next(reversed(snapshots(store, root).values()), None)


def tags(store: MemoryStore, root: Root) -> dict[str, Identity]:
    return {
        name.removeprefix("tag-"): known
        for name in store.names(root.tags)
        if name.startswith("tag-") and (known := identity(store.files[f"{root.tags}/{name}"]))
    }


def is_of_engines(tag_name: str) -> bool:
    """Whether engines may delete a tag of this name automatically."""
    return _AUTOMATIC.fullmatch(tag_name) is not None


def schema_ids(store: MemoryStore, root: Root) -> list[int]:
    names = (name.removeprefix("schema-") for name in store.names(root.schemas))
    return sorted(int(each) for each in names if each.isdigit())
