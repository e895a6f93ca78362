"""Look up the rows of a few keys by Spark's own readers, in the process that plans: `KeyLookup.java`.

Its input is JSON: a shape, the same for all values of the same columns, and a question. It returns rows as a
local relation. Spark uses that as the table, and applies the statement's conditions to it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from paimark.core.cancelling import check_cancelled
from paimark.core.once import once_for_all
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.java.objects import new_instance
from paimark.core.spark.launch.session_settings import DEFAULTS, LOOKUPS
from paimark.core.spark.merging.model import MergeGroup, MergeRules
from paimark.core.spark.merging.opening import file_opener
from paimark.core.spark.merging.survive import by_age
from paimark.core.spark.native.bitmap import encoded, merge_bits
from paimark.core.spark.native.conditions import ViewNeeds
from paimark.core.spark.native.first_rows import SMALL_RESULT
from paimark.core.spark.native.lookups.layouts import (
    CannotLookUp,
    FileForm,
    Reads,
    file_layout,
    keep_zeros,
    layout_name,
    needs_numbers,
    rules_fields,
)
from paimark.core.spark.native.lookups.selected_rows import Footers, SelectedRows, selected_rows
from paimark.core.spark.native.pruning import Pruner
from paimark.core.spark.native.state import TableFile, TableState
from paimark.core.spark.session_conf import SessionConf
from paimark.core.spark.stores.access import HadoopStores

# The most rows that a lookup reads: about what a task reads in a tenth of a second.
_MOST_READ = 1_000_000
# The size of the rows that are found, and cached.
_MOST_BYTES = 1 << 20
# The bytes of deletion vectors, for one question.
_MOST_BITS = 1 << 20
_KEPT = 64

Key = tuple[str, ...]
T = TypeVar("T")


class Lookups:
    """The lookups of one session. Caches the rows of the last questions, and the kinds that took too much."""

    def __init__(self, conf: SessionConf, stores: HadoopStores, warehouse: WarehouseAccess) -> None:
        self._conf = conf
        self._warehouse = warehouse
        self._session = conf.spark
        self._stores = stores
        self._footers = Footers(self._open_file)
        # By table, columns and questions.
        self._frames: OrderedDict[Any, DataFrame] = OrderedDict()
        self._shapes: OrderedDict[Any, str | None] = OrderedDict()
        # By table and columns: they took too much.
        self._refused: OrderedDict[Any, None] = OrderedDict()

    def frame(
        self, key: Key, state: TableState, pruner: Pruner, types: StructType, need: ViewNeeds
    ) -> DataFrame | None:
        """A frame of at least the needed rows; None if a scan is needed.

        `key` identifies the table in this state. Columns that are not needed are null.
        """
        if not need.conditions or self._conf.get(LOOKUPS, DEFAULTS[LOOKUPS]) == "off":
            return None
        selected = selected_rows(state, pruner, types, need.conditions, self._footers)
        if selected is None or not keep_zeros([group for group, _ in selected.merged]):
            return None
        kind = key, tuple(each.field.name for each in selected.equal)
        if kind in self._refused:
            return None
        question = key, frozenset(need.columns), tuple(need.conditions)
        frame = self._frames.pop(question, None)
        if frame is None:
            reads = Reads(
                state, _rules(selected), tuple(pruner.key), selected.fields, frozenset(need.columns)
            )
            try:
                frame = self._look_up(key, types, reads, selected)
            except (CannotLookUp, Py4JJavaError):
                check_cancelled()
                # The scan reports the error, as for all statements.
                return None
        if frame is None:
            _keep(self._refused, kind, None)
            return None
        _keep(self._frames, question, frame)
        return frame

    def stop(self) -> None:
        """Make a running lookup fail, if there is one. Any thread may call this."""
        if "_java" in self.__dict__:
            self._java.stop()

    def _open_file(self, address: str) -> Any:
        # With the options of this moment: keys may be renewed.
        return file_opener(self._warehouse.client_options)(address)

    def _look_up(self, key: Key, types: StructType, reads: Reads, selected: SelectedRows) -> DataFrame | None:
        shape = self._shape(key, types, reads, selected)
        question = {
            "values": [each.values for each in selected.equal],
            "files": [*self._whole_files(selected), *self._merged_files(selected)],
            "most_read": _MOST_READ,
            "most_found": SMALL_RESULT,
            "most_bytes": _MOST_BYTES,
        }
        rows = self._java.rows(shape, msgspec.json.encode(question).decode())
        return None if rows is None else DataFrame(rows, self._session)

    def _shape(self, key: Key, types: StructType, reads: Reads, selected: SelectedRows) -> str:
        kinds = frozenset(_kinds(selected))
        identity = key, reads.result_columns, reads.equal, kinds
        shape = self._shapes.pop(identity, None)
        if shape is None:
            description = {
                "table": types.jsonValue(),
                "constants": reads.state.constants.jsonValue(),
                "conditions": StructType(list(reads.equal)).jsonValue(),
                "rules": None if reads.rules is None else rules_fields(reads.rules),
                "layouts": [file_layout(reads, *kind) for kind in kinds],
            }
            shape = msgspec.json.encode(description).decode()
        _keep(self._shapes, identity, shape)
        return shape

    def _whole_files(self, selected: SelectedRows) -> Iterator[Mapping[str, Any]]:
        bits = self._bits(selected.marked)
        for file in selected.whole:
            marks = bits.get(file.address)
            yield self._file_entry(file, "whole" if marks is None else "marked") | {
                "bits": marks,
                "thin": "",
                "group": -1,
                "age": 0,
                "may_retract": False,
                "numbered": False,
            }

    def _bits(self, marked: Sequence[MergeGroup]) -> dict[str, bytes]:
        """The encoded bits of the files by path. Raises `CannotLookUp`."""
        by_path = merge_bits(self._conf, self._warehouse.client_options, marked)
        bits_by_path = {path: encoded(bits) for path, bits in by_path.items()}
        if sum(map(len, bits_by_path.values())) > _MOST_BITS:
            raise CannotLookUp("the deletion vectors")
        return bits_by_path

    def _merged_files(self, selected: SelectedRows) -> Iterator[Mapping[str, Any]]:
        for number, (group, files) in enumerate(selected.merged):
            # In the order of the group's own files.
            addresses = {file.address for file in files}
            merged = [file for file in group.files if file.path in addresses]
            ages = {index: age for age, index in enumerate(by_age(merged))}
            is_numbered = needs_numbers(merged)
            for index, (file, each) in enumerate(zip(files, merged, strict=True)):
                yield self._file_entry(file, "keyed") | {
                    "bits": None,
                    "thin": layout_name(file.schema_id, file.file_format, "thin"),
                    "group": number,
                    "age": ages[index],
                    "may_retract": group.rules.may_retract(each),
                    "numbered": is_numbered,
                }

    def _file_entry(self, file: TableFile, form: FileForm) -> dict[str, Any]:
        return {
            "layout": layout_name(file.schema_id, file.file_format, form),
            "address": self._stores.address(file.address),
            "size": file.size,
            "constants": file.partition,
        }

    @once_for_all
    def _java(self) -> Any:
        return new_instance(self._session, "scans.KeyLookup", self._session._jsparkSession)


def _rules(selected: SelectedRows) -> MergeRules | None:
    return selected.merged[0][0].rules if selected.merged else None


def _kinds(selected: SelectedRows) -> Iterator[tuple[int, str, FileForm]]:
    marked = {group.files[0].path for group in selected.marked}
    for file in selected.whole:
        yield file.schema_id, file.file_format, "marked" if file.address in marked else "whole"
    for _, files in selected.merged:
        for file in files:
            yield file.schema_id, file.file_format, "keyed"
            # Which of the two applies shows when the file is opened.
            yield file.schema_id, file.file_format, "thin"


def _keep(cache: OrderedDict[Any, T], key: Any, value: T) -> None:
    cache[key] = value
    while len(cache) > _KEPT:
        cache.popitem(last=False)
