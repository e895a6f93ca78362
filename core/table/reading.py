"""Read many small metadata files at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files
from paimark.core.table.layout import number_in
from paimark.core.table.records import R


def numbered(names: Iterable[str], prefix: str) -> list[int]:
    """The numbers in the file names `<prefix><number>`, ascending."""
    return sorted(number for name in names if (number := number_in(name, prefix)) is not None)


def read_records(
    kind: type[R], files: Files, paths: Sequence[str], unreadable: dict[str, str]
) -> Iterator[tuple[str, R]]:
    """Path and record of each whole file that exists; `unreadable` gets the error of each broken one."""
    for path, data in zip(paths, files.read_many(paths), strict=True):
        unreadable.pop(path, None)
        if data is None:
            continue
        try:
            record = kind.from_json(data, path)
        except Corrupt as error:
            unreadable[path] = error.message
        else:
            yield path, record
