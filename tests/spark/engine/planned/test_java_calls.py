"""A statement takes few calls into Java, and all its jobs can be told by its tag."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from tests.paimon import commit, create_table

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])


class Took(NamedTuple):
    how: str
    calls: int
    jobs: int
    views: int


class Counting:
    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child

    def run(self, sql: str) -> Took:
        assert self._child.stdin and self._child.stdout
        print(json.dumps(sql), file=self._child.stdin, flush=True)
        return Took(*json.loads(self._child.stdout.readline()))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calls")
    orc = {"bucket": "1", "file.format": "orc", "write-only": "true"}
    create_table(place, "d.appended", SCHEMA)
    create_table(place, "d.merged", SCHEMA, primary_keys=["id"], options=orc)
    for _ in range(2):
        for name in ("d.appended", "d.merged"):
            commit(place, name, pa.table({"id": range(50), "v": range(50)}, SCHEMA))
    return place


@pytest.fixture(scope="module")
def counting(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counting]:
    words = [
        "-m",
        "tests.spark.engine.planned.calls_child",
        str(warehouse),
        str(tmp_path_factory.mktemp("scratch")),
    ]
    with subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        yield Counting(child)


def test_a_new_query_takes_three_calls_and_a_snapshot_one_more(counting: Counting) -> None:
    # Whatever is compiled is compiled here.
    assert counting.run("SELECT sum(v) FROM d.appended VERSION AS OF 1 WHERE id > 1").how == ""
    assert counting.run("SELECT sum(v) FROM d.appended VERSION AS OF 2 WHERE id > 1")[:3] == ("", 4, 1)
    assert counting.run("SELECT max(id) - 1 FROM d.appended VERSION AS OF 2 WHERE id > 1")[:3] == ("", 3, 1)
    assert counting.run("SELECT max(id) - 1 FROM d.appended VERSION AS OF 2 WHERE id > 1")[:3] == ("", 2, 1)


def test_a_view_leaves_no_table_in_the_catalog(counting: Counting) -> None:
    before = counting.run("SELECT 1").views
    for table in ("appended", "merged", "appended"):
        make = f"CREATE OR REPLACE TEMPORARY VIEW made AS SELECT count(*) AS n FROM d.{table} WHERE v > 1"
        took = counting.run(make)
        assert (took.how, took.views) == ("", before)
        again = counting.run("CREATE TEMPORARY VIEW made AS SELECT * FROM d.merged")
        assert again.how and again.views == before
    took = counting.run("SELECT n FROM made")
    assert (took.how, took.views) == ("", before)
