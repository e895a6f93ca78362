"""Read data files: check that they can be decoded, and have the recorded number of rows, in key order.

A file that would take too much memory is skipped: its content stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from paimark.core import figures
from paimark.core.actions.garbage.estimate import with_progress
from paimark.core.errors import FileMissing
from paimark.core.storage.files import Files
from paimark.core.storage.limits import AT_ONCE_BYTES, MOST_BYTES, TooLarge
from paimark.core.table.layout import Root
from paimark.core.table.records import TableSchema
from paimark.core.verify.located import SampleFile
from paimark.core.verify.reading_process import FORMATS, ReadingProcess

_POSTPONED = "/bucket-postpone/"
_CHANGELOG_PREFIX = "changelog-"


def file_faults(
    files: Files, sample: Sequence[SampleFile], progress: Callable[[str], None], unread: list[str]
) -> Iterator[tuple[SampleFile, str]]:
    """Faults of files, a sentence each; files of a format that Paimark can't read are skipped.

    `unread` gets the paths of those that need too much memory.
    """
    schemas: dict[tuple[Root, int], TableSchema] = {}
    with ReadingProcess() as reading:
        for each in with_progress(sample, len(sample), "data files", progress):
            kind = each.path.rpartition(".")[2].lower()
            try:
                if kind in FORMATS and (
                    sentence := _fault(files, each, reading, kind, _keys(files, each, schemas))
                ):
                    yield each, sentence
            except FileMissing:
                # The missing file is reported already.
                continue
            except TooLarge as error:
                unread.append(each.path)
                progress(f"{each.path} was not read: {error}")


def _keys(files: Files, file: SampleFile, schemas: dict[tuple[Root, int], TableSchema]) -> list[str]:
    """The columns by which the rows are ordered; none if the writer does not order them."""
    name = file.path.rpartition("/")[2]
    at = file.root, file.schema_id
    if at not in schemas:
        schemas[at] = TableSchema.from_path(files, file.root.schema(file.schema_id))
    schema = schemas[at]
    prefix = schema.options.get("changelog-file.prefix", _CHANGELOG_PREFIX)
    if _POSTPONED in file.path or name.startswith(prefix):
        return []
    return schema.trimmed_primary_keys


def _fault(
    files: Files, file: SampleFile, reading: ReadingProcess, kind: str, keys: Sequence[str]
) -> str | None:
    if (size := files.size(file.path)) is not None and size > MOST_BYTES:
        raise TooLarge(f"it has {figures.size(size)}")
    facts = reading.read(kind, files.read(file.path), keys, AT_ONCE_BYTES)
    if isinstance(facts, str):
        return f"it can't be decoded ({facts})"
    rows, ordered = facts
    if rows != file.rows:
        return f"it has {rows} rows, and should have {file.rows}"
    return None if ordered else f"its rows are not in the order of {', '.join(keys)}"
