"""Open tables for Spark's own readers, and make data frames of their rows."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from paimark.core.errors import Corrupt, FileMissing
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.incremental.live_files import KeptFiles
from paimark.core.spark.java.objects import new_instance
from paimark.core.spark.launch.cluster import is_cluster
from paimark.core.spark.launch.session_settings import DEFAULTS, REUSE, SCAN
from paimark.core.spark.merging.model import Bits, MergeGroup, Unmergeable, without
from paimark.core.spark.merging.reading import file_opener
from paimark.core.spark.merging.single_versions import narrowed
from paimark.core.spark.native.bitmap import encoded, is_cached, is_nearly_cached, merge_bits
from paimark.core.spark.native.columns import FileColumns, NotNative
from paimark.core.spark.native.conditions import Condition, SummaryColumns, ViewNeeds
from paimark.core.spark.native.first_rows import SMALL_RESULT, enough_rows, first_rows
from paimark.core.spark.native.pruning import Pruner
from paimark.core.spark.native.relation import ListedFile, Relations, require_no_old_dates
from paimark.core.spark.native.state import TableFile, TableState, alive_rows, table_state
from paimark.core.spark.native.summary import Summary, SummaryRow, summarised
from paimark.core.spark.session_conf import SessionConf
from paimark.core.spark.stores.access import HadoopStores
from paimark.core.spark.stores.settings import store_of
from paimark.core.table.layout import Root
from paimark.core.table.records import Snapshot, TableSchema

_KEPT_STATES = 32
_KEPT_FILES = 20_000
# The memory that Java takes for a file in a list.
_FILE_BYTES = 1_000
_KEPT_FRAMES = 64
_KEPT_FRAME_BYTES = 128 << 20
# For rows that are only counted.
_ROWS_A_TASK = 100_000_000


@dataclass(frozen=True, slots=True)
class NativeTable:
    """A table at a snapshot that Spark's own readers can read. `types` are its columns."""

    key: tuple[str, ...]
    root: Root
    schema: TableSchema
    types: StructType
    state: TableState
    pruner: Pruner
    beside: OtherState | None = None


@dataclass(frozen=True, slots=True)
class OtherState:
    """The state to compare with. Rows of the `alike` files (names) that are in both need not be read."""

    table: NativeTable
    alike: frozenset[str]


@dataclass(frozen=True, slots=True)
class _FrameKey:
    """The key of a cached frame."""

    table: tuple[str, ...]
    columns: frozenset[str] | None = None
    conditions: tuple[Condition, ...] = ()
    limit: int | None = None
    summary_columns: SummaryColumns | None = None


class _CachedFrame(NamedTuple):
    """A frame, and about how many bytes its list of files and its bits take in Java."""

    frame: DataFrame
    bytes: int


