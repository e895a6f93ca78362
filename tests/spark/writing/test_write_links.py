"""Rows are not written through a link inside the table."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from paimark.core.errors import Refused
from paimark.core.spark.writing.target import find_target
from paimark.core.storage.local import LocalFiles
from tests.actions.acting import contents
from tests.spark.library.session import writes_of
from tests.wording import about


@pytest.mark.parametrize("place", ["day=2026-05-01", "day=2026-05-01/bucket-0", "schema"])
def test_a_link_in_a_directorys_place_refuses_the_write(
    spark_of_library: SparkSession, warehouse: Path, tmp_path: Path, place: str
) -> None:
    linked = warehouse / "shop.db/events" / place
    shutil.move(linked, tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    before = contents(tmp_path / "elsewhere")
    target = find_target({"warehouse": str(warehouse), "table": "shop.events"}, False)
    files = LocalFiles(str(warehouse))
    writes = writes_of(spark_of_library, files)
    rows = spark_of_library.sql("SELECT '2026-05-01' AS day, 'new' AS kind")
    with pytest.raises(Refused, match=about(f"shop.db/events/{place}", "link")):
        writes.write(target, rows)
    assert contents(tmp_path / "elsewhere") == before
