"""Random lives of real tables: what is referenced reads as when it was made, and nothing else is left."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.actions.context import Context
from core.actions.plan import Outcome
from core.actions.registry import action
from core.table.layout import TablePath
from core.table.lineage.lineage import Lineage
from tests.actions.acting import context_on
from tests.actions.histories import needed_by_all
from tests.conftest import ORDERS
from tests.paimon import commit, create_table, open_table

TABLE = TablePath("shop", "t")
# Which of the things there are: taken modulo their number.
ANY = st.integers(0, 20)
REFUSED = re.compile("parts from main at|of the same snapshot as|has files of|alone holds savepoint")
Rows = list[tuple[Any, ...]]


class Life(RuleBasedStateMachine):
    """`refs` are the rows of each tag by branch (empty for main) and name, `heads` those of each branch."""

    primary_keys: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.warehouse = Path(tempfile.mkdtemp()) / "warehouse"
        self.refs: dict[tuple[str, str], Rows] = {}
        self.heads: dict[str, Rows] = {}
        self.number = 0

    @initialize()
    def begin(self) -> None:
        create_table(
            self.warehouse, "shop.t", ORDERS, primary_keys=self.primary_keys, options={"bucket": self._bucket}
        )
        self.heads[""] = []
        self.write(0, False)
        # Every life has a branch with a past: what only that keeps is what is easily forgotten.
        self.tag(0)
        self.fork(0)
        for branch in (0, 1, 1):
            self.write(branch, False)
        self.tag(1)
        self.write(1, True)

    @rule(branch=ANY, overwrite=st.booleans())
    def write(self, branch: int, overwrite: bool) -> None:
        name, self.number = self._branch(branch), self.number + 1
        keys = [self.number % 3, self.number % 5 + 3]
        rows = {"order_id": keys, "customer": [f"c{self.number}"] * 2, "price": [1.0, 2.0]}
        commit(self.warehouse, self._name(name), pa.table(rows, schema=ORDERS), overwrite=overwrite)
        self.heads[name] = self._read(name)

    @rule(branch=ANY)
    def save(self, branch: int) -> None:
        name = self._branch(branch)
        made = self._do("create-savepoint", branch=name or None)
        assert made is not None
        self.refs[name, f"savepoint.{made.result['savepoint_id']}"] = self.heads[name]

    @rule(branch=ANY, which=ANY)
    def save_an_older_one(self, branch: int, which: int) -> None:
        name = self._branch(branch)
        ids = Lineage(self._context.files, TABLE.root(name or None)).snapshot_ids()
        made = self._do("create-savepoint", branch=name or None, snapshot=ids[which % len(ids)])
        assert made is not None
        tag = f"savepoint.{made.result['savepoint_id']}"
        self.refs[name, tag] = self._read(name, tag)

    @rule(branch=ANY)
    def tag(self, branch: int) -> None:
        name, self.number = self._branch(branch), self.number + 1
        assert self._do("create-tag", name=f"t{self.number}", branch=name or None)
        self.refs[name, f"t{self.number}"] = self.heads[name]

    @rule(which=ANY)
    def fork(self, which: int) -> None:
        tags = [tag for branch, tag in self.refs if not branch]
        if not tags or len(self.heads) > 2:
            return
        self.number += 1
        name, tag = f"b{self.number}", tags[which % len(tags)]
        assert self._do("create-branch", name=name, tag=tag)
        self.heads[name] = self.refs[name, tag] = self.refs["", tag]

    @rule(which=ANY)
    def delete(self, which: int) -> None:
        if not self.refs:
            return
        branch, tag = list(self.refs)[which % len(self.refs)]
        if not tag.startswith("savepoint."):
            if self._do("delete-tag", name=tag, branch=branch or None):
                del self.refs[branch, tag]
        elif self._do("delete-savepoint", id=int(tag.removeprefix("savepoint."))):
            self.refs = {key: rows for key, rows in self.refs.items() if key[1] != tag}

    @rule(which=ANY)
    def delete_branch(self, which: int) -> None:
        branches = [branch for branch in self.heads if branch]
        if not branches:
            return
        name = branches[which % len(branches)]
        if self._do("delete-branch", name=name):
            del self.heads[name]
            self.refs = {key: rows for key, rows in self.refs.items() if key[0] != name}

    @rule(branch=ANY, retain=st.integers(1, 3))
    def expire(self, branch: int, retain: int) -> None:
        assert self._do("expire-snapshots", branch=self._branch(branch) or None, retain_last=retain)

    @invariant()
    def every_reference_reads_as_when_it_was_made(self) -> None:
        assert {(branch, tag): self._read(branch, tag) for branch, tag in self.refs} == self.refs
        assert {branch: self._read(branch) for branch in self.heads} == self.heads

    @invariant()
    def no_file_is_there_that_nothing_needs(self) -> None:
        if self.heads:
            directory = self.warehouse / TABLE.directory
            paths = {str(path.relative_to(self.warehouse)) for path in directory.rglob("*") if path.is_file()}
            counted = {
                path
                for path in paths
                if "/manifest" in path or f"{TABLE.directory}/bucket-" in path or "/index/" in path
            }
            assert counted == needed_by_all(self._context.files, TABLE)

    def teardown(self) -> None:
        shutil.rmtree(self.warehouse.parent)

    @property
    def _bucket(self) -> str:
        return "1" if self.primary_keys else "-1"

    @property
    def _context(self) -> Context:
        return context_on(self.warehouse)

    def _branch(self, which: int) -> str:
        return list(self.heads)[which % len(self.heads)]

    def _name(self, branch: str) -> str:
        return f"shop.t$branch_{branch}" if branch else "shop.t"

    def _do(self, action_name: str, /, **arguments: object) -> Outcome | None:
        """None, and nothing done, when it is refused: something else stands on what is to go."""
        context = self._context
        plan = action(action_name).plan(context, TABLE, arguments)
        if plan.refusals:
            assert all(REFUSED.search(refusal.reason) for refusal in plan.refusals), plan.refusals
            return None
        return action(action_name).apply(context, plan, lambda line: None)

    def _read(self, branch: str, tag: str | None = None) -> Rows:
        table = open_table(self.warehouse, self._name(branch))
        if tag is not None:
            table = table.copy({"scan.tag-name": tag})
        builder = table.new_read_builder()
        arrow = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        return sorted(tuple(row.values()) for row in arrow.to_pylist())


class KeyedLife(Life):
    primary_keys = ("order_id",)


_SETTINGS = settings(
    max_examples=6, stateful_step_count=14, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestAppend = Life.TestCase
TestAppend.settings = _SETTINGS
TestPrimaryKey = KeyedLife.TestCase
TestPrimaryKey.settings = _SETTINGS
