"""Maintain the table directory while a branch is main: guards (copies of its tags), a notice, a barrier.

Stock expiry, on any branch, spares only the files that tags of the table directory hold. So it has copies of
main's tags, without their times to live: a guard goes only with its tag. The notice is in the place of
the first schema: stock engines fail on the plain name, and do not make a table over this one.

Other engines change main's tags and not the guards. So every tag, savepoint and expiry action, and every
watcher, repairs the guards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from paimark.core.actions.plan import Step
from paimark.core.actions.roots.barrier import (
    branch_in_notice,
    has_barrier,
    notice,
    put_barrier,
    remove_barrier,
)
from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files, read_if_there
from paimark.core.storage.parallel import each_of
from paimark.core.table.definition.retention import without_time_to_live
from paimark.core.table.layout import (
    BARRIER_ID,
    CLAIM_PREFIX,
    SAVEPOINT_TAG_PREFIX,
    SCHEMA_PREFIX,
    SNAPSHOT_PREFIX,
    TAG_PREFIX,
    Root,
    TablePath,
    numbered,
)
from paimark.core.table.lineage.main_branch import all_roots, main_branch_name
from paimark.core.table.names import is_safe_name
from paimark.core.table.read_tags import is_read_tag


def guard(files: Files, root: Root, tag_name: str) -> None:
    """After a tag was written to a root: copy it into the table directory, if that branch is main."""
    table = root.table
    if root.branch is None or main_branch_name(files, table) != root.branch:
        return
    if (data := read_if_there(files, root.tag(tag_name))) is not None:
        data = without_time_to_live(data, root.tag(tag_name))
        _put_while_main(files, root, {table.root().tag(tag_name): data})


def unguard(files: Files, root: Root, tag_name: str, data: bytes) -> None:
    """After a tag with these bytes was taken back from a root: delete its guard, too. Idempotent."""
    if root.branch is None or main_branch_name(files, root.table) != root.branch:
        return
    path = root.table.root().tag(tag_name)
    if list(files.read_many([path])) == [without_time_to_live(data, path)]:
        files.delete(path)


def _put_while_main(files: Files, main: Root, guards: Mapping[str, bytes]) -> None:
    """Write guards of a branch's tags while main may move, and take them back if it has moved.

    They would otherwise be tags of the table directory, which is main again. While a change holds the table,
    another tag of the name stays: it may be the previous main's, which only that change can move.
    """
    table = main.table
    there = dict(zip(guards, files.read_many(guards), strict=True))
    for path, data in guards.items():
        is_held = files.exists(table.journal)
        if is_held and main_branch_name(files, table) != main.branch:
            return
        if is_held:
            files.create(path, data)
        else:
            _put(files, path, data)
    if main_branch_name(files, table) != main.branch:
        for path, data in guards.items():
            if there[path] is None and list(files.read_many([path])) == [data]:
                files.delete(path)


def is_guard(files: Files, main: Root, tag_name: str) -> bool:
    """Whether the table directory's tag of this name is the guard of the tag of `main`, a branch."""
    guard_data, data = files.read_many([main.table.root().tag(tag_name), main.tag(tag_name)])
    try:
        return data is not None and guard_data == without_time_to_live(data, main.tag(tag_name))
    except Corrupt:
        return False


def reconcile(files: Files, table: TablePath, main: Root) -> None:
    """Make the tags of the table directory the guards of `main`, a branch. Idempotent.

    A savepoint's tag that no other root has stays, whatever it holds: without it the savepoint would be lost.
    """
    missing, surplus = _difference(files, table, main)
    for name, data in missing.items():
        _put(files, table.root().tag(name), data)
    for name in surplus:
        if not is_last_of_savepoint(files, table, name):
            files.delete(table.root().tag(name))


