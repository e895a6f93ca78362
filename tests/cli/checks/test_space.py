"""`paimark space`: the rows of the report, for people and for programs, and how they add up."""

from __future__ import annotations

from pathlib import Path

import msgspec

import paimark as api
from tests.cli.command import Paimark

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
    assert paimark("space", TABLE, "--branch", "nope", "--warehouse", warehouse).code == 1
