"""A commit whose process stood still around it, while others committed and all that may expired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimark.core.actions.change.journal import current
from paimark.core.actions.change.landing import commit_user
from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.writing.late_commit import FileChanges, came_too_late
from paimark.core.spark.writing.target import find_target
from paimark.core.storage.files import Unanswered
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.faults.fault_files import Death
from tests.interop.written import Table
from tests.paimon import read_rows
from tests.spark.library.ways import commit_begun, write_begun
from tests.spark.writing.test_refused_commits import (
    COLUMNS,
    ROWS,
    SCHEMA,
    another,
    begun,
    instead_of_create,
    lineage,
    unowned,
)
from tests.wording import about

TABLE = TablePath("d", "t")


@pytest.fixture
def table(spark_of_library: SparkSession, tmp_path: Path) -> Table:
    return Table(tmp_path, TABLE.full_name, COLUMNS, keys=["k"], options={"bucket": "1"})


def keys(table: Table) -> list[int]:
    return sorted(row["k"] for row in read_rows(table.warehouse, table.name))


def expire(table: Table) -> None:
    done(context_on(table.warehouse), "expire-snapshots", TABLE, retain_last=1)


def others(table: Table, count: int) -> None:
    for key in range(count):
        another(table, 90 + key)
    expire(table)


def once(act: Callable[[], object], *, before: bool) -> Callable[[LocalFiles, str, bytes], bool]:
    """Creates, and `act` happens around the first time."""
    create, waiting = LocalFiles.create, iter([act])

    def acting(files: LocalFiles, path: str, data: bytes) -> bool:
        if not before:
            is_created = create(files, path, data)
        for each in waiting:
            # Which creates snapshots of its own.
            each()
        return create(files, path, data) if before else is_created

    return acting


@pytest.mark.parametrize("there", [0, 1])
@pytest.mark.parametrize("count", [2, 3])
def test_an_id_that_another_had_is_not_taken(table: Table, there: int, count: int) -> None:
    """Its file would lie below others that know nothing of the rows, and the commit would be called done."""
    for _ in range(there):
        table.write(ROWS)
    target, written = begun(table)
    with instead_of_create(once(lambda: others(table, count), before=True)):
        commit_begun(target, written)
    assert lineage(table).latest_id() == there + count + 1
    assert keys(table) == [*[1, 2][: 2 * there], 3, 4, *range(90, 90 + count)]
    assert not [name for name in unowned(table) if name.endswith(".parquet")]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_that_others_have_built_on_is_there(table: Table, count: int) -> None:
    table.write(ROWS)
    with instead_of_create(once(lambda: others(table, count), before=False)):
        commit_begun(*begun(table))
    assert keys(table) == [1, 2, 3, 4, *range(90, 90 + count)]
    assert lineage(table).snapshot_ids() == [2 + count]
    # Stock readers take the hint's word.
    assert (table.directory / "snapshot/LATEST").read_text() == str(2 + count)


def test_one_that_others_build_on_while_it_looks_is_there(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write(ROWS)
    exists = LocalFiles.exists
    came: list[str] = []

    def looking(files: LocalFiles, path: str) -> bool:
        name = path.rpartition("/")[2]
        if name == "snapshot-1" and not came:
            came.append(name)
            expire(table)
        found = exists(files, path)
        if name == "snapshot-3" and len(came) == 1:
            came.append(name)
            another(table)
        return found

    def created() -> None:
        monkeypatch.setattr(LocalFiles, "exists", looking)

    with instead_of_create(once(created, before=False)):
        commit_begun(*begun(table))
    monkeypatch.undo()
    assert set(keys(table)) >= {1, 2, 3, 4}


def test_one_of_which_nothing_is_left_is_neither_there_nor_not(table: Table) -> None:
    """It expired, and so did what was built on it, if anything was: its files have to stay."""
    table.write(ROWS)
    others(table, 3)
    own = lineage(table)
    with pytest.raises(Unanswered, match=about("snapshot 2", "d.t", "expired")):
        came_too_late(own.files, own.root, 2, FileChanges(frozenset({"data-of-nobody"})))


@pytest.mark.parametrize("regrows", [False, True])
def test_one_whose_past_was_cut_off_is_made_again_on_what_is_left(table: Table, regrows: bool) -> None:
    """Otherwise it brings back rows that were taken away, and hides those that came since."""
    for key in (1, 2, 3):
        another(table, key)

    def cut() -> None:
        done(context_on(table.warehouse), "rollback", TABLE, to="snapshot.1", truncate=True)
        for key in (91, 92) if regrows else ():
            another(table, key)

    target, written = begun(table)
    with instead_of_create(once(cut, before=True)):
        commit_begun(target, written)
    assert keys(table) == [1, 3, 4, *((91, 92) if regrows else ())]
    assert lineage(table).snapshot_ids() == [1, 2, *((3, 4) if regrows else ())]


def test_one_that_was_cut_off_right_away_is_not_made_again(table: Table) -> None:
    for key in (1, 2):
        another(table, key)

    def cut() -> None:
        done(context_on(table.warehouse), "rollback", TABLE, to="snapshot.1", truncate=True)

    with instead_of_create(once(cut, before=False)):
        commit_begun(*begun(table))
    assert (keys(table), lineage(table).snapshot_ids()) == ([1], [1])


@pytest.mark.parametrize(
    ("leave", "back"),
    [("drop-table", "undrop"), ("replace-main-branch", "undo"), ("delete-branch", "")],
)
def test_one_that_nobody_would_read_is_refused_and_stands_in_no_ones_way(
    table: Table, leave: str, back: str
) -> None:
    """The table was dropped, or another branch became main, or the branch was deleted."""
    another(table)
    context = context_on(table.warehouse)
    done(context, "create-tag", TABLE, name="t")
    done(context, "create-branch", TABLE, name="b", tag="t")
    branch = {"branch": "b"} if leave == "delete-branch" else {}
    target = find_target({"warehouse": str(table.warehouse), "table": table.name, **branch}, overwrite=False)
    written = write_begun(target, pa.RecordBatch.from_pydict({"k": [3], "v": [3]}, schema=SCHEMA))
    given = {} if leave == "drop-table" else {"name": "b"}
    with (
        instead_of_create(once(lambda: done(context, leave, TABLE, **given), before=True)),
        pytest.raises(PaimarkError, match=about(TABLE.full_name)),
    ):
        commit_begun(target, written)
    if back:
        done(context, back, TABLE)
    assert keys(table) == [9]
    assert lineage(table).snapshot_ids() == [1]
    assert (table.directory / "branch/branch-b").exists() == (leave != "delete-branch")


@pytest.mark.parametrize("is_seen", [False, True], ids=["taken back", "finished"])
def test_one_that_its_recovery_did_not_see_is_not_made(table: Table, is_seen: bool) -> None:
    """The process dies, and the engine stands still right before the commit, while another recovers."""
    for _ in range(2):
        table.write(ROWS)
    context = replace(context_on(table.warehouse), engine=_dead)
    with pytest.raises(Death):
        done(context, "rollback", TABLE, to="snapshot.1")
    killed = current(context, TABLE)
    assert killed is not None
    token, last = killed.journal.token, len(killed.entries)
    target = msgspec.structs.replace(
        find_target({"warehouse": str(table.warehouse), "table": table.name}, overwrite=False),
        commit_user=commit_user(token),
        operation=None,
        lock=token,
        next_entry=TABLE.journal_step(token, last + 1),
    )
    written = write_begun(target, table.batch([(3, 3)]))

    def recover() -> None:
        said.append(done(context_on(table.warehouse), "recover", TABLE).message)

    said: list[str] = []
    with instead_of_create(once(recover, before=not is_seen)):
        if is_seen:
            commit_begun(target, written)
        else:
            with pytest.raises(Unavailable, match=about("d.t")):
                commit_begun(target, written)
    assert ("not committed" in said[0]) is not is_seen
    assert lineage(table).latest_id() == 2 + is_seen


def _dead() -> Engine:
    raise Death("before its commit")
