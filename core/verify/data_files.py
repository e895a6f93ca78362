"""Read data files: check that they can be decoded, and have the recorded number of rows, in key order.

A process decodes them in bounded memory, as footers may hide how much they unpack to. Requests go to its
stdin: a line of JSON, then the file's bytes. Answers come from its stdout, a line each. A process that dies
took too much memory, or its decoder broke; the next file gets another one. A file that would take too much
memory is skipped: its content stays unknown.

A file is unpacked in pieces: blocks of Avro, as many rows of Parquet as the footer's widths allow, a column
of a stripe of ORC.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Self

from paimark.core import figures
from paimark.core.actions.context import with_progress
from paimark.core.errors import FileMissing, PaimarkError
from paimark.core.storage.files import AT_ONCE_BYTES, MOST_BYTES, Files, TooLarge
from paimark.core.table.layout import Root
from paimark.core.table.manifests.avro import read_avro
from paimark.core.table.records import TableSchema
from paimark.core.verify.needed_paths import SampleFile

_POSTPONED = "/bucket-postpone/"
_CHANGELOG_PREFIX = "changelog-"
FORMATS = frozenset({"parquet", "orc", "avro"})
# In addition to the memory that the process has before it reads anything; includes the bytes of the file.
MOST_MEMORY = 1 << 30
# Threads reserve much memory that they never use.
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}


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


class ReadingProcess:
    """Started for the first file, and again after a file on which it died."""

    def __init__(self, most_memory: int = MOST_MEMORY) -> None:
        self._most_memory = most_memory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, kind: str, data: bytes, keys: Sequence[str], at_once: int) -> tuple[int, bool] | str:
        """The number of rows, and whether they are in the order of the keys; or why it can't be decoded.

        At most `at_once` bytes are unpacked at once. Raises `TooLarge`.
        """
        header = {"kind": kind, "keys": list(keys), "at_once": at_once, "size": len(data)}
        answer = self._send(json.dumps(header).encode() + b"\n", data)
        if not answer:
            self._end()
            most = figures.size(self._most_memory)
            raise TooLarge(f"decoding it took more than {most}, or broke the decoder")
        reply: dict[str, Any] = json.loads(answer)
        if "too_large" in reply:
            raise TooLarge(reply["too_large"])
        return reply["fault"] if "fault" in reply else (reply["rows"], reply["ordered"])

    def _send(self, header: bytes, data: bytes) -> bytes:
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(header)
            process.stdin.write(data)
            process.stdin.flush()
        except BrokenPipeError:
            return b""
        return process.stdout.readline()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(self._most_memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
        )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _serve(requests: BinaryIO, answers: BinaryIO, most_memory: int) -> None:
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    _bound_memory(most_memory)
    while line := requests.readline():
        header = json.loads(line)
        answer = _answer(header, requests.read(header["size"]))
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _answer(header: dict[str, Any], data: bytes) -> dict[str, Any]:
    try:
        rows, ordered = _READERS[header["kind"]](data, header["keys"], header["at_once"])
    except (MemoryError, TooLarge) as error:
        why = str(error) if isinstance(error, TooLarge) else "decoding it takes too much memory"
        return {"too_large": why}
    except PaimarkError as error:
        return {"fault": error.message}
    # Bytes from outside: the decoders fail in more ways than they document.
    except Exception as error:
        return {"fault": str(error).splitlines()[0] if str(error) else type(error).__name__}
    return {"rows": rows, "ordered": ordered}


def _bound_memory(most: int) -> None:
    """Works only on Linux, where the system shows how much memory is in use."""
    import resource

    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + most
    resource.setrlimit(
        resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard)
    )


# The number of rows, and whether they are in the order of the keys.
RowFacts = tuple[int, bool]
# Takes the file's bytes, the key columns, and the number of bytes to unpack at once.
RowReader = Callable[[bytes, Sequence[str], int], RowFacts]

_MOST_ROWS = 1 << 14


def _parquet(data: bytes, keys: Sequence[str], most: int) -> RowFacts:
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(pa.BufferReader(data))
    own = _key_columns(metadata.schema.names, keys)
    columns = map(metadata.schema.column, range(metadata.num_columns))
    # In a dictionary, a long text that many rows share is in memory once.
    texts = [each.path for each in columns if _is_text(each) and each.path not in own]
    file = pq.ParquetFile(pa.BufferReader(data), metadata=metadata, read_dictionary=texts)
    return _counted(file.iter_batches(_rows_at_once(metadata, most)), file.schema_arrow.names, keys)


def _is_text(column: Any) -> bool:
    is_plain = column.max_repetition_level == 0 and "." not in column.path
    is_bytes = column.physical_type == "BYTE_ARRAY" and column.logical_type.type in ("STRING", "NONE")
    return is_plain and is_bytes


def _rows_at_once(metadata: Any, most: int) -> int:
    """The number of rows that have `most` bytes, by the footer. Raises `TooLarge` if rows are too wide."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
    if widest > most:
        raise TooLarge(f"its rows have {figures.size(widest)}")
    return min(_MOST_ROWS, most // max(1, widest))


def _orc(data: bytes, keys: Sequence[str], most: int) -> RowFacts:
    import pyarrow as pa
    from pyarrow import orc

    file = orc.ORCFile(pa.BufferReader(data))
    names = file.schema.names
    # pyarrow takes a dot for a field of a structure.
    groups: list[list[str] | None] = [None]
    if not any("." in name for name in names):
        first = _key_columns(names, keys) or names[:1]
        groups = [first, *([name] for name in names if name not in first)]
    stripes = range(file.nstripes)
    for columns in groups[1:]:
        for number in stripes:
            file.read_stripe(number, columns)
    return _counted((file.read_stripe(number, groups[0]) for number in stripes), names, keys)


def _avro(data: bytes, keys: Sequence[str], most: int) -> RowFacts:
    rows, ordered = 0, True
    before: tuple[Any, ...] | None = None
    names: list[str] | None = None
    for record in read_avro(data, most).records:
        if names is None:
            names = _key_columns(list(record), keys)
        now = tuple(record[name] for name in names)
        ordered = ordered and (before is None or before <= now)
        rows, before = rows + 1, now
    return rows, ordered


_READERS: dict[str, RowReader] = {"parquet": _parquet, "orc": _orc, "avro": _avro}


def _counted(batches: Iterable[Any], names: Sequence[str], keys: Sequence[str]) -> RowFacts:
    import pyarrow as pa

    columns = _key_columns(names, keys)
    rows, ordered = 0, True
    last: Any = None
    for batch in batches:
        rows += batch.num_rows
        if columns and ordered and batch.num_rows:
            piece = pa.Table.from_batches([batch.select(columns)])
            following = piece if last is None else pa.concat_tables([last, piece])
            ordered, last = _is_ascending(following), piece.slice(piece.num_rows - 1)
    return rows, ordered


def _key_columns(names: Sequence[str], keys: Sequence[str]) -> list[str]:
    """A key's column has the key's own name in the file, or the prefix `_KEY_` before it."""
    return [name if (name := f"_KEY_{key}") in names else key for key in keys]


def _is_ascending(table: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    equal = pa.array([True] * (table.num_rows - 1), pa.bool_())
    for column in table.itercolumns():
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        values = column.combine_chunks()
        left, right = values.slice(0, len(values) - 1), values.slice(1)
        if pc.any(pc.and_(equal, pc.greater(left, right))).as_py():
            return False
        equal = pc.and_(equal, pc.equal(left, right))
    return True


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]))
