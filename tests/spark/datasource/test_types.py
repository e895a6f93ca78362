"""Every type that pypaimon writes comes back from Spark as it was, hostile text included."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from paimark.core.spark.client.client import Engine
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, in_zone, rows

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("tiny", pa.int8()),
        ("small", pa.int16()),
        ("medium", pa.int32()),
        ("flag", pa.bool_()),
        ("real", pa.float32()),
        ("double", pa.float64()),
        ("money", pa.decimal128(20, 4)),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("day", pa.date32()),
        ("seconds", pa.timestamp("s")),
        ("millis", pa.timestamp("ms")),
        ("micros", pa.timestamp("us")),
        ("moment", pa.timestamp("ms", tz="UTC")),
        ("numbers", pa.list_(pa.int32())),
        ("times", pa.list_(pa.timestamp("ms"))),
        ("weights", pa.map_(pa.string(), pa.float64())),
        ("place", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
    ]
)
OLD = dt.datetime(1912, 6, 23, 1, 2, 3, 456000)
ROWS = [
    {
        "id": 1,
        "tiny": -128,
        "small": 32767,
        "medium": -(2**31),
        "flag": True,
        "real": 1.5,
        "double": -0.1,
        "money": Decimal("-1234567890123456.7891"),
        "text": "v1[red]\x1b]52;c;AAAA\x07\r\n\u202eabc \N{GRINNING FACE} '; DROP TABLE `x`",
        "bytes": b"\x00\xff\x80",
        "day": dt.date(1900, 2, 28),
        "seconds": OLD.replace(microsecond=0),
        "millis": OLD,
        "micros": OLD.replace(microsecond=456789),
        "moment": dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC),
        "numbers": [1, None, 3],
        "times": [OLD, None],
        "weights": [("a", 1.0), ("b", None)],
        "place": {"city": "Łódź", "zip": None},
    },
    {"id": 2, **dict.fromkeys(SCHEMA.names[1:])},
    {
        "id": 3,
        **dict.fromkeys(SCHEMA.names[1:]),
        "text": "",
        "bytes": b"",
        "numbers": [],
        "weights": [],
        "double": float("inf"),
        "day": dt.date(9999, 12, 31),
    },
]


def test_all_types_come_back_as_written(engine: Engine, engine_warehouse: Path) -> None:
    create_table(engine_warehouse, "types.everything", SCHEMA)
    commit(engine_warehouse, "types.everything", pa.Table.from_pylist(ROWS, schema=SCHEMA))
    answer = ask(engine, "SELECT * FROM types.everything ORDER BY id")
    assert answer.rows == ROWS
    assert dict(zip(answer.columns.names, answer.columns.types, strict=True)) == {
        "id": "bigint",
        "tiny": "tinyint",
        "small": "smallint",
        "medium": "int",
        "flag": "boolean",
        "real": "float",
        "double": "double",
        "money": "decimal(20,4)",
        "text": "string",
        "bytes": "binary",
        "day": "date",
        "seconds": "timestamp_ntz",
        "millis": "timestamp_ntz",
        "micros": "timestamp_ntz",
        "moment": "timestamp",
        "numbers": "array<int>",
        "times": "array<timestamp_ntz>",
        "weights": "map<string,double>",
        "place": "struct<city:string,zip:int>",
    }


def test_columns_read_alone_are_the_same(engine: Engine, engine_warehouse: Path) -> None:
    """A column that a statement does not need is not read; those it needs must not change with that."""
    create_table(engine_warehouse, "types.alone", SCHEMA)
    commit(engine_warehouse, "types.alone", pa.Table.from_pylist(ROWS, schema=SCHEMA))
    for name in ("money", "place", "times"):
        found = rows(engine, f"SELECT {name} FROM types.alone WHERE id <> 2 ORDER BY id")
        assert found == [{name: row[name]} for row in ROWS if row["id"] != 2]
    assert rows(engine, "SELECT count(*) AS n FROM types.alone") == [{"n": 3}]
    assert rows(engine, "SELECT 7 AS seven FROM types.alone") == [{"seven": 7}] * 3


def test_results_of_types_without_arrow_come_as_text(engine: Engine) -> None:
    values = "INTERVAL 14 MONTHS AS m, parse_json('{\"a\": [1]}') AS v, TIME'10:11:12' AS t, 1 AS x, 2 AS x"
    answer = ask(engine, f"SELECT {values}")
    assert answer.columns.names == ("m", "v", "t", "x", "x")
    assert answer.columns.types[:2] == ("string", "string")
    assert answer.rows[0]["v"] == '{"a":[1]}'
    assert "14" in answer.rows[0]["m"] and answer.rows[0]["t"] == dt.time(10, 11, 12)


def test_a_limit_holds_for_types_without_arrow(engine: Engine) -> None:
    answer = ask(engine, "SELECT INTERVAL 14 MONTHS AS m, id FROM range(10) LIMIT 3")
    assert [row["id"] for row in answer.rows] == [0, 1, 2]


def test_moments_are_shown_in_the_zone_asked_for(engine: Engine) -> None:
    sql = "SELECT TIMESTAMP'2026-07-01 12:00:00+00:00' AS at, hour(TIMESTAMP'2026-07-01 12:00:00Z') AS hour"
    with in_zone(engine, "Asia/Tokyo"):
        (found,) = rows(engine, sql)
    assert found["at"].isoformat() == "2026-07-01T21:00:00+09:00"
    assert found["hour"] == 21
    with in_zone(engine, "America/New_York"):
        (again,) = rows(engine, sql)
    assert again["hour"] == 8
