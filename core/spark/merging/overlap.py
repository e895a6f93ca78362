"""Find which files of a bucket may share keys: only these must be merged."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

from paimark.core.spark.merging.model import MergeFile, MergeGroup, MergeRules


def overlap_groups(rules: MergeRules, files: Iterable[MergeFile]) -> list[MergeGroup]:
    """Group all files of one bucket by overlapping keys; groups and files are in the order of their keys."""
    return [MergeGroup(rules, tuple(group)) for group in _connected(files)]


def narrowed(group: MergeGroup, needed: Container[str]) -> Iterator[MergeGroup]:
    """The parts that must be merged of a group of only the `needed` files (paths)."""
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
