"""Rows are not written through a link inside the table. No Spark here: what runs in its tasks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import Refused
from paimark.core.spark.writing.row_files import write_rows
from paimark.core.spark.writing.write import find_target
from tests.actions.acting import contents
from tests.conftest import EVENTS


@pytest.mark.parametrize("place", ["day=2026-05-01", "day=2026-05-01/bucket-0", "schema"])
def test_a_link_in_a_directorys_place_refuses_the_write(warehouse: Path, tmp_path: Path, place: str) -> None:
    linked = warehouse / "shop.db/events" / place
    shutil.move(linked, tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    before = contents(tmp_path / "elsewhere")
    target = find_target({"warehouse": str(warehouse), "table": "shop.events"}, False)
    rows = pa.table({"day": ["2026-05-01"], "kind": ["new"]}, schema=EVENTS)
    with pytest.raises(Refused, match=f"shop.db/events/{place} is a link: nothing is changed through it"):
        write_rows(target, rows.to_batches())
    assert contents(tmp_path / "elsewhere") == before
