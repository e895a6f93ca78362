"""Open data files for pyarrow, at the addresses that Spark uses, and read the columns that merging needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Corrupt, FileMissing
from paimark.core.figures import counted
from paimark.core.spark.merging.model import RETRACTING, MergeFile, MergeRules
from paimark.core.spark.sort_keys import SortKey
from paimark.core.table.definition.column_types import KEY_PREFIX

_SEQUENCE = "_SEQUENCE_NUMBER"
_KIND = "_VALUE_KIND"
# Takes a file's address, and returns a source for pyarrow.
OpenFile = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class KeyRows:
    """The columns of a file's rows that merging needs.

    `fields` are the columns of `sequence.field`, None for one that the file lacks; `numbers` are the rows'
    sequence numbers, if requested; `retracts` tells which rows remove their key, None if no row does.
    """

    key: list[pa.ChunkedArray]
    fields: list[pa.ChunkedArray | None]
    numbers: SortKey | None
    retracts: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class Kinds:
    """`KeyRows.retracts`, and `KeyRows.numbers` for a file without row indexes."""

    retracts: NDArray[np.bool_] | None
    numbers: SortKey | None


def read_rows(
    file: MergeFile, rules: MergeRules, open_file: OpenFile, *, with_numbers: bool, first: int | None = None
) -> KeyRows:
    """Read all rows, or the `first` ones. Raises `Corrupt` for a file that differs from its manifest."""
    check_cancelled()
    with _opened(file, open_file) as opened:
        return _key_rows(opened, file, rules, with_numbers, lambda names: opened.read(names, first))


def row_blocks(
    file: MergeFile, rules: MergeRules, open_file: OpenFile, most_rows: int, *, with_numbers: bool
) -> Iterator[KeyRows]:
    """Read all rows of a Parquet file, some at a time. Raises as `read_rows`."""
    with _opened(file, open_file) as opened:
        assert isinstance(opened, _ParquetReader)
        there = opened

        def blocks(names: list[str]) -> Iterator[pa.Table]:
            return there.blocks(names, most_rows)

        yield from _key_blocks(opened, file, rules, with_numbers, blocks)


@dataclass(frozen=True, slots=True)
class RowGroups:
    """An open file by row groups. `bounds` are those of the first key column in statistics."""

    rows: Sequence[int]
    bounds: Sequence[tuple[Any, Any] | None]
    read: Callable[[int], KeyRows]


@contextmanager
def row_groups(
    file: MergeFile, rules: MergeRules, open_file: OpenFile, *, with_numbers: bool
) -> Iterator[RowGroups]:
    """Open a file by row groups. Raises as `read_rows`, also in `RowGroups.read`."""
    check_cancelled()
    with _opened(file, open_file) as opened:
        assert isinstance(opened, _ParquetReader)
        grouped = opened

        def read(group: int) -> KeyRows:
            check_cancelled()
            return _key_rows(grouped, file, rules, with_numbers, lambda names: grouped.group(names, group))

        first = _key_names(opened, file, rules)[0]
        yield RowGroups(grouped.group_rows, grouped.bounds(first), read)


def _key_names(opened: _Opened, file: MergeFile, rules: MergeRules) -> list[str]:
    """The names of the key columns. A file written thin has no extra key columns, only the row's own."""
    there = set(opened.names)
    names = rules.columns[file.schema_id].key
    return [name if name in there else name.removeprefix(KEY_PREFIX) for name in names]


def _key_rows(
    opened: _Opened,
    file: MergeFile,
    rules: MergeRules,
    with_numbers: bool,
    read: Callable[[list[str]], pa.Table],
) -> KeyRows:
    (rows,) = _key_blocks(opened, file, rules, with_numbers, lambda names: iter([read(names)]))
    return rows


def _key_blocks(
    opened: _Opened,
    file: MergeFile,
    rules: MergeRules,
    with_numbers: bool,
    read: Callable[[list[str]], Iterator[pa.Table]],
) -> Iterator[KeyRows]:
    key = _key_names(opened, file, rules)
    there = set(opened.names)
    fields = [name if name in there else None for name in rules.columns[file.schema_id].sequence]
    numbers = [_SEQUENCE] if with_numbers else []
    kinds = [_KIND] if rules.may_retract(file) and opened.may_retract() else []
    wanted = [*key, *(name for name in fields if name is not None), *numbers, *kinds]
    for table in read(list(dict.fromkeys(wanted))):
        yield KeyRows(
            key=[table.column(name) for name in key],
            fields=[None if name is None else table.column(name) for name in fields],
            numbers=_numbers(table) if numbers else None,
            retracts=_retracting(table) if kinds else None,
        )


def read_kinds(file: MergeFile, rules: MergeRules, open_file: OpenFile) -> Kinds:
    """Read the kinds of a file's rows. Raises as `read_rows`."""
    check_cancelled()
    with _opened(file, open_file) as opened:
        kinds = [_KIND] if rules.may_retract(file) and opened.may_retract() else []
        numbers = [] if file.has_row_numbers else [_SEQUENCE]
        table = opened.read([*kinds, *numbers])
        return Kinds(_retracting(table) if kinds else None, _numbers(table) if numbers else None)


