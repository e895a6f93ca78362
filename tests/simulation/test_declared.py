"""Every action, its undo and its redo change exactly the references that the operation log declares.

An operation stores its edits. What follows from them is derived: guards, pins, the savepoint that keeps main
as it was, definitions that main follows to. An undo gives back all but those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.roots.savepoint_claim import forget_savepoint
from paimark.core.actions.undo.commit import UndoCommit
from paimark.core.table.operations import Operation
from paimark.core.table.records import Point
from paimark.core.table.trash import dropped_tables
from tests.simulation.actors.deterministic import deterministic
from tests.simulation.actors.operations import MOVES
from tests.simulation.actors.ours import context_of
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import Identity
from tests.simulation.judging import view
from tests.simulation.memory import MemoryStore
from tests.simulation.schedules.bench import Bench
from tests.simulation.schedules.cases import CASES, Case
from tests.simulation.world import TABLE

# A reference: ("main",), ("head", root), ("tag", root, name), ("schema", root, id), ("savepoint", id).
Key = tuple[object, ...]
_PINS = ("paimark.merge.", "paimark.truncate.")
# What an action without edits takes away for good, by its arguments.
_REMOVED: dict[str, Callable[[dict[str, Any], Key], bool]] = {
    "delete-tag": lambda given, key: key[0] == "tag" and key[2] == given["name"],
    "delete-savepoint": lambda given, key: key[-1] in (given["id"], f"savepoint.{given['id']}"),
    "delete-branch": lambda given, key: given["name"] in key[1:2] or f".{given['name']}." in str(key[-1]),
    "expire-snapshots": lambda given, key: False,
    **dict.fromkeys(("protect", "unprotect"), lambda given, key: False),
    "auto-savepoint": lambda given, key: "savepoint" in str((key[0], *key[2:])),
    "rename-branch": lambda given, key: any(
        name in key[1:2] or is_pin_of(name, key) for name in (given["name"], given["to"])
    ),
    "rescue-commits": lambda given, key: key[1] in (None, given["name"]) or is_pin_of(given["name"], key),
}


def references(store: MemoryStore) -> dict[Key, object]:
    found: dict[Key, object] = {("main",): view.main_root(store).branch}
    for root in view.roots(store):
        found["head", root.branch] = view.head(store, root)
        found |= {("tag", root.branch, name): held for name, held in view.tags(store, root).items()}
        for number in view.schema_ids(store, root):
            found["schema", root.branch, number] = store.files[root.schema(number)]
    for name in store.names(TABLE.savepoints):
        if name.startswith("savepoint-"):
            number = int(name.removeprefix("savepoint-"))
            found["savepoint", number] = store.files[f"{TABLE.savepoints}/{name}"]
    return found


def changed(before: dict[Key, object], after: dict[Key, object]) -> set[Key]:
    return {key for key in {*before, *after} if before.get(key, "") != after.get(key, "")}


def logged(store: MemoryStore) -> list[Operation]:
    entries = [(path, data) for path, data in store.files.items() if path.startswith(TABLE.operations)]
    return sorted((Operation.from_json(data, path) for path, data in entries), key=lambda each: each.number)


def is_derived(key: Key, before: dict[Key, object], operation: Operation) -> bool:
    """What comes along, and stays after an undo: new savepoints, pins, and definitions of the root."""
    rows, schema = operation.turned.rows, operation.turned.schema
    if key in before:
        return False
    if rows is None:
        return schema is not None and key[:2] == ("schema", schema.branch)
    is_pin = key[0] == "tag" and str(key[2]).startswith(("savepoint.", *_PINS))
    return key[0] == "savepoint" or is_pin or key[:2] == ("schema", rows.root)


def declared(operation: Operation, main: str | None) -> Iterator[tuple[Key | None, Callable[[Key], bool]]]:
    """By edit: a reference that must have changed, and those that may have."""
    edits = operation.turned
    if (rows := edits.rows) is not None:
        yield ("head", rows.root), lambda key: key == ("head", rows.root)
    if (cut := edits.history) is not None:
        yield ("head", cut.root), lambda key: key[0] in ("head", "tag") and key[1] in (cut.root, cut.kept_as)
        yield ("head", cut.kept_as), lambda key: key[1] == cut.kept_as
    if edits.main is not None:
        # The table directory has guards and a notice while a branch is main.
        yield ("main",), lambda key: key == ("main",) or (key[0] in ("tag", "schema") and key[1] is None)
        new = edits.main.after
        yield None, lambda key: key[0] in ("tag", "schema") and key[1] == new
    if (moved := edits.moved) is not None:
        yield ("head", moved.before), lambda key: key[1] == moved.before
        if not (edits.main and edits.main.was_dropped):
            yield ("head", moved.after), lambda key: key[1] == moved.after
    made = edits.made
    if made is not None and made.what == "tag":
        for name in filter(None, (made.name, made.was)):
            yield ("tag", made.branch or main, name), partial(is_tag, name)
    elif made is not None and made.what == "savepoint":
        yield ("savepoint", int(made.name)), lambda key: str(key[-1]) in (made.name, f"savepoint.{made.name}")
    elif made is not None:
        yield ("head", made.name), lambda key: key[1] == made.name or is_pin_of(made.name, key)
    if (schema := edits.schema) is not None:
        yield None, lambda key: key[0] == "schema" and key[1] == (schema.branch or main)


def is_tag(name: str, key: Key) -> bool:
    return key[0] == "tag" and key[2] == name


def is_pin_of(branch: str, key: Key) -> bool:
    return key[0] == "tag" and str(key[2]).startswith(f"paimark.merge.{branch}.")


class Watched:
    """A case, whose steps are held to the log."""

    def __init__(self, case: Case) -> None:
        self.bench: Bench = case.prepared()
        self.store = self.bench.world.store

    def do(self, name: str, /, **arguments: object) -> Operation | None:
        """Do it, and hold it to what it logged; None if it was refused or did nothing."""
        before, known = references(self.store), {each.token for each in logged(self.store)}
        done = self.bench.act(name, **arguments)
        new = [each for each in logged(self.store) if each.token not in known]
        after = references(self.store)
        if done is None or not new:
            assert changed(before, after) == set()
            return None
        assert done.state == "acknowledged"
        [operation] = new
        by_token = {each.token: each for each in logged(self.store)}
        # An undo turns round what another changed.
        meant = [operation] if operation.undoes is None else [operation, by_token[operation.undoes]]
        self._hold(meant, changed(before, after), before, dict(operation.request) | arguments)
        return operation

    def _hold(
        self, meant: list[Operation], found: set[Key], before: dict[Key, object], given: dict[str, Any]
    ) -> None:
        main = view.main_root(self.store).branch
        kinds = [each for operation in meant for each in declared(operation, main)]
        for key, _ in kinds:
            assert key is None or key in found, (key, found)
        if not kinds:
            kinds = [(None, partial(_REMOVED[meant[0].action], given))]
        others = {key for key in found if not any(may(key) for _, may in kinds)}
        others = {key for key in others if not any(is_derived(key, before, each) for each in meant)}
        assert others == set(), meant[0].description

    def rows(self, found: object) -> object:
        return self.bench.world.commits[found].rows if isinstance(found, Identity) else None

    def rows_at(self, point: Point | None) -> object:
        known = self.bench.world.commits.items()
        [rows] = [
            each.rows
            for found, each in known
            if point and found[::2] == (point.id, point.delta_manifest_list)
        ]
        return rows


# A move of the table is told by no edit, and held below. What `try` does are actions of their own.
@pytest.mark.parametrize(
    "case", [each for each in CASES if each.action not in (*MOVES, "try")], ids=lambda case: case.name
)
def test_an_action_its_undo_and_its_redo_change_what_the_log_says(case: Case) -> None:
    watched = Watched(case)
    with deterministic(watched.bench.scheduler, Random("declared")):
        start = references(watched.store)
        operation = watched.do(case.action, **case.arguments)
        done = references(watched.store)
        undo = watched.do("undo")
        if operation is None or undo is None or undo.undoes != operation.token:
            return
        # All but what is derived is as it was; rows are, by another commit.
        back = references(watched.store)
        rows = operation.turned.rows
        for key in changed(start, back):
            if rows is not None and key == ("head", rows.root):
                assert watched.rows(back[key]) == watched.rows_at(rows.before)
            else:
                assert is_derived(key, start, operation), key
        redo = watched.do("redo")
        assert redo is not None and redo.redoes == operation.token
        again = references(watched.store)
        if rows is not None:
            assert watched.rows(again["head", rows.root]) == watched.rows(done["head", rows.root])
        assert len(again) >= len(done)


def test_an_undo_that_drops_the_safety_savepoint_is_found() -> None:
    def drops(change: UndoCommit, hold: Hold) -> None:
        recorded(change, hold)
        forget_savepoint(change.work.context, change.root, 1, lambda line: None)

    recorded, [merge] = UndoCommit.record, [each for each in CASES if each.name == "merge"]
    with patch.object(UndoCommit, "record", drops), pytest.raises(AssertionError, match="savepoint"):
        test_an_action_its_undo_and_its_redo_change_what_the_log_says(merge)


@pytest.mark.parametrize("case", [each for each in CASES if each.action in MOVES], ids=lambda case: case.name)
def test_a_move_of_the_table_changes_no_reference_of_it(case: Case) -> None:
    bench = case.prepared()
    store = bench.world.store
    with deterministic(bench.scheduler, Random("moved")):
        [was] = places(store)
        before = kept_at(store, was)
        assert bench.act(case.action, **case.arguments) is not None
        [now] = places(store)
        assert now != was and kept_at(store, now) == before


def test_what_is_deleted_of_the_trash_is_no_other_table() -> None:
    [dropped] = [each for each in CASES if each.name == "table comes back"]
    bench = dropped.prepared()
    store = bench.world.store
    with deterministic(bench.scheduler, Random("deleted")):
        [was] = places(store)
        others = {path for path in store.files if not path.startswith(f"{was}/")}
        [trashed] = dropped_tables(context_of(bench.world, Actor("looks")).files, TABLE.database)
        assert bench.act("delete-dropped", id=trashed.id) is not None
        assert places(store) == [] and {*store.files} >= others - {f"{was}.json"}


def places(store: MemoryStore) -> list[str]:
    """Where tables are: those with a schema, under a name or dropped."""
    return sorted(
        {
            path.partition("/schema/")[0]
            for path in store.files
            if "/schema/schema-" in path and "/branch/" not in path
        }
    )


def kept_at(store: MemoryStore, place: str) -> dict[str, bytes]:
    """All that a table has but its log of operations, by path within the table."""
    paths = [path for path in store.files if path.startswith(f"{place}/")]
    within = {path.removeprefix(f"{place}/"): store.files[path] for path in paths}
    return {path: data for path, data in within.items() if "/operations/" not in f"/{path}"}
