"""Change a column of each type to each other type: Paimark reads the same values as stock, or refuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paimark.core.errors import PaimarkError
from paimark.core.spark.datasource.paimon import plan_splits, read_splits
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge, JudgeError
from tests.interop.written import as_judged

# The last day that calendars have, often used for "never".
NEVER = 253_402_214_400_000_000
# Values of each type, in the judge's format: the first fits many types, the others are at the limits.
VALUES: dict[str, list[Any]] = {
    "BOOLEAN": [True, False],
    "TINYINT": [12, -128],
    "SMALLINT": [12, -32768, 200],
    "INT": [12, 2147483647, 40000, 0],
    "BIGINT": [12, 2**63 - 1, 4294967308, 1700000000],
    "FLOAT": [12.0, 0.1, 1e10, -2.5],
    "DOUBLE": [12.0, 0.1, 1e300, -2.5, 1e-7],
    "DECIMAL(6, 2)": ["12.00", "9999.99", "-0.25", "2.50", "127.99"],
    "DECIMAL(20, 10)": ["12.0000000000", "0.0000000001", "-1234567890.5000000000"],
    "CHAR(4)": ["12  ", "a   ", "true"],
    "VARCHAR(6)": ["12", "", "abcdef", "false", "12.5"],
    "STRING": [
        "12",
        "",
        " 7 ",
        "1e3",
        "abcdefgh",
        "2026-05-01",
        "2026-05-01 12:34:56.789",
        "t",
        "99999999999",
        "0x10",
        "-inf",
        "2026-05-01T00:00:00",
        "2026-05-01 12:34",
        "9999-12-31",
    ],
    "BINARY(3)": ["313200", "616263"],
    "VARBINARY(6)": ["3132", "", "616263646566"],
    "BYTES": ["3132", "", "61626364656667"],
    "DATE": [12, -1, 20574, 2932896],
    "TIME(3)": [45296000, 0],
    "TIMESTAMP(0)": [1777638896000000, 0],
    "TIMESTAMP(2)": [1777638896780000, 0],
    "TIMESTAMP(3)": [1777638896789000, -1000, 1777638896000000, 1777638896500000],
    "TIMESTAMP(6)": [1777638896789123, -1, 1777638896000000, 1777638896500000, NEVER],
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": [1777638896789000, -1000],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [1777638896789123, -1, NEVER],
}


@pytest.mark.parametrize("old", VALUES)
def test_a_value_of_each_type_as_every_other(tmp_path: Path, judge: Judge, old: str) -> None:
    assert differing(tmp_path, judge, old, VALUES[old][:1]) == []


@pytest.mark.parametrize(
    ("file_format", "old", "first"),
    [("orc", "CHAR(4)", 0), ("orc", "TIMESTAMP(3)", 0), ("avro", "STRING", 6)],
)
def test_a_value_of_another_format(
    tmp_path: Path, judge: Judge, file_format: str, old: str, first: int
) -> None:
    assert differing(tmp_path, judge, old, VALUES[old][first : first + 1], file_format) == []


@pytest.mark.long
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("old", VALUES)
def test_values_at_the_edges_of_each_type_as_every_other(
    tmp_path: Path, judge: Judge, old: str, file_format: str
) -> None:
    assert differing(tmp_path, judge, old, VALUES[old], file_format) == []


def differing(
    warehouse: Path, judge: Judge, old: str, values: Sequence[Any], file_format: str = "parquet"
) -> list[str]:
    """The differences from stock Paimon, one line each. Each value has a column for each new type."""
    columns = {
        f"c{index}_{number}": (value, new)
        for index, value in enumerate(values)
        for number, new in enumerate(VALUES)
        if new != old
    }
    judge.create(warehouse, "d.t", dict.fromkeys(columns, old), options={"file.format": file_format})
    judge.put(warehouse, "d.t", [("+I", [value for value, _ in columns.values()])])
    changed = judge.alter_types(warehouse, "d.t", {name: new for name, (_, new) in columns.items()})
    assert changed
    found = []
    for name in changed:
        try:
            theirs: Any = judge.rows(warehouse, "d.t", columns=[name])
        except JudgeError:
            theirs = None
        try:
            ours: Any = as_judged([[value] for value in read(warehouse, name)])
        except PaimarkError as error:
            assert name in error.message, error.message
            continue
        if ours != theirs:
            value, new = columns[name]
            found.append(f"{old} {value!r} as {new}: stock {theirs}, ours {ours}")
    return found


def read(warehouse: Path, column: str) -> Iterator[Any]:
    """The values of one column as Python reads them."""
    scan = scan_of(warehouse, column)
    for batch in read_splits(scan, plan_splits(scan)):
        yield from batch.column(column).to_pylist()


def scan_of(warehouse: Path, column: str) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    access = WarehouseAccess(files, str(warehouse), {})
    scan = make_scan(access, root, Lineage(files, root).latest(), pinned=False)
    return msgspec.structs.replace(scan, columns=(column,))
