"""Older values that nanoseconds do not hold are refused by their column's name, others are converted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.errors import Refused
from tests.interop.judge import Judge
from tests.spark.datasource.unlike.test_far_times import NEAR, NEVER, OLD, rows, scan_of

DAY = 86_400_000_000
NEAR_DAY, NEVER_DAY = NEAR // DAY, NEVER // DAY


@pytest.mark.parametrize(
    ("kind", "finer", "near", "far"),
    [
        ("TIMESTAMP(6)", "TIMESTAMP(9)", NEAR, NEVER),
        ("TIMESTAMP(3)", "TIMESTAMP(7)", NEAR, OLD),
        ("TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(9)", NEAR, NEVER),
        ("DATE", "TIMESTAMP(9)", NEAR_DAY, NEVER_DAY),
        ("STRING", "TIMESTAMP(9)", "2200-01-01 00:00:00", "9999-12-31 00:00:00"),
        ("STRING", "TIMESTAMP(9)", "2200-01-01 00:00:00", "0001-01-01 00:00:00"),
    ],
)
def test_what_does_not_fit_finer_times_is_refused(
    tmp_path: Path, judge: Judge, kind: str, finer: str, near: Any, far: Any
) -> None:
    columns = {"k": "INT NOT NULL", "near": kind, "far": kind}
    judge.create(tmp_path, "d.t", columns, keys=["k"], options={"bucket": "1"})
    judge.put(tmp_path, "d.t", [("+I", [1, near, far]), ("+I", [2, None, None])])
    judge.alter_types(tmp_path, "d.t", {"near": finer, "far": finer})
    assert judge.rows(tmp_path, "d.t", columns=["near"]) == [[NEAR], [None]]
    found = [str(row["near"])[:19] for row in rows(scan_of(tmp_path, "near"))]
    assert found == ["2200-01-01 00:00:00", "None"]
    with pytest.raises(Refused, match=rf"older files of d\.t does not fit .*far, once {kind[:4]}"):
        rows(scan_of(tmp_path, "far"))
