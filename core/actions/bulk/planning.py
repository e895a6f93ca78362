"""The plan of one action on many things: each part is planned as if those before it were applied.

So files that only the things together hold are counted once: the last of them frees them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from paimark.core.actions.bulk.applying import listed, name_of, to_do, verb_of
from paimark.core.actions.checks import text_argument
from paimark.core.actions.context import Context, Counting
from paimark.core.actions.names import ID_IN_NAME
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.roots.pin_snapshot import choose
from paimark.core.errors import Corrupt, FileMissing, NotFound, Refused, UsageError
from paimark.core.figures import counted
from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.table.layout import TAG_PREFIX, TablePath
from paimark.core.table.lineage.main_branch import branch_root

# The largest number of parts: each is counted separately.
MOST = 500

_NUMBER = re.compile(r"\d+")

MakePart = Callable[[Context], Plan]


def plan_each(
    context: Context,
    table: TablePath,
    plan: Callable[[Context, TablePath, Mapping[str, object]], Plan],
    varied: str,
    given: Mapping[str, object],
) -> Plan:
    """The plan of an action for each value of the argument `varied`; the other arguments apply to all.

    Raises `UsageError` for values that are equal, too many, or of the wrong kind.
    """
    values = _distinct(varied, given[varied])
    name = given.get("name")
    if varied == "snapshot" and isinstance(name, str) and ID_IN_NAME not in name:
        reason = f"{counted(len(values), 'snapshot')} can't all get the tag {name}"
        refusal = Refusal(reason, f"Put {ID_IN_NAME} into the name: {name}-{ID_IN_NAME}.")
        return Plan(
            headline=f"Tag {counted(len(values), 'snapshot')} of {table.full_name}.",
            arguments={},
            refusals=(refusal,),
        )

    def maker(value: object) -> MakePart:
        return lambda now: plan(now, table, {**given, varied: value})

    parts, refusals = plan_in_turn(context, table, [maker(each) for each in values])
    return together(table, parts, refusals)


def plan_in_turn(
    context: Context, table: TablePath, makers: Sequence[MakePart]
) -> tuple[list[Plan], list[Refusal]]:
    """Make the plans one after the other, each on the warehouse as the earlier ones leave it.

    A part that can't be planned becomes a refusal.
    """
    now, parts, refusals = PlannedFiles(context.files, (), {}), list[Plan](), list[Refusal]()
    for number, make in enumerate(makers, 1):
        context.progress(Counting(f"planned {number - 1:,} of {len(makers):,}"))
        try:
            part = make(replace(context, files=now))
        except NotFound as error:
            # Its hint describes the planned state, not the present one.
            refusals.append(Refusal(error.message, "Leave it out."))
            continue
        except (Refused, Corrupt) as error:
            refusals.append(Refusal(error.message, error.hint))
            continue
        parts.append(part)
        now = _after(now, context, table, part)
    return parts, refusals


def together(
    table: TablePath, parts: Sequence[Plan], refusals: Sequence[Refusal] = (), before: str = ""
) -> Plan:
    """The plan of many, with one step per part that says what it frees and keeps."""
    freed_files = sum(each.freed_files for each in parts)
    freed_bytes = sum(each.freed_bytes for each in parts)
    what = to_do(parts, table.full_name) if parts else f"Change {table.full_name}"
    undo = {each.undo for each in parts}
    return Plan(
        headline=f"{before}{what}.",
        arguments={"count": len(parts)},
        steps=tuple(_step(each) for each in parts),
        items=_items(parts),
        phrase=str(len(parts)),
        refusals=tuple(dict.fromkeys([*refusals, *(each for part in parts for each in part.refusals)])),
        freed_files=freed_files,
        freed_bytes=freed_bytes,
        undo=undo.pop() if len(undo) == 1 else "",
        parts=tuple(parts),
    )


def _step(part: Plan) -> Step:
    freed = [counted(part.freed_files, "file")] if part.freed_files else []
    return Step(verb_of(part), name_of(part), ". ".join([*freed, *part.kept]), part.freed_bytes)


def _items(parts: Sequence[Plan]) -> tuple[Item, ...]:
    """The parts' items. One that several share, apart from numbers, appears once, with all their names."""
    alike: dict[tuple[str, str], list[tuple[str, Item]]] = {}
    for part in parts:
        for item in part.items:
            if item.kind != "frees":
                alike.setdefault((item.kind, _NUMBER.sub("0", item.text)), []).append((name_of(part), item))
    return tuple(_told_once(said, len(parts)) for said in alike.values())


def _told_once(said: Sequence[tuple[str, Item]], parts: int) -> Item:
    (name, item), *others = said
    if len(said) == parts and len({each.text for _, each in said}) == 1:
        return item
    also = f" (likewise {listed([other for other, _ in others])})" if others else ""
    alike = [each for _, each in said]
    counts = [each.count for each in alike if each.count is not None]
    return msgspec.structs.replace(
        item,
        text=f"{name}: {item.text}{also}",
        count=sum(counts) if counts else None,
        newest=max((each.newest for each in alike if each.newest is not None), default=None),
        names=tuple(each for one in alike for each in one.names),
    )


