"""Files as a relation of Spark's own readers: exactly those given, with an explicit schema, nothing listed.

Spark takes the list as a `FileIndex`, which is a Java class: ours is in `Scans.java`. It lives where
statements are planned, never on executors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from core.quoting import quoted
from core.spark.native.compiled import new_instance

_FORMATS = {
    "parquet": "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    "orc": "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
}
# Paimon's writers use one calendar for all times, as Spark itself has since 3.0.
_OPTIONS = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file for Spark to read. `values` are those of the constant columns as texts, None for null."""

    address: str
    size: int
    values: tuple[str | None, ...] = ()


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
    ) -> DataFrame:
        """The rows of all the files: `columns` as they are in them, then the `constants` of each file.

        There is at least one constant, and none is called like a column.
        """
        rows = msgspec.json.encode([[file.address, file.size, *file.values] for file in listed]).decode()
        made = self._java.files(root, _FORMATS[file_format], columns.json(), constants.json(), rows, _OPTIONS)
        return DataFrame(made, self._session)

    def surviving(self, frame: DataFrame, row_index: str, first_bit: str, words: DataFrame) -> DataFrame:
        """The rows whose bit is set in `words`, one row of numbers; `first_bit` is null for files without."""
        return DataFrame(self._java.surviving(frame._jdf, row_index, first_bit, words._jdf), self._session)

    def columns(self, frame: DataFrame, table: StructType, made: Iterable[str | None]) -> DataFrame:
        """A table's columns, of its types, each made of the column named or of nulls."""
        names = [None if name is None else quoted(name) for name in made]
        return DataFrame(self._java.columns(frame._jdf, table.json(), names), self._session)

    @cached_property
    def _java(self) -> Any:
        return new_instance(self._session, "Scans", self._session._jsparkSession)
