"""Older values come out as stock Paimon converts them, or are refused by their column's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimark.core.errors import Refused
from tests.interop.judge import Judge, JudgeError
from tests.interop.written import as_judged
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


@pytest.mark.parametrize(
    ("kind", "new", "taken", "value", "strange"),
    [
        ("STRING", "INT", "-12", -12, "0x10"),
        ("STRING", "BIGINT", "12", 12, "0X10"),
        ("STRING", "DOUBLE", "Infinity", "Infinity", "-inf"),
        ("STRING", "FLOAT", "1.5e2", 150.0, "nan"),
        ("STRING", "TIMESTAMP(6)", "1970-01-02", DAY, "1970-01-02T00:00:00"),
        ("STRING", "TIMESTAMP(3)", "1970-01-01 00:00:01.5", 1_500_000, "1970-01-01 00:00"),
    ],
)
def test_texts_that_stock_does_not_read_are_refused(
    tmp_path: Path, judge: Judge, kind: str, new: str, taken: str, value: Any, strange: str
) -> None:
    judge.create(tmp_path, "d.t", {"a": kind, "b": kind}, options={"bucket": "-1"})
    judge.put(tmp_path, "d.t", [("+I", [taken, strange]), ("+I", [None, None])])
    judge.alter_types(tmp_path, "d.t", {"a": new, "b": new})
    assert judge.rows(tmp_path, "d.t", columns=["a"]) == [[value], [None]]
    assert as_judged([[row["a"]] for row in rows(scan_of(tmp_path, "a"))]) == as_judged([[value], [None]])
    with pytest.raises(JudgeError):
        judge.rows(tmp_path, "d.t", columns=["b"])
    with pytest.raises(Refused, match="b, once STRING"):
        rows(scan_of(tmp_path, "b"))


@pytest.mark.parametrize("value", ["127.99", "-9999.99", "0.07", None])
def test_decimals_become_the_nearest_number(tmp_path: Path, judge: Judge, value: str | None) -> None:
    judge.create(tmp_path, "d.t", {"c": "DECIMAL(6, 2)"}, options={"bucket": "-1"})
    judge.put(tmp_path, "d.t", [("+I", [value])])
    judge.alter_types(tmp_path, "d.t", {"c": "DOUBLE"})
    expected = None if value is None else float(value)
    assert judge.rows(tmp_path, "d.t") == [[expected]]
    assert rows(scan_of(tmp_path)) == [{"c": expected}]
