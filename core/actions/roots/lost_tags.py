"""Copies of tags whose original an engine has deleted since, with its files: versions that can't be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paimark.core.errors import Corrupt, NotFound, Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.manifests.files import missing_of
from paimark.core.table.records import Tag


def changed_tags(
    files: Files, source: Root, copy: Root, names: Sequence[str]
) -> Iterator[tuple[str, bytes | None, bytes]]:
    """The name of each copy that differs from its source, and both contents; None if the source is gone."""
    here, there = (files.read_many(map(root.tag, names)) for root in (source, copy))
    for name, now, copied in zip(names, here, there, strict=True):
        if copied is not None and now != copied:
            yield name, now, copied


def drop_lost_tags(files: Files, source: Root, copy: Root, names: Sequence[str]) -> None:
    """Delete the copies of tags that the source has no more, if files of theirs are gone. Idempotent."""
    for name, _, data in changed_tags(files, source, copy, names):
        if is_lost(files, copy, name, data):
            files.delete(copy.tag(name))


def is_lost(files: Files, root: Root, name: str, data: bytes) -> bool:
    """Whether a file of the tag is certainly gone."""
    try:
        return bool(missing_of(files, root, Tag.from_json(data, root.tag(name))))
    except (Corrupt, NotFound, Refused):
        return False