def _after(now: PlannedFiles, context: Context, table: TablePath, part: Plan) -> PlannedFiles:
    """The warehouse after the part: without the files that it names to delete, with the tags it makes."""
    own = table.directory + "/"
    gone = [each.target for each in part.steps if each.verb == "delete" and each.target.startswith(own)]
    if part.kind == "delete-branch":
        gone.append(table.root(str(part.arguments["name"])).directory)
    made = [each.target for each in part.steps if each.verb == "copy" and f"/{TAG_PREFIX}" in each.target]
    if not made:
        return now.further(gone, {})
    root = branch_root(context.files, table, text_argument(part.arguments, "branch"))
    chosen = choose(context.files, root, int(part.arguments["snapshot"] or 0))
    return now.further(gone, dict.fromkeys(made, b"" if chosen is None else chosen.data))


def _distinct(name: str, values: object) -> list[object]:
    if not isinstance(values, list | tuple):
        raise UsageError(f"{name} is a list, not {values!r}")
    for value in values:
        if values.count(value) > 1:
            raise UsageError(f"{name} {value} is given twice", "Name each once.")
    if len(values) > MOST:
        raise UsageError(f"{len(values):,} at once are too many", f"Do up to {MOST} in one change.")
    return list(values)


class PlannedFiles:
    """Implements `Files` for reading only: a call that writes raises `AssertionError`.

    `deleted` are paths of files, and of directories with everything below; `created` maps new files to their
    bytes.
    """

    def __init__(self, inner: Files, deleted: Iterable[str], created: Mapping[str, bytes]) -> None:
        self._inner = inner
        self._deleted = frozenset(deleted)
        self._created = dict(created)

    def further(self, deleted: Iterable[str], created: Mapping[str, bytes]) -> PlannedFiles:
        """The warehouse after these further changes."""
        return PlannedFiles(self._inner, self._deleted.union(deleted), {**self._created, **created})

    @property
    def uri(self) -> str:
        return self._inner.uri

    def entries(self, directory: str) -> list[DirectoryEntry]:
        inner = self._inner.entries(directory)
        there = [each for each in inner if not self._is_deleted(_in(directory, each.name))]
        known = {each.name for each in there}
        new = (DirectoryEntry(name, False, size) for name, size in self._created_in(directory).items())
        return there + [each for each in new if each.name not in known]

    def names(self, directory: str) -> list[str]:
        there = [name for name in self._inner.names(directory) if not self._is_deleted(_in(directory, name))]
        return [*dict.fromkeys([*there, *self._created_in(directory)])]

    def etags(self, directory: str) -> dict[str, str | None]:
        there = self._inner.etags(directory)
        return {name: there.get(name) for name in self.names(directory)}

    def read(self, path: str) -> bytes:
        if path in self._created:
            return self._created[path]
        if self._is_deleted(path):
            raise FileMissing(path)
        return self._inner.read(path)

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        all_paths = list(paths)
        inner = self._inner.read_many([path for path in all_paths if not self._is_changed(path)])
        for path in all_paths:
            yield self._created.get(path) if self._is_changed(path) else next(inner)

    def exists(self, path: str) -> bool:
        return path in self._created or (not self._is_deleted(path) and self._inner.exists(path))

    def size(self, path: str) -> int | None:
        if path in self._created:
            return len(self._created[path])
        return None if self._is_deleted(path) else self._inner.size(path)

    def links(self, directories: Iterable[str]) -> list[str]:
        return [path for path in self._inner.links(directories) if not self._is_deleted(path)]

    def create(self, path: str, data: bytes) -> bool:
        raise _read_only(path)

    def replace(self, path: str, data: bytes) -> None:
        raise _read_only(path)

    def delete(self, path: str) -> None:
        raise _read_only(path)

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        raise _read_only(path)

    def prune(self, directory: str) -> None:
        raise _read_only(directory)

    def make_directory(self, directory: str) -> None:
        raise _read_only(directory)

    def move(self, directory: str, to: str) -> None:
        raise _read_only(directory)

    def copy(self, path: str, to: str, size: int) -> None:
        raise _read_only(to)

    def _created_in(self, directory: str) -> dict[str, int]:
        """The names and sizes of new files in a directory."""
        split = ((path.rpartition("/"), data) for path, data in self._created.items())
        return {name: len(data) for (parent, _, name), data in split if parent == directory}

    def _is_changed(self, path: str) -> bool:
        return path in self._created or self._is_deleted(path)

    def _is_deleted(self, path: str) -> bool:
        while path:
            if path in self._deleted:
                return True
            path = path.rpartition("/")[0]
        return False


def _in(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _read_only(path: str) -> AssertionError:
    return AssertionError(f"{path}: planned files are only read")
