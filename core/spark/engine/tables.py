"""Resolve the tables that a statement names to scans, or to the rows of system tables."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_in
from datetime import tzinfo

from msgspec.structs import replace

from paimark.core.errors import Refused, StatementFailed, failing_at
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.spark.datasource.table_options import ReadScope
from paimark.core.spark.incremental.differing_files import narrowed_to_differences
from paimark.core.spark.library.reads import LibraryReads
from paimark.core.spark.native.columns import NotNative
from paimark.core.spark.native.scans import NativeScans, NativeTable
from paimark.core.spark.protocol import LISTED, Reading
from paimark.core.table.layout import MAIN, Root
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import point_of
from paimark.core.table.system_tables import Row, SystemTable, left_out, system_table
from paimark.core.travel.parse.statement import TableUse
from paimark.core.travel.resolving import TravelSource, resolve_name
from paimark.core.travel.times import shown_time
from paimark.core.travel.version import Resolved

NATIVE = "native"
BY_LIBRARY = "paimon library"
_LOOKED_UP = "; its rows are looked up here, without a job"


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """A resolved use of a table. Exactly one of `scan` and `system` is set; `rows` are those of `system`.

    `native` is set if Spark's own readers can do the scan; otherwise `why_not` has the reason, and
    `by_library` is what the statement reads for Paimon's library. `version` is that of the state for
    `LakeCatalog.java`; empty if it shows what is there now.
    """

    use: TableUse
    label: str
    reading: Reading
    scan: Scan | None = None
    system: SystemTable | None = None
    rows: tuple[Row, ...] = ()
    native: NativeTable | None = None
    by_library: ReadScope | None = None
    why_not: str = ""
    version: str = ""

    @property
    def unread(self) -> OpenedTable:
        """The same table, reported as answered by metadata."""
        return replace_in(self, reading=replace(self.reading, scan=LISTED))

    @property
    def explained(self) -> str:
        """The table's line in an EXPLAIN."""
        reason = f" ({self.why_not})" if self.why_not else ""
        note = f": {self.reading.note}" if self.reading.note else ""
        asked = f", for {self.use.clause.words} {_asked(self.use)}" if self.use.clause else ""
        return f"scan: {self.reading.scan}{reason} {self.label} at {self.reading.version}{asked}{note}"


def explained(opened: Sequence[OpenedTable], plan: str, looked_up: Container[OpenedTable]) -> str:
    """The output of EXPLAIN: one line per table, then Spark's plan, which doesn't show `looked_up` tables."""
    lines = [table.explained + (_LOOKED_UP if table in looked_up else "") for table in opened]
    return "\n".join([*lines, *([""] if lines else []), plan.strip()])


