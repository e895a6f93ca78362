"""What Iceberg readers of a table need stays, and plans say what they do not see."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Plan
from paimark.core.space.space import space
from paimark.core.statements.insert import action_of_insert
from paimark.core.table.layout import TablePath
from paimark.core.travel.parse.sql import read_statement
from paimark.core.verify import VerifyReport, verify
from tests.actions.acting import applied, context_on, done, planned
from tests.interop.judge import Judge
from tests.interop.written import Table
from tests.wording import about

TABLE = TablePath("d", "ice")
STORAGES = ["table-location", "hadoop-catalog"]
OPTIONS = {"bucket": "-1", "target-file-size": "1 mb"}


class Iceberg:
    """A table that stock commits keep readable for Iceberg, read as Iceberg's own readers do."""

    def __init__(self, warehouse: Path, judge: Judge, storage: str, **further: str) -> None:
        self.warehouse, self.judge = warehouse, judge
        self.table = Table(
            warehouse,
            TABLE.full_name,
            {"id": "INT", "v": "STRING"},
            options={**OPTIONS, "metadata.iceberg.storage": storage, **further},
        )
        beside = self.table.directory / "metadata"
        self.directory = beside if storage == "table-location" else warehouse / "iceberg/d/ice/metadata"

    def put(self, *ids: int) -> None:
        self.judge.put(self.warehouse, TABLE.full_name, [("+I", [each, "x"]) for each in ids])

    @property
    def metadata(self) -> dict[str, Any]:
        version = (self.directory / "version-hint.text").read_text().strip()
        found: dict[str, Any] = json.loads((self.directory / f"v{version}.metadata.json").read_text())
        return found

    def rows(self, snapshot: int | None = None) -> list[int]:
        metadata = self.metadata
        wanted = metadata["current-snapshot-id"] if snapshot is None else snapshot
        [chosen] = [each for each in metadata["snapshots"] if each["snapshot-id"] == wanted]
        entries = [
            entry
            for manifest in self._avro(chosen["manifest-list"])
            for entry in self._avro(manifest["manifest_path"])
            if entry["status"] != 2
        ]
        paths = [_local(entry["data_file"]["file_path"]) for entry in entries]
        return sorted(row["id"] for path in paths for row in pq.read_table(path).to_pylist())

    def _avro(self, address: str) -> list[Any]:
        return list(fastavro.reader(io.BytesIO(_local(address).read_bytes())))


def _local(address: str) -> Path:
    return Path(re.sub("^file:/*", "/", address))


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return context_on(tmp_path)


def said(plan: Plan, code: str) -> Item:
    [item] = [each for each in plan.items if each.code == code]
    return item


def checked(context: Context) -> VerifyReport:
    return verify(context, TABLE, older_than=0)


@pytest.mark.parametrize("storage", STORAGES)
def test_an_expiry_leaves_what_iceberg_readers_need(
    context: Context, tmp_path: Path, judge: Judge, storage: str
) -> None:
    ice = Iceberg(tmp_path, judge, storage)
    ice.put(1)
    ice.put(2)
    assert (ice.rows(), ice.rows(1)) == ([1, 2], [1])
    ice.table.write([(7, "ours")], overwrite=True)
    plan = planned(context, "expire-snapshots", table=TABLE, retain_last=1)
    assert about("2 data files", "Iceberg").search(said(plan, "iceberg-needs").text)
    assert plan.freed_files > 0 and "data file" not in str(plan.steps)
    applied(context, plan)
    assert (ice.rows(), ice.rows(1)) == ([1, 2], [1])
    report = checked(context)
    assert report.is_whole and report.tells_orphans and report.orphan_count == 0
    [row] = [each for each in space(context, TABLE).rows if each.kind == "iceberg"]
    beside = sum(path.stat().st_size for path in (ice.table.directory / "metadata").glob("*"))
    assert row.files >= 2 and row.bytes > beside
    # A stock commit moves Iceberg on: by then nobody needs them.
    ice.put(3)
    assert ice.rows() == [3, 7]
    gone = {each.path.rpartition("/")[2] for each in checked(context).orphans}
    assert len(gone) == 2 and all(name.startswith("data-") for name in gone)


def test_a_deleted_tag_leaves_what_iceberg_readers_need(
    context: Context, tmp_path: Path, judge: Judge
) -> None:
    ice = Iceberg(tmp_path, judge, "table-location")
    ice.put(1)
    ice.put(2)
    done(context, "create-tag", table=TABLE, name="t")
    ice.table.write([(7, "ours")], overwrite=True)
    done(context, "expire-snapshots", table=TABLE, retain_last=1)
    plan = planned(context, "delete-tag", table=TABLE, name="t")
    assert said(plan, "iceberg-needs").count == 2
    assert about("Iceberg", "tags").search(said(plan, "iceberg-behind").text)
    applied(context, plan)
    assert ice.rows() == [1, 2]


