"""Merging by bits on real files: what survives are the keys that stock Paimon reads, whoever wrote them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimark.core.spark.merging.reading import file_opener
from paimark.core.spark.merging.survive import survivors
from paimark.core.spark.native.state import TableState, table_state
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import find_table
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.long import long_but
from tests.spark.generated_tables import Generated, Target, generate
from tests.spark.generated_tables_values import comparable, plain


@pytest.mark.parametrize("seed", long_but(range(1002, 1010), "1002", "1003"))
def test_the_keys_that_survive_are_those_that_stock_reads(seed: int, tmp_path: Path, judge: Judge) -> None:
    table = Generated(seed, only=("deduplicate", "parquet"))
    try:
        generate(table, tmp_path, judge)
        target = table.targets[0]
        keys = [place for place, each in enumerate(target.columns) if each.role == "key"]
        kinds = [target.columns[place].type for place in keys]
        stock = judge.rows(tmp_path, target.table)
        read = Counter(comparable([row[place] for place in keys], kinds) for row in stock)
        assert _surviving_keys(_state(tmp_path, target), kinds) == read
    except Exception as error:
        error.add_note("\n".join(table.story))
        raise


def _state(warehouse: Path, target: Target) -> TableState:
    files = LocalFiles(str(warehouse))
    lineage = Lineage(files, find_table(files, target.table).root(None))
    schema = lineage.latest_schema()
    assert schema is not None
    return table_state(files, lineage.root, lineage.latest(), schema)


def _surviving_keys(state: TableState, kinds: list[pa.DataType]) -> Counter[str]:
    opener = file_opener({})
    bits = {
        file.path: each
        for group in state.merged
        for file, each in zip(group.files, survivors(group, opener), strict=True)
    }
    found: Counter[str] = Counter()
    for file in state.files:
        # The key comes first in every file.
        rows = pq.ParquetFile(file.address).read().select(range(len(kinds)))
        if file.address in bits:
            rows = rows.filter(pa.array(bits[file.address].truths()))
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            found[comparable([plain(each, kind) for each, kind in zip(row, kinds, strict=True)], kinds)] += 1
    return found
