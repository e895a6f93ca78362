"""A writer that is killed at any of its writes: the operation log is right, or says what nobody knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from paimark.core.actions.plan import Plan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.operations import Operation, log_entries, read_operations
from tests.actions.acting import context_on, done, item, planned
from tests.faults.fault_files import Film
from tests.faults.trees import TreeOnDisk
from tests.interop.written import Table
from tests.paimon import read_rows
from tests.spark.library.ways import commit_begun
from tests.spark.writing.test_refused_commits import ROWS, another, begun, lineage
from tests.spark.writing.test_write_log import TABLE, table
from tests.wording import about

__all__ = ["table"]


class Killed(NamedTuple):
    """The state after a kill: whether the rows are in the table, and in which snapshot they would be."""

    when: str
    is_there: bool


@pytest.fixture
def film(table: Table) -> Film:
    """A savepoint, and then a write of two more rows, as snapshot 2."""
    table.write(ROWS)
    done(context_on(table.warehouse), "create-savepoint", TABLE)
    film = Film(LocalFiles(str(table.warehouse)), TreeOnDisk(table.directory))
    target, written = begun(table)
    commit_begun(target, written, film)
    return film


def killed(table: Table, film: Film) -> Iterator[Killed]:
    for point in film.points():
        film.put_back(point)
        yield Killed(str(point), len(read_rows(table.warehouse, TABLE.full_name)) == 4)


def writes(table: Table) -> list[Operation]:
    known = read_operations(LocalFiles(str(table.warehouse)), TABLE)
    return [each for each in known if each.landed is not None]


def undo(table: Table) -> Plan:
    return planned(context_on(table.warehouse), "undo", TABLE)


def stock_commits_and_expires(table: Table) -> None:
    another(table)
    another(table, 10)
    for number in range(1, (lineage(table).latest_id() or 0)):
        (table.warehouse / TABLE.root().snapshot(number)).unlink()


def test_a_write_has_the_log_s_three_writes_and_one_listing(film: Film) -> None:
    """What it costs on a store of requests."""
    names = [call.split("/")[-1].split("-")[0] for call in film.writes if "/operations/" in call]
    assert names == ["begun", "write", "begun"]


def test_it_is_in_the_log_just_when_its_rows_are_in_the_table(table: Table, film: Film) -> None:
    kinds = set()
    for when, is_there in killed(table, film):
        kinds.add(is_there)
        assert [each.after for each in writes(table)][1:] == ["main at snapshot 2"] * is_there, when
        assert undo(table).arguments["undone"] == ("write" if is_there else "create-savepoint"), when
    assert kinds == {True, False}


def test_an_hour_later_others_have_committed_and_expired_it(table: Table, film: Film) -> None:
    for when, is_there in killed(table, film):
        stock_commits_and_expires(table)
        _, *later = writes(table)
        if is_there:
            # It is known, or it is said that it is not; and an undo does not pass over it.
            assert [each.after for each in later] == ["main at snapshot 2"], when
            [refusal] = undo(table).refusals
            assert "moved since write in snapshot 2" in refusal.reason, when
        else:
            assert all(each.landed is False for each in later), when


def test_the_next_change_writes_down_what_is_known_before_it_expires(table: Table, film: Film) -> None:
    for when, is_there in killed(table, film):
        done(context_on(table.warehouse), "create-tag", TABLE, name="any")
        stock_commits_and_expires(table)
        _, *later = writes(table)
        if is_there:
            assert [each.landed for each in later] == [True], when
            entries = log_entries(LocalFiles(str(table.warehouse)), TABLE)
            assert not any(each.is_begun for each in entries), when


def test_another_takes_the_snapshot_that_it_did_not_make(table: Table, film: Film) -> None:
    for when, is_there in killed(table, film):
        if not is_there:
            another(table)
            assert writes(table)[1:] == [], when
            said = item(undo(table), "later-change-stays").text
            assert about("snapshot 2", "main", "operation log").search(said), when


def test_no_file_of_the_log_is_taken_for_a_strange_one(table: Table, film: Film) -> None:
    from paimark.core.verify.orphans import is_known

    names = {Path(call).name for call in film.writes if "/operations/" in call}
    assert names and all(is_known(TABLE, TABLE.operations, name) for name in names)
