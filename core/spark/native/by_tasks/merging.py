"""Merge groups of files in Spark's tasks, by Spark's own readers: the Python side of `KeyMerging.java`.

A task's input is JSON: its bounds, and its groups with their files, in the order of first keys. Its output is
bytes, big-endian: for each group its number and outcome; then for each file its number, how many of its rows
are in the task's range, the index of the first word, and words as in `model.Bits`, maybe deflated.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from pypaimon.schema.data_types import AtomicType, DataField
from pyspark.sql.types import StructType

from paimark.core.errors import FileMissing
from paimark.core.spark.java.objects import new_instance
from paimark.core.spark.job_tag import tag_this_thread
from paimark.core.spark.merging.model import WORD_BITS, Bits, MergeFile, MergeGroup, MergeRules
from paimark.core.spark.merging.narrow import ages_overlap
from paimark.core.spark.merging.survive import by_age
from paimark.core.spark.native.by_tasks.ranges import Key, MergeTask, comparable, merge_tasks
from paimark.core.spark.native.columns import as_stored, table_types
from paimark.core.spark.stores.addresses import hadoop_address
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.definition.stored_columns import KEY_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP = struct.Struct(">iB")
_COUNT = struct.Struct(">i")
_FILE = struct.Struct(">iqqii")
_MERGED, _MISSING = 0, 1
# A decimal of at most so many digits is a number of 64 bits.
_NARROW = 18


def merged_by_tasks(
    spark: SparkSession, options: Mapping[str, str], groups: Sequence[MergeGroup], task_rows: int
) -> list[list[Bits] | None]:
    """The bits of each file, by group; None for a group that can't be merged so. About `task_rows` per task.

    It can't if its rows are not in the order of their keys, or differ from its manifests. The groups must be
    of one table; `options` are its catalog's. Raises `FileMissing`, and Spark's errors.
    """
    if not groups or not _are_read(groups):
        return [None] * len(groups)
    numbered = [needs_numbers(group.files) for group in groups]
    java = new_instance(spark, "scans.KeyMerging", spark._jsparkSession, _rules_json(groups[0].rules))
    task_texts = [_task_json(task, groups, numbered, options) for task in merge_tasks(groups, task_rows)]
    tag_this_thread(spark.sparkContext)
    answers = java.merged(task_texts)
    collected = [_CollectedBits(group) for group in groups]
    for number in range(answers.size()):
        _take(bytes(answers.get(number)), groups, collected)
    return [each.bits() for each in collected]


def _are_read(groups: Sequence[MergeGroup]) -> bool:
    rules = groups[0].rules
    types = read_types([*rules.key_types, *rules.sequence_types])
    formats = {file.format for group in groups for file in group.files}
    return all(as_stored(types, each) == types for each in formats) and keep_zeros(groups)


def keep_zeros(groups: Sequence[MergeGroup]) -> bool:
    """Whether Spark's readers distinguish -0.0 from 0.0, which is greater. The groups must be of one table.

    ORC's reader returns the first of successive equal numbers for all of them.
    """
    types = (*groups[0].rules.key_types, *groups[0].rules.sequence_types) if groups else ()
    if {ColumnType.of(each).name for each in types}.isdisjoint(("FLOAT", "DOUBLE")):
        return True
    return all(file.format != "orc" for group in groups for file in group.files)


class _CollectedBits:
    """The bits of a group, collected from the tasks' results."""

    def __init__(self, group: MergeGroup) -> None:
        self._files = group.files
        self._words = [np.zeros(-(-_bit_count(file) // WORD_BITS), dtype="<i8") for file in group.files]
        self._rows = [0] * len(group.files)
        self._is_fit = True

    def take(self, file: int, rows: int, first: int, words: bytes) -> None:
        self._rows[file] += rows
        more = np.frombuffer(words, dtype="<i8")
        self._words[file][first : first + len(more)] |= more

    def unfit(self) -> None:
        self._is_fit = False

    def bits(self) -> list[Bits] | None:
        if not self._is_fit or self._rows != [file.row_count for file in self._files]:
            return None
        return [
            Bits(_bit_count(file), words, 0 if file.has_row_numbers else file.min_sequence)
            for file, words in zip(self._files, self._words, strict=True)
        ]


def _bit_count(file: MergeFile) -> int:
    return file.row_count if file.has_row_numbers else file.max_sequence - file.min_sequence + 1


def _take(answer: bytes, groups: Sequence[MergeGroup], collected: Sequence[_CollectedBits]) -> None:
    at = 0
    while at < len(answer):
        group, went = _GROUP.unpack_from(answer, at)
        at += _GROUP.size
        if went == _MISSING:
            (file,) = _COUNT.unpack_from(answer, at)
            raise FileMissing(Path(groups[group].files[file].path).name)
        if went != _MERGED:
            collected[group].unfit()
            continue
        (count,) = _COUNT.unpack_from(answer, at)
        at += _COUNT.size
        for _ in range(count):
            file, rows, first, length, size = _FILE.unpack_from(answer, at)
            at += _FILE.size + size
            words = answer[at - size : at]
            collected[group].take(file, rows, first, words if size == length else zlib.decompress(words))


def rules_fields(rules: MergeRules) -> dict[str, Any]:
    """The input for `MergeRules` in `MergeTask.java`."""
    return {
        "key": read_types(rules.key_types).jsonValue(),
        "sequence": read_types(rules.sequence_types).jsonValue(),
        "descending": rules.descending,
        "ignore_delete": rules.ignore_delete,
    }


def _rules_json(rules: MergeRules) -> str:
    columns = {
        str(number): {
            "key": each.key,
            "thin": [name.removeprefix(KEY_PREFIX) for name in each.key],
            "sequence": each.sequence,
        }
        for number, each in rules.columns.items()
    }
    return msgspec.json.encode(rules_fields(rules) | {"columns": columns}).decode()


def read_types(types: Sequence[str]) -> StructType:
    """The Spark types with which columns of these types (Paimon's texts) are read."""
    fields = [DataField(index, f"c{index}", AtomicType(_nullable(each))) for index, each in enumerate(types)]
    return table_types(fields)


def _nullable(type_text: str) -> str:
    return type_text.upper().removesuffix(" NOT NULL")


def _task_json(
    task: MergeTask, groups: Sequence[MergeGroup], numbered: Sequence[bool], options: Mapping[str, str]
) -> str:
    rules = groups[0].rules
    return msgspec.json.encode(
        {
            "low": None if task.low is None else _key_json(rules, task.low),
            "high": None if task.high is None else _key_json(rules, task.high),
            "groups": [
                {
                    "id": index,
                    "numbered": numbered[index],
                    "files": list(_file_entries(groups[index], files, options)),
                }
                for index, files in task.parts
            ],
        }
    ).decode()


def needs_numbers(files: Sequence[MergeFile]) -> bool:
    """Whether the newest version of a key can only be found by the rows' sequence numbers."""
    return ages_overlap(files) or not all(file.has_row_numbers for file in files)


def _file_entries(
    group: MergeGroup, indexes: Sequence[int], options: Mapping[str, str]
) -> Iterator[Mapping[str, Any]]:
    ages = {index: age for age, index in enumerate(by_age(group.files))}
    for index in indexes:
        file = group.files[index]
        is_numbered = file.has_row_numbers
        yield {
            "id": index,
            "path": hadoop_address(file.path, options),
            "size": file.size,
            "schema": str(file.schema_id),
            "format": file.format,
            "age": ages[index],
            "may_retract": group.rules.may_retract(file),
            "min_key": _key_json(group.rules, comparable(group.rules, file.min_key)),
            "lowest": 0 if is_numbered else file.min_sequence,
            "highest": file.row_count - 1 if is_numbered else file.max_sequence,
        }


def _key_json(rules: MergeRules, key: Key) -> list[Any]:
    """A key for JSON: bytes become base64, numbers that may exceed 64 bits become texts."""
    return [
        str(value) if isinstance(value, int) and _is_wide(type_text) else value
        for type_text, value in zip(rules.key_types, key, strict=False)
    ]


def _is_wide(type_text: str) -> bool:
    kind = ColumnType.of(type_text)
    return kind.name in ("DECIMAL", "NUMERIC") and kind.decimal[0] > _NARROW
