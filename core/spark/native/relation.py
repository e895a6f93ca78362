"""Files as a relation of Spark's own readers: exactly those given, with an explicit schema, nothing listed.

Spark takes the list as a `FileIndex`, which is a Java class: ours is in `Scans.java`. It lives where
statements are planned, never on executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from core.quoting import quoted
from core.spark.native.compiled import compiled, new_instance, send_to_executors

# Paimon's writers use one calendar for all times, as Spark itself has since 3.0.
_OPTIONS = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
# Columns of our own, where nothing that a person calls a column can meet them.
_FILE = "__paimon_file"
_ROW = "__paimon_row"
# Java is told of so much at a time that no text grows with the table.
_MOST_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file for Spark to read. `values` are those of the constant columns as texts, None for null.

    `bits` say which rows to read, as `travelling_bits.encoded` makes them, None for all.
    """

    address: str
    size: int
    values: tuple[str | None, ...] = ()
    bits: bytes | None = None


class Relations:
    """Makes data frames of files. Each method is one call: what they do takes Python hundreds."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def frame(
        self,
        root: str,
        file_format: str,
        columns: StructType,
        constants: StructType,
        listed: Iterable[ListedFile],
        *,
        with_bits: bool,
    ) -> DataFrame:
        """The rows of all the files: `columns` as they are in them, then the `constants` of each file.

        None is called like another. `with_bits`: some files have bits. Columns of our own come along.
        """
        java_format = getattr(self._surviving if with_bits else self._plain, file_format)()
        read = StructType([*columns.fields, StructField(_ROW, LongType())]) if with_bits else columns
        constant = StructType([StructField(_FILE, IntegerType()), *constants.fields])
        parts = list(_texts(listed))
        frame = self._java.files(root, java_format, read.json(), constant.json(), parts, _OPTIONS)
        return DataFrame(self._java.surviving(frame, _ROW) if with_bits else frame, self._session)

    def columns(self, frame: DataFrame, table: StructType, made: Iterable[str | None]) -> DataFrame:
        """A table's columns, of its types, each made of the column named or of nulls."""
        names = [None if name is None else quoted(name) for name in made]
        return DataFrame(self._java.columns(frame._jdf, table.json(), names), self._session)

    @cached_property
    def _plain(self) -> Any:
        return _PlainFormats(self._session)

    @cached_property
    def _surviving(self) -> Any:
        """Formats of files with bits. Their classes go to executors."""
        compiler = compiled(self._session, "SurvivingRows")
        send_to_executors(self._session, "surviving-rows.jar", compiler)
        return new_instance(self._session, "SurvivingRows", compiler=compiler)

    @cached_property
    def _java(self) -> Any:
        return new_instance(self._session, "Scans", self._session._jsparkSession)


class _PlainFormats:
    """Spark's own."""

    def __init__(self, session: SparkSession) -> None:
        jvm: Any = session._jvm
        formats = jvm.org.apache.spark.sql.execution.datasources
        self.parquet = formats.parquet.ParquetFileFormat
        self.orc = formats.orc.OrcFileFormat
        # Of Spark 4.1 and later it is a part of its own.
        self.avro = jvm.org.apache.spark.sql.avro.AvroFileFormat


def _texts(listed: Iterable[ListedFile]) -> Iterator[str]:
    """The files as lists in JSON."""
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
