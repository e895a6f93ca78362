"""A table that stock Paimon and our actions change in turns, with the expected rows of every version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Outcome
from paimark.core.actions.registry import action
from paimark.core.spark.datasource.paimon import plan_splits, read_splits
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.statements.row_change import RowChanges, action_of_change
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.records import Snapshot
from paimark.core.table.savepoints import SavepointManager
from paimark.core.travel.parse.sql import read_statement
from paimark.core.verify.verify import verify
from tests.actions.acting import contents
from tests.interop.chain_kinds import K, Kind, P, Row
from tests.interop.judge import Judge, JudgeError
from tests.interop.written import as_judged
from tests.wording import about

State = tuple[Row, ...]
_SESSION = "open since before"


class Chain:
    """One table of a kind. Roots are named by their branch, None for the table directory.

    The name of its delta manifest list identifies a commit, also in copies.
    """

    def __init__(self, judge: Judge, context: Context, warehouse: Path, name: str, kind: Kind) -> None:
        self.judge, self.context, self.warehouse, self.kind = judge, context, warehouse, kind
        self.table = TablePath(name, "t")
        self.now: dict[str | None, State] = {None: ()}
        self._rows: dict[str, State] = {}
        self._session_ids: list[int] = []
        options = {"manifest.merge-min-count": "3", **kind.options}
        judge.create(
            warehouse,
            self.table.full_name,
            kind.columns,
            keys=kind.keys,
            partitions=kind.partitions,
            options=options,
        )

    @property
    def main(self) -> str | None:
        return main_root(self.context.files, self.table).branch

    def put(self, rows: Sequence[Row], branch: str | None = None, *, postpones: bool = False) -> None:
        """Let stock write rows to a branch, by default main."""
        branch = branch or self.main
        rows = [{**row, P: row[K] % 2} for row in rows]
        before = self.now[branch]
        written = [("+I", row) for row in rows]
        if self.kind.partitions and self.kind.keys == ("k",):
            # A job that knows the previous partition of a key deletes the row there.
            written = [*(("-D", old) for old in before if old[K] in {r[K] for r in rows}), *written]
        self._put(branch, written, postpones=postpones)
        self.now[branch] = before if postpones else self.kind.after(before, rows)
        self._learn({branch: self.now[branch]}, before)

    def delete(self, key: int, branch: str | None = None) -> None:
        branch = branch or self.main
        if not (self.kind.deletes and self.kind.is_keyed):
            return
        before = self.now[branch]
        gone = [row for row in before if row[K] == key]
        self._put(branch, [("-D", row) for row in gone])
        self.now[branch] = self.kind.without(before, gone)
        self._learn({branch: self.now[branch]}, before)

    def compact(self, branch: str | None = None) -> None:
        branch = branch or self.main
        if not self.kind.compacts:
            return
        self.judge.compact(self.warehouse, self.name(branch))
        self._learn({branch: self.now[branch]}, self.now[branch])

    def alter(self, change: str, column: str, branch: str | None = None, **more: str) -> None:
        self.judge.alter(self.warehouse, self.name(branch or self.main), change, column, **more)

    def do(self, name: str, /, *, main: State | None = None, **arguments: object) -> Outcome:
        """Run one of our actions. `main` are main's rows afterwards, if it commits rows."""
        chosen = action(name)
        plan = chosen.plan(self.context, self.table, arguments)
        assert plan.refusals == (), plan.refusals
        outcome = chosen.apply(self.context, plan, lambda line: None)
        made = {} if main is None else {self.main: main}
        self._learn(made, ())
        self._follow()
        return outcome

    def run(self, sql: str, main: State) -> None:
        """Run a DELETE, UPDATE or MERGE of main, which has the rows `main` afterwards."""
        before, changes = self.now[self.main], self._changes(sql)
        plan = changes.plan(self.context, self.table, {})
        assert plan.refusals == (), plan.refusals
        changes.apply(self.context, plan, lambda line: None)
        self._learn({self.main: main}, before)
        self._follow()

    def refused_to_run(self, sql: str) -> bool:
        return bool(self._changes(sql).plan(self.context, self.table, {}).refusals)

    def _changes(self, sql: str) -> RowChanges:
        return action_of_change(read_statement(sql.format(self.table.full_name)))[1]

    def refused(self, name: str, words: str, /, **arguments: object) -> None:
        """Check that the action is refused with these words, and that nothing is written."""
        before = contents(self.warehouse / self.table.directory)
        reasons = [each.reason for each in action(name).plan(self.context, self.table, arguments).refusals]
        assert any(map(about(words).search, reasons)), reasons
        assert contents(self.warehouse / self.table.directory) == before

    def expire(self, branch: str | None = None, *, by_options: bool = False) -> None:
        """Let stock expire all but the newest snapshot, or as the table's own options say."""
        expire = self.judge.expire_by_options if by_options else self.judge.expire
        expire(self.warehouse, self.name(branch or self.main))

    def orphans(self) -> list[str]:
        """Let stock delete the orphan files; returns their paths."""
        return self.judge.clean_orphans(self.warehouse, self.table.full_name)

    def name(self, branch: str | None) -> str:
        full = self.table.full_name
        return full if branch is None else f"{full}$branch_{branch}"

    def rows_of(self, branch: str | None, file: str) -> State:
        """The expected rows of a snapshot or tag of a root: `snapshot-3`, `tag-savepoint.1`."""
        return self._rows[_identity(self._directory(branch) / file.split("-")[0] / file)]

    def newest_tag(self) -> str:
        """The tag of the newest savepoint."""
        return f"savepoint.{max(each.id for each in SavepointManager(self.context.files, self.table).all())}"

    def check(self, *, whole: bool = True) -> None:
        """Check that stock and Paimark read the expected rows of every reference, and no file is missing.

        Unless `whole`, older snapshots of branches other than main may have lost files.
        """
        for branch in self._branches():
            root, ids = self.table.root(branch), self._ids(branch)
            assert self._stock(branch) == _listed(self.now[branch], ids), (branch, "newest")
            for path in self._references(branch):
                if not whole and branch != self.main and path.parent.name == "snapshot":
                    continue
                try:
                    assert self._stock_at(branch, path) == self._expected(root, path), path
                except JudgeError as error:
                    raise AssertionError(path) from error
                assert self._ours_at(root, path) == self._expected(root, path), path
            assert self._ours_now(root) == _listed(self.now[branch], ids), (branch, "newest")
        if not whole:
            return
        report = verify(self.context, self.table, read_data=1.0)
        assert report.is_whole, report.problems

    def open_session(self) -> None:
        self._session_ids = self._ids(None)
        with self.judge.session(self.session):
            assert self._stock(None) == _listed(self.now[None], self._session_ids)

    def check_session(self, *, fails: bool = False) -> None:
        """Check that the open session reads main's rows by the plain name, in its old columns; or `fails`."""
        with self.judge.session(self.session):
            try:
                found = self._stock(None)
            except JudgeError as error:
                assert fails, error
                return
        assert not fails
        assert found == _listed(self.now[None], self._session_ids)

    @property
    def session(self) -> str:
        return f"{_SESSION} {self.table.database}"

    def _ids(self, branch: str | None) -> list[int]:
        """The field ids of a root's current columns."""
        schema = Lineage(self.context.files, self.table.root(branch)).latest_schema()
        assert schema is not None
        return [each.id for each in schema.fields]

    def _put(self, branch: str | None, rows: Sequence[tuple[str, Row]], *, postpones: bool = False) -> None:
        fields = [(kind, [row.get(each) for each in self._ids(branch)]) for kind, row in rows]
        self.judge.put(self.warehouse, self.name(branch), fields, postpones=postpones)

    def _learn(self, made: dict[str | None, State], before: State) -> None:
        """Note the expected rows of new commits. Only the roots in `made` may have any."""
        for branch in self._branches():
            for path in self._references(branch):
                if (identity := _identity(path)) in self._rows:
                    continue
                assert branch in made, f"a commit that nobody made: {path}"
                is_hidden = self.kind.unseen and json.loads(path.read_text())["commitKind"] == "APPEND"
                self._rows[identity] = before if is_hidden else made[branch]

    def _follow(self) -> None:
        """Note the existing branches, and the expected rows of their newest commits."""
        self.now = {}
        for branch in self._branches():
            latest = Lineage(self.context.files, self.table.root(branch)).latest()
            self.now[branch] = () if latest is None else self._rows[latest.delta_manifest_list]

    def _branches(self) -> list[str | None]:
        named = sorted(
            path.name.removeprefix("branch-")
            for path in (self.warehouse / self.table.branches).glob("branch-*")
            if path.is_dir()
        )
        return [*named] if self.main is not None else [None, *named]

    def _directory(self, branch: str | None) -> Path:
        return self.warehouse / self.table.root(branch).directory

    def _references(self, branch: str | None) -> list[Path]:
        directory = self._directory(branch)
        return sorted([*directory.glob("snapshot/snapshot-*"), *directory.glob("tag/tag-*")])

    def _expected(self, root: Root, path: Path) -> list[list[Any]]:
        schema = Lineage(self.context.files, root).schema(json.loads(path.read_text())["schemaId"])
        return _listed(self._rows[_identity(path)], [each.id for each in schema.fields])

    def _stock(self, branch: str | None) -> list[list[Any]]:
        return sorted(self.judge.rows(self.warehouse, self.name(branch)), key=repr)

    def _stock_at(self, branch: str | None, path: Path) -> list[list[Any]]:
        version, name = path.parent.name, path.name.partition("-")[2]
        if version == "snapshot":
            return sorted(self.judge.rows(self.warehouse, self.name(branch), snapshot=int(name)), key=repr)
        # Stock Paimon looks up the tags of branches in the table directory.
        lent = self.warehouse / self.table.root().tag("judged")
        if branch != self.main:
            lent.parent.mkdir(exist_ok=True)
            lent.write_bytes(path.read_bytes())
            name = "judged"
        try:
            return sorted(self.judge.rows(self.warehouse, self.name(branch), tag=name), key=repr)
        finally:
            lent.unlink(missing_ok=True)

    def _ours_at(self, root: Root, path: Path) -> list[list[Any]]:
        snapshot = Snapshot.from_json(path.read_bytes(), str(path))
        return self._ours(root, snapshot, pinned=True)

    def _ours_now(self, root: Root) -> list[list[Any]]:
        return self._ours(root, Lineage(self.context.files, root).latest(), pinned=False)

    def _ours(self, root: Root, snapshot: Snapshot | None, *, pinned: bool) -> list[list[Any]]:
        warehouse = WarehouseAccess(self.context.files, str(self.warehouse), {})
        scan = make_scan(warehouse, root, snapshot, pinned=pinned)
        rows: list[list[Any]] = []
        for batch in read_splits(scan, plan_splits(scan)):
            rows += (list(row.values()) for row in batch.to_pylist())
        return as_judged(rows)


def _identity(path: Path) -> str:
    identity: str = json.loads(path.read_text())["deltaManifestList"]
    return identity


def _listed(rows: State, ids: Sequence[int]) -> list[list[Any]]:
    return sorted(([row.get(each) for each in ids] for row in rows), key=repr)
