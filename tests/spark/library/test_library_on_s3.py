"""Paimon's library reads an object store by Hadoop's client, with the keys of the statement's time."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import ask
from tests.spark.stores.engines import door, on_s3
from tests.wording import about

__all__ = ["door", "on_s3"]


@pytest.mark.long
def test_rows_are_merged_on_s3(on_s3: Engine) -> None:
    uri, options, name = on_s3.settings.warehouse, on_s3.settings.options, "keyed.parts"
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64()), ("s", pa.string())])
    merging = {"bucket": "2", "merge-engine": "partial-update"}
    create_table(uri, name, schema, primary_keys=["k"], options=merging, catalog_options=options)
    commit(uri, name, pa.table({"k": range(9), "v": range(9), "s": ["a"] * 9}, schema), options)
    commit(uri, name, pa.table({"k": [1, 2], "v": [None, 20], "s": ["b", None]}, schema), options)
    answer = ask(on_s3, f"SELECT * FROM {name} WHERE k IN (1, 2)")
    assert [reading.scan for reading in answer.readings] == ["paimon library"]
    assert sorted(row["v"] for row in answer.rows) == [1, 20]
    assert ask(on_s3, f"SELECT sum(v) AS v FROM {name}").rows == [{"v": sum(range(9)) + 18}]
    assert ask(on_s3, f"SELECT count(*) AS n FROM {name} VERSION AS OF 1").rows == [{"n": 9}]
    table = open_table(uri, name, options)
    [file] = [
        each.file_path
        for split in table.new_read_builder().new_scan().plan().splits()[:1]
        for each in split.files[:1]
    ]
    table.file_io.delete_quietly(file)
    failure = ask(on_s3, f"SELECT sum(v + 1) AS v FROM {name}").failure
    assert file.rpartition("/")[2] in failure.message
    assert about("expiry", "clean-up", "`paimark verify`").search(failure.hint)
