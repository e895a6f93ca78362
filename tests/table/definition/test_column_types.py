"""Types as Paimon's writers put them into schemas."""

from __future__ import annotations

import pytest

from paimark.core.table.definition.column_types import ColumnType, type_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BIGINT NOT NULL", ColumnType("BIGINT", None, None, False)),
        ("DECIMAL(10, 2)", ColumnType("DECIMAL", 10, 2, False)),
        ("NUMERIC(10, 2) NOT NULL", ColumnType("DECIMAL", 10, 2, False)),
        ("DEC", ColumnType("DECIMAL", None, None, False)),
        ("INTEGER", ColumnType("INT", None, None, False)),
        ("timestamp(3)", ColumnType("TIMESTAMP", 3, None, False)),
        ("", ColumnType("", None, None, False)),
    ],
)
def test_a_type_is_taken_apart(text: str, expected: ColumnType) -> None:
    assert ColumnType.of(text) == expected


def test_the_writers_words_for_a_zoned_timestamp_are_one_type() -> None:
    java = ColumnType.of("TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL")
    assert java == ColumnType.of("TIMESTAMP_LTZ(6)") == ColumnType("TIMESTAMP_LTZ", 6, None, True)


LATITUDE = {"id": 5, "name": "lat", "type": "DOUBLE NOT NULL"}
PLACES = {"type": "ARRAY NOT NULL", "element": {"type": "ROW", "fields": [LATITUDE]}, "nullable": False}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("DECIMAL(10, 2) NOT NULL", "DECIMAL(10, 2) NOT NULL"),
        ({"type": "ARRAY", "element": "STRING", "nullable": True}, "ARRAY<STRING>"),
        ({"type": "MULTISET", "element": "INT NOT NULL"}, "MULTISET<INT NOT NULL>"),
        ({"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}, "MAP<STRING NOT NULL, INT>"),
        (
            {
                "type": "ROW",
                "fields": [
                    {"id": 4, "name": "street name", "type": "STRING", "description": "of ` the house"},
                    {"id": 6, "name": "geo", "type": PLACES},
                    {"id": 7, "name": "a`b", "type": "INT"},
                ],
            },
            "ROW<`street name` STRING, geo ARRAY<ROW<lat DOUBLE NOT NULL>> NOT NULL, `a``b` INT>",
        ),
        ({"type": "VECTOR NOT NULL", "element": "FLOAT", "length": 3}, "VECTOR<FLOAT, 3> NOT NULL"),
        # Of another shape than these: as it is written.
        ({"type": "NEW", "of": [1]}, '{"type":"NEW","of":[1]}'),
        ({"type": "ARRAY"}, '{"type":"ARRAY"}'),
        ({"type": "ROW", "fields": [{"type": "INT"}]}, '{"type":"ROW","fields":[{"type":"INT"}]}'),
        (None, "null"),
    ],
)
def test_a_nested_type_reads_as_in_sql(kind: object, text: str) -> None:
    assert type_text(kind) == text
