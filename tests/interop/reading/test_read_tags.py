"""A read tag keeps the files of a long read during a stock expiry, and is deleted afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.spark.engine import holding_reads
from paimark.core.spark.engine.holding_reads import Held, HeldReads
from paimark.core.spark.protocol import Reading
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.lineage.lineage import Lineage
from tests.eventually import eventually
from tests.interop.actions.test_garbage_collection import grow, make_table
from tests.interop.judge import Judge
from tests.spark.engine.test_repeatable_reads import context_of, read_tags, recovered


def test_a_stock_expiry_spares_what_is_read(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding_reads, "_WORTH_IT_SECONDS", 0.0)
    warehouse = tmp_path / "warehouse"
    name = make_table(warehouse, "primary key")
    grow(judge, warehouse, name, "primary key", range(1, 4))
    table, files = parse_table_name(name), LocalFiles(str(warehouse))
    lineage = Lineage(files, table.root())
    old = judge.read(warehouse, name, snapshot=2)
    reads = HeldReads(files, False)
    with reads.held({Held(table.root(), 2): Reading(name, "snapshot.2", "s")}, print):
        [tag] = eventually(lambda: read_tags(lineage))
        judge.compact(warehouse, name)
        assert judge.expire(warehouse, name) > 2
        judge.clean_orphans(warehouse, name)
        assert not lineage.has_snapshot(2)
        assert judge.read(warehouse, name, tag=tag) == old
    [left] = read_tags(lineage)
    assert judge.read(warehouse, name, tag=left) == old
    newest = judge.read(warehouse, name)
    recovered(context_of(warehouse), table)
    assert read_tags(lineage) == []
    assert judge.read(warehouse, name) == newest
    assert judge.clean_orphans(warehouse, name) == []
