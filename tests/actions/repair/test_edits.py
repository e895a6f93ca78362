"""A file of edited rows: each value typed by its column, NULL told from an empty text, all else refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.repair.edits import cell_text, in_zone, read_edits
from paimark.core.errors import UsageError
from paimark.core.table.records import SchemaField, TableSchema
from tests.wording import about

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
        ("price", "1234.5", ("1234.5", "no value", "price", "DECIMAL*")),
        ("price", "1.005", ("no value", "price")),
        ("price", "NaN", ("no value", "price")),
        ("price", "", ('""', "no value", "price")),
        ("tiny", "128", ("no value", "tiny")),
        ("tiny", "1_0", ("no value", "tiny")),
        ("on", "yes", ("no value", "on")),
        ("day", "2026-02-30", ("no value", "day")),
        ("at", "2026-02-28 10:00:00.1255", ("no value", "at")),
        ("at", "2026-02-28 10:00:00+02:00", ("no value", "at")),
        ("short", "abcd", ("no value", "short")),
        ("f", "1e39", ("no value", "f")),
        ("nanos", "2026-02-28 10:00:00", ("Spark", "nanoseconds")),
        ("local", "2026-02-28 10:00:00", ("2026-02-28 10:00:00", "no zone")),
        ("local", "2026-02-28 10:00:00.1234567Z", ("no value", "local")),
        ("bytes", "00", ("text", "not exact")),
        ("must", None, ("must", "NULL")),
        ("id", None, ("id", "NULL")),
        ("prise", "1", ("no column prise",)),
    ],
)
def test_what_is_no_value_of_its_column_is_refused(
    name: str, text: str | None, said: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match=about(*said)):
        cell_text(SCHEMA, name, text)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"key": {"id": 1}}', ("nothing",)),
        ('{"key": {"id": 1}, "set": {}}', ("sets nothing",)),
        ('{"key": {"id": 1}, "set": {"id": 2}}', ("id", "key")),
        ('{"key": {"id": 1}, "set": {"price": 1}, "delete": true}', ("set", "delete")),
        ('{"key": {"id": 1}, "set": {"price": [1]}}', ("no value", "cell")),
        ('{"key": {"id": 1}, "sets": {"price": 1}}', ("no edit",)),
        ('{"key": {"price": 1}, "delete": true}', ("key", "not of id")),
        ('{"key": {"id": null}, "delete": true}', ("id", "NULL")),
        ('{"key": {"id": 1}, "add": {"price": 1}}', ("new row", "must")),
        (
            '{"key": {"id": 1}, "delete": true}\n{"key": {"id": "01"}, "delete": true}',
            ("line 2", "second time"),
        ),
        ("\n", ("no edit",)),
    ],
)
def test_a_file_with_what_is_no_edit_is_refused(tmp_path: Path, line: str, said: tuple[str, ...]) -> None:
    path = tmp_path / "edits.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(UsageError, match=about(*said)):
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
