"""Snapshots of Paimon 0.3 and older have no numbers of records: refused by name until stock commits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paimark.core.errors import Refused
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.statements.insert import action_of_insert
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import context_on
from tests.interop.judge import Judge
from tests.interop.written import Table
from tests.wording import about

TABLE = TablePath("d", "t")


def test_they_are_refused_by_name(tmp_path: Path, judge: Judge) -> None:
    table = Table(tmp_path, TABLE.full_name, {"k": "INT"}, options={"bucket": "-1"})
    judge.put(tmp_path, table.name, [("+I", [1])])
    path = table.directory / "snapshot/snapshot-1"
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({name: each for name, each in fields.items() if "RecordCount" not in name}))
    files, root = LocalFiles(str(tmp_path)), TABLE.root()
    access = WarehouseAccess(files, str(tmp_path), {})
    with pytest.raises(Refused, match=about("snapshot 1", "d.t", "records")):
        make_scan(access, root, Lineage(files, root).latest(), pinned=False)
    inserts = action_of_insert(read_statement("INSERT INTO d.t VALUES (2)"))[1]
    [refusal] = inserts.plan(context_on(tmp_path), TABLE, {}).refusals
    assert refusal.reason.startswith("Snapshot 1 of d.t does not say")
