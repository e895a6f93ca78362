"""An overwrite of a chain's delta branch is two commits: its writer may die at any write between them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from paimark.core.spark.writing.target import find_target
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import read_operations
from tests.actions.acting import context_on, done, planned, texts
from tests.interop.writing.chain_tables import CHAIN, OPTIONS, make_branches
from tests.spark.library.session import writes_of
from tests.spark.library.ways import OwnTable
from tests.wording import about

TABLE = TablePath("d", "t")
COLUMNS = {"dt": "STRING", "k": "INT", "v": "INT"}
DAYS = ("20260101", "20260102", "20260103")


class Death(BaseException):
    """The process ends here."""


@pytest.fixture(scope="module")
def template(spark_of_library: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both branches of the chain have three days."""
    warehouse = tmp_path_factory.mktemp("chain") / "wh"
    table = OwnTable(
        warehouse, "d.t", COLUMNS, keys=["dt", "k"], partition_keys=["dt"], options={**OPTIONS, **CHAIN}
    )
    make_branches(table.directory)
    for branch in ("full", "delta"):
        write(warehouse, branch, [(day, 1, 1) for day in DAYS])
    return warehouse


@pytest.fixture
def warehouse(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "wh"))


def write(warehouse: Path, branch: str, rows: list[tuple[Any, ...]], *, overwrite: bool = False) -> Any:
    session = SparkSession.getActiveSession()
    assert session is not None
    options = {"warehouse": str(warehouse), "table": TABLE.full_name, "branch": branch}
    target = find_target({**options, "partitionOverwriteMode": "dynamic"}, overwrite)
    columns = [list(each) for each in zip(*rows, strict=True)]
    types = [pa.string(), pa.int32(), pa.int32()]
    cells = [pa.array(each, of) for each, of in zip(columns, types, strict=True)]
    frame = session.createDataFrame(pa.table(cells, list(COLUMNS)))
    return writes_of(session, LocalFiles(str(warehouse))).write(target, frame)


def overwrite_last_day(warehouse: Path) -> Any:
    return write(warehouse, "delta", [(DAYS[-1], 7, 7)], overwrite=True)


def newest(warehouse: Path, branch: str) -> int:
    return Lineage(LocalFiles(str(warehouse)), TABLE.root(branch)).latest_id() or 0


def later(warehouse: Path) -> Context:
    """Two minutes later."""
    context = context_on(warehouse)
    return replace(context, clock=lambda: context_on(warehouse).clock() + 120_000)


def dies_at(number: int, patch: pytest.MonkeyPatch) -> Callable[[], int]:
    """The process dies right before its write of this number. How many it made."""
    made = 0
    for name in ("create", "replace", "delete"):
        method = getattr(LocalFiles, name)

        def act(files: LocalFiles, *given: Any, method: Any = method) -> Any:
            nonlocal made
            if made == number:
                raise Death
            made += 1
            return method(files, *given)

        patch.setattr(LocalFiles, name, act)
    return lambda: made


@pytest.mark.usefixtures("spark_of_library")
def test_wherever_its_writer_dies_it_has_no_effect_or_recover_tells(template: Path, tmp_path: Path) -> None:
    seen = set()
    for number in range(50):
        warehouse = Path(shutil.copytree(template, tmp_path / f"{number}"))
        with pytest.MonkeyPatch.context() as patch:
            made = dies_at(number, patch)
            with suppress(Death):
                overwrite_last_day(warehouse)
            is_whole = made() < number
        delta, full = newest(warehouse, "delta") == 2, newest(warehouse, "full") == 2
        plan = planned(later(warehouse), "recover", TABLE)
        is_told = "overwrite without effect" in plan.headline
        assert is_told is (delta and not full), (number, plan.headline)
        assert [each.target for each in plan.steps] == [TABLE.root("full").snapshot(2)] * is_told
        assert full <= delta
        seen.add((delta, full))
        if is_whole:
            break
    else:
        pytest.fail("it never ended")
    assert seen == {(False, False), (True, False), (True, True)}


def cut_off(warehouse: Path) -> None:
    """The writer dies right before the commit to the snapshot branch."""
    create = LocalFiles.create

    def act(files: LocalFiles, path: str, data: bytes) -> bool:
        if path == TABLE.root("full").snapshot(2):
            raise Death
        return create(files, path, data)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Death):
        patch.setattr(LocalFiles, "create", act)
        overwrite_last_day(warehouse)


@pytest.mark.usefixtures("spark_of_library")
def test_what_is_cut_off_is_finished_only_if_nobody_wrote_there_since(warehouse: Path) -> None:
    cut_off(warehouse)
    [said] = texts(planned(context_on(warehouse), "recover", TABLE), "affects")
    assert about("wait").search(said)
    # Other days don't matter, nor what is added to the same one.
    write(warehouse, "full", [("20260105", 1, 1)])
    write(warehouse, "delta", [("20260106", 1, 1)], overwrite=True)
    write(warehouse, "delta", [(DAYS[-1], 8, 8)])
    plan = planned(later(warehouse), "recover", TABLE)
    assert [each.target for each in plan.steps] == [TABLE.root("full").snapshot(3)]
    [said] = texts(plan, "affects")
    died = ("overwrite", "snapshot 2", "branch delta", "died", "branch full", "dt=20260103")
    assert about("no effect", *died).search(said)
    # Its day was written again, perhaps from the new rows.
    write(warehouse, "full", [(DAYS[-1], 7, 7)])
    plan = planned(later(warehouse), "recover", TABLE)
    assert plan.empty
    [said] = texts(plan, "affects")
    assert about("branch full", "older", "DELETE FROM d.`t$branch_full`", "undo").search(said)


@pytest.mark.usefixtures("spark_of_library")
def test_the_next_overwrite_of_the_day_makes_up_for_it(warehouse: Path) -> None:
    cut_off(warehouse)
    made = overwrite_last_day(warehouse)
    assert about("snapshot 2", "branch full", "`undo`").search(made.unseen)
    plan = planned(later(warehouse), "recover", TABLE)
    assert plan.empty and not texts(plan, "affects")


@pytest.mark.usefixtures("spark_of_library")
def test_what_the_snapshot_branch_has_to_keep_refuses_the_overwrite(warehouse: Path) -> None:
    """The later days of the delta branch stand on its first one."""
    write(warehouse, "delta", [(day, 7, 7) for day in DAYS[1:]], overwrite=True)
    files = LocalFiles(str(warehouse))
    log, there = read_operations(files, TABLE), {*warehouse.rglob("bucket-*/*")}
    with pytest.raises(Refused, match="cannot be dropped"):
        write(warehouse, "delta", [(DAYS[0], 7, 7)], overwrite=True)
    assert (newest(warehouse, "delta"), newest(warehouse, "full")) == (2, 2)
    assert read_operations(files, TABLE) == log
    assert {*warehouse.rglob("bucket-*/*")} == there
    recovered = done(context_on(warehouse), "recover", TABLE)
    assert about("d.t", "nothing").search(recovered.message)