@dataclass(frozen=True, slots=True)
class Opener:
    """Resolves one statement's tables, all at the time `now_ms` (epoch ms). `zone` is the session's."""

    warehouse: WarehouseAccess
    natives: NativeScans
    library: LibraryReads
    database: str | None
    zone: tzinfo
    now_ms: int

    def resolve(self, sql: str, use: TableUse) -> OpenedTable | None:
        """Resolve a table, without opening its files. None for a name that Spark may know.

        Raises `StatementFailed` with the table's position.
        """
        with failing_at(use.position):
            return self._resolve(sql, use)

    def is_open(self, table: OpenedTable) -> bool:
        """Whether `open` needs to read nothing."""
        scan = table.scan
        return (
            scan is None
            or bool(self.library.why(scan, scope_of(table.use)))
            or self.natives.knows(scan.root, scan)
        )

    def open(self, table: OpenedTable) -> OpenedTable:
        """Open a table for Spark's own readers if possible. Raises `StatementFailed` with its position."""
        if table.scan is None:
            return table
        with failing_at(table.use.position):
            if not self.natives.is_here:
                return _on_server(self.library, table, table.scan)
            return opened_scan(self.natives, self.library, table, table.scan, scope_of(table.use))

    def differing(self, tables: list[OpenedTable]) -> list[OpenedTable]:
        """The two versions of a difference without the files that are equal in both; otherwise `tables`."""
        scans = [table.scan for table in tables if table.scan is not None]
        if len(scans) != 2 or len(tables) != 2 or not self.natives.is_here:
            return tables
        return [
            replace_in(table, scan=side.scan, reading=replace(table.reading, note=_joined(table, side.note)))
            for table, side in zip(tables, narrowed_to_differences(self.warehouse.files, *scans), strict=True)
        ]

    def _resolve(self, sql: str, use: TableUse) -> OpenedTable | None:
        files = self.warehouse.files
        # A view was made in a database of its own.
        named = resolve_name(files, use, (use.database or None) if use.key else self.database)
        if named is None:
            return None
        table, name = named
        root = branch_root(files, table, name.branch)
        label = table.full_name + name.suffix
        if name.system is not None and not self.natives.is_here:
            return _listed_on_server(use, label, system_table(name.system))
        if name.system is not None:
            return self._system(sql, use, root, label, system_table(name.system), name.branch)
        resolved = self._source(root).as_written(sql, use, now_ms=self.now_ms)
        snapshot = resolved.snapshot if resolved is not None else None
        scan = make_scan(
            self.warehouse,
            root,
            snapshot,
            pinned=use.clause is not None,
            scope=scope_of(use),
            by_library=True,
        )
        version = self._version(resolved, root, name.branch)
        note, point = ("", None) if resolved is None else (resolved.note, point_of(resolved.snapshot))
        reading = Reading(label, version, "", note, point)
        return OpenedTable(use, reading.table, reading, scan, version=_for_catalog(use, resolved))

    def _source(self, root: Root) -> TravelSource:
        return TravelSource(self.warehouse.files, root, self.zone)

    def _system(
        self, sql: str, use: TableUse, root: Root, label: str, system: SystemTable, branch: str | None
    ) -> OpenedTable:
        if system.of_snapshot is not None:
            resolved = self._source(root).as_written(sql, use, now_ms=self.now_ms)
            rows = system.of_snapshot(self.warehouse.files, root, resolved.snapshot) if resolved else ()
            version = self._version(resolved, root, branch)
            reading = Reading(label, version, LISTED, resolved.note if resolved else "")
            return OpenedTable(use, label, reading, None, system, tuple(rows))
        if use.clause is not None:
            raise StatementFailed(
                f"{label} has no past: it lists what is there now",
                "Leave the clause out.",
                use.clause.start,
            )
        unreadable: dict[str, str] = {}
        listed = tuple(system.read(self.warehouse.files, root, unreadable))
        reading = Reading(label, "now", LISTED, left_out(unreadable))
        return OpenedTable(use, label, reading, None, system, listed)

    def _version(self, resolved: Resolved | None, root: Root, written_branch: str | None) -> str:
        if resolved is None:
            return "no snapshot yet"
        of_branch = f" of {root.branch}" if root.branch is not None and written_branch is None else ""
        snapshot = resolved.snapshot
        name = resolved.name if resolved.kind == "snapshot" else f"{resolved.name} (snapshot.{snapshot.id})"
        return f"{name}{of_branch}, {shown_time(snapshot.time_millis, self.zone)}"


def scope_of(use: TableUse) -> ReadScope:
    # `t$branch_main` means only the rows of main, without those of fallback branches.
    if f"branch_{MAIN}" in use.parts[-1].split("$"):
        return "root"
    return "table" if use.clause is None else "version"


def opened_scan(
    natives: NativeScans, library: LibraryReads, table: OpenedTable, scan: Scan, scope: ReadScope
) -> OpenedTable:
    """Open a scan for Spark's own readers, else for Paimon's library. Raises `Refused` if none reads it."""
    try:
        if why := library.why(scan, scope):
            raise NotNative(why)
        native = natives.open(scan.root, scan)
    except NotNative as why:
        library.require_readable(scan, str(why))
        told = replace(table.reading, scan=BY_LIBRARY)
        alone = replace(scan, beside=None)
        return replace_in(table, reading=told, scan=alone, by_library=scope, why_not=str(why))
    return replace_in(table, reading=replace(table.reading, scan=NATIVE), scan=scan, native=native)


def _on_server(library: LibraryReads, table: OpenedTable, scan: Scan) -> OpenedTable:
    """A table that a server's catalog reads. Raises `Refused` for options that its library may not know."""
    if lacking := library.lacks(scan):
        raise Refused(
            f"{scan.name} has the option {lacking}, and the library of a Spark Connect server may be too old "
            "to know it",
            "Use another --spark-master: local[*].",
        )
    return replace_in(table, reading=replace(table.reading, scan=BY_LIBRARY), by_library=scope_of(table.use))


def _listed_on_server(use: TableUse, label: str, system: SystemTable) -> OpenedTable:
    if system.name == "operations":
        raise Refused(
            f"{label} is not listed over Spark Connect: Paimon's library does not know it",
            "Use another --spark-master: local[*].",
        )
    if use.clause is not None:
        raise StatementFailed(
            f"{label} has no past over Spark Connect: it lists what is there now",
            "Leave the clause out.",
            use.clause.start,
        )
    return OpenedTable(use, label, Reading(label, "now", LISTED), None, system)


def _for_catalog(use: TableUse, resolved: Resolved | None) -> str:
    if resolved is None:
        return ""
    return f"now/{resolved.snapshot.id}" if use.clause is None else resolved.name


def _joined(table: OpenedTable, note: str) -> str:
    return f"{table.reading.note} {note}".strip()


def _asked(use: TableUse) -> str:
    if use.version is not None:
        return f"'{use.version}'"
    assert use.clause is not None
    return use.clause.time or str(use.clause.time_ms)
