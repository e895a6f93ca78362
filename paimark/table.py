"""A table: its records and its versions. `paimark.actions` has the methods that change it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice

from paimark.actions import TableActions
from paimark.arguments import branch_name, checked_arguments, number
from paimark.core.actions.recover_first import plan_to_apply
from paimark.core.errors import UsageError
from paimark.core.space.report import SpaceReport
from paimark.core.spark.datasource.table_options import ReadScope
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import MAIN, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.lineage.protected import reasons
from paimark.core.table.operations import CheckResult
from paimark.core.table.system_tables import (
    Row,
    newest_snapshots,
    savepoints_by_id,
    snapshot_row,
    system_table,
)
from paimark.core.travel.diff.versions import DiffVersion, find_version
from paimark.core.travel.requested_version import RequestedVersion
from paimark.core.travel.times import epoch_ms
from paimark.core.travel.version import resolve_time
from paimark.records import (
    Blamed,
    Branch,
    FirstRows,
    Holder,
    Operation,
    RowChange,
    Schema,
    Snapshot,
    Tag,
    schema_of,
)
from paimark.results import Tried, result_of
from paimark.savepoints import Savepoint
from paimark.session import tell, warn, warn_left_out
from paimark.version import Version


class Table(TableActions):
    """A table of a warehouse. It caches nothing: each call reads the current state of the table.

    Lists leave out files that can't be read, and log a warning for each. Each call raises `NotFound` if
    the table or the branch is gone, `Corrupt`, and `Unavailable`. `branch` is a branch's name, None for main.
    """

    def snapshots(self, *, branch: str | None = None, limit: int | None = None) -> list[Snapshot]:
        """The snapshots, newest first: the `limit` newest, None for all."""
        if limit is not None:
            number("limit", limit, 1)
        unreadable: dict[str, str] = {}
        rows = newest_snapshots(self._session.files, self._root(branch), limit, unreadable)
        snapshots = [Snapshot(*snapshot_row(each)) for each in rows]
        warn_left_out(unreadable.values())
        return snapshots

    def savepoints(self, *, branch: str | None = None) -> list[Savepoint]:
        """The savepoints by id: those of a branch, or all if `branch` is None."""
        unreadable: dict[str, str] = {}
        files, path = self._session.files, self._path
        found = savepoints_by_id(files, path, branch_name(branch), unreadable)
        warn_left_out(unreadable.values())
        why = reasons(files, path.root(), "savepoint")
        return [
            Savepoint._of(each, health, why.get(str(each.id)))._found_in(files, path.savepoints)
            for each, health in found
        ]

    def branches(self) -> list[Branch]:
        """The branches, main first, then by name."""
        return [Branch(*row) for row in self._rows("branches", None)]

    def tags(self, *, branch: str | None = None) -> list[Tag]:
        """The tags by name, including those of savepoints (`savepoint.3`)."""
        return [Tag(*row) for row in self._rows("tags", branch)]

    def schemas(self, *, branch: str | None = None) -> list[Schema]:
        """Every version of the table's definition, oldest first."""
        lineage = Lineage(self._session.files, self._root(branch))
        schemas = [schema_of(each) for each in lineage.schemas()]
        warn_left_out(lineage.unreadable.values())
        return schemas

    def operations(self) -> list[Operation]:
        """The operation log of the table, oldest first. `undo`, `redo` and `restore` follow it."""
        find_table(self._session.files, self.name)
        return [Operation(*row) for row in self._rows("operations", None)]

    def space(self, *, branch: str | None = None) -> SpaceReport:
        """The bytes that each branch, tag and savepoint holds, and the buckets with the most small files.

        Deletion of a branch, tag or savepoint frees the bytes that it holds alone. `branch` is for the
        buckets. Every list and manifest is read, and every directory listed: minutes for a large table.
        """
        from paimark.core.space.space import space

        return space(self._session.context, self._path, branch_name(branch))

    def check(self, version: str | None = None, *, file: str | None = None) -> list[CheckResult]:
        """Check a version, written as in `paimark diff`; main's newest for None.

        The checks are those of a `file`, else of the table's own: `checks/<database>.<table>.sql` beside the
        configuration. Spark makes them. Raises `UsageError` for an invalid file.
        """
        from paimark.core.actions.row_checks.checking import check_version

        with self._session.acting() as context:
            _, results = check_version(context, self._path, version, file, context.progress)
            return list(results)

    def try_script(
        self, file: str, *, check: str | None = None, publish: str = "merge", name: str | None = None
    ) -> Tried:
        """Run the script of a file on a branch of main, check it, and publish it if all of that is right.

        In the script `{this}` is the branch and `{main}` is main. `check` is as in `check`; `publish` is
        merge, replace or no; `name` is the branch's. Raises as the actions do: main is then as it was, and
        the branch stays.
        """
        from paimark.core.statements.try_script import TRY_SCRIPT

        given = {"file": file, "check": check, "publish": publish, "name": name}
        checked = checked_arguments(TRY_SCRIPT, given)
        with self._session.acting() as context:
            plan = plan_to_apply(TRY_SCRIPT, context, self._path, checked)
            warn(plan.warnings)
            result = result_of(plan, TRY_SCRIPT.apply(context, plan, tell))
        assert isinstance(result, Tried)
        return result

    def when(
        self, condition: str, *, branch: str | None = None, old: str | None = None, new: str | None = None
    ) -> FirstRows:
        """The first version with rows of a condition: `price < 0`. It is a binary search, in Spark.

        It looks from the version `old` to `new`, None for the oldest and the newest. Raises `NotFound` if the
        newest has no such row, and `StatementFailed` for an invalid condition.
        """
        from paimark.core.statements.questions.when import When

        with self._session.acting() as context:
            search = When(context, self._path, branch_name(branch), condition, old, new)
            found = search.find(context.progress)
        first, before = found.first, found.before
        version = first.version
        return FirstRows(
            version.snapshot_id,
            version.name,
            first.time_millis,
            first.rows,
            None if before is None else before.version.name,
            found.gone,
        )

    def history(
        self, key: Mapping[str, object], *, branch: str | None = None, limit: int | None = None
    ) -> list[RowChange]:
        """What happened to the row with these values, `{"order_id": 42}`: the `limit` newest changes, or all.

        A table without a primary key takes any columns. Raises `UsageError` for a column that the table
        lacks, or a key that is not whole.
        """
        from paimark.core.statements.questions.history import History

        if limit is not None:
            number("limit", limit, 1)
        values = {name: str(value) for name, value in key.items()}
        with self._session.acting() as context:
            search = History(context, self._path, branch_name(branch), values)
            return [
                RowChange(
                    each.after.snapshot_id,
                    each.after.name,
                    each.commit.time_millis,
                    each.commit.commit_user,
                    each.kind,
                    tuple(map(dict, each.old)),
                    tuple(map(dict, each.new)),
                    None if each.before is None else each.before.name,
                )
                for each in islice(search.find(context.progress), limit)
            ]

    def blame(
        self,
        condition: str | None = None,
        *,
        keys: Sequence[Mapping[str, object]] | None = None,
        branch: str | None = None,
    ) -> list[Blamed]:
        """Which commit wrote each row last, of a condition, `price < 0`, or of keys, `[{"order_id": 42}]`.

        Rows that are not there now are left out. Raises `UsageError` for a table without a primary key, for a
        key that is not whole, and for a condition of more than 1,000 rows.
        """
        from paimark.core.statements.questions.blame import Blame

        named = None if keys is None else json.dumps([dict(each) for each in keys], default=str)
        with self._session.acting() as context:
            search = Blame(context, self._path, branch_name(branch), {"where": condition, "keys": named})
            return [
                Blamed(dict(key), None, None, None, None)
                if version is None or commit is None
                else Blamed(dict(key), commit.id, version.name, commit.time_millis, commit.commit_user)
                for key, version, commit in search.find(context.progress)
            ]

    def holders(
        self, condition: str | None = None, *, key: Mapping[str, object] | None = None
    ) -> list[Holder]:
        """The versions that still have rows of a condition, `price < 0`, or of a key, `{"order_id": 42}`.

        They are in the order in which their commands can be run; then no file has the rows any more. Nothing
        is deleted. Each version is counted, in Spark.
        """
        from paimark.core.statements.questions.holders import Holders

        values = None if key is None else {name: str(value) for name, value in key.items()}
        with self._session.acting() as context:
            found = list(Holders(context, self._path, condition, values).find(context.progress))
        return [Holder(each.what, each.name, each.snapshot_id, each.rows, each.commands) for each in found]

    def at(self, version: str | int | None = None, *, branch: str | None = None) -> Version:
        """The table at a version, or at the newest if none is named.

        A text is a version as after VERSION AS OF: `snapshot.12`, `savepoint.3`, a tag. A number is the id
        of a snapshot. An expired snapshot is found if a tag or savepoint keeps it, and `note` says so. If
        `branch` is None, a savepoint is found on any branch. Raises `NotFound`, which lists the versions.
        """
        if isinstance(version, bool) or not isinstance(version, str | int | None):
            raise UsageError(f"A version is a text or a snapshot's id, not {version!r}")
        name = f"snapshot.{version}" if isinstance(version, int) else version
        chosen = find_version(self._session.files, self._path, RequestedVersion(branch_name(branch), name))
        if version is not None:
            return self._version(chosen, "version")
        return self._version(chosen, "root" if branch == MAIN else "table")

    def at_time(self, time: datetime | int, *, branch: str | None = None) -> Version:
        """The newest state at or before a time, with a time zone, or in epoch milliseconds.

        Raises `NotFound` if all states are later, `UsageError` for a time without a zone.
        """
        files, root = self._session.files, self._root(branch)
        resolved = resolve_time(files, root, _milliseconds(time))
        schema = Lineage(files, root).schema(resolved.snapshot.schema_id)
        named = DiffVersion(root, resolved.name, resolved.name, resolved.snapshot, schema, resolved.note)
        return self._version(named, "version")

    def apply_snapshot(self, timestamp_ms: int) -> Version:
        """`at_time` of main, as `SupportsTimeTravel` has it: the time is in epoch milliseconds."""
        if not isinstance(timestamp_ms, int) or isinstance(timestamp_ms, bool):
            raise UsageError(
                f"timestamp_ms is a whole number of epoch milliseconds, not {timestamp_ms!r}",
                "at_time takes a datetime too.",
            )
        return self.at_time(timestamp_ms)

    def _version(self, resolved: DiffVersion, scope: ReadScope) -> Version:
        return Version(
            table=self.name,
            branch=resolved.root.label,
            name=resolved.name,
            schema=schema_of(resolved.schema),
            note=resolved.note,
            _session=self._session,
            _root=resolved.root,
            _record=resolved.snapshot,
            _scope=scope,
        )

    def _root(self, branch: str | None) -> Root:
        return branch_root(self._session.files, self._path, branch_name(branch))

    def _rows(self, name: str, branch: str | None) -> list[Row]:
        unreadable: dict[str, str] = {}
        rows = list(system_table(name).read(self._session.files, self._root(branch), unreadable))
        warn_left_out(unreadable.values())
        return rows


def _milliseconds(time: datetime | int) -> int:
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    if not isinstance(time, datetime):
        raise UsageError(f"A time is a datetime or epoch milliseconds, not {time!r}")
    if time.tzinfo is None:
        raise UsageError(
            f"The time {time} has no time zone",
            "time.astimezone() gives it this machine's.",
        )
    return epoch_ms(time)