def test_files_that_iceberg_never_knew_go(context: Context, tmp_path: Path, judge: Judge) -> None:
    ice = Iceberg(tmp_path, judge, "table-location")
    ice.put(1)
    ice.table.write([(7, "ours")])
    ice.table.write([(8, "ours")], overwrite=True)
    before = set(ice.table.directory.glob("bucket-0/*"))
    plan = planned(context, "expire-snapshots", table=TABLE, retain_last=1)
    assert said(plan, "iceberg-needs").text.startswith("1 data file stays")
    applied(context, plan)
    assert len(before - set(ice.table.directory.glob("bucket-0/*"))) == 1
    assert ice.rows() == [1]


@pytest.mark.parametrize("lost", ["snap-*.avro", "*-m*.avro"])
def test_nothing_is_deleted_while_the_metadata_can_not_be_read(
    context: Context, tmp_path: Path, judge: Judge, lost: str
) -> None:
    ice = Iceberg(tmp_path, judge, "table-location")
    ice.put(1)
    ice.table.write([(7, "ours")], overwrite=True)
    for path in ice.directory.glob(lost):
        path.unlink()
    [refusal] = planned(context, "expire-snapshots", table=TABLE, retain_last=1).refusals
    assert about("told").search(refusal.reason) and "metadata/" in refusal.reason
    report = checked(context)
    assert not report.tells_orphans and "Iceberg" in report.warnings[0]
    assert about("delete all").search(refusal.hint)
    shutil.rmtree(ice.directory)
    ice.put(2)
    assert ice.rows() == [2, 7]
    assert not planned(context, "expire-snapshots", table=TABLE, retain_last=1).refusals


def test_what_a_rest_catalog_knows_can_not_be_seen(context: Context, tmp_path: Path, judge: Judge) -> None:
    ice = Iceberg(tmp_path, judge, "rest-catalog")
    for _ in range(2):
        ice.table.write([(7, "ours")], overwrite=True)
    [refusal] = planned(context, "expire-snapshots", table=TABLE, retain_last=1).refusals
    assert "REST catalog (metadata.iceberg.storage)" in refusal.reason


def test_ids_that_iceberg_readers_know_are_not_given_again(
    context: Context, tmp_path: Path, judge: Judge
) -> None:
    ice = Iceberg(tmp_path, judge, "table-location")
    for each in (1, 2, 3):
        ice.put(each)
    plan = planned(context, "rollback", table=TABLE, to="snapshot.2", truncate=True)
    [refusal] = plan.refusals
    assert refusal.code == "iceberg-knows-ids" and about("id 3").search(refusal.reason)
    assert about("without --truncate", "delete").search(refusal.hint) and "d.db/ice/metadata" in refusal.hint
    assert not planned(context, "rollback", table=TABLE, to="snapshot.2").refusals
    there = ice.directory.rename(tmp_path / "aside")
    assert not planned(context, "rollback", table=TABLE, to="snapshot.2", truncate=True).refusals
    there.rename(ice.directory)
    # Ids that only our commits had are none of Iceberg's.
    ice.table.write([(7, "ours")])
    plan = planned(context, "rollback", table=TABLE, to="snapshot.3", truncate=True)
    assert "stock engine" in said(plan, "iceberg-behind").text
    applied(context, plan)
    ice.put(8)
    assert ice.rows() == [1, 2, 3, 8]


def test_a_branch_that_ends_before_what_iceberg_knows_does_not_become_main(
    context: Context, tmp_path: Path, judge: Judge
) -> None:
    ice = Iceberg(tmp_path, judge, "table-location")
    ice.put(1)
    done(context, "create-branch", table=TABLE, name="b", snapshot=1)
    ice.put(2)
    [refusal] = planned(context, "replace-main-branch", table=TABLE, name="b").refusals
    assert refusal.code == "iceberg-knows-ids" and "--layout overwrite" in refusal.hint
    assert not planned(context, "replace-main-branch", table=TABLE, name="b", layout="overwrite").refusals


def test_without_paimon_s_library_nothing_writes_rows_and_the_plan_says_so(
    context: Context, tmp_path: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    ice = Iceberg(tmp_path, judge, "table-location")
    ice.put(1)
    ice.put(2)

    def plans() -> list[Plan]:
        _, inserts = action_of_insert(read_statement("INSERT INTO d.ice VALUES (2, 'y')"))
        return [inserts.plan(context, TABLE, {}), planned(context, "rollback", table=TABLE, to="snapshot.1")]

    for plan in plans():
        assert not plan.refusals
        # The library writes Iceberg's metadata, too.
        assert not [each for each in plan.items if each.code == "iceberg-behind"]
    monkeypatch.setattr("paimark.core.actions.rewrite.spark_rewrite.has_library", lambda options: False)
    for plan in plans():
        [hint] = [each.hint for each in plan.refusals]
        assert "`paimark jars fetch paimon`" in hint
