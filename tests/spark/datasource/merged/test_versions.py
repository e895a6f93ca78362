"""Versions without an order are left to pypaimon; sums are added one by one, in their type's bounds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from paimark.core.spark.datasource.merged.folding import fold
from paimark.core.spark.datasource.merged.versions import Column, Tied, Versions, find_versions


def versions_of(keys: list[int], numbers: list[int], files: list[int]) -> Versions:
    column = Column(pa.chunked_array([pa.array(keys)]), "BIGINT NOT NULL")
    return find_versions([column], [], pa.chunked_array([numbers]), np.array(files), descending=False)


def test_rows_that_share_keys_are_sorted_by_key_and_age() -> None:
    versions = versions_of([1, 2, 3, 2, 3, 2], [1, 9, 3, 4, 5, 6], [0, 0, 0, 1, 1, 2])
    assert versions.shared.tolist() == [False, True, True, True, True, True]
    # Of the rows that share keys: 2 of number 4, 6 and 9, then 3.
    assert versions.order.tolist() == [2, 4, 0, 1, 3]
    assert (versions.starts.tolist(), versions.sizes.tolist()) == ([0, 3], [3, 2])


@pytest.mark.parametrize(("numbers", "files"), [([5, 5], [0, 1]), ([5, 6], [0, 0])])
def test_versions_of_one_age_or_file_have_no_order(numbers: list[int], files: list[int]) -> None:
    with pytest.raises(Tied):
        versions_of([7, 7], numbers, files)


@pytest.mark.parametrize("keys", [[], [1, 2]])
def test_rows_may_share_no_keys(keys: list[int]) -> None:
    versions = versions_of(keys, list(keys), [0] * len(keys))
    assert not versions.shared.any()
    assert len(versions.order) == len(versions.starts) == 0


@pytest.mark.parametrize(
    ("kind", "values", "total"),
    [
        ("DOUBLE", [0.1, 1e16, -1e16, None], (0.1 + 1e16) - 1e16),
        ("TINYINT", [100, None, 27], 127),
        ("BIGINT", [2**63 - 1, None, -1], 2**63 - 2),
        ("INT", [None, None, None], None),
    ],
)
def test_sums(kind: str, values: list[float | None], total: float | None) -> None:
    assert _sum(kind, values) == [total]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TINYINT", [100, 28, -1]),
        ("INT", [-(2**31), -1, 5]),
        ("BIGINT", [2**63 - 1, 1, -5]),
        ("BIGINT", [-(2**63), -1, 5]),
    ],
)
def test_a_sum_that_its_type_does_not_hold_is_an_error(kind: str, values: list[float | None]) -> None:
    """Also if a later number would bring it back, as in pypaimon."""
    with pytest.raises(ArithmeticError):
        _sum(kind, values)


_ARROW = {"TINYINT": pa.int8(), "INT": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64()}


def _sum(kind: str, values: list[float | None]) -> list[float | None]:
    count = len(values)
    versions = versions_of([1] * count, list(range(count)), list(range(count)))
    column = pa.chunked_array([pa.array(values, _ARROW[kind])])
    total: list[float | None] = fold(column, kind, "sum", versions).to_pylist()
    return total
