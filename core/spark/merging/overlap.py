"""Which files of a bucket share keys: only those must be merged."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

from core.spark.merging.model import MergeFile, MergeGroup, MergeRules


def overlap_groups(rules: MergeRules, files: Iterable[MergeFile]) -> list[MergeGroup]:
    """All files of one bucket, each in one group, groups and their files in the order of their keys."""
    return [MergeGroup(rules, tuple(group)) for group in _connected(files)]


def narrowed(group: MergeGroup, needed: Container[str]) -> Iterator[MergeGroup]:
    """The group without the files, by path, that hold no version of a row wanted."""
    files = [file for file in group.files if file.path in needed]
    return (part for part in overlap_groups(group.rules, files) if part.must_merge)


def _connected(files: Iterable[MergeFile]) -> Iterator[list[MergeFile]]:
    group: list[MergeFile] = []
    reach: tuple[Any, ...] = ()
    for file in sorted(files, key=lambda file: (file.min_key, file.max_key)):
        if group and file.min_key > reach:
            yield group
            group, reach = [], ()
        reach = max(reach, file.max_key)
        group.append(file)
    if group:
        yield group
