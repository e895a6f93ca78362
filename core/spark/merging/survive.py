"""Find which rows of a group of files survive: the newest version of each key, unless it retracts the key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimark.core.cancelling import check_cancelled
from paimark.core.spark.merging.model import Bits, MergeFile, MergeGroup, MergeRules
from paimark.core.spark.merging.reading import KeyRows, OpenFile, read_kinds, read_rows
from paimark.core.spark.merging.single_versions import Keys, ages_overlap, shared_rows
from paimark.core.spark.sort_keys import (
    SortKey,
    end_to_end,
    is_text,
    numbered,
    packed,
    ranked,
    reversed_order,
    sort_keys_of,
    text_values,
)

_Indexes = NDArray[np.intp]


def survivors(group: MergeGroup, open_file: OpenFile) -> list[Bits]:
    """The bits of each file, in the order of `group.files`.

    As in Paimon, the newest version has the greatest `sequence.field` (null is the oldest), then the greatest
    sequence number. Keys are assumed to be unique within a file, as every reader of Paimon does. Raises
    `FileMissing`, `Corrupt`, `Unavailable`, and `Unmergeable` if rows of an ORC file share sequence numbers.
    """
    files, rules = group.files, group.rules
    if len(files) == 1:
        kinds = read_kinds(files[0], rules, open_file)
        return [_bits(files[0], _living(files[0], kinds.retracts), kinds.numbers)]
    with_numbers = ages_overlap(files) or not all(file.has_row_numbers for file in files)
    rows = [read_rows(file, rules, open_file, with_numbers=with_numbers) for file in files]
    truths = surviving_rows(rules, files, rows)
    return [_bits(file, truth, each.numbers) for file, truth, each in zip(files, truths, rows, strict=True)]


def key_order(rules: MergeRules, rows: Sequence[KeyRows]) -> list[SortKey]:
    """A number for each row of each file. The numbers compare as the keys do."""
    keys = _keys(rules, rows)
    return [each[0] for each in keys.numbers] if keys.is_one_number else _ranks(rules, rows)


def _ranks(rules: MergeRules, rows: Sequence[KeyRows]) -> list[SortKey]:
    sort_keys: list[SortKey] = []
    for index, type_text in enumerate(rules.key_types):
        if is_text(type_text):
            texts = [text_values(each.key[index]) for each in rows]
            sort_keys += ranked(end_to_end(texts))
        else:
            parts = [sort_keys_of(each.key[index], type_text) for each in rows]
            sort_keys += [np.concatenate(part) for part in zip(*parts, strict=True)]
    order = np.lexsort(sort_keys[::-1])
    is_new = np.zeros(len(order), dtype=np.bool_)
    for sort_key in sort_keys:
        is_new[1:] |= sort_key[order][1:] != sort_key[order][:-1]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.cumsum(is_new)
    return np.split(ranks, np.cumsum([len(each.key[0]) for each in rows])[:-1])


def _bits(file: MergeFile, survives: NDArray[np.bool_], numbers: SortKey | None) -> Bits:
    if file.has_row_numbers:
        return Bits.of(survives)
    assert numbers is not None
    return Bits.by_number(survives, file, numbers)


def _living(file: MergeFile, retracts: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    return np.ones(file.row_count, dtype=np.bool_) if retracts is None else ~retracts


def _surviving(
    rules: MergeRules, files: Sequence[MergeFile], rows: Sequence[KeyRows]
) -> list[NDArray[np.bool_]]:
    """One boolean per row, for files from the oldest to the newest."""
    survives = [_living(file, each.retracts) for file, each in zip(files, rows, strict=True)]
    keys = _keys(rules, rows)
    check_cancelled()
    indexes_of = shared_rows(files, keys)
    check_cancelled()
    if rules.ignore_delete:
        indexes_of = [
            indexes if each.retracts is None else indexes[~each.retracts[indexes]]
            for indexes, each in zip(indexes_of, rows, strict=True)
        ]
    starts = np.cumsum([0, *(len(indexes) for indexes in indexes_of)])
    loses = _older_versions(
        _sort_keys_of_keys(keys, indexes_of), _sort_keys_of_versions(rules, rows, indexes_of)
    )
    for truth, indexes, start, end in zip(survives, indexes_of, starts, starts[1:], strict=False):
        truth[indexes[loses[start:end]]] = False
    return survives


def _older_versions(key: Sequence[SortKey], version: Sequence[SortKey]) -> NDArray[np.bool_]:
    """Which rows, given from the oldest to the newest file, have a newer version of their key."""
    if len(key) == 1 and not version:
        # The files are sorted by key, and a stable sort merges such runs.
        order = np.argsort(key[0], kind="stable")
    else:
        order = np.lexsort((*reversed(version), *reversed(key)))
    loses = np.zeros(len(order), dtype=np.bool_)
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for sort_key in key:
        ordered = sort_key[order]
        same &= ordered[1:] == ordered[:-1]
    loses[order[:-1][same]] = True
    return loses


def _keys(rules: MergeRules, rows: Sequence[KeyRows]) -> Keys:
    """The key columns of all files: texts, and sort keys, which are packed into one per file if they fit."""
    numbers: list[list[SortKey]] = [[] for _ in rows]
    texts: list[list[pa.ChunkedArray]] = [[] for _ in rows]
    for index, each in enumerate(rows):
        for column, type_text in zip(each.key, rules.key_types, strict=True):
            if is_text(type_text):
                texts[index].append(text_values(column))
            else:
                numbers[index] += sort_keys_of(column, type_text)
    if numbers[0]:
        single = packed(numbers)
        numbers = numbers if single is None else [[sort_key] for sort_key in single]
    return Keys(numbers, texts)


def _sort_keys_of_keys(keys: Keys, indexes_of: Sequence[_Indexes]) -> list[SortKey]:
    """The sort keys of the chosen rows' keys, for all files one after the other."""
    sort_keys = [
        np.concatenate([sort_key[indexes] for sort_key, indexes in zip(column, indexes_of, strict=True)])
        for column in zip(*keys.numbers, strict=True)
    ]
    return sort_keys + [numbered(_chosen(column, indexes_of)) for column in zip(*keys.texts, strict=True)]