@dataclass(frozen=True)
class Repair:
    """A repair of the table directory: guards to write, by path, and paths of tags that guard nothing."""

    missing: Mapping[str, bytes] = field(default_factory=dict)
    surplus: tuple[str, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """Paths of files that keep no snapshot, whatever they contain: only main's own tags do."""
        return frozenset([*self.missing, *self.surplus])

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps for the plan of an action that does the repair."""
        return (
            *(Step("copy", path, "guards a tag of main") for path in self.missing),
            *(Step("delete", path, "guards no tag of main any more") for path in self.surplus),
        )


def repair_needed(files: Files, table: TablePath) -> Repair:
    """The repair; empty unless a branch is main. Raises `Corrupt`."""
    name, own = main_branch_name(files, table), table.root()
    if name is None:
        return Repair()
    missing, surplus = _difference(files, table, table.root(name))
    if numbered(files.names(own.snapshots), SNAPSHOT_PREFIX):
        # A stale writer's commits are there, and the tags may belong to them.
        surplus = []
    return Repair(
        {own.tag(each): data for each, data in missing.items()},
        tuple(own.tag(each) for each in surplus if not is_last_of_savepoint(files, table, each)),
    )


def repair(files: Files, table: TablePath) -> None:
    """Write missing guards, and the notice. Deletes no files of others, and is safe beside any change.

    It does nothing while a change holds the table, because that may be moving main. If main moves meanwhile,
    it takes back what it wrote: the barrier would block main's own directory.
    """
    needed, name = repair_needed(files, table), main_branch_name(files, table)
    if name is None or files.exists(table.journal):
        return
    _put_while_main(files, table.root(name), needed.missing)
    _give_notice(files, table, name)
    if main_branch_name(files, table) != name:
        _take_notice_back(files, table, name)


def repair_held(files: Files, table: TablePath) -> None:
    """Make the full repair, for a change that holds the table. Idempotent."""
    needed, name = repair_needed(files, table), main_branch_name(files, table)
    for path, data in needed.missing.items():
        _put(files, path, data)
    for path in needed.surplus:
        files.delete(path)
    if name is not None:
        _give_notice(files, table, name)


def mismatches(files: Files, table: TablePath) -> list[str]:
    """Faults of the table directory while a branch is main, one sentence each. Raises `Corrupt`."""
    name = main_branch_name(files, table)
    if name is None:
        return []
    missing, surplus = _difference(files, table, table.root(name))
    sentences = [
        f"Tag {each} of main has no guard: stock expiry on a branch can destroy it" for each in missing
    ]
    sentences += [f"Tag {each} in the table directory guards no tag of main" for each in surplus]
    schemas = files.names(table.root().schemas)
    if "schema-0" not in schemas or len([each for each in schemas if not each.startswith(".")]) > 1:
        sentences.append(
            "Stock engines can make a table over this one: the notice in schema-0 does not stand alone"
        )
    if not has_barrier(files, table):
        sentences.append(
            "Sessions that were open before the replacement read an empty table by the plain name"
        )
    return sentences


def _give_notice(files: Files, table: TablePath, main: str) -> None:
    if not has_barrier(files, table) and _is_open(files, table):
        # It is main itself, and `recover` says so.
        return
    if not numbered(files.names(table.root().schemas), SCHEMA_PREFIX):
        files.create(table.root().schema(0), notice(main))
    put_barrier(files, table, main)


def _is_open(files: Files, table: TablePath) -> bool:
    """Whether engines can open the table directory."""
    schema = read_if_there(files, table.root().schema(0))
    return schema is not None and branch_in_notice(schema) is None


def _take_notice_back(files: Files, table: TablePath, main: str) -> None:
    own = table.root()
    paths = [own.schema(0), own.snapshot(BARRIER_ID)]
    schema, barrier = files.read_many(paths)
    if barrier == notice(main):
        # Engines without a hint list the snapshots.
        remove_barrier(files, table, None)
    if schema == notice(main):
        files.delete(own.schema(0))


def _difference(files: Files, table: TablePath, main: Root) -> tuple[dict[str, bytes], list[str]]:
    """The guards that are missing or differ, and the names of tags that guard nothing."""
    # In this order: a guard is written after its tag, and must not look like one whose tag is gone.
    there = _tag_names(files, table.root())
    wanted = dict(_wanted(files, main))
    paths = [table.root().tag(name) for name in wanted]
    present = dict(zip(wanted, files.read_many(paths), strict=True))
    missing = {name: data for name, data in wanted.items() if present[name] != data}
    held = _tag_names(files, main)
    return missing, [name for name in there if name not in held]


def _wanted(files: Files, main: Root) -> Iterator[tuple[str, bytes]]:
    # A read tag is deleted before a copy of it would be useful.
    names = [name for name in _tag_names(files, main) if not is_read_tag(name)]
    for name, data in zip(names, files.read_many(main.tag(name) for name in names), strict=True):
        if data is None:
            continue
        try:
            yield name, without_time_to_live(data, main.tag(name))
        except Corrupt:
            # A half-written tag keeps nothing, and a copy of it would make stock expiry fail.
            continue


def _tag_names(files: Files, root: Root) -> list[str]:
    # A directory is another engine's; its files say when that engine made a tag.
    tags = (e.name for e in files.entries(root.tags) if e.name.startswith(TAG_PREFIX) and not e.is_directory)
    return sorted(name for each in tags if is_safe_name(name := each.removeprefix(TAG_PREFIX)))


def is_last_of_savepoint(files: Files, table: TablePath, tag_name: str) -> bool:
    """Whether a tag of the table directory protects a savepoint of which no branch has a tag."""
    numbers = numbered([tag_name], SAVEPOINT_TAG_PREFIX)
    if not numbers:
        return False
    [number] = numbers
    claimed = numbered(files.names(table.savepoints), CLAIM_PREFIX)
    if number not in claimed and not files.exists(table.savepoint(number)):
        return False
    others = (root for root in all_roots(files, table) if root.branch is not None)
    return not any(each_of(lambda root: files.exists(root.tag(tag_name)), others))


def _put(files: Files, path: str, data: bytes) -> None:
    [there] = files.read_many([path])
    if there != data:
        files.replace(path, data)
