"""The table of the warm-up: `python -m tests.spark.engine.warm_up_table` packs it for the engine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa

from paimark.core.spark.engine import warm_up
from tests.paimon import commit, create_table

NAME = "warm_up.keyed"
STEPS = (1, 2)
_ROWS = 64
_COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("price", pa.float64()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us")),
    ]
)


def rows_of(step: int) -> pa.Table:
    """The rows of a commit: those of all steps have keys in common."""
    ids = range(0, _ROWS, step)
    columns: dict[str, list[Any]] = {
        "id": list(ids),
        "name": [f"n{each % 5}" for each in ids],
        "price": [each * step / 4 for each in ids],
        "day": [20_000 + each for each in ids],
        "at": [each * 1_000_000 for each in ids],
    }
    return pa.table(columns, schema=_COLUMNS)


def write(warehouse: Path) -> None:
    create_table(warehouse, NAME, _COLUMNS, primary_keys=["id"], options={"bucket": "1"})
    for step in STEPS:
        commit(warehouse, NAME, rows_of(step))


def _files(below: Path) -> Iterator[Path]:
    return (path for path in sorted(below.rglob("*")) if path.is_file())


def main() -> None:
    archive = Path(warm_up.__file__).with_suffix(".zip")
    with tempfile.TemporaryDirectory() as place, ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        write(Path(place))
        for path in _files(Path(place)):
            packed.write(path, path.relative_to(place))


if __name__ == "__main__":
    main()
