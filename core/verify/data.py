"""Reading data files: can they be decoded, have they as many rows as is said, in the order of their keys?

Here alone the libraries that decode data are loaded, when there is something to read. A file is unpacked in
pieces: blocks of Avro, rows of Parquet as many as its footer's widths allow, a column of a stripe of ORC. One
with larger pieces of the first two than `core.storage.limits` allows is passed over: nothing of it is known.
How large a piece of ORC will be nobody is told before, nor whether a footer of Parquet lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from core import figures
from core.actions.garbage.estimate import told
from core.errors import FileMissing, PaimarkError
from core.storage.files import Files
from core.storage.limits import AT_ONCE_BYTES, MOST_BYTES, TooLarge
from core.table.layout import Root
from core.table.manifests.avro import read_avro
from core.table.records import TableSchema
from core.verify.located import SampleFile

# How many rows there are, and whether they are in the order of the keys.
RowFacts = tuple[int, bool]
RowReader = Callable[[bytes, Sequence[str]], RowFacts]

_MOST_ROWS = 1 << 14
_POSTPONED = "/bucket-postpone/"
_CHANGELOG_PREFIX = "changelog-"


def faults(
    files: Files, sample: Sequence[SampleFile], progress: Callable[[str], None], unread: list[str]
) -> Iterator[tuple[SampleFile, str]]:
    """What is wrong with each file, a sentence; those of a format that nobody here reads are passed over.

    `unread` takes the paths of those that need too much memory.
    """
    schemas: dict[tuple[Root, int], TableSchema] = {}
    for each in told(sample, len(sample), "data files", progress):
        read = _READERS.get(each.path.rpartition(".")[2].lower())
        try:
            if read is not None and (sentence := _fault(files, each, read, _keys(files, each, schemas))):
                yield each, sentence
        except FileMissing:
            # That it is missing is told already.
            continue
        except TooLarge as error:
            unread.append(each.path)
            progress(f"{each.path} was not read: {error}")


def _keys(files: Files, file: SampleFile, schemas: dict[tuple[Root, int], TableSchema]) -> list[str]:
    """The columns that the rows are ordered by; none where the writer orders nothing."""
    name = file.path.rpartition("/")[2]
    at = file.root, file.schema_id
    if at not in schemas:
        schemas[at] = TableSchema.from_path(files, file.root.schema(file.schema_id))
    schema = schemas[at]
    prefix = schema.options.get("changelog-file.prefix", _CHANGELOG_PREFIX)
    if _POSTPONED in file.path or name.startswith(prefix):
        return []
    return [key for key in schema.primary_keys if key not in schema.partition_keys]


def _fault(files: Files, file: SampleFile, read: RowReader, keys: Sequence[str]) -> str | None:
    if (size := files.size(file.path)) is not None and size > MOST_BYTES:
        raise TooLarge(f"it has {figures.size(size)}")
    data = files.read(file.path)
    try:
        rows, ordered = read(data, keys)
    except (PaimarkError, TooLarge):
        raise
    # Bytes from outside: the decoders fail in more ways than they document.
    except Exception as error:
        return f"it can't be decoded ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
    if rows != file.rows:
        return f"it has {rows} rows, and should have {file.rows}"
    return None if ordered else f"its rows are not in the order of {', '.join(keys)}"


def _parquet(data: bytes, keys: Sequence[str]) -> RowFacts:
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(pa.BufferReader(data))
    own = _key_columns(metadata.schema.names, keys)
    columns = map(metadata.schema.column, range(metadata.num_columns))
    # One long text that many rows share stays one.
    texts = [each.path for each in columns if _is_text(each) and each.path not in own]
    file = pq.ParquetFile(pa.BufferReader(data), metadata=metadata, read_dictionary=texts)
    return _counted(file.iter_batches(_rows_at_once(metadata)), file.schema_arrow.names, keys)


def _is_text(column: Any) -> bool:
    is_plain = column.max_repetition_level == 0 and "." not in column.path
    is_bytes = column.physical_type == "BYTE_ARRAY" and column.logical_type.type in ("STRING", "NONE")
    return is_plain and is_bytes


def _rows_at_once(metadata: Any) -> int:
    """By the footer. Raises `TooLarge` for rows that are too wide."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
    if widest > AT_ONCE_BYTES:
        raise TooLarge(f"its rows have {figures.size(widest)}")
    return min(_MOST_ROWS, AT_ONCE_BYTES // max(1, widest))


def _orc(data: bytes, keys: Sequence[str]) -> RowFacts:
    import pyarrow as pa
    from pyarrow import orc

    file = orc.ORCFile(pa.BufferReader(data))
    names = file.schema.names
    # A dot would be taken for a field of a structure.
    groups: list[list[str] | None] = [None]
    if not any("." in name for name in names):
        first = _key_columns(names, keys) or names[:1]
        groups = [first, *([name] for name in names if name not in first)]
    stripes = range(file.nstripes)
    for columns in groups[1:]:
        for number in stripes:
            file.read_stripe(number, columns)
    return _counted((file.read_stripe(number, groups[0]) for number in stripes), names, keys)


def _avro(data: bytes, keys: Sequence[str]) -> RowFacts:
    rows, ordered = 0, True
    before: tuple[Any, ...] | None = None
    names: list[str] | None = None
    for record in read_avro(data, AT_ONCE_BYTES).records:
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
    """A key lies in a file under its own name, or also under one of its own."""
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
