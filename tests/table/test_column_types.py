"""Types as Paimon's writers put them into schemas."""

from __future__ import annotations

import pytest

from core.table.column_types import ColumnType


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BIGINT NOT NULL", ColumnType("BIGINT", None, None, False)),
        ("DECIMAL(10, 2)", ColumnType("DECIMAL", 10, 2, False)),
        ("timestamp(3)", ColumnType("TIMESTAMP", 3, None, False)),
        ("", ColumnType("", None, None, False)),
    ],
)
def test_a_type_is_taken_apart(text: str, expected: ColumnType) -> None:
    assert ColumnType.of(text) == expected


def test_the_writers_words_for_a_zoned_timestamp_are_one_type() -> None:
    java = ColumnType.of("TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL")
    assert java == ColumnType.of("TIMESTAMP_LTZ(6)") == ColumnType("TIMESTAMP_LTZ", 6, None, True)
