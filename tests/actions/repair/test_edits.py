"""A file of edited rows: each value typed by its column, NULL told from an empty text, all else refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.repair.edits import cell_text, in_zone, read_edits
from paimark.core.errors import UsageError
from paimark.core.table.records import SchemaField, TableSchema

COLUMNS = {
    "id": "INT NOT NULL",
    "price": "DECIMAL(5, 2)",
    "tiny": "TINYINT",
    "on": "BOOLEAN",
    "day": "DATE",
    "at": "TIMESTAMP(3)",
    "short": "VARCHAR(3)",
    "fixed": "CHAR(3)",
    "f": "FLOAT",
    "nanos": "TIMESTAMP(9)",
    "local": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "bytes": "BYTES",
    "must": "STRING NOT NULL",
}
SCHEMA = TableSchema(
    id=0,
    fields=[SchemaField(id=n, name=name, type=kind) for n, (name, kind) in enumerate(COLUMNS.items())],
    highest_field_id=len(COLUMNS) - 1,
    partition_keys=[],
    primary_keys=["id"],
    options={},
)


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("price", " 123.450 ", "123.450"),
        ("price", "1e2", "100"),
        ("price", None, None),
        ("tiny", "-128", "-128"),
        ("on", "TRUE", "true"),
        ("day", "2026-02-28", "2026-02-28"),
        ("at", "2026-02-28 10:00:00.125", "2026-02-28 10:00:00.125000"),
        ("local", "2026-02-28 10:00:00.5+02:00", "2026-02-28 08:00:00.500000+00:00"),
        ("local", "0001-01-02T00:00Z", "0001-01-02 00:00:00+00:00"),
        ("short", "äöü", "äöü"),
        ("fixed", "ä", "ä  "),
        ("short", "", ""),
    ],
)
def test_a_value_is_typed_by_its_column(name: str, text: str | None, read: str | None) -> None:
    assert cell_text(SCHEMA, name, text) == read


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("price", "1234.5", "1234.5 is no value of price, which is DECIMAL"),
        ("price", "1.005", "is no value of price"),
        ("price", "NaN", "is no value of price"),
        ("price", "", '"" is no value of price'),
        ("tiny", "128", "is no value of tiny"),
        ("tiny", "1_0", "is no value of tiny"),
        ("on", "yes", "is no value of on"),
        ("day", "2026-02-30", "is no value of day"),
        ("at", "2026-02-28 10:00:00.1255", "is no value of at"),
        ("at", "2026-02-28 10:00:00+02:00", "is no value of at"),
        ("short", "abcd", "is no value of short"),
        ("f", "1e39", "is no value of f"),
        ("nanos", "2026-02-28 10:00:00", "Spark has no nanoseconds"),
        ("local", "2026-02-28 10:00:00", "2026-02-28 10:00:00 has no zone"),
        ("local", "2026-02-28 10:00:00.1234567Z", "is no value of local"),
        ("bytes", "00", "its text is not exact"),
        ("must", None, "must can't be NULL"),
        ("id", None, "id can't be NULL"),
        ("prise", "1", "The table has no column prise"),
    ],
)
def test_what_is_no_value_of_its_column_is_refused(name: str, text: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        cell_text(SCHEMA, name, text)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"key": {"id": 1}}', "nothing to do"),
        ('{"key": {"id": 1}, "set": {}}', "sets nothing"),
        ('{"key": {"id": 1}, "set": {"id": 2}}', "id is in the key"),
        ('{"key": {"id": 1}, "set": {"price": 1}, "delete": true}', "set and delete"),
        ('{"key": {"id": 1}, "set": {"price": [1]}}', "no value of a cell"),
        ('{"key": {"id": 1}, "sets": {"price": 1}}', "is no edit"),
        ('{"key": {"price": 1}, "delete": true}', "Its key is not of id"),
        ('{"key": {"id": null}, "delete": true}', "id can't be NULL"),
        ('{"key": {"id": 1}, "add": {"price": 1}}', "A new row needs must"),
        (
            '{"key": {"id": 1}, "delete": true}\n{"key": {"id": "01"}, "delete": true}',
            "Line 2 .* second time",
        ),
        ("\n", "has no edit"),
    ],
)
def test_a_file_with_what_is_no_edit_is_refused(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "edits.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_edits(str(path), SCHEMA)


def test_a_moment_that_is_typed_without_an_offset_is_of_the_zone() -> None:
    assert in_zone("2026-07-01 12:00", "Europe/Berlin") == "2026-07-01 12:00+02:00"
    assert in_zone("2026-10-25 02:30+01:00", "Europe/Berlin") == "2026-10-25 02:30+01:00"
    # What is no moment is refused as a value.
    assert in_zone("soon", "Europe/Berlin") == "soon"
    with pytest.raises(UsageError, match="Europe/Berlin has no 2026-03-29 02:30"):
        in_zone("2026-03-29 02:30", "Europe/Berlin")
    with pytest.raises(UsageError, match="has 2026-10-25 02:30 twice") as twice:
        in_zone("2026-10-25 02:30", "Europe/Berlin")
    assert twice.value.hint == "Write +02:00 or +01:00 behind it."
