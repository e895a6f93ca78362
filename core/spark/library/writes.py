"""Write rows by Paimon's own library in Spark's tasks, and commit them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec import structs
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from paimark.core.errors import Outrun, Refused, before_commit
from paimark.core.figures import counted
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.library.chains import rehearsed, take_along
from paimark.core.spark.library.commit import Committed, LibraryCommit, other_buckets
from paimark.core.spark.library.compaction import LibraryCompaction
from paimark.core.spark.library.written_table import WrittenTables, require_own_files
from paimark.core.spark.stores.access import HadoopStores, innermost
from paimark.core.spark.writing.late_commit import after_commit
from paimark.core.spark.writing.target import WriteTarget, require_unchanged, require_writable
from paimark.core.storage.files import Files, read_if_there

_RESCALED = "with a new bucket num"


class Counts(NamedTuple):
    """Rows that a statement changed.

    `gone` are records of files that were taken away, where nobody counts the rows that they make.
    """

    deleted: int
    updated: int
    inserted: int
    gone: int

    @property
    def said(self) -> str:
        """`1 row deleted, 2 rows updated`."""
        known = {"deleted": self.deleted, "updated": self.updated, "inserted": self.inserted}
        said = [f"{counted(rows, 'row')} {name}" for name, rows in known.items() if rows]
        if self.gone:
            return f"files with {counted(self.gone, 'record')} taken away"
        return ", ".join(said)


class Changed(NamedTuple):
    """What a statement changed; `commit` is None if that was nothing."""

    commit: Committed | None
    counts: Counts


class LibraryWrites:
    """Writes rows of a session's frames."""

    def __init__(self, session: SparkSession, warehouse: WarehouseAccess, stores: HadoopStores) -> None:
        self._tables = WrittenTables(session, warehouse, stores)
        self.compaction = LibraryCompaction(self._tables)

    def require(self, target: WriteTarget) -> None:
        """Raises `Refused` if it can't write there: it is not loaded, does not reach the store, or refuses.

        It opens the table, and refuses kinds that it would not write correctly.
        """
        require_writable(target)
        self._tables.require_reached(target)
        self._begun(target)

    def write(
        self,
        target: WriteTarget,
        frame: DataFrame,
        *,
        partitions: DataFrame | None = None,
        is_small: bool = False,
        assigned: bool = False,
    ) -> Committed | None:
        """Write the frame's rows, which have the table's columns, as one commit; None if that was nothing.

        `assigned`: Spark converts them to the table's types, and fills columns that are left out.

        An overwrite with `partitions` replaces those with these values of some partition columns. `is_small`:
        one task writes. Raises as `LibraryCommit.make`, and Spark's error of a task.
        """
        write = self.written(target, frame, partitions=partitions, is_small=is_small, assigned=assigned)
        if write.isEmpty() and not target.overwrite:
            return None
        return self._committed(target, write)

    def written(
        self,
        target: WriteTarget,
        frame: DataFrame,
        *,
        partitions: DataFrame | None = None,
        is_small: bool = False,
        assigned: bool = False,
    ) -> Any:
        """As `write`, without the commit: Java's `TableWrite` with the files of the tasks."""

        def fill(write: Any) -> None:
            if partitions is not None:
                write.replace(partitions._jdf)
            self._write_rows(target, write, frame, is_small, assigned)

        return self._filled(target, fill, is_partial=target.dynamic or partitions is not None)

    def change(
        self,
        target: WriteTarget,
        run: Callable[[Any], None],
        most: int | None = None,
        *,
        is_partial: bool = False,
    ) -> Changed:
        """Commit what `run` changes: it gets Java's `TableWrite`, whose table statements change.

        `is_partial`: an overwrite replaces some partitions only. Raises as `write`, Spark's error of a
        statement, and `Refused` if more than `most` rows would change.
        """
        with before_commit():
            write = self._changing(target, is_partial=is_partial)
            run(write)
            counts = Counts(*write.counts())
            if most is not None and (rows := counts.deleted + counts.updated + counts.gone) > most:
                write.delete()
                raise Refused(
                    f"Others added rows to {target.name} that are meant too: "
                    f"{counted(rows, 'record' if counts.gone else 'row')}, and not {most} as planned",
                    "Nothing was committed: make a new plan.",
                )
        return self.finish_change(target, write)

    def begun_change(self, target: WriteTarget) -> Any:
        """Java's `TableWrite`, for a statement that changes rows. Raises as `require` and `write`.

        If others may go on beside it, they must not change rows of the same keys.
        """
        self.require(target)
        return self._changing(target)

    def _changing(self, target: WriteTarget, *, is_partial: bool = False) -> Any:
        write = self._checked(target, is_partial=is_partial)
        if target.may_go_on:
            self._require_known(target)
            write.changeBeside()
        return write

    def finish_change(self, target: WriteTarget, write: Any) -> Changed:
        """Commit what was changed since `begun_change`. Raises as `write`."""
        with before_commit():
            require_own_files(self.files, target.root, write)
        counts = Counts(*write.counts())
        if write.isEmpty():
            return Changed(None, counts)
        return Changed(self._committed(structs.replace(target, done=_done(target, counts)), write), counts)

    def begun(self, target: WriteTarget, *, is_partial: bool = False) -> Any:
        """Java's `TableWrite`, for rows that Java writes by itself. Raises as `require` and `write`.

        `is_partial`: an overwrite replaces some partitions only, which Java names.
        """
        self.require(target)
        return self._checked(target, is_partial=is_partial or target.dynamic)

    def finish(
        self, target: WriteTarget, write: Any, commit: LibraryCommit | None = None
    ) -> Committed | None:
        """Commit what Java wrote since `begun`; None if that was nothing. Raises as `write`."""
        require_own_files(self.files, target.root, write)
        if write.isEmpty() and not target.overwrite:
            return None
        return self._committed(target, write, commit)

    def describe(
        self, target: WriteTarget, found: DataFrame, columns: Sequence[str], size: int
    ) -> Committed | None:
        """Commit statistics of the target's `head`: `found` is as Java's `ColumnStatistics` takes it.

        Raises as `write`, and Spark's error of the query.
        """
        write = self._filled(
            target, lambda write: write.describe(found._jdf, list(columns), size), is_partial=False
        )
        return LibraryCommit(self.files, target, write).make()

    @property
    def files(self) -> Files:
        return self._tables.files

    def _committed(
        self, target: WriteTarget, write: Any, commit: LibraryCommit | None = None
    ) -> Committed | None:
        commit = commit or LibraryCommit(self.files, target, write)
        commit.owed = partial(rehearsed, self._tables, target)
        made = commit.make()
        if made is not None:
            unseen = self.compaction.show(target, write) or take_along(self._tables, target, made)
            made = made._replace(unseen=unseen)
        after_commit(target)
        return made

    def _filled(self, target: WriteTarget, fill: Callable[[Any], None], *, is_partial: bool) -> Any:
        with before_commit():
            write = self._checked(target, is_partial=is_partial)
            fill(write)
            require_own_files(self.files, target.root, write)
        return write

    def _checked(self, target: WriteTarget, *, is_partial: bool) -> Any:
        require_writable(target)
        self._tables.require_safe(target)
        # The library's tasks look for the newest snapshot themselves, and take LATEST's word.
        require_unchanged(self.files, target)
        return self._begun(target, is_partial=is_partial)

    def _require_known(self, target: WriteTarget) -> None:
        """Raises `Outrun` if the snapshot whose rows are changed has expired."""
        if not self.files.exists(target.root.snapshot(target.known)):
            expired = f"Snapshot {target.known} of {target.root.label} of {target.name} has expired"
            raise Outrun(expired, "Nothing was committed: start again.")

    def _begun(self, target: WriteTarget, *, is_partial: bool = False) -> Any:
        """Java's `TableWrite`. `is_partial`: an overwrite replaces some partitions only."""
        known = None
        if target.known:
            data = read_if_there(self._tables.files, target.root.snapshot(target.known))
            known = None if data is None else data.decode()
        replacing = "NOTHING"
        if target.overwrite:
            replacing = "PARTITIONS" if is_partial else "ALL"
        return self._tables.opened(target, "TableWrite", known, replacing, target.dynamic)

    def _write_rows(
        self, target: WriteTarget, write: Any, frame: DataFrame, is_small: bool, assigned: bool
    ) -> None:
        try:
            if assigned:
                write.assign(frame._jdf, target.name)
            else:
                write.write(frame._jdf, is_small)
        except Py4JJavaError as error:
            text = str(innermost(error.java_exception).getMessage())
            if _RESCALED in text:
                raise other_buckets(target.name) from error
            raise


def _done(target: WriteTarget, counts: Counts) -> str:
    return ": ".join(each for each in (target.done, counts.said) if each)
