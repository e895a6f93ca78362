"""What a state of many files takes: of each some hundred bytes, however long its entry is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from paimark.core.actions.roots.branch_files import highest_schema_id
from paimark.core.errors import Corrupt
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import (
    data_manifests,
    each_needed_file,
    live_entries,
    live_facts,
    missing_files,
    size_of,
)
from paimark.core.table.manifests.manifests import read_manifest_list
from paimark.core.table.records import Tag
from tests.actions.garbage.test_counting_cost import with_a_large_manifest
from tests.actions.histories import TABLE, History
from tests.wording import about

MAIN = TABLE.root()
ENTRIES = 5_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> History:
    return with_a_large_manifest(tmp_path_factory.mktemp("large"), ENTRIES)


def kept_tag(history: History) -> Tag:
    return Lineage(history.files, MAIN).tag("kept")


QUESTIONS: dict[str, Callable[[History], object]] = {
    "are all there": lambda history: len(
        missing_files(history.files, each_needed_file(history.files, MAIN, kept_tag(history)))
    ),
    "rows and bytes": lambda history: size_of(history.files, TABLE, kept_tag(history)),
    "newest schema": lambda history: highest_schema_id(history.files, TABLE, kept_tag(history)),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_file_takes_some_hundred_bytes(large: History, question: str) -> None:
    tracemalloc.start()
    try:
        assert QUESTIONS[question](large) is not None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / ENTRIES < 800


def test_the_same_entries_are_live_as_when_all_are_held(tmp_path: Path) -> None:
    history = History(tmp_path, Random(6))
    for _ in range(30):
        history.commit()
    for snapshot in Lineage(history.files, MAIN).snapshots():
        manifests = data_manifests(history.files, TABLE, snapshot)
        held = live_entries(history.files, TABLE, manifests)
        one_by_one = list(live_facts(history.files, TABLE, manifests))
        assert [each.name for each in one_by_one] == [each.file["_FILE_NAME"] for each in held]
        assert [each.key.level for each in one_by_one] == [each.file["_LEVEL"] for each in held]


def test_a_manifest_that_deletes_and_is_said_not_to_is_told(tmp_path: Path) -> None:
    """Its deletion would come too late for what was given before it."""
    history = History(tmp_path, Random(6))
    manifest = history._manifest([(0, "data-1.parquet", 0), (1, "data-2.parquet", 0)])
    history._counts[manifest] = (1, 0)
    manifests = read_manifest_list(history.files, TABLE.manifest(history._list([manifest])))
    with pytest.raises(Corrupt, match=about("deletes data-2.parquet", "nothing")):
        list(live_facts(history.files, TABLE, manifests))
