"""Splits that cost as much make tasks of one size, whoever reads them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from paimark.core.spark.datasource.reader import grouped

MIB = 1 << 20


def split(size: int, *, is_raw: bool) -> Any:
    return SimpleNamespace(files=[SimpleNamespace(file_size=size)], raw_convertible=is_raw)


def test_what_is_merged_in_python_gets_more_tasks() -> None:
    whole = [split(4 * MIB, is_raw=True) for _ in range(16)]
    merged = [split(4 * MIB, is_raw=False) for _ in range(16)]
    assert [len(group) for group in grouped(whole)] == [8, 8]
    assert [len(group) for group in grouped(merged)] == [1] * 16
    assert [len(group) for group in grouped(merged, [False] * 16)] == [2] * 8
    assert [len(group) for group in grouped(merged, [True, *[False] * 15])] == [1, *[2] * 7, 1]
