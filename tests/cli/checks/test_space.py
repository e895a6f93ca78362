"""`paimark space`: the rows of the report, for people and for programs, and how they add up."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec
import pyarrow as pa

import paimark as api
from tests.cli.command import Paimark
from tests.paimon import commit, create_table

TABLE = "shop.orders"


def test_the_command_says_what_the_console_and_the_api_say(paimark: Paimark, warehouse: Path) -> None:
    table = api.open(warehouse).table(TABLE)
    table.create_savepoint()
    report = table.space()
    ran = paimark("space", TABLE, "--warehouse", warehouse, "--output", "json")
    assert ran.code == 0 and ran.rows == list(msgspec.to_builtins(report.rows))
    assert " alone + " in ran.err and " shared + " in ran.err
    buckets = paimark("space", TABLE, "--buckets", "--warehouse", warehouse, "--output", "json")
    assert buckets.rows == list(msgspec.to_builtins(report.buckets))
    assert "2 buckets: 10 small files (under 94.0 MB), 10 of level 0" in buckets.err
    shown = paimark("space", TABLE, "--warehouse", warehouse).out
    assert "main, older snapshots" in shown and " kB " in shown
    assert paimark("space", TABLE, "--buckets", "--branch", "nope", "--warehouse", warehouse).code == 1


def test_partitions_are_told_by_their_values(paimark: Paimark, tmp_path: Path) -> None:
    """One directory holds those of a null, '' and blanks."""
    schema = pa.schema([("day", pa.date32()), ("t", pa.string())])
    create_table(tmp_path, "shop.days", schema, partition_keys=["day", "t"])
    day = date(2026, 5, 27)
    commit(tmp_path, "shop.days", pa.table({"day": [day] * 3, "t": [None, "", "  "]}, schema=schema))
    listed = paimark("space", "shop.days", "--buckets", "--warehouse", tmp_path, "--output", "json").rows
    assert sorted(each["partition"] for each in listed) == [
        "day=2026-05-27/t=",
        "day=2026-05-27/t=  ",
        "day=2026-05-27/t=null",
    ]
