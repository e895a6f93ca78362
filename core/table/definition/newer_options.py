"""Options of tables that a Paimon library may be too old to know.

A library ignores what it does not know, and reads or writes such a table otherwise without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple


class Newer(NamedTuple):
    """`option` may contain `*`. It came with the Paimon `since`, and says how rows are read and written."""

    option: str
    since: str
    is_set: Callable[[str], bool]


def _true(value: str) -> bool:
    return value.strip().lower() == "true"


def _anything(value: str) -> bool:
    return bool(value.strip())


NEWER = (
    Newer("sequence.snapshot-ordering", "2.0", _true),
    Newer("deletion-vectors.merge-on-read", "2.0", _true),
    Newer("postpone.merge-on-read", "2.0", _true),
    Newer("data-evolution.row-sidecar.enabled", "2.0", _true),
    Newer("blob-view-field", "2.0", _anything),
    Newer("fields.*.map.storage-layout", "2.0", _anything),
    Newer("primary-key.nullable", "2.1", _true),
)


def newer_options(options: Mapping[str, str]) -> Iterator[tuple[str, Newer]]:
    """The options of a table that are set and newer than some libraries, each with its entry in `NEWER`."""
    for name, value in options.items():
        for newer in NEWER:
            if fnmatchcase(name, newer.option) and newer.is_set(value):
                yield name, newer