def exact_bounds(statistics: Any) -> tuple[Any, Any] | None:
    """The minimum and maximum of a row group's column, from its footer; None if unknown.

    pyarrow gives none for a decimal that is stored as an integer, or a time outside Python's range.
    """
    try:
        is_told = statistics is not None and statistics.has_min_max
        return (statistics.min, statistics.max) if is_told else None
    except (pa.ArrowNotImplementedError, ValueError, OverflowError):
        return None


class _ParquetReader:
    def __init__(self, source: Any) -> None:
        # In microseconds no timestamp of the old 96-bit form overflows.
        self._file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
        self.rows: int = self._file.metadata.num_rows
        self.names: Sequence[str] = self._file.schema_arrow.names

    def read(self, columns: list[str], first: int | None = None) -> pa.Table:
        if first is None:
            return self._file.read(columns=columns)
        batches = list(islice(self._file.iter_batches(first, columns=columns), 1))
        # A batch ends with its row group.
        return pa.Table.from_batches(batches) if batches else self._file.read(columns=columns)

    def blocks(self, columns: list[str], most_rows: int) -> Iterator[pa.Table]:
        for batch in self._file.iter_batches(most_rows, columns=columns):
            check_cancelled()
            yield pa.Table.from_batches([batch])

    def group(self, columns: list[str], number: int) -> pa.Table:
        return self._file.read_row_group(number, columns=columns)

    @property
    def group_rows(self) -> list[int]:
        metadata = self._file.metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def bounds(self, column: str) -> list[tuple[Any, Any] | None]:
        """The minimum and maximum of each row group; None if its statistics don't give them."""
        metadata, index = self._file.metadata, self._column_index(column)
        ranges: list[tuple[Any, Any] | None] = []
        for group in range(metadata.num_row_groups):
            statistics = metadata.row_group(group).column(index).statistics
            bounds = exact_bounds(statistics)
            ranges.append(None if bounds is None or statistics.null_count else bounds)
        return ranges

    def _column_index(self, column: str) -> int:
        metadata = self._file.metadata
        return [metadata.schema.column(i).path for i in range(metadata.num_columns)].index(column)

    def may_retract(self) -> bool:
        metadata = self._file.metadata
        index = self._column_index(_KIND)
        for group in range(metadata.num_row_groups):
            if exact_bounds(metadata.row_group(group).column(index).statistics) != (0, 0):
                return True
        return False


class _Orc:
    def __init__(self, source: Any) -> None:
        from pyarrow import orc

        self._file = orc.ORCFile(source)
        self.rows: int = self._file.nrows
        self.names: Sequence[str] = self._file.schema.names

    def read(self, columns: list[str], first: int | None = None) -> pa.Table:
        return self._file.read(columns=columns).slice(0, first)

    def may_retract(self) -> bool:
        # pyarrow doesn't expose the statistics of ORC files.
        return True


_Opened = _ParquetReader | _Orc
_READERS: dict[str, Callable[[Any], _Opened]] = {"parquet": _ParquetReader, "orc": _Orc}


@contextmanager
def _opened(file: MergeFile, open_file: OpenFile) -> Iterator[_Opened]:
    with open_file(file.path) as source:
        try:
            opened: _Opened = _READERS[file.format](source)
            if opened.rows != file.row_count:
                raise Corrupt(
                    f"{file.path} has {counted(opened.rows, 'row')}; its manifest says {file.row_count:,}"
                )
            yield opened
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
            raise Corrupt(f"{file.path} can't be read ({error})") from error


def _numbers(table: pa.Table) -> SortKey:
    return np.asarray(table.column(_SEQUENCE).cast(pa.int64()))


def _retracting(table: pa.Table) -> NDArray[np.bool_] | None:
    retracts = np.isin(np.asarray(table.column(_KIND).cast(pa.int8())), RETRACTING)
    return retracts if retracts.any() else None


def file_opener(options: Mapping[str, str]) -> OpenFile:
    """A function that opens files by address, and raises `FileMissing`; `options` are the catalog's."""
    remote: dict[str, Any] = {}

    def open_file(address: str) -> Any:
        try:
            scheme, is_address, rest = address.partition("://")
            if address.startswith("file:"):
                # Paimon writes such addresses without escapes.
                return pa.memory_map("/" + address.removeprefix("file:").lstrip("/"))
            if not is_address:
                return pa.memory_map(address)
            store = f"{scheme}://{rest.partition('/')[0]}"
            if store not in remote:
                remote[store] = _remote(store, options)
            return remote[store].new_input_stream(address)
        except FileNotFoundError as error:
            raise FileMissing(Path(address).name) from error

    return open_file


def _remote(store: str, options: Mapping[str, str]) -> Any:
    """pypaimon's file system, so that the options mean the same as in all other reads."""
    from paimark.core.spark.datasource.file_io import file_io

    return file_io(store, options)
