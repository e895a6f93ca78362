"""Which rows of a group of files survive: of each key its newest version, unless that retracts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.cancelling import check_cancelled
from core.spark.merging.limbs import (
    Limb,
    is_text,
    limbs_of,
    numbered,
    packed,
    ranked,
    reversed_order,
    text_values,
)
from core.spark.merging.model import Bits, MergeFile, MergeGroup, MergeRules
from core.spark.merging.narrow import Keys, ages_overlap, shared_rows
from core.spark.merging.opening import OpenFile
from core.spark.merging.reading import KeyRows, read_kinds, read_rows

_Places = NDArray[np.intp]


def survivors(group: MergeGroup, open_file: OpenFile) -> list[Bits]:
    """One array of bits a file, in the order of `group.files`.

    Newest is, as in Paimon, the greatest by `sequence.field` (a null is the oldest), then by sequence number.
    Keys are taken to be unique within a file, as every reader of Paimon does. Raises `FileMissing`, `Corrupt`
    and `Unavailable`, and `Unmergeable` for rows that have neither number of their own.
    """
    files, rules = group.files, group.rules
    if len(files) == 1:
        kinds = read_kinds(files[0], open_file)
        return [_bits(files[0], _living(files[0], kinds.retracts), kinds.numbers)]
    by_age = sorted(
        range(len(files)), key=lambda index: (files[index].min_sequence, files[index].max_sequence)
    )
    aged = [files[index] for index in by_age]
    with_numbers = ages_overlap(files) or not all(file.has_row_numbers for file in files)
    rows = [read_rows(file, rules, open_file, with_numbers=with_numbers) for file in aged]
    truths = _surviving(rules, aged, rows)
    made = [_bits(file, truth, each.numbers) for file, truth, each in zip(aged, truths, rows, strict=True)]
    found = dict(zip(by_age, made, strict=True))
    return [found[index] for index in range(len(files))]


def first_survivors(group: MergeGroup, open_file: OpenFile, first: int) -> list[Bits] | None:
    """The bits of some of each file's first rows: of those up to the least key that all files were read to.

    At most `first` rows of a file are read. They are sorted by key; None where they are not.
    Raises as `survivors`.
    """
    files, rules = group.files, group.rules
    with_numbers = ages_overlap(files)
    rows = [read_rows(file, rules, open_file, with_numbers=with_numbers, first=first) for file in files]
    heads = [replace(file, row_count=len(each.key[0])) for file, each in zip(files, rows, strict=True)]
    by_age = sorted(
        range(len(files)), key=lambda index: (files[index].min_sequence, files[index].max_sequence)
    )
    if len(files) == 1:
        aged = [_living(heads[0], rows[0].retracts)]
    else:
        aged = _surviving(rules, [heads[index] for index in by_age], [rows[index] for index in by_age])
    truths = dict(zip(by_age, aged, strict=True))
    ranks = _ranks(rules, rows)
    if not all((each[1:] > each[:-1]).all() for each in ranks):
        return None
    ends = [
        rank[-1] for rank, file in zip(ranks, files, strict=True) if len(rank) and len(rank) < file.row_count
    ]
    told = [np.searchsorted(rank, min(ends), side="right") if ends else len(rank) for rank in ranks]
    return [Bits.of(truths[index][: told[index]]) for index in range(len(files))]


def _ranks(rules: MergeRules, rows: Sequence[KeyRows]) -> list[NDArray[np.int64]]:
    """A number for each row of each file, that compares as the keys do."""
    limbs: list[Limb] = []
    for index, type_text in enumerate(rules.key_types):
        if is_text(type_text):
            texts = [text_values(each.key[index]) for each in rows]
            limbs += ranked(pa.chunked_array([chunk for each in texts for chunk in each.chunks]))
        else:
            parts = [limbs_of(each.key[index], type_text) for each in rows]
            limbs += [np.concatenate(part) for part in zip(*parts, strict=True)]
    order = np.lexsort(limbs[::-1])
    is_new = np.zeros(len(order), dtype=np.bool_)
    for limb in limbs:
        is_new[1:] |= limb[order][1:] != limb[order][:-1]
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.cumsum(is_new)
    return np.split(found, np.cumsum([len(each.key[0]) for each in rows])[:-1])


def _bits(file: MergeFile, survives: NDArray[np.bool_], numbers: Limb | None) -> Bits:
    if file.has_row_numbers:
        return Bits.of(survives)
    assert numbers is not None
    return Bits.by_number(survives, file, numbers)


def _living(file: MergeFile, retracts: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    return np.ones(file.row_count, dtype=np.bool_) if retracts is None else ~retracts


def _surviving(
    rules: MergeRules, files: Sequence[MergeFile], rows: Sequence[KeyRows]
) -> list[NDArray[np.bool_]]:
    """One truth a row, of files from the oldest to the newest."""
    survives = [_living(file, each.retracts) for file, each in zip(files, rows, strict=True)]
    keys = _keys(rules, rows)
    check_cancelled()
    places = shared_rows(files, keys)
    check_cancelled()
    if rules.ignore_delete:
        places = [
            place if each.retracts is None else place[~each.retracts[place]]
            for place, each in zip(places, rows, strict=True)
        ]
    starts = np.cumsum([0, *(len(place) for place in places)])
    loses = _older_versions(_key_limbs(keys, places), _version_limbs(rules, rows, places))
    for truth, place, start, end in zip(survives, places, starts, starts[1:], strict=False):
        truth[place[loses[start:end]]] = False
    return survives


def _older_versions(key: Sequence[Limb], version: Sequence[Limb]) -> NDArray[np.bool_]:
    """Of rows from the oldest to the newest file: which have a newer version of their key."""
    if len(key) == 1 and not version:
        # The files are sorted by key: this finds their runs and merges them.
        order = np.argsort(key[0], kind="stable")
    else:
        order = np.lexsort((*reversed(version), *reversed(key)))
    loses = np.zeros(len(order), dtype=np.bool_)
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for limb in key:
        ordered = limb[order]
        same &= ordered[1:] == ordered[:-1]
    loses[order[:-1][same]] = True
    return loses


def _keys(rules: MergeRules, rows: Sequence[KeyRows]) -> Keys:
    """The key columns of all files: limbs, packed into one a file where they fit, and texts."""
    numbers: list[list[Limb]] = [[] for _ in rows]
    texts: list[list[pa.ChunkedArray]] = [[] for _ in rows]
    for index, each in enumerate(rows):
        for column, type_text in zip(each.key, rules.key_types, strict=True):
            if is_text(type_text):
                texts[index].append(text_values(column))
            else:
                numbers[index] += limbs_of(column, type_text)
    if numbers[0]:
        single = packed(numbers)
        numbers = numbers if single is None else [[limb] for limb in single]
    return Keys(numbers, texts)


def _key_limbs(keys: Keys, places: Sequence[_Places]) -> list[Limb]:
    """The chosen rows' keys, of all files one after the other."""
    limbs = [
        np.concatenate([limb[place] for limb, place in zip(column, places, strict=True)])
        for column in zip(*keys.numbers, strict=True)
    ]
    return limbs + [numbered(_chosen(column, places)) for column in zip(*keys.texts, strict=True)]


