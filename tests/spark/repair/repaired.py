"""A table whose rows are put right by `revert` and `restore-rows`, with stock Paimon as the judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import action
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import applied, context_on
from tests.interop.judge import Judge

KEYED: dict[str, Any] = {"keys": ("p", "k"), "partitions": ("p",), "options": {"bucket": "2"}}
MERGE = (
    "MERGE INTO t AS t USING "
    "(SELECT * FROM VALUES ('a', 1, 'bad'), ('b', 3, ''), ('c', 9, 'new') s(p, k, v)) s "
    "ON t.p = s.p AND t.k = s.k WHEN MATCHED AND s.v = '' THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (p, k, v) VALUES (s.p, s.k, s.v)"
)
FIRST = [["a", 1, "one"], ["a", 2, None], ["b", 3, "three"], ["b", 4, "four"]]
INSERT = "INSERT INTO t VALUES ('a', 1, 'one'), ('a', 2, NULL), ('b', 3, 'three'), ('b', 4, 'four')"


class Repaired:
    """A table of stock Paimon, changed by statements."""

    def __init__(
        self,
        engine: Engine,
        warehouse: Path,
        judge: Judge,
        name: str,
        *,
        keys: Sequence[str] = (),
        partitions: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        columns = columns or {"p": "STRING", "k": "INT", "v": "STRING"}
        judge.create(
            warehouse, f"reverts.{name}", columns, keys=keys, partitions=partitions, options=options or {}
        )
        self.engine, self.warehouse, self.judge = engine, warehouse, judge
        self.name, self.table = f"reverts.{name}", TablePath("reverts", name)
        self.context = replace(context_on(warehouse), engine=lambda: engine)

    def do(self, *statements: str) -> int:
        """The newest snapshot afterwards; `t` is the table."""
        for each in statements:
            sql = each.replace(" t", f" {self.name}", 1)
            *_, end = run_statement(
                context_for(self.engine), sql, call=CallMode(agree=lambda action, plan: None)
            )
            assert isinstance(end, Finished), end
        return self.newest

    @property
    def newest(self) -> int:
        return Lineage(LocalFiles(str(self.warehouse)), self.table.root()).snapshot_ids()[-1]

    def plan(self, name: str, **arguments: object) -> Plan:
        return action(name).plan(self.context, self.table, arguments)

    def repair(self, name: str, **arguments: object) -> Plan:
        """Do it: it must be one commit. Returns its plan."""
        plan, before = self.plan(name, **arguments), self.newest
        assert not plan.empty, plan.headline
        assert applied(self.context, plan).result["snapshot_id"] == before + 1 == self.newest
        return plan

    def undo(self) -> None:
        applied(self.context, action("undo").plan(self.context, self.table, {}))

    @property
    def rows(self) -> list[list[Any]]:
        return sorted(self.judge.rows(self.warehouse, self.name), key=repr)
