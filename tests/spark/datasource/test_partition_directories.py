"""Partitions whose directories only their writers know: read, or refused by name where one is not found."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.errors import Refused
from paimark.core.space.space import space
from paimark.core.spark.datasource.paimon import row_batches
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.verify import verify
from tests.actions.acting import context_on, planned
from tests.interop.judge import Judge
from tests.wording import about


def test_a_file_that_is_not_found_is_not_called_lost(tmp_path: Path, judge: Judge) -> None:
    judge.create(tmp_path, "d.t", {"k": "INT", "p": "DOUBLE"}, partitions=["p"])
    judge.put(tmp_path, "d.t", [("+I", [1, 1.5]), ("+I", [2, 1e20])])
    assert _rows(tmp_path) == sorted(judge.rows(tmp_path, "d.t")) == [[1, 1.5], [2, 1e20]]
    judge.put(tmp_path, "d.t", [("+I", [3, "NaN"])])
    with pytest.raises(Refused, match=about("d.t", "directory", "column p", "DOUBLE")):
        _rows(tmp_path)


@pytest.fixture
def elsewhere(tmp_path: Path, judge: Judge) -> Path:
    """`d.t`, partitioned by a moment, with the directory that a writer eight hours further east gives it."""
    options = {"partition.legacy-name": "false"}
    judge.create(tmp_path, "d.t", {"k": "INT", "p": "TIMESTAMP_LTZ(3)"}, partitions=["p"], options=options)
    for key in (1, 2):
        judge.put(tmp_path, "d.t", [("+I", [key, 1_767_268_800_000_000])])
    assert [row[0] for row in _rows(tmp_path)] == [1, 2]
    [directory] = (tmp_path / "d.db/t").glob("p=*")
    directory.rename(directory.with_name("p=2026-01-01 20%3A00%3A00.000"))
    return tmp_path


def test_a_moment_of_another_zone_is_not_called_lost(elsewhere: Path) -> None:
    with pytest.raises(Refused, match=about("directory", "column p", "TIMESTAMP")) as refused:
        _rows(elsewhere)
    assert about("not", "lost").search(refused.value.hint)


def test_such_a_table_is_whole(elsewhere: Path) -> None:
    context, table = context_on(elsewhere), TablePath("d", "t")
    report = verify(context, table, older_than=0)
    assert report.is_whole and report.tells_orphans and report.orphans == ()
    assert not any(each.kind in ("orphans", "young") for each in space(context, table).rows)
    [refusal] = planned(context, "expire-snapshots", table=table, retain_last=1).refusals
    assert about("column p", "TIMESTAMP*", "files").search(refusal.reason)


def test_what_is_lost_of_it_is_named(elsewhere: Path) -> None:
    data, _ = sorted((elsewhere / "d.db/t").glob("p=*/*/*"))
    data.write_bytes(data.read_bytes() + b"x")
    [problem] = verify(context_on(elsewhere), TablePath("d", "t")).problems
    assert (problem.cause, elsewhere / problem.path) == ("size", data)
    data.unlink()
    [problem] = verify(context_on(elsewhere), TablePath("d", "t")).problems
    assert (problem.cause, problem.path) == ("missing", f"d.db/t/{data.name}")


def _rows(warehouse: Path) -> list[list[object]]:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    latest = Lineage(files, root).latest()
    scan = make_scan(WarehouseAccess(files, str(warehouse), {}), root, latest, pinned=False)
    return sorted(list(row.values()) for batch in row_batches(scan) for row in batch.to_pylist())
