"""Spark writes to an object store as to a disk: rows of a query to a branch and to main, and merged ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Batch, Failed
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.storage.open import open_files
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import rows
from tests.spark.stores.engines import door, on_s3

__all__ = ["door", "on_s3"]


@pytest.fixture
def context(on_s3: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    files = open_files(on_s3.settings.warehouse, on_s3.settings.options)
    return replace(context_on(tmp_path / "w", files), options=on_s3.settings.options, engine=lambda: on_s3)


def rows_of(engine: Engine, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for event in run_statement(context_for(engine), sql, call=CallMode(lambda action, plan: None)):
        assert not isinstance(event, Failed), event
        if isinstance(event, Batch):
            found += read_batch(event).to_pylist()
    return found


def stored(engine: Engine, name: str) -> list[dict[str, Any]]:
    """A table's rows as pypaimon reads them."""
    builder = open_table(engine.settings.warehouse, name, engine.settings.options).new_read_builder()
    read: list[dict[str, Any]] = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    return read


@pytest.mark.long
def test_rows_are_inserted_on_s3(on_s3: Engine, context: Context) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    insert = "INSERT INTO shop.`orders$branch_fix` SELECT order_id, 'fixed', 0 FROM shop.orders LIMIT 3"
    (made,) = rows_of(on_s3, insert)
    assert (made["table"], made["snapshot_id"], made["row_count"]) == ("shop.orders$branch_fix", 3, 3)
    [made] = rows_of(
        on_s3,
        "INSERT OVERWRITE shop.orders SELECT * FROM shop.`orders$branch_fix` WHERE customer = 'fixed'",
    )
    assert (made["snapshot_id"], made["row_count"]) == (6, 3)
    assert [row["customer"] for row in stored(on_s3, "shop.orders")] == ["fixed"] * 3
    assert len(rows(on_s3, "SELECT * FROM shop.orders VERSION AS OF 5")) == 8


@pytest.mark.long
def test_rows_with_keys_are_merged_on_s3_and_taken_back(on_s3: Engine, context: Context) -> None:
    uri, options, table = on_s3.settings.warehouse, on_s3.settings.options, TablePath("keyed", "t")
    name, schema = table.full_name, pa.schema([("key", pa.int64()), ("value", pa.string())])
    create_table(uri, name, schema, primary_keys=["key"], options={"bucket": "1"}, catalog_options=options)

    def upsert(where: str, **values: str) -> None:
        rows = {"key": [int(each[1:]) for each in values], "value": list(values.values())}
        commit(uri, where, pa.table(rows, schema=schema), options)

    def main() -> dict[int, str]:
        return {row["key"]: row["value"] for row in stored(on_s3, name)}

    upsert(name, k1="old", k2="old", k3="old")
    done(context, "create-tag", table=table, name="fork")
    done(context, "create-branch", table=table, name="fix", tag="fork")
    upsert(f"{name}$branch_fix", k1="branch", k2="branch", k4="branch")
    upsert(name, k2="main", k3="main")
    with pytest.raises(Refused, match=r'^1 key changed in main and in branch fix.*: {"key":2}$'):
        done(context, "merge-branch", table=table, name="fix")
    assert (
        done(context, "merge-branch", table=table, name="fix", on_conflict="main").result["snapshot_id"] == 3
    )
    assert main() == {1: "branch", 2: "main", 3: "main", 4: "branch"}
    done(context, "undo", table=table)
    assert main() == {1: "old", 2: "main", 3: "main"}
