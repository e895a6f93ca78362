"""Paimark writes rows where stock Paimon writes them and looks them up: partition, bucket, key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from paimark.core.errors import Refused
from tests.interop.judge import Judge
from tests.interop.written import Table, as_judged
from tests.long import long_but

# The last microsecond before the epoch, the era's first and last days, and before the Gregorian calendar.
MOMENTS = [
    datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2026, 5, 1, 12, 34, 56, 789012),
    datetime(1500, 2, 28, 1, 2, 3, 4),
    datetime(9999, 12, 31, 23, 59, 59),
    datetime(1, 1, 1, 0, 0, 0, 1),
]


def moments(digits: int) -> list[datetime]:
    step = 10 ** (6 - digits)
    return [each.replace(microsecond=each.microsecond // step * step) for each in MOMENTS]


def decimals(precision: int, scale: int) -> list[Decimal]:
    most = 10**precision - 1
    return [Decimal(f"{each}e-{scale}") for each in (0, 1, -1, 5 * 10**scale, most, -most, most // 7)]


# The types of keys, with values at each type's limits and around the 8 bytes that a row has for a field.
KEYS: dict[str, list[Any]] = {
    "BOOLEAN": [True, False],
    "TINYINT": [*range(-5, 5), 127, -128],
    "SMALLINT": [*range(-5, 5), 2**15 - 1, -(2**15)],
    "INT": [*range(-5, 5), 2**31 - 1, -(2**31)],
    "BIGINT": [*range(-5, 5), 2**63 - 1, -(2**63)],
    "FLOAT": [0.5, -0.0, 3.25, -7.0, 2.0**40],
    "DOUBLE": [0.5, -0.0, 3.25, -7.0, 1e300, 0.1],
    "DECIMAL(4, 2)": decimals(4, 2),
    "DECIMAL(18, 3)": decimals(18, 3),
    "DECIMAL(19, 3)": decimals(19, 3),
    "DECIMAL(38, 10)": decimals(38, 10),
    "STRING": ["", "a", "1234567", "12345678", "\u00fc" * 9, "x" * 100, "a\nb", " "],
    "VARCHAR(10)": ["", "a", "1234567", "12345678", "\u00fc\u00fc"],
    "CHAR(8)": ["", "a", "1234567", "12345678", "\u00fc\u00fc"],
    "BINARY(4)": [b"", b"\x00\x01", b"abcd"],
    "VARBINARY(20)": [b"", b"1234567", b"12345678", b"x" * 20],
    "DATE": [date(1970, 1, 1), date(1969, 12, 31), date(2026, 5, 1), date(1, 1, 1), date(9999, 12, 31)],
    "TIME(3)": [time(), time(12, 34, 56, 789000), time(23, 59, 59)],
    "TIMESTAMP(0)": moments(0),
    "TIMESTAMP(3)": moments(3),
    "TIMESTAMP(6)": moments(6),
    "TIMESTAMP(0) WITH LOCAL TIME ZONE": moments(0),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": moments(3),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": moments(6),
}
# Stock Paimon's look-up by key fails on bytes, and it has no partition directories for them.
NO_LOOK_UP = ("BINARY(4)", "VARBINARY(20)")
NO_PARTITIONS = (*NO_LOOK_UP, "FLOAT", "DOUBLE")
# The others are similar to these.
OFTEN = (
    *("BOOLEAN", "INT", "BIGINT", "DOUBLE", "DECIMAL(18, 3)", "DECIMAL(38, 10)", "STRING", "VARBINARY(20)"),
    *("DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
)
WIDE = ("DECIMAL(19, 3)", "TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE")
DYNAMIC = {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}


def goes_on(judge: Judge, table: Table, rows: Sequence[Sequence[Any]], *, looks_up: bool = True) -> None:
    """Check that stock Paimon finds the rows, can write and delete by their keys, and can compact."""
    warehouse, name, rows = table.warehouse, table.name, table.stored(rows)
    there = judge.rows(warehouse, name)
    assert sorted(there, key=repr) == as_judged(rows)
    assert judge.misplaced(warehouse, name) == []
    if looks_up:
        assert judge.look_up(warehouse, name, there) == there
    newer = [[*row[:-1], 99] for row in there]
    judge.put(warehouse, name, [("+I", row) for row in newer])
    assert sorted(judge.rows(warehouse, name), key=repr) == sorted(newer, key=repr)
    # Our rows replace those of stock.
    table.write(rows)
    assert sorted(judge.rows(warehouse, name), key=repr) == as_judged(rows)
    judge.compact(warehouse, name)
    assert sorted(judge.rows(warehouse, name), key=repr) == as_judged(rows)
    judge.put(warehouse, name, [("-D", row) for row in newer])
    assert judge.rows(warehouse, name) == []


@pytest.mark.parametrize("kind", long_but(KEYS, *OFTEN))
def test_a_key_of_every_type_goes_to_its_bucket(tmp_path: Path, judge: Judge, kind: str) -> None:
    rows = [(value, index) for index, value in enumerate(KEYS[kind])]
    columns = {"k": kind, "v": "INT"}
    for number, options in enumerate(({"bucket": "5"}, DYNAMIC)):
        table = Table(tmp_path, f"d.t{number}", columns, keys=["k"], options=options)
        table.write(rows)
        goes_on(judge, table, rows, looks_up=kind not in NO_LOOK_UP)


@pytest.mark.parametrize("kind", long_but([kind for kind in KEYS if kind not in NO_PARTITIONS], *OFTEN))
def test_a_partition_of_every_type_is_in_its_directory(tmp_path: Path, judge: Judge, kind: str) -> None:
    rows = [(value, index, index) for index, value in enumerate(KEYS[kind])]
    columns = {"p": kind, "k": "INT", "v": "INT"}
    for legacy in ("true", "false"):
        options = {"bucket": "2", "partition.legacy-name": legacy}
        name = f"d.{legacy}"
        table = Table(tmp_path, name, columns, keys=["p", "k"], partition_keys=["p"], options=options)
        if legacy == "false" and kind.endswith("TIME ZONE"):
            # They follow the zone of their writer.
            with pytest.raises(Refused, match="would look for in another directory"):
                table.write(rows)
            continue
        table.write(rows)
        if legacy == "true":
            goes_on(judge, table, rows)
        else:
            judge.compact(tmp_path, name)
            assert sorted(judge.rows(tmp_path, name), key=repr) == as_judged(table.stored(rows))
            assert judge.misplaced(tmp_path, name) == []


@pytest.mark.parametrize("kind", long_but(KEYS, *OFTEN))
def test_rows_without_a_key_go_to_their_bucket_and_partition_also_by_null(
    tmp_path: Path, judge: Judge, kind: str
) -> None:
    is_wide, is_path = kind in WIDE or kind == "DECIMAL(38, 10)", kind not in NO_PARTITIONS
    rows = [(value, index) for index, value in enumerate([*KEYS[kind], *([] if is_wide else [None])])]
    columns = {"k": kind, "v": "INT"}
    hashed = Table(tmp_path, "d.hashed", columns, options={"bucket": "5", "bucket-key": "k"})
    tables = [hashed, *([Table(tmp_path, "d.parted", columns, partition_keys=["k"])] if is_path else [])]
    for table in tables:
        table.write(rows)
        assert sorted(judge.rows(tmp_path, table.name), key=repr) == as_judged(table.stored(rows))
        assert judge.misplaced(tmp_path, table.name) == []
        if is_wide:
            there = table.files()
            with pytest.raises(Refused, match="Column k is null in a row"):
                table.write([(None, 1)])
            assert table.files() == there
        judge.compact(tmp_path, table.name)
        assert sorted(judge.rows(tmp_path, table.name), key=repr) == as_judged(rows)


COMPOSITE = {
    "a": "STRING",
    "b": "DECIMAL(20, 2)",
    "c": "TIMESTAMP(6)",
    "d": "INT",
    "e": "DECIMAL(8, 3)",
    "f": "CHAR(5)",
    "v": "INT",
}
COMPOSITE_ROWS = [
    (
        "x" * number,
        Decimal(f"{(number - 4) * 10**16}.25"),
        MOMENTS[number % len(MOMENTS)],
        number - 7,
        Decimal(f"{number}.125"),
        "f" * (number % 6),
        number,
    )
    for number in range(16)
]


@pytest.mark.parametrize(
    ("keys", "partition_keys", "options"),
    [
        ("abcdef", "", {"bucket": "1"}),
        ("abcdef", "", {"bucket": "5", "bucket-key": "c,a"}),
        ("fcaebd", "", {"bucket": "7"}),
        ("fcaebd", "", DYNAMIC),
        ("fcad", "df", {"bucket": "7"}),
        ("dfca", "fd", {"bucket": "5", "bucket-key": "c,a"}),
        ("dfca", "fd", DYNAMIC),
    ],
)
def test_keys_of_several_columns(
    tmp_path: Path, judge: Judge, keys: str, partition_keys: str, options: Mapping[str, str]
) -> None:
    table = Table(tmp_path, "d.t", COMPOSITE, keys=[*keys], partition_keys=[*partition_keys], options=options)
    table.write(COMPOSITE_ROWS)
    goes_on(judge, table, COMPOSITE_ROWS)


def test_partitions_of_odd_names(tmp_path: Path, judge: Judge) -> None:
    odd = ["", " ", "a b", "a=b", "%", "\u00fc", ".", "..", "a:b", "a\nb", "a'\"", "*", "{}", "null"]
    rows = [(value, index, index) for index, value in enumerate(odd)]
    columns = {"p": "STRING", "k": "INT", "v": "INT"}
    table = Table(tmp_path, "d.t", columns, keys=["p", "k"], partition_keys=["p"], options={"bucket": "2"})
    table.write(rows)
    goes_on(judge, table, rows)


def test_rows_for_partitions_with_another_number_of_buckets_are_refused(tmp_path: Path, judge: Judge) -> None:
    columns = {"p": "INT", "k": "INT", "v": "INT"}
    rows = [(p, k, k) for p in (1, 2) for k in range(8)]
    table = Table(tmp_path, "d.t", columns, keys=["p", "k"], partition_keys=["p"], options={"bucket": "2"})
    table.write(rows)
    schema = table.directory / "schema" / "schema-0"
    text = schema.read_text()
    assert '"bucket": "2"' in text
    rescaled = text.replace('"bucket": "2"', '"bucket": "3"').replace('"id": 0,', '"id": 1,', 1)
    schema.with_name("schema-1").write_text(rescaled)
    there = table.files()
    with pytest.raises(Refused, match=r"d\.t with 2 buckets, and it has 3 now"):
        table.write([(1, 9, 9), (3, 1, 1)])
    assert table.files() == there
    table.write([(3, k, k) for k in range(8)])
    table.write([(p, k, k + 1) for p in (1, 2, 3) for k in range(8)], overwrite=True)
    goes_on(judge, table, [(p, k, k + 1) for p in (1, 2, 3) for k in range(8)])
