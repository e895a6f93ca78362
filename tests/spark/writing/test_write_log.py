"""Every commit of a writer is in the operation log, wherever the writer dies and whatever comes after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from paimark.core.actions.change.operations import stacks_of
from paimark.core.actions.plan_wording import stock_writer
from paimark.core.errors import Refused, Unavailable
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import Operation, log_entries, read_operations
from paimark.core.table.system_tables import system_table
from tests.actions.acting import context_on, done, planned
from tests.interop.written import Table
from tests.paimon import read_rows
from tests.spark.library.ways import OwnTable, commit_begun
from tests.spark.writing.test_late_commits import once
from tests.spark.writing.test_refused_commits import COLUMNS, ROWS, another, begun, instead_of_create, lineage
from tests.wording import about

TABLE = TablePath("d", "t")


class Death(BaseException):
    """The process ends here."""


@pytest.fixture
def table(spark_of_library: SparkSession, tmp_path: Path) -> Table:
    return OwnTable(tmp_path / "wh", TABLE.full_name, COLUMNS, keys=["k"], options={"bucket": "1"})


def files_of(table: Table) -> Files:
    return LocalFiles(str(table.warehouse))


def logged(table: Table) -> list[Operation]:
    return read_operations(files_of(table), TABLE)


def dies(*, before: bool) -> Callable[[LocalFiles, str, bytes], bool]:
    """The process dies right before the snapshot's file is created, or right after it."""
    create = LocalFiles.create

    def acting(files: LocalFiles, path: str, data: bytes) -> bool:
        if not before:
            create(files, path, data)
        raise Death

    return acting


def died(table: Table, *, before: bool) -> None:
    with instead_of_create(dies(before=before)), pytest.raises(Death):
        commit_begun(*begun(table))


def test_a_write_is_an_operation_with_its_snapshots_and_records(table: Table) -> None:
    table.write(ROWS)
    table.write([(5, 5)], overwrite=True)
    first, second = logged(table)
    assert (first.action, second.action) == ("write", "overwrite")
    assert first.summary == "Committed snapshot 1 of d.t: 2 records added"
    assert second.summary == "Committed snapshot 2 of d.t: 1 record added, 2 records removed"
    assert (first.before, first.after) == ("main had no snapshot", "main at snapshot 1")
    assert (second.before, second.after) == ("main at snapshot 1", "main at snapshot 2")
    assert first.landed is True and first.turned.rows is not None and second.turned.rows is not None
    assert first.turned.rows.before is None
    assert first.turned.rows.after == second.turned.rows.before
    newest = lineage(table).latest()
    assert newest is not None and second.turned.rows.after.is_of(newest)
    listed = list(system_table("operations").read(files_of(table), TABLE.root()))
    assert [row[1] for row in listed] == ["write", "overwrite"]
    assert stock_writer(files_of(table), TABLE.root()) is None


def test_what_committed_nothing_is_no_operation(table: Table) -> None:
    table.write(ROWS)
    table.write([])
    target, written = begun(table, pinned=True)
    another(table)
    with pytest.raises(Refused):
        commit_begun(target, written)
    assert [each.action for each in logged(table)] == ["write"]
    assert len(log_entries(files_of(table), TABLE)) == 1


def test_a_write_that_lost_the_race_once_is_logged_where_it_landed(table: Table) -> None:
    table.write(ROWS)
    with instead_of_create(once(lambda: another(table), before=True)):
        commit_begun(*begun(table))
    [_, second] = logged(table)
    assert second.turned.rows is not None and second.turned.rows.before is not None
    assert (second.turned.rows.before.id, second.after) == (2, "main at snapshot 3")


def test_a_writer_that_died_before_its_commit_did_nothing(table: Table) -> None:
    table.write(ROWS)
    died(table, before=True)
    assert [each.action for each in logged(table)] == ["write"]
    # Its number is not given again, and the next one may take the snapshot's id.
    table.write([(7, 7)])
    assert [each.number for each in logged(table)] == [1, 3]
    assert len(stacks_of(files_of(table), TABLE).undo) == 2


