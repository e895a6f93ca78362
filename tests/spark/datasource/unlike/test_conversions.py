"""Older values that Python would convert otherwise than stock Paimon are refused by their column's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimark.core.errors import Refused
from tests.interop.judge import Judge
from tests.spark.datasource.unlike.test_far_times import NEAR, rows, scan_of

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("kind", "new", "given", "value"),
    [
        ("TIMESTAMP(6)", "TIMESTAMP(9)", NEAR, NEAR),
        ("TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(9)", NEAR, NEAR),
        ("DATE", "TIMESTAMP(9)", NEAR // DAY, NEAR),
        ("STRING", "TIMESTAMP(6)", "1970-01-02", DAY),
        ("STRING", "INT", "-12", -12),
        ("STRING", "DOUBLE", "1.5e2", 150.0),
        ("DECIMAL(6, 2)", "DOUBLE", "0.07", 0.07),
    ],
)
def test_what_is_converted_otherwise_is_refused(
    tmp_path: Path, judge: Judge, kind: str, new: str, given: Any, value: Any
) -> None:
    judge.create(tmp_path, "d.t", {"k": "INT", "c": kind}, options={"bucket": "-1"})
    judge.put(tmp_path, "d.t", [("+I", [1, given]), ("+I", [2, None])])
    judge.alter_types(tmp_path, "d.t", {"c": new})
    assert judge.rows(tmp_path, "d.t", columns=["c"]) == [[value], [None]]
    with pytest.raises(Refused, match=r"Column c of d\.t was ") as refused:
        rows(scan_of(tmp_path, "c"))
    assert "paimark jars fetch paimon" in refused.value.hint
    assert [row["k"] for row in rows(scan_of(tmp_path, "k"))] == [1, 2]
