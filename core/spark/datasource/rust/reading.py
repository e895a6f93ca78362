"""Read the rows of splits: by pypaimon-rust if it may read them, otherwise by pypaimon in Python.

pypaimon-rust starts threads, so it is imported only where rows are read, never in a process that forks
others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from pypaimon.common.json_util import JSON
from pypaimon.read.split_serializer import serialize_split_v1

from paimark.core.errors import Unavailable
from paimark.core.spark.datasource.rust.choice import Choice
from paimark.core.spark.datasource.rust.judgement import rust_options

Batches = Iterator[pa.RecordBatch]
ByPython = Callable[[list[Any]], Batches]
# The same number as pypaimon's batches.
_BATCH_ROWS = 8192
_LOG = logging.getLogger("paimark")


class SplitReader:
    """Reads splits of `table`, which is pypaimon's, in these columns; `condition` is pypaimon's predicate."""

    def __init__(self, table: Any, columns: Sequence[str], condition: Any, by_python: ByPython) -> None:
        self._table = table
        self._columns = columns
        self._condition = condition
        self._by_python = by_python
        self._read: Any = None

    def batches(self, choice: Choice, splits: Iterable[Any]) -> Batches:
        """Yield the rows in the order of the splits."""
        for reason, group in groupby(splits, choice.why_python):
            if reason:
                yield from self._by_python(list(group))
            else:
                for split in group:
                    yield from self._one(choice, split)

    def _one(self, choice: Choice, split: Any) -> Batches:
        """Read one split; by Python if pypaimon-rust fails before its first rows."""
        has_rows = False
        try:
            for batch in self._by_rust(choice, split):
                has_rows = True
                yield batch
        except (ValueError, NotImplementedError, RuntimeError) as error:
            if has_rows:
                self._fail(split, error)
            _LOG.warning("pypaimon-rust leaves a split to Python: %s", error)
        else:
            return
        yield from self._by_python([split])

    def _fail(self, split: Any, error: Exception) -> None:
        """Fail after some rows were returned: Python can't continue, because it has another order of rows.

        Raises Python's error if it fails too, else `Unavailable`.
        """
        for _ in self._by_python([split]):
            pass
        raise Unavailable(
            f"pypaimon-rust stopped in the midst of a file: {error}",
            "Python reads it: SET spark.paimark.scan = pypaimon.",
        ) from error

    def _by_rust(self, choice: Choice, split: Any) -> Batches:
        from pypaimon_rust.datafusion import Split

        if self._read is None:
            self._read = self._opened(choice)
        reader = self._read.read_arrow([Split.deserialize(serialize_split_v1(split))])
        try:
            yield from _joined(reader)
        finally:
            reader.close()

    def _opened(self, choice: Choice) -> Any:
        from pypaimon_rust.datafusion import Table

        table, schema = self._table, self._table.table_schema
        opened = Table.from_resolved_schema(
            table.table_path,
            JSON.to_json(schema.copy(new_options=rust_options(schema.options))),
            database=table.identifier.get_database_name(),
            table=table.identifier.get_table_name(),
            branch=table.current_branch(),
            options=dict(choice.store_options),
        )
        builder = opened.new_read_builder().with_projection(list(self._columns))
        if self._condition is not None:
            builder = builder.with_filter(_words(self._condition))
        return builder.new_read()


def _joined(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Join batches: merged rows come in small ones, and each costs a message to Spark. No batch is empty."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= _BATCH_ROWS:
            yield pa.concat_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.concat_batches(waiting)


def _words(condition: Any) -> dict[str, Any]:
    """Convert a predicate of pypaimon's to pypaimon-rust's form."""
    if condition.method == "and":
        return {"method": "and", "children": [_words(each) for each in condition.literals]}
    return {"method": condition.method, "field": condition.field, "literals": list(condition.literals or ())}
