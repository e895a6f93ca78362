"""Orders to write, as the actions give them."""

from __future__ import annotations

import uuid
from pathlib import Path

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished, Repair, StageProgress, TaskResult, Version, Write
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage


def root_of(name: str, branch: str | None = None) -> Root:
    return parse_table_name(name).root(branch)


def lineage_of(warehouse: Path, name: str, branch: str | None = None) -> Lineage:
    return Lineage(LocalFiles(str(warehouse)), root_of(name, branch))


def version(lineage: Lineage, snapshot_id: int) -> Version:
    return Version(lineage.root.branch, lineage.snapshot(snapshot_id).to_json().decode())


def order(
    lineage: Lineage,
    sql: str,
    *,
    overwrite: bool = False,
    follows_main: bool = False,
    **versions: Version,
) -> Write:
    """A write to the lineage's root at its newest snapshot and schema."""
    schema, newest = lineage.latest_schema(), lineage.latest()
    assert schema is not None
    return Write(
        number=0,
        table=lineage.root.table.full_name,
        schema=schema.to_json().decode(),
        versions=versions,
        sql=sql,
        branch=lineage.root.branch,
        follows_main=follows_main,
        head=newest.to_json().decode() if newest else "",
        commit_user=str(uuid.uuid4()),
        overwrite=overwrite,
    )


def overwriting(lineage: Lineage, upserts_sql: str, **versions: Version) -> Repair:
    """Rows by their keys, whose partitions are written again."""
    plain = order(lineage, "")
    return Repair(
        number=0,
        table=plain.table,
        schema=plain.schema,
        versions=versions,
        branch=plain.branch,
        follows_main=False,
        head=plain.head,
        commit_user=plain.commit_user,
        upserts_sql=upserts_sql,
        overwrites=True,
    )


def run_write(engine: Engine, task: Write | Repair) -> int | None:
    """Do it; the snapshot it made."""
    result = end_of_write(engine, task)
    assert isinstance(result, TaskResult), result
    return result.snapshot


def refused(engine: Engine, task: Write | Repair) -> Failed:
    failed = end_of_write(engine, task)
    assert isinstance(failed, Failed), failed
    return failed


def end_of_write(engine: Engine, task: Write | Repair) -> TaskResult | Failed:
    events = [each for each in engine.do(task) if not isinstance(each, StageProgress)]
    if isinstance(events[-1], Finished):
        told = events[-2]
        assert isinstance(told, TaskResult)
        return told
    failed = events[-1]
    assert isinstance(failed, Failed)
    return failed