class NativeScans:
    """Caches the files and frames of the last used snapshots, within limits."""

    def __init__(self, conf: SessionConf, warehouse: WarehouseAccess) -> None:
        session = conf.spark
        self._conf = conf
        self._jvm: Any = getattr(session, "_jvm", None)
        self._warehouse = warehouse
        self._relations = Relations(session)
        # By key: the table, or the reason why Spark's readers can't read it.
        self._tables: OrderedDict[tuple[str, ...], NativeTable | str] = OrderedDict()
        self._files = KeptFiles[TableFile]()
        master = None if self._jvm is None else session.sparkContext.master
        self.stores = HadoopStores(session, warehouse, elsewhere=is_cluster(master or "local"))
        self._frames: OrderedDict[_FrameKey, _CachedFrame] = OrderedDict()

    def renew_keys(self) -> None:
        """Use the present keys of stores from now on. To be called before each statement."""
        self.stores.renew_keys()

    @property
    def is_here(self) -> bool:
        """Whether Spark's driver is on this machine: over Connect Spark takes no lists of files."""
        return self._jvm is not None

    def knows(self, root: Root, scan: Scan) -> bool:
        """Whether `open` needs to read nothing."""
        return self._jvm is None or self._chosen_reader != "auto" or _key(root, scan) in self._tables

    def open(self, root: Root, scan: Scan) -> NativeTable:
        """Open a table at a snapshot.

        Raises `NotNative`, with the reason, if it can't be read so; for its store as `require_readable`.
        """
        if (chosen := self._chosen_reader) != "auto":
            raise NotNative(f"{SCAN} is {chosen}")
        key = _key(root, scan)
        table = self._tables.pop(key, None)
        if table is None:
            try:
                table = self._read_table(key, root, scan)
            except NotNative as reason:
                table = str(reason)
        self._tables[key] = table
        while len(self._tables) > 1 and (
            len(self._tables) > _KEPT_STATES or sum(map(_files_of, self._tables.values())) > _KEPT_FILES
        ):
            self._tables.popitem(last=False)
        if isinstance(table, str):
            raise NotNative(table)
        return table

    def state(self, root: Root, scan: Scan) -> TableState:
        """The files to read, from the table's metadata only. Raises `NotNative`."""
        snapshot = Snapshot.from_json(scan.snapshot.encode(), root.snapshots) if scan.snapshot else None
        cache = self._files if self._reuses() else None
        return table_state(self._warehouse.files, root, snapshot, scan.table_schema, scan.only, cache)

    @property
    def _chosen_reader(self) -> str:
        return self._conf.get(SCAN, DEFAULTS[SCAN])

    def summary(self, table: NativeTable, need: ViewNeeds) -> Summary | None:
        """A summary from metadata that answers the aggregates in `need`; None if rows must be read."""
        if need.summary_columns is None or table.beside is not None:
            return None
        chosen = self._chosen(table, need.conditions)
        return summarised(table.schema, table.state.schemas, need.summary_columns, *chosen)

    def frame(self, table: NativeTable, need: ViewNeeds | None, summary: Summary | None = None) -> DataFrame:
        """A frame of at least the needed rows (`need` None: all rows), or of a `summary`."""
        key = _frame_key(table.key, need, summary)
        cached = self._frames.pop(key, None) or self._make_frame(table, key, summary)
        self._frames[key] = cached
        while len(self._frames) > 1 and (
            len(self._frames) > _KEPT_FRAMES
            or sum(each.bytes for each in self._frames.values()) > _KEPT_FRAME_BYTES
        ):
            self._frames.popitem(last=False)
        return cached.frame

    def frame_bytes(self, table: NativeTable, need: ViewNeeds | None, summary: Summary | None) -> int:
        """About how many bytes Java holds for a frame that `frame` returned."""
        cached = self._frames.get(_frame_key(table.key, need, summary))
        return 0 if cached is None else cached.bytes

    def _make_frame(self, table: NativeTable, key: _FrameKey, summary: Summary | None) -> _CachedFrame:
        if table.beside is not None:
            return self._unlike(table, table.beside, key.conditions)
        if summary is not None:
            return self._summarised(table, summary)
        if key.limit is not None and key.columns:
            return self._limited(table, key.columns, key.limit)
        files, groups = self._chosen(table, key.conditions)
        bits = merge_bits(self._conf, self._warehouse.client_options, groups)
        filled = [file for file in files if file.address not in bits or bits[file.address].popcount()]
        if key.columns == frozenset():
            rows = sum(alive_rows(file, bits) for file in filled)
            return _CachedFrame(self._counted(table, rows if key.limit is None else min(rows, key.limit)), 0)
        is_whole = len(files) == len(table.state.files) and list(groups) == list(table.state.merged)
        if is_whole and key != _FrameKey(table.key):
            # The whole frame is cached; making it takes longer than Spark needs to apply the conditions.
            frame = self.frame(table, None)
        else:
            frame = self._frame(table, filled, bits)
        return _CachedFrame(frame, _weight(filled, bits))

    def _summarised(self, table: NativeTable, summary: Summary) -> _CachedFrame:
        bits = merge_bits(self._conf, self._warehouse.client_options, summary.merged)
        names, rows = summary.listed(lambda file: alive_rows(file, bits))
        frame = summary_frame(self._conf.spark, table.types, names, rows)
        return _CachedFrame(frame, len(rows) * _FILE_BYTES)

    def _unlike(
        self, table: NativeTable, other: OtherState, conditions: tuple[Condition, ...]
    ) -> _CachedFrame:
        """The table's rows without those that a file has in both states."""
        files, groups = self._chosen(table, conditions)
        alike = {file.address for file in files if file.entry.facts.name in other.alike}
        # Columns may have other names in the other state: its files are not chosen by the conditions.
        others = [
            group for group in other.table.state.merged if any(file.path in alike for file in group.files)
        ]
        mine, theirs = (
            merge_bits(self._conf, self._warehouse.client_options, each) for each in (groups, others)
        )
        bits = dict(mine)
        for file in files:
            if file.address in alike:
                bits[file.address] = without(file.row_count, mine.get(file.address), theirs.get(file.address))
        filled = [file for file in files if alive_rows(file, bits)]
        return _CachedFrame(self._frame(table, filled, bits), _weight(filled, bits))

    def _limited(self, table: NativeTable, columns: frozenset[str], limit: int) -> _CachedFrame:
        enough = partial(enough_rows, self._conf, self._warehouse.client_options, table.state, limit)
        if limit <= SMALL_RESULT:
            files, bits = enough(by_heads=True)
            open_file = file_opener(self._warehouse.client_options)
            rows = first_rows(table.state, table.types, files, bits, columns, limit, open_file)
            if rows is not None:
                return _CachedFrame(self._relations.local(rows, table.types), rows.nbytes)
        # Spark needs the bits of whole files.
        files, bits = enough(by_heads=False)
        return _CachedFrame(self._frame(table, files, bits).limit(limit), _weight(files, bits))

    def _chosen(
        self, table: NativeTable, conditions: tuple[Condition, ...]
    ) -> tuple[Sequence[TableFile], Sequence[MergeGroup]]:
        """The files that may have wanted rows, and the groups in which other files replace rows of these."""
        state, pruner = table.state, table.pruner
        if not conditions:
            return state.files, state.merged
        on_keys = pruner.on_keys(conditions)
        by_keys = list(filter(pruner.keeps(on_keys), state.files))
        possible = {file.address for file in by_keys}
        files = list(filter(pruner.keeps(conditions), by_keys))
        chosen = {file.address for file in files}
        groups = [group for group in state.merged if any(file.path in chosen for file in group.files)]
        if all(map(is_nearly_cached if self._reuses() else is_cached, groups)):
            # Their bits are cached, or most of them.
            return files, groups
        return files, [part for group in groups for part in narrowed(group, possible)]

    def _reuses(self) -> bool:
        return self._conf.get(REUSE, DEFAULTS[REUSE]) != "off"

    def _counted(self, table: NativeTable, rows: int) -> DataFrame:
        """So many rows, of which the statement needs no column."""
        return self._relations.counted(rows, 1 + rows // _ROWS_A_TASK, table.types)

    def _read_table(self, key: tuple[str, ...], root: Root, scan: Scan) -> NativeTable:
        schema, state = scan.table_schema, self.state(root, scan)
        for address in {store_of(file.address): file.address for file in state.files}.values():
            self.stores.require_readable(address)
        types = spark_columns(scan)
        pruner = Pruner(schema, state.schemas)
        require_no_old_dates(state, types, pruner)
        if numbered := [group for group in state.merged if not group.has_row_numbers]:
            # Whether these can be merged shows only when their rows are read.
            try:
                merge_bits(self._conf, self._warehouse.client_options, numbered)
            except (Unmergeable, Corrupt, FileMissing) as reason:
                raise NotNative(str(reason)) from reason
        return NativeTable(key, root, schema, types, state, pruner, self._beside(root, scan))

    def _beside(self, root: Root, scan: Scan) -> OtherState | None:
        beside = scan.beside
        if beside is None:
            return None
        state = replace(
            scan,
            branch=beside.branch,
            snapshot=beside.snapshot,
            schema=beside.schema,
            only=beside.only,
            beside=None,
        )
        try:
            return OtherState(self.open(root.table.root(beside.branch), state), frozenset(beside.alike))
        except NotNative:
            return None

    def _frame(self, table: NativeTable, files: Iterable[TableFile], bits: Mapping[str, Bits]) -> DataFrame:
        alike: defaultdict[tuple[int, str], list[TableFile]] = defaultdict(list)
        for file in files:
            alike[file.schema_id, file.file_format].append(file)
        frames = [self._part(table, kind, part, bits) for kind, part in alike.items()]
        if not frames:
            return self._listed(table, "parquet", _of_no_file(table.types), StructType(), (), with_bits=False)
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionAll(frame)
        return whole

    def _part(
        self,
        table: NativeTable,
        kind: tuple[int, str],
        files: list[TableFile],
        bits: Mapping[str, Bits],
    ) -> DataFrame:
        """The rows of files that have the same columns."""
        listed = (
            ListedFile(
                self.stores.address(file.address),
                file.size,
                file.partition,
                encoded(bits[file.address]) if file.address in bits else None,
            )
            for file in files
        )
        with_bits = any(file.address in bits for file in files)
        constants = table.state.constants
        return self._listed(table, kind[1], table.state.columns[kind], constants, listed, with_bits=with_bits)

    def _listed(
        self,
        table: NativeTable,
        file_format: str,
        columns: FileColumns,
        constants: StructType,
        listed: Iterable[ListedFile],
        *,
        with_bits: bool,
    ) -> DataFrame:
        location = self.stores.address(f"{self._warehouse.files.uri.rstrip('/')}/{table.root.directory}")
        return self._relations.files(
            location, file_format, columns, constants, listed, table.types, with_bits=with_bits
        )


def _key(root: Root, scan: Scan) -> tuple[str, ...]:
    """Everything that determines which files of which table are read."""
    return (
        root.directory,
        scan.snapshot,
        scan.schema,
        *(("only", *scan.only) if scan.only is not None else ()),
        *(("beside", msgspec.json.encode(scan.beside).decode()) if scan.beside is not None else ()),
    )


def _frame_key(table: tuple[str, ...], need: ViewNeeds | None, summary: Summary | None) -> _FrameKey:
    """The key of a frame. With conditions, a frame has no limit and all columns: Spark applies the rest."""
    if need is None:
        return _FrameKey(table)
    if summary is not None:
        return _FrameKey(table, None, need.conditions, None, need.summary_columns)
    if need.conditions:
        return _FrameKey(table, None, need.conditions)
    if need.limit is None and need.columns:
        return _FrameKey(table)
    return _FrameKey(table, frozenset(need.columns), (), need.limit)


def _of_no_file(types: StructType) -> FileColumns:
    return FileColumns(types, tuple(types.names))


def _files_of(table: NativeTable | str) -> int:
    return 0 if isinstance(table, str) else len(table.state.files)


def _weight(files: Sequence[TableFile], bits: Mapping[str, Bits]) -> int:
    """About how many bytes Java holds for a frame."""
    merged = (bits[file.address] for file in files if file.address in bits)
    return len(files) * _FILE_BYTES + sum(each.rows // 8 for each in merged)


def summary_frame(
    session: SparkSession, table: StructType, names: Sequence[str], rows: Sequence[SummaryRow]
) -> DataFrame:
    """The frame of a table's summary. Its rows have values for the columns `names`; the others are null."""
    texts = msgspec.json.encode([[count, *values] for count, values in rows]).decode()
    java = _java(session)
    return DataFrame(java.summary(table.json(), list(names), texts), session)


@lru_cache(maxsize=1)
def _java(session: SparkSession) -> Any:
    return new_instance(session, "scans.Summaries", session._jsparkSession)