def test_a_writer_that_died_after_its_commit_is_logged(table: Table) -> None:
    table.write(ROWS)
    died(table, before=False)
    [_, second] = logged(table)
    assert second.landed is True and second.after == "main at snapshot 2"
    another(table)
    assert logged(table)[-1] == second
    assert stacks_of(files_of(table), TABLE).undo[-1].token == second.token


def test_a_writer_died_and_its_snapshot_expired(table: Table) -> None:
    """Nothing tells any more whether it landed: that is said, and an undo does not pass over it."""
    context = context_on(table.warehouse)
    table.write(ROWS)
    died(table, before=False)
    another(table)
    another(table, 10)
    done(context, "expire-snapshots", TABLE, retain_last=1)
    [_, second, _] = logged(table)
    assert second.landed is False
    row = list(system_table("operations").read(context.files, TABLE.root()))[1]
    assert about("snapshot 2", "d.t", "2 records", "not known", "expired").search(row[2])
    [refusal] = planned(context, "undo", TABLE).refusals
    assert refusal.reason == "main of d.t moved since write in snapshot 2: then at snapshot 2, now at 4"
    assert "expired" in refusal.hint


def test_the_next_writer_records_what_a_dead_one_committed(table: Table) -> None:
    """Before its snapshot expires."""
    table.write(ROWS)
    died(table, before=False)
    table.write([(8, 8)])
    done(context_on(table.warehouse), "expire-snapshots", TABLE, retain_last=1)
    assert [each.landed for each in logged(table)] == [True, True, True, None]
    assert not [each for each in log_entries(files_of(table), TABLE) if each.is_begun]


def test_what_a_dead_writer_did_not_commit_is_forgotten_after_an_hour(table: Table) -> None:
    table.write(ROWS)
    died(table, before=True)
    table.write([(8, 8)])
    [begun] = table.directory.glob("branch/operations/begun-*")
    entry = msgspec.json.decode(begun.read_bytes())
    begun.write_bytes(msgspec.json.encode({**entry, "time": entry["time"] - 3_700_000}))
    done(context_on(table.warehouse), "create-tag", TABLE, name="kept")
    assert not begun.exists()


def test_a_log_that_can_not_be_written_stops_the_commit(table: Table) -> None:
    table.write(ROWS)
    replace = LocalFiles.replace

    def full(files: LocalFiles, path: str, data: bytes) -> None:
        if "/operations/" in path:
            raise Unavailable("No space left on device")
        replace(files, path, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalFiles, "replace", full)
        with pytest.raises(Unavailable, match=about("operation log", "No space left on device")):
            commit_begun(*begun(table))
    assert lineage(table).latest_id() == 1


def test_a_log_that_can_not_be_confirmed_does_not_fail_the_commit(table: Table) -> None:
    table.write(ROWS)
    replace = LocalFiles.replace

    def full(files: LocalFiles, path: str, data: bytes) -> None:
        if "/operations/write-" in path:
            raise Unavailable("No space left on device")
        replace(files, path, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalFiles, "replace", full)
        commit_begun(*begun(table))
    assert [each.landed for each in logged(table)] == [True, True]
    assert any(each.is_begun for each in log_entries(files_of(table), TABLE))
    assert len(read_rows(table.warehouse, table.name)) == 4


def test_writers_at_once_are_undone_in_the_order_of_their_commits(table: Table) -> None:
    """The one that began first committed last."""
    table.write(ROWS)
    with instead_of_create(once(lambda: table.write([(8, 8)]), before=True)):
        commit_begun(*begun(table))
    by_number = logged(table)
    assert [each.after for each in by_number] == [
        "main at snapshot 1",
        "main at snapshot 3",
        "main at snapshot 2",
    ]
    undo = [each.turned.rows for each in stacks_of(files_of(table), TABLE).undo]
    assert [each.after.id for each in undo if each] == [1, 2, 3]


def test_the_statement_is_cut_and_its_secrets_are_hidden(table: Table) -> None:
    target, written = begun(table)
    text = f"INSERT INTO d.t SELECT '{'x' * 5000}' -- s3://lake?access-key=abc"
    commit_begun(msgspec.structs.replace(target, statement=text), written)
    statement = str(logged(table)[-1].request["statement"])
    assert len(statement) == 4003 and statement.endswith("...")
