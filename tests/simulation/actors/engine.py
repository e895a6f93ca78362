"""A stand-in for the Spark engine that carries out the orders of Paimark's actions in this process.

Modelled: Spark's reads and its SQL, of which only the texts that the actions send are known. Real: the
messages, the checks right before the commit, and the commit itself, which run the product's own code on the
actor's storage.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

from paimark.core.actions.context import Context
from paimark.core.actions.merge.sql import BASE, BASE_NOW, NOW, THEN, Carried, Unkeyed
from paimark.core.actions.repair.changes import EDITS
from paimark.core.errors import PaimarkError, Refused
from paimark.core.spark.arrow import cells_batch
from paimark.core.spark.protocol import (
    ActionTask,
    Analyze,
    Ask,
    Cause,
    Compact,
    Event,
    Failed,
    Inserting,
    Repair,
    Run,
    TaskResult,
    Version,
    Write,
)
from paimark.core.spark.writing.late_commit import FileChanges
from paimark.core.spark.writing.publishing import Publisher
from paimark.core.spark.writing.target import (
    WriteTarget,
    has_moved,
    require_head,
    require_lock,
    require_unchanged,
)
from paimark.core.spark.writing.write_log import write_log
from paimark.core.table.commits import Overwritten
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.operations import ANALYSIS, COMPACTION
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.travel.statements.views import Views
from tests.simulation.actors import edits, repairs, tries
from tests.simulation.actors.actor_files import ActorFiles
from tests.simulation.actors.repairs import row_of
from tests.simulation.actors.scheduler import Actor
from tests.simulation.actors.statements import Changing
from tests.simulation.formats import ADD, DELETE, Change, DataFile, Entry, Identity, Rows, merged_rows
from tests.simulation.judging.expected import Sides, first_name, keyed_merge
from tests.simulation.stock.commit import CommitWriter, Prepared
from tests.simulation.stock.writer import StockWriter
from tests.simulation.world import TABLE, World

_ATTEMPTS = 3
# The files that a commit adds and takes out, and the table's rows after it.
Changed = tuple[list[Entry], Rows]
# The same, and the kind of the commit.
Made = tuple[list[Entry], Rows, str]


class StandInEngine:
    """What `Context.engine` returns: those methods of `core/spark/client/client.py` that actions use."""

    def __init__(self, world: World, actor: Actor) -> None:
        self._world = world
        self._actor = actor
        self._files = ActorFiles(world, actor, reads_server=True)
        self._writer = CommitWriter(world, actor, self._files)

    def current_database(self, given: str | None) -> str | None:
        return given

    @property
    def views(self) -> Views:
        return {}

    @property
    def settings(self) -> None:
        """Statements make a context of them: `deterministic` gives them that of the actor."""

    @property
    def context(self) -> Context:
        from tests.simulation.actors.ours import context_of

        return context_of(self._world, self._actor)

    def do(self, task: ActionTask | Run) -> Generator[Event]:
        try:
            if isinstance(task, Run):
                yield from self._ran(task)
            elif isinstance(task, Ask):
                yield TaskResult(rows=tuple(map(json.dumps, self._answer(task))))
            elif isinstance(task, (Analyze, Compact)):
                yield TaskResult(snapshot=self._commit_same_rows(task))
            elif isinstance(task, Repair):
                # A merge holds the table.
                yield TaskResult(snapshot=(self._merge if task.lock else self._repair)(task))
            elif isinstance(task, Write):
                self._write(task)
                yield TaskResult()
            else:
                raise AssertionError(f"No case of the simulation has {task}")
        except PaimarkError as error:
            cause: Cause = "statement" if error.exit_code == 1 else "engine"
            if isinstance(error, Overwritten):
                cause = "overwritten"
            yield Failed(error.message, error.hint, cause=cause)

    def close(self) -> None:
        return

    def _ran(self, run: Run) -> Generator[Event]:
        if run.inserting is not None:
            yield self._change(run.sql, run.inserting)
            return
        change = Changing.of_sql(run.sql)
        root = branch_root(self._files, TABLE, change.branch)
        latest = Lineage(self._files, root).latest()
        assert latest is not None
        yield cells_batch({"n": "bigint"}, [[change.meant(self._writer.rows(latest.as_written()))]])

    def _answer(self, task: Ask) -> list[dict[str, Any]]:
        rows = self._read(task.versions)
        if (wrong := tries.wrong_value(task.sql)) is not None:
            under = tries.rows_under_check(rows, lambda: _sides(rows), keyed=self._world.keyed)
            self._world.checked[self._actor] = under
            return [{"found": row_of(*each)} for each in under if each[1] == wrong]
        if EDITS in task.texts:
            return edits.answer(task.sql, rows, task.texts[EDITS])
        if (answered := repairs.answer(task.sql, rows)) is not None:
            return answered
        if task.sql == _unkeyed(task).count_removed:
            return [{"removed": sum(_removed(rows).values())}]
        raise AssertionError(f"the stand-in for Spark does not know {task.sql}")

    def _commit_same_rows(self, order: Analyze | Compact) -> int | None:
        """As Paimon's library. A compaction puts one file in the place of all; no statistics are modelled."""
        root, compacts = TABLE.root(order.branch), isinstance(order, Compact)
        target = self._target(
            order.branch,
            follows_main=order.follows_main,
            schema=order.schema,
            commit_user=order.commit_user,
            operation=COMPACTION if compacts else ANALYSIS,
        )
        schema_id = json.loads(order.schema)["id"]
        for _ in range(_ATTEMPTS):
            require_unchanged(self._files, target)
            latest = Lineage(self._files, root).latest()
            assert latest is not None
            head = latest.as_written()
            writer = StockWriter(self._world, self._actor, root)
            delta = writer.compacted(self._writer.live(head)) if compacts else []
            if compacts and not delta:
                return None
            rows, kind = self._world.commits[_of(head)].rows, "COMPACT" if compacts else "ANALYZE"
            prepared = self._writer.prepare(head, delta, schema_id, kind, order.commit_user, 2**63 - 1)
            if self._published(target, latest, prepared, delta, rows):
                return prepared.identity.id
        raise Refused("Others committed each time that this one tried to")

    def _change(self, sql: str, order: Inserting) -> TaskResult:
        """As Paimon's library: rows of keys are added; of a table without keys, files are written again."""
        change, root = Changing.of_sql(sql), TABLE.root(order.root)
        schema = Lineage(self._files, root).require_schema()
        target = self._target(
            order.root,
            follows_main=change.branch is None,
            schema=schema.to_json().decode(),
            commit_user=order.commit_user,
            head=order.head,
            operation=change.name,
            statement=sql,
        )
        facts = {"table": TABLE.full_name, "deleted": 0, "updated": 0, "inserted": 0}
        made = self._committed(target, partial(self._changed_files, change, json.loads(target.schema)))
        return TaskResult((json.dumps(facts),), made)

    def _repair(self, order: Repair) -> int | None:
        target = self._target(
            order.branch,
            follows_main=order.follows_main,
            schema=order.schema,
            commit_user=order.commit_user,
            head=order.head,
            operation=order.operation,
        )
        return self._committed(target, partial(self._repaired_files, order))

    def _committed(self, target: WriteTarget, change: Callable[[dict[str, Any]], Changed]) -> int | None:
        """One commit on the state of an order; None if that changes nothing."""
        require_unchanged(self._files, target)
        latest = Lineage(self._files, target.root).latest()
        require_head(self._files, target, latest)
        assert latest is not None
        delta, rows = change(latest.as_written())
        empties = target.operation == "insert-overwrite"
        if not delta and not empties:
            return None
        kind = "APPEND" if self._world.keyed and not empties else "OVERWRITE"
        schema_id = target.table_schema.id
        prepared = self._writer.prepare(
            latest.as_written(), delta, schema_id, kind, target.commit_user, 2**63 - 1
        )
        if not self._published(target, latest, prepared, delta, rows):
            raise has_moved(target, latest.id, latest.id + 1)
        return prepared.identity.id

    def _changed_files(self, change: Changing, schema: dict[str, Any], head: dict[str, Any]) -> Changed:
        rows = self._world.commits[_of(head)].rows
        after, number = change.of_rows(rows), self._world.number()
        if change.is_of_all:
            return [Entry(DELETE, each) for each in self._writer.live(head)], after
        if not change.meant(rows) and change.name != "merge-into":
            return [], rows
        if self._world.keyed:
            [value] = [value for key, value in (after if change.meant(after) else rows) if key == change.key]
            made = Change(change.key, value, number, 0 if change.meant(after) else 3)
            return [Entry(ADD, self._writer.data_file([made], schema))], after
        touched, left = self._files_with(head, change.key)
        again = [Change(key, value, number) for key, value in change.of_rows(left)]
        added = [Entry(ADD, self._writer.data_file(again, schema))] if again else []
        return [*(Entry(DELETE, each) for each in touched), *added], after

    def _files_with(self, head: dict[str, Any], key: int) -> tuple[list[DataFile], Rows]:
        """The files with rows of a key, and all rows in them."""
        live = {each: self._writer.changes(each) for each in self._writer.live(head)}
        touched = [each for each, has in live.items() if key in {row.key for row in has}]
        return touched, tuple((row.key, row.value) for each in touched for row in live[each])

    def _repaired_files(self, order: Repair, head: dict[str, Any]) -> Changed:
        rows, schema = self._read(order.versions), json.loads(order.schema)
        before, number = self._world.commits[_of(head)].rows, self._world.number()
        if order.upserts_sql:
            lines = order.texts.get(EDITS)
            of_keys = (
                edits.key_changes(rows, lines) if lines else repairs.key_changes(order.upserts_sql, rows)
            )
            changes = [
                Change(each.key, each.now or 0, number, 3)
                if each.then is None
                else Change(each.key, each.then, number)
                for each in repairs.upserts(order.upserts_sql, of_keys)
            ]
            new = [Entry(ADD, self._writer.data_file(changes, schema))] if changes else []
            gone = {each.key for each in changes}
            back = [(each.key, each.value) for each in changes if not each.kind]
            return new, tuple(sorted([*(row for row in before if row[0] not in gone), *back]))
        out = [each for each in self._writer.live(head) if each.name in order.out]
        added = list(repairs.added_rows(order.rows_sql, rows))
        if order.delete_where:
            out, had = self._files_with(head, key := repairs.meant_key(order.delete_where))
            added += [row for row in had if row[0] != key]
        again = [Change(*row, number) for row in sorted(added)]
        gone_rows = Counter((row.key, row.value) for each in out for row in self._writer.changes(each))
        new = [Entry(ADD, self._writer.data_file(again, schema))] if again else []
        after = Counter(before) - gone_rows + Counter(added)
        return [*(Entry(DELETE, each) for each in out), *new], tuple(sorted(after.elements()))

    def _target(self, branch: str | None, **more: Any) -> WriteTarget:
        """`more` are the conditions and the kind of the commit."""
        return WriteTarget(self._files.uri, {}, TABLE.database, TABLE.name, branch, **more)

    def _published(
        self, target: WriteTarget, latest: Snapshot, prepared: Prepared, delta: list[Entry], rows: Rows
    ) -> bool:
        """Publish a commit as the product does; false if another one came first."""
        parent = _of(latest.as_written())
        self._writer.register(prepared, rows, parent)
        log = write_log(self._files, target)
        publisher = Publisher(self._files, target.root, partial(require_lock, self._files, target), log)
        gone, new = ({each.file.name for each in delta if each.kind == kind} for kind in (DELETE, ADD))
        publisher.file_changes, publisher.before = FileChanges(frozenset(new), frozenset(gone)), latest
        is_made = publisher.publish(prepared.identity.id, prepared.data)
        if publisher.refused is not None:
            raise publisher.refused
        if is_made:
            self._world.litter -= {*prepared.metadata}
            self._world.litter -= {TABLE.data_file("", 0, name) for name in new}
            return True
        publisher.forget()
        return False

    def _write(self, write: Write) -> None:
        written = self._rows_of(write, self._read(write.versions))
        changes = [Change(*row, self._world.number()) for row in written]
        new = self._new_file(changes, json.loads(write.schema))

        def made(latest: dict[str, Any]) -> Made:
            if not write.overwrite:
                before = self._world.commits[_of(latest)]
                return new, tuple(sorted([*before.rows, *written])), "APPEND"
            gone = [Entry(DELETE, each) for each in self._writer.live(latest)]
            return [*gone, *new], written, "OVERWRITE"

        self._commit_held(write, made, overwrite=write.overwrite, may_go_on=write.may_go_on)

    def _merge(self, order: Repair) -> int | None:
        """The rows of the keys that a branch changed, behind what others committed to other keys."""
        sides, head = _sides(self._read(order.versions)), json.loads(order.head)
        merged, main = dict(self._merged(order, sides)), dict(sides.main)
        changed = {key for key in main.keys() | merged.keys() if main.get(key) != merged.get(key)}
        if not changed:
            return None
        number = self._world.number()
        changes = [
            Change(key, merged[key], number) if key in merged else Change(key, main[key], number, 3)
            for key in sorted(changed)
        ]
        new, target = self._new_file(changes, json.loads(order.schema)), self._held(order)

        def made(latest: dict[str, Any]) -> Made:
            before = self._world.commits[_of(latest)]
            if not self._may_stand(target.root, head["id"], latest, changed):
                raise has_moved(target, head["id"], latest["id"])
            others = [row for row in before.rows if row[0] not in changed]
            come = [(key, merged[key]) for key in changed & merged.keys()]
            return new, tuple(sorted([*others, *come])), "APPEND"

        return self._commit_held(order, made, may_go_on=True)

    def _may_stand(self, root: Root, after: int, latest: dict[str, Any], changed: set[int]) -> bool:
        """Whether others have only compacted since that snapshot, or changed rows of other keys."""
        numbers = range(after + 1, latest["id"] + 1)
        for data in self._files.read_many([root.snapshot(number) for number in numbers]):
            if data is None:
                return False
            snapshot = json.loads(data)
            if snapshot["commitKind"] in ("ANALYZE", "COMPACT"):
                continue
            commit = self._world.commits[_of(snapshot)]
            before = () if commit.parent is None else self._world.commits[commit.parent].rows
            if snapshot["commitKind"] != "APPEND" or {key for key, _ in {*before} ^ {*commit.rows}} & changed:
                return False
        return True

    def _merged(self, order: Repair, sides: Sides) -> Rows:
        queries = Carried(schema=TableSchema.from_json(order.schema.encode(), "the order"))
        for wins in (True, False):
            if order.upserts_sql == queries.upserts(takes_all=wins):
                return keyed_merge(sides, branch_wins=wins)[0]
        raise AssertionError(f"the stand-in for Spark does not know {order.upserts_sql}")

    def _new_file(self, changes: list[Change], schema: dict[str, Any]) -> list[Entry]:
        return [Entry(ADD, self._writer.data_file(changes, schema))] if changes else []

    def _held(self, order: Write | Repair, **more: Any) -> WriteTarget:
        return self._target(
            order.branch,
            follows_main=order.follows_main,
            schema=order.schema,
            commit_user=order.commit_user,
            head=order.head,
            lock=order.lock,
            next_entry=order.next_entry,
            **more,
        )

    def _commit_held(
        self, order: Write | Repair, made: Callable[[dict[str, Any]], Made], **more: Any
    ) -> int | None:
        """The commit of a change that holds the table, `made` on the newest snapshot."""
        target = self._held(order, **more)
        faster, self._world.faster_commits = self._world.faster_commits, 0
        for _ in range(faster):
            StockWriter(self._world, Actor("faster"), target.root).commit()
        for _ in range(_ATTEMPTS):
            require_unchanged(self._files, target)
            latest = Lineage(self._files, target.root).latest()
            require_head(self._files, target, latest)
            on = json.loads(order.head) if latest is None else latest.as_written()
            delta, after, kind = made(on)
            schema_id = target.table_schema.id
            prepared = self._writer.prepare(on, delta, schema_id, kind, order.commit_user, 2**63 - 1)
            self._register(order, prepared, after, _of(on))
            snapshot = Snapshot.from_json(prepared.data, "the commit")
            publisher = Publisher(self._files, target.root, partial(require_lock, self._files, target))
            gone, new = ({each.file.name for each in delta if each.kind == of} for of in (DELETE, ADD))
            publisher.file_changes = FileChanges(frozenset(new), frozenset(gone))
            is_made = publisher.publish(snapshot.id, prepared.data)
            if publisher.refused is not None:
                raise publisher.refused
            if is_made:
                self._world.litter -= {*prepared.metadata}
                self._world.litter -= {TABLE.data_file("", 0, name) for name in new}
                return snapshot.id
        raise Refused("Others committed each time that this write tried to")

    def _register(self, order: Write | Repair, prepared: Any, rows: Rows, parent: Identity) -> None:
        """Tell the model the rows of the commit, and the commit that they come from."""
        then = order.versions[THEN]
        if BASE in order.versions or then.branch != order.branch:
            commit = self._writer.register(prepared, rows, parent)
            _note_merge(commit.merged, then, prepared.identity)
        else:
            self._writer.register(prepared, rows, parent, content=_identity(then))

    def _rows_of(self, write: Write, rows: Mapping[str, Rows]) -> Rows:
        """The rows of the query."""
        unkeyed = _unkeyed(write)
        if write.sql == f"SELECT * FROM {THEN}":
            return rows[THEN]
        if write.sql == unkeyed.added:
            added = Counter(rows[THEN]) - Counter(rows[BASE])
            return tuple(sorted(added.elements()))
        if write.sql == unkeyed.replayed:
            kept = Counter(rows[NOW]) - _removed(rows)
            added = Counter(rows[THEN]) - Counter(rows[BASE])
            return tuple(sorted((kept + added).elements()))
        raise AssertionError(f"the stand-in for Spark does not know {write.sql}")

    def _read(self, versions: Mapping[str, Version]) -> dict[str, Rows]:
        return {name: self._rows_at(each) for name, each in versions.items()}

    def _rows_at(self, version: Version) -> Rows:
        live = self._writer.live(json.loads(version.snapshot))
        read = [each for each in live if version.only is None or each.name in version.only]
        changes = [change for each in read for change in self._writer.changes(each)]
        return merged_rows(changes, keyed=self._world.keyed)


def _removed(rows: Mapping[str, Rows]) -> Counter[tuple[int, int]]:
    return Counter(rows[BASE]) - Counter(rows[THEN])


def _sides(rows: Mapping[str, Rows]) -> Sides:
    base = rows[BASE]
    return Sides(base, rows[THEN], rows.get(BASE_NOW, base), rows[NOW])


def _note_merge(merged: dict[str, tuple[Identity, Identity]], head: Version, made: Identity) -> None:
    merged[first_name(head.branch or "main")] = (_identity(head), made)


def _of(snapshot: Mapping[str, Any]) -> Identity:
    return Identity(snapshot["id"], snapshot["baseManifestList"], snapshot["deltaManifestList"])


def _identity(version: Version) -> Identity:
    found = Snapshot.from_json(version.snapshot.encode(), "the order")
    return Identity(found.id, found.base_manifest_list, found.delta_manifest_list)


def _unkeyed(order: Ask | Write) -> Unkeyed:
    return Unkeyed(TableSchema.from_json(order.schema.encode(), "the order"))
