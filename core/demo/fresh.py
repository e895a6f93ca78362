"""What the demo made of a table and others since; the plan of `paimark demo --fresh`: what goes and stays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paimark.core.actions.change.landing import is_own_reader
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context, open_context
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.said import final
from paimark.core.demo.directory import (
    CHECKS,
    DATABASE,
    MARKER,
    SCRIPT,
    TABLES,
    MadeTable,
    alone,
    made_tables,
    table_directory,
    tables_there,
)
from paimark.core.errors import Corrupt, PaimarkError, Refused
from paimark.core.figures import age, counted
from paimark.core.storage.files import Files
from paimark.core.table.layout import (
    CLAIM_PREFIX,
    CONSUMER_PREFIX,
    PIN_PREFIXES,
    SAVEPOINT_TAG_PREFIX,
    Root,
    TablePath,
)
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names
from paimark.core.table.operations import read_operations
from paimark.core.table.records import COMMIT_USER, STREAM_USER, Snapshot
from paimark.core.table.savepoints import SavepointManager

_HINT = "Nothing was changed. `paimark demo DIR` builds another demo."


def plan_fresh(directory: Path) -> Plan:
    """Plan to build the demo anew, in place of the tables that it made. Only reads."""
    context, made = open_context(str(directory), {}, read_only=True), made_tables(directory)
    there, freed = tables_there(directory), 0
    steps: list[Step] = []
    lost: list[str] = []
    refusals = list(_open_elsewhere(directory))
    for name in there:
        place = table_directory(directory, name)
        changes = since(context, TablePath(DATABASE, name), made.get(name), place)
        refusals += [Refusal(reason, _HINT) for reason in changes.reasons]
        sizes = [size for _, size, _ in _files(place)]
        freed += len(sizes)
        if changes.made:
            since_then = ", ".join(changes.made)
            lost.append(f"{DATABASE}.{name}, with what was made since it was built: {since_then}")
        else:
            lost.append(f"{DATABASE}.{name}, which is as it was built")
        steps.append(Step("delete", f"{DATABASE}.{name}", size=sum(sizes)))
    steps.append(Step("create", DATABASE, f"{', '.join(TABLES)}, as a new demo has them"))
    return Plan(
        action="demo",
        headline=f"Build the demo in {directory} anew.",
        arguments={"directory": str(directory)},
        steps=tuple(steps),
        items=(
            *(Item("loses", text, "table-gone", is_grave=True) for text in lost),
            final(),
            *(Item("keeps", text) for text in _kept(directory)),
        ),
        phrase=DATABASE,
        refusals=tuple(refusals),
        freed_files=freed,
        freed_bytes=sum(step.size for step in steps),
        fingerprint=fingerprint_of([table_directory(directory, name) for name in there]),
    )


def fingerprint_of(tables: Sequence[Path]) -> str:
    """Of the names, sizes and times of all files of these tables."""
    return fingerprint(
        *(f"{table.name} {name} {size} {time}" for table in tables for name, size, time in _files(table))
    )


def _files(table: Path) -> list[tuple[str, int, int]]:
    """The relative path, size and time of each file of a table, sorted."""
    found = []
    for place, _, names in os.walk(table):
        for name in names:
            path = Path(place, name)
            status = path.lstat()
            found.append((str(path.relative_to(table)), status.st_size, status.st_mtime_ns))
    return sorted(found)


def _open_elsewhere(directory: Path) -> Iterator[Refusal]:
    try:
        with alone(directory):
            return
    except Refused as error:
        yield Refusal(error.message, error.hint)


def _kept(directory: Path) -> Iterator[str]:
    """What lies in the directory beside the demo's tables."""
    names = {entry.name for entry in os.scandir(directory) if not entry.name.startswith(MARKER)}
    names -= {SCRIPT, CHECKS}
    database = directory / f"{DATABASE}.db"
    tables = os.listdir(database) if database.is_dir() else []
    others = [f"{DATABASE}.{each}" for each in sorted(tables) if each not in TABLES]
    others += sorted(names - {database.name})
    if others:
        yield f"{', '.join(others)}: the demo did not make {'it' if len(others) == 1 else 'them'}"


def made_of(files: Files, table: TablePath) -> MadeTable:
    """What is in a table now."""
    return MadeTable(
        commits=tuple(_commits(files, table)),
        branches=tuple(branch_names(files, table)),
        tags=tuple(sorted(_tags(files, table))),
        savepoints=tuple(SavepointManager(files, table).ids()),
    )


