"""Options that ask for something after a commit or a tag, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from paimark.core.table.follow_ups import Event, is_known, left_out


@pytest.mark.parametrize(
    ("options", "event", "codes"),
    [
        ({}, "commit", []),
        ({"metadata.iceberg.storage": "Hadoop-Catalog"}, "commit", ["iceberg-behind"]),
        ({"metadata.iceberg.storage": "table-location"}, "tag", ["iceberg-behind"]),
        ({"metadata.iceberg.storage": "DISABLED"}, "commit", []),
        ({"metadata.iceberg.storage": " "}, "commit", []),
        ({"metadata.iceberg.storage": "table-location"}, "rows", []),
        ({"metadata.iceberg.storage": "Rest-Catalog"}, "rows", ["iceberg-catalog-behind"]),
        ({"metadata.iceberg.storage": "rest-catalog"}, "commit", ["iceberg-catalog-behind"]),
        ({"metadata.iceberg.storage": "rest-catalog"}, "tag", ["iceberg-catalog-behind"]),
        ({"tag.callbacks": "x.Y"}, "commit", []),
        ({"tag.callbacks": "x.Y"}, "tag", ["tag-callbacks"]),
        ({"partition.idle-time-to-done": "1 h"}, "commit", ["partitions-not-done"]),
        ({"partition.end-input-to-done": "false"}, "commit", []),
        ({"metastore.partitioned-table": "true"}, "commit", ["metastore-behind"]),
        ({"metastore.tag-to-partition": "dt"}, "tag", ["metastore-behind"]),
        ({"tag.create-success-file": "true"}, "tag", []),
    ],
)
def test_what_is_left_out(options: Mapping[str, str], event: Event, codes: list[str]) -> None:
    said = dict(left_out(options, event))
    assert list(said) == codes
    for text in said.values():
        assert next(iter(options)) in text and not text.endswith(".")


def test_options_that_are_classified_here() -> None:
    assert is_known("metadata.iceberg.rest.uri") and is_known("tag.create-success-file")
    assert not is_known("tag.callback") and not is_known("bucket")