def _sort_keys_of_versions(
    rules: MergeRules, rows: Sequence[KeyRows], indexes_of: Sequence[_Indexes]
) -> list[SortKey]:
    """The sort keys of the chosen rows' versions, greater for newer, most significant first."""
    sort_keys: list[SortKey] = []
    for index, type_text in enumerate(rules.sequence_types):
        # A column that a file lacks is null in all of its rows.
        known = next((each.fields[index] for each in rows if each.fields[index] is not None), None)
        if known is None:
            continue
        columns = [
            pa.chunked_array([pa.nulls(len(each.key[0]), known.type)]) if column is None else column
            for each in rows
            for column in [each.fields[index]]
        ]
        if is_text(type_text):
            field = ranked(_chosen([text_values(column) for column in columns], indexes_of))
        else:
            parts = [sort_keys_of(column, type_text) for column in columns]
            field = [
                np.concatenate(
                    [sort_key[indexes] for sort_key, indexes in zip(same_part, indexes_of, strict=True)]
                )
                for same_part in zip(*parts, strict=True)
            ]
        sort_keys += reversed_order(field) if rules.descending else field
    numbers = [each.numbers for each in rows if each.numbers is not None]
    if numbers:
        sort_keys.append(
            np.concatenate([part[indexes] for part, indexes in zip(numbers, indexes_of, strict=True)])
        )
        sort_keys.append(_adds(rows, indexes_of))
    return [sort_key for sort_key in sort_keys if len(sort_key) and sort_key.min() != sort_key.max()]


def _adds(rows: Sequence[KeyRows], indexes_of: Sequence[_Indexes]) -> SortKey:
    """A sort key of kinds: between versions with equal sequence numbers, the one that adds is the newer."""
    return np.concatenate(
        [
            np.ones(len(indexes), dtype=np.int64)
            if each.retracts is None
            else (~each.retracts[indexes]).astype(np.int64)
            for each, indexes in zip(rows, indexes_of, strict=True)
        ]
    )


def _chosen(columns: Sequence[pa.ChunkedArray], indexes_of: Sequence[_Indexes]) -> pa.ChunkedArray:
    taken = [column.take(pa.array(indexes)) for column, indexes in zip(columns, indexes_of, strict=True)]
    return end_to_end(taken, columns[0].type)


def surviving_rows(
    rules: MergeRules, files: Sequence[MergeFile], rows: Sequence[KeyRows]
) -> list[NDArray[np.bool_]]:
    """One boolean per row, for some rows of each file. `rows` has all versions of each key in it.

    `rows` must have their numbers if the ages of files overlap.
    """
    some = [replace(file, row_count=len(each.key[0])) for file, each in zip(files, rows, strict=True)]
    if len(files) < 2:
        return [_living(file, each.retracts) for file, each in zip(some, rows, strict=True)]
    # From the oldest to the newest.
    ages = sorted(range(len(files)), key=lambda each: (files[each].min_sequence, files[each].max_sequence))
    aged = _surviving(rules, [some[index] for index in ages], [rows[index] for index in ages])
    truths = dict(zip(ages, aged, strict=True))
    return [truths[index] for index in range(len(files))]