@dataclass(frozen=True, slots=True)
class Since:
    """What was made of one of the demo's tables since it was built.

    `reasons` say why nobody may remove it: others have to do with it, or it is not the demo's.
    """

    made: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def since(context: Context, table: TablePath, made: MadeTable | None, directory: Path) -> Since:
    """Compare a table with what the demo made. `directory` is the table's."""
    name = table.full_name
    if made is None:
        return Since(reasons=(f"{name} was not made by this demo, or its marker does not tell",))
    if directory.is_symlink() or directory.parent.is_symlink():
        return Since(reasons=(f"{name} is a link to elsewhere",))
    try:
        commits = _commits(context.files, table)
        if commits.keys().isdisjoint(made.commits):
            return Since(reasons=(f"{name} has none of the commits of the demo: it is another table",))
        new = [commit for key, commit in commits.items() if key not in made.commits]
        reasons = [f"{name} {each}" for each in _of_others(context, table, new, directory)]
        return Since(tuple(_made_since(context, table, made, new)), tuple(reasons))
    except PaimarkError as error:
        return Since(reasons=(f"{name} can't be read, so nobody knows what would go: {error.message}",))


def _made_since(context: Context, table: TablePath, made: MadeTable, new: list[Snapshot]) -> Iterator[str]:
    """`2 commits (newest 5 min ago)`, `branch repair`, ..."""
    files = context.files
    if new:
        newest = max(commit.time_millis for commit in new)
        yield f"{counted(len(new), 'commit')} (newest {age(newest, context.clock())})"
    yield from _named("branch", "branches", set(branch_names(files, table)) - set(made.branches))
    yield from _named(
        "savepoint", "savepoints", set(SavepointManager(files, table).ids()) - set(made.savepoints)
    )
    yield from _named("tag", "tags", _tags(files, table) - set(made.tags))


def _named(one: str, many: str, names: Iterable[object]) -> Iterator[str]:
    """`branch repair`, `branches a and b`, `5 branches`."""
    texts = sorted(map(str, names))
    if len(texts) == 1:
        yield f"{one} {texts[0]}"
    elif texts:
        few = len(texts) < 4
        yield f"{many} {', '.join(texts[:-1])} and {texts[-1]}" if few else counted(len(texts), one, many)


def _of_others(context: Context, table: TablePath, new: list[Snapshot], directory: Path) -> Iterator[str]:
    """Why somebody else would miss the table, as far as its files tell."""
    files = context.files
    if files.exists(table.journal) or any(
        name.startswith(CLAIM_PREFIX) for name in files.names(table.savepoints)
    ):
        yield "has a change that runs or was interrupted: `paimark recover` finishes it"
    foreign = [
        commit
        for commit in new
        if not commit.commit_user.startswith(COMMIT_USER) or commit.commit_user.startswith(STREAM_USER)
    ]
    if foreign:
        newest = max(foreign, key=lambda commit: commit.time_millis)
        yield (
            f"got {counted(len(foreign), 'commit')} from another program since"
            f" (user {newest.commit_user}, {age(newest.time_millis, context.clock())})"
        )
    for operation in read_operations(files, table):
        if operation.user != context.user:
            yield f"was changed by {operation.user}: {operation.summary}"
            break
    for root in all_roots(files, table):
        readers = [each for each in files.names(root.consumers) if _is_reader(each)]
        if readers:
            yield f"is read by a stream: {readers[0].removeprefix(CONSUMER_PREFIX)}"
            break
    if _has_other_owner(directory):
        yield "has files of another user"


def _is_reader(name: str) -> bool:
    return name.startswith(CONSUMER_PREFIX) and not is_own_reader(name)


def _has_other_owner(directory: Path) -> bool:
    owner = directory.stat().st_uid
    return any(
        (Path(place) / name).lstat().st_uid != owner
        for place, below, names in os.walk(directory)
        for name in (*below, *names)
    )


def _commits(files: Files, table: TablePath) -> dict[str, Snapshot]:
    """Every commit that a snapshot or tag of any root has, by its delta manifest list. Raises `Corrupt`."""
    return {
        commit.delta_manifest_list: commit
        for root in all_roots(files, table)
        for commit in _states(files, root)
    }


def _states(files: Files, root: Root) -> Iterator[Snapshot]:
    lineage = Lineage(files, root)
    yield from lineage.snapshots()
    yield from (tag for _, tag in lineage.tags())
    for sentence in lineage.unreadable.values():
        raise Corrupt(sentence)


def _tags(files: Files, table: TablePath) -> set[str]:
    """The names of the tags that people gave, of every root."""
    return {
        name
        for root in all_roots(files, table)
        for name in Lineage(files, root).tag_names()
        if not name.startswith((SAVEPOINT_TAG_PREFIX, *PIN_PREFIXES))
    }
