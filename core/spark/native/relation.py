"""Files as a relation of Spark's own readers: exactly those given, with an explicit schema, nothing listed.

Spark takes the list as a `FileIndex`, which is a Java class. Ours is compiled once a session by the compiler
that Spark carries for its queries, so there is no jar; it lives where statements are planned, never on
executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

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
    """Makes data frames of files."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._jvm: Any = getattr(session, "_jvm", None)
        self._list_class: Any = None

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
        jvm, session = self._jvm, self._session._jsparkSession
        rows = [[file.address, file.size, *file.values] for file in listed]
        arguments = session, root, self._schema(constants), msgspec.json.encode(rows).decode()
        relation = jvm.org.apache.spark.sql.execution.datasources.HadoopFsRelation(
            self._new_list(arguments),
            self._schema(constants),
            self._schema(columns),
            jvm.scala.Option.apply(None),
            self._instance(_FORMATS[file_format]),
            self._map(_OPTIONS),
            session,
        )
        return DataFrame(session.baseRelationToDataFrame(relation), self._session)

    def _schema(self, columns: StructType) -> Any:
        return self._jvm.org.apache.spark.sql.types.DataType.fromJson(columns.json())

    def _map(self, options: Mapping[str, str]) -> Any:
        return self._jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(dict(options))

    def _instance(self, class_name: str) -> Any:
        return self._jvm.java.lang.Class.forName(class_name).getConstructors()[0].newInstance(self._array(()))

    def _new_list(self, arguments: tuple[Any, ...]) -> Any:
        if self._list_class is None:
            self._list_class = self._compiled()
        return self._list_class.getConstructors()[0].newInstance(self._array(arguments))

    def _compiled(self) -> Any:
        compiler = self._jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(self._jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook((resources(__package__) / "FileList.java").read_text(encoding="utf-8"))
        return compiler.getClassLoader().loadClass("FileList")

    def _array(self, values: tuple[Any, ...]) -> Any:
        gateway: Any = self._session.sparkContext._gateway
        array = gateway.new_array(self._jvm.java.lang.Object, len(values))
        for place, value in enumerate(values):
            array[place] = value
        return array