def _version_limbs(rules: MergeRules, rows: Sequence[KeyRows], places: Sequence[_Places]) -> list[Limb]:
    """The sort keys by which one of the chosen rows is newer than another, most significant first."""
    limbs: list[Limb] = []
    for index, type_text in enumerate(rules.sequence_types):
        # A column that a file was written without is null in all of its rows.
        known = next((each.fields[index] for each in rows if each.fields[index] is not None), None)
        if known is None:
            continue
        columns = [
            pa.chunked_array([pa.nulls(len(each.key[0]), known.type)]) if column is None else column
            for each in rows
            for column in [each.fields[index]]
        ]
        if is_text(type_text):
            field = ranked(_chosen([text_values(column) for column in columns], places))
        else:
            parts = [limbs_of(column, type_text) for column in columns]
            field = [
                np.concatenate([limb[place] for limb, place in zip(limb_of_all, places, strict=True)])
                for limb_of_all in zip(*parts, strict=True)
            ]
        limbs += reversed_order(field) if rules.descending else field
    numbers = [each.numbers for each in rows if each.numbers is not None]
    if numbers:
        limbs.append(np.concatenate([part[place] for part, place in zip(numbers, places, strict=True)]))
        limbs.append(_adds(rows, places))
    return [limb for limb in limbs if len(limb) and limb.min() != limb.max()]


def _adds(rows: Sequence[KeyRows], places: Sequence[_Places]) -> Limb:
    """Of two versions with the same number the one that adds is the newer."""
    return np.concatenate(
        [
            np.ones(len(place), dtype=np.int64)
            if each.retracts is None
            else (~each.retracts[place]).astype(np.int64)
            for each, place in zip(rows, places, strict=True)
        ]
    )


def _chosen(columns: Sequence[pa.ChunkedArray], places: Sequence[_Places]) -> pa.ChunkedArray:
    taken = [column.take(pa.array(place)) for column, place in zip(columns, places, strict=True)]
    return pa.chunked_array([chunk for column in taken for chunk in column.chunks], columns[0].type)
