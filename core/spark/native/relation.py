"""Make a relation of Spark's own readers from a list of files, with a given schema and no directory listing.

Spark takes the list as a `FileIndex`, a Java class; Paimark's is in `Scans.java`. It is used where statements
are planned, never on executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DateType, IntegerType, LongType, StructField, StructType

from paimark.core.once import once_for_all
from paimark.core.quoting import quoted
from paimark.core.spark.java.objects import new_instance
from paimark.core.spark.native.columns import FileColumns, NotNative
from paimark.core.spark.native.conditions import Condition
from paimark.core.spark.native.pruning import Pruner
from paimark.core.spark.native.state import TableState

# Paimark's own columns. `state` refuses tables with columns of such names.
_FILE = "__paimon_file"
_ROW = "__paimon_row"
# The list goes to Java in texts of about this size, so that no text grows with the table.
_MOST_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file for Spark to read. `values` are those of the constant columns, as texts; None for null.

    `bits` tell which rows to read, encoded by `bitmap.encoded`; None for all rows.
    """

    address: str
    size: int
    values: tuple[str | None, ...] = ()
    bits: bytes | None = None


class Relations:
    """Makes data frames with a table's columns. Each method makes one call to Java, instead of hundreds."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._formats: dict[tuple[str, bool], Any] = {}

    def files(
        self,
        root: str,
        file_format: str,
        columns: FileColumns,
        constants: StructType,
        listed: Iterable[ListedFile],
        table: StructType,
        *,
        with_bits: bool,
    ) -> DataFrame:
        """The rows of all the files, in the columns of `table`, from `columns` and each file's `constants`.

        All names of columns must be distinct. `with_bits`: some files have bits.
        """
        read = columns.read
        if with_bits:
            read = StructType([*read.fields, StructField(_ROW, LongType())])
        constant = StructType([StructField(_FILE, IntegerType()), *constants.fields])
        origins = [None if name is None else quoted(name) for name in columns.origins]
        first, *more = _texts(listed)
        frame = self._java.files(
            root,
            self._format(file_format, with_bits),
            read.json(),
            constant.json(),
            first,
            more or None,
            _ROW if with_bits else None,
            table.json(),
            msgspec.json.encode(origins).decode(),
        )
        return DataFrame(frame, self._session)

    def counted(self, rows: int, slices: int, table: StructType) -> DataFrame:
        """So many rows, of which the statement needs no column."""
        return DataFrame(self._java.counted(rows, slices, table.json()), self._session)

    def local(self, rows: pa.Table, table: StructType) -> DataFrame:
        """Rows of this process. Their Arrow types must be those that Spark has for the table's columns."""
        stream = bytes(rows.combine_chunks().to_batches()[0].serialize()) if rows.num_rows else b""
        return DataFrame(self._java.local(stream, table.json()), self._session)

    def _format(self, file_format: str, with_bits: bool) -> Any:
        """Formats have no state, and are cached because each one takes a call to Java."""
        key = file_format, with_bits
        if key not in self._formats:
            self._formats[key] = self._make_format(file_format, with_bits)
        return self._formats[key]

    def _make_format(self, file_format: str, with_bits: bool) -> Any:
        if not with_bits:
            return getattr(self._plain, file_format)()
        return getattr(new_instance(self._session, "scans.SurvivingRows"), file_format)()

    @once_for_all
    def _plain(self) -> Any:
        return _PlainFormats(self._session)

    @once_for_all
    def _java(self) -> Any:
        return new_instance(self._session, "scans.Scans", self._session._jsparkSession)


class _PlainFormats:
    """Spark's own formats."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        formats = jvm.org.apache.spark.sql.execution.datasources
        self.parquet = formats.parquet.ParquetFileFormat
        self.orc = formats.orc.OrcFileFormat
        # In Spark 4.1 and later it is a module of its own.
        self.avro = jvm.org.apache.spark.sql.avro.AvroFileFormat


def _texts(listed: Iterable[ListedFile]) -> Iterator[str]:
    """The files as JSON lists of limited size."""
    part: list[bytes] = []
    length = 0
    for file in listed:
        text = msgspec.json.encode([file.address, file.size, file.bits, *file.values])
        if part and length + len(text) > _MOST_TEXT:
            yield f"[{b','.join(part).decode()}]"
            part, length = [], 0
        part.append(text)
        length += len(text)
    yield f"[{b','.join(part).decode()}]"


_GREGORIAN = (date(1582, 10, 15) - date(1970, 1, 1)).days


# Spark assumes that such dates in ORC are in the Julian calendar, in which it writes them itself, and shifts
# them by days. Paimon's writers use the Gregorian calendar for all dates.
def require_no_old_dates(state: TableState, types: StructType, pruner: Pruner) -> None:
    """Raises `NotNative` unless statistics rule out such dates. Nested dates are refused by `columns`."""
    may_be_old = {
        index: pruner.keeps([Condition(field.name, "<", (_GREGORIAN,))])
        for index, field in enumerate(types.fields)
        if isinstance(field.dataType, DateType)
    }
    for file in state.files:
        if file.file_format != "orc":
            continue
        columns = state.columns[file.schema_id, file.file_format]
        for index, may_hold in may_be_old.items():
            name = types.fields[index].name
            if columns.origins[index] in columns.read.names and may_hold(file):
                raise NotNative(f"column {name} may hold dates before 1582-10-15 in orc files")
