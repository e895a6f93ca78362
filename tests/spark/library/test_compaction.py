"""Compactions by Paimon's library: stock Paimon reads the same rows, goes on, and may be in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from paimark.core.actions.compaction.candidates import find_candidates
from paimark.core.cli.checks.doctor_store import unseen_rows
from paimark.core.errors import Refused
from paimark.core.spark.library import compaction
from paimark.core.spark.library.commit import Committed
from paimark.core.spark.library.written_table import require_own_files
from paimark.core.spark.writing.target import find_target
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import COMPACTION, read_operations
from tests.faults.fault_files import Death, FaultFiles
from tests.interop.judge import Judge
from tests.long import long_but
from tests.spark.library.session import writes_of
from tests.wording import about

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {"k": "INT", "v": "INT", "s": "STRING"}
WRITES = ([[1, 10, "a"], [2, 20, "b"]], [[1, 11, "c"], [3, 30, "x"]], [[4, 40, "d"]], [[2, 21, "e"]])


@dataclass(frozen=True)
class Kind:
    """`shows`: readers see rows only once they are compacted."""

    options: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] = ("k",)
    partitions: Sequence[str] = ()
    shows: bool = False


JOINED = {"compaction.min.file-num": "2"}
WAITS = {"write-only": "true"}
KINDS = {
    "keys": Kind({"bucket": "2"}),
    "keys in partitions": Kind({"bucket": "1"}, keys=("k", "s"), partitions=("s",)),
    "keys in dynamic buckets": Kind(),
    "keys across partitions": Kind(partitions=("s",)),
    "small files": Kind(JOINED, keys=()),
    "row tracking": Kind({**JOINED, "row-tracking.enabled": "true"}, keys=()),
    "buckets": Kind({"bucket": "2", "bucket-key": "k"}, keys=()),
    "partial update": Kind({"bucket": "1", "merge-engine": "partial-update"}),
    "first row": Kind({**WAITS, "bucket": "1", "merge-engine": "first-row"}, shows=True),
    "vectors": Kind({**WAITS, "bucket": "1", "deletion-vectors.enabled": "true"}, shows=True),
    "avro": Kind({"bucket": "1", "file.format": "avro"}),
}
OFTEN = ("keys in partitions", "small files", "row tracking", "vectors")


def made(
    session: SparkSession, warehouse: Path, table: str, files: Files | None = None, **more: Any
) -> Committed | None:
    """Compact it; `more` are fields of the target, and `is_full`, `partitions`."""
    is_full, partitions = more.pop("is_full", True), more.pop("partitions", None)
    target = replace(find_target({"warehouse": str(warehouse), "table": table}, False), **more)
    done = writes_of(session, files or LocalFiles(str(warehouse))).compaction
    return done.compact(target, is_full=is_full, partitions=partitions)


def filled(judge: Judge, warehouse: Path, table: str, kind: Kind, writes: Sequence[Any] = WRITES) -> None:
    judge.create(warehouse, table, COLUMNS, keys=kind.keys, partitions=kind.partitions, options=kind.options)
    for rows in writes:
        judge.put(warehouse, table, [("+I", row) for row in rows])


def seen(judge: Judge, warehouse: Path, table: str, **at: Any) -> list[list[Any]]:
    return sorted(judge.rows(warehouse, table, **at), key=repr)


def data(warehouse: Path, table: str) -> set[Path]:
    below = warehouse / f"{table.split('.')[0]}.db" / table.split(".")[1]
    return {each for each in below.rglob("*") if each.is_file() and "bucket-" in str(each)}


@pytest.mark.parametrize("name", long_but(KINDS, *OFTEN))
def test_stock_paimon_has_the_same_rows_and_goes_on(
    name: str, spark_of_library: SparkSession, tmp_path: Path, judge: Judge
) -> None:
    kind, table = KINDS[name], "d.t"
    filled(judge, tmp_path, table, kind)
    # Where it shows rows, those that a reader would have if it merged them itself.
    before = [[1, 10, "a"], [2, 20, "b"], [3, 30, "x"], [4, 40, "d"]] if kind.shows else None
    if name == "vectors":
        before = [[1, 11, "c"], [2, 21, "e"], [3, 30, "x"], [4, 40, "d"]]
    expected, files = before or seen(judge, tmp_path, table), data(tmp_path, table)
    committed = made(spark_of_library, tmp_path, table)
    assert committed is not None and committed.snapshot.commit_kind == "COMPACT"
    assert committed.remark == ""
    assert seen(judge, tmp_path, table) == expected
    assert files <= data(tmp_path, table)
    if not kind.shows:
        assert seen(judge, tmp_path, table, snapshot=committed.snapshot.id - 1) == expected
    assert made(spark_of_library, tmp_path, table) is None
    judge.put(tmp_path, table, [("+I", [9, 90, "z"])])
    if kind.keys:
        judge.compact(tmp_path, table)
    assert seen(judge, tmp_path, table) == sorted([*expected, [9, 90, "z"]], key=repr)


def test_a_partition_and_what_its_rules_choose(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge
) -> None:
    kind = replaced(KINDS["keys in partitions"], options={**WAITS, "bucket": "1"})
    filled(judge, tmp_path, "d.t", kind, [[[1, number, "a"], [1, number, "b"]] for number in range(6)])
    files = LocalFiles(str(tmp_path))
    rows = seen(judge, tmp_path, "d.t")
    chosen = find_candidates(files, TablePath("d", "t"), None, "s='b'").partitions
    assert chosen is not None and len(chosen) == 1
    first = made(spark_of_library, tmp_path, "d.t", is_full=False, partitions=chosen)
    assert first is not None
    new = {each.parent.parent.name for each in data(tmp_path, "d.t") if each.name in first.changes.added}
    assert new == {"s=b"}
    assert made(spark_of_library, tmp_path, "d.t", is_full=False, partitions=chosen) is None
    assert seen(judge, tmp_path, "d.t") == rows


def test_the_changelog_is_made_then(spark_of_library: SparkSession, tmp_path: Path, judge: Judge) -> None:
    kind = Kind({**WAITS, "bucket": "1", "changelog-producer": "lookup"})
    filled(judge, tmp_path, "d.t", kind, WRITES[:2])
    committed = made(spark_of_library, tmp_path, "d.t", is_full=False)
    assert committed is not None and committed.snapshot.changelog_record_count == 3


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """What others do between the tasks and the commit."""

    def meanwhile(deed: Callable[[], object]) -> None:
        def checked(*of: Any) -> None:
            require_own_files(*of)
            deed()

        monkeypatch.setattr(compaction, "require_own_files", checked)

    return meanwhile


def test_a_job_that_writes_meanwhile_loses_nothing(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge, meanwhile: Callable[..., None]
) -> None:
    filled(judge, tmp_path, "d.t", KINDS["keys"])
    meanwhile(lambda: judge.put(tmp_path, "d.t", [("+I", [9, 90, "z"])]))
    committed = made(spark_of_library, tmp_path, "d.t")
    assert committed is not None and committed.snapshot.id == len(WRITES) + 2
    assert [9, 90, "z"] in seen(judge, tmp_path, "d.t")


def test_who_compacts_later_begins_anew_or_says_so(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge, meanwhile: Callable[..., None]
) -> None:
    filled(judge, tmp_path, "d.t", KINDS["keys"])
    rows = seen(judge, tmp_path, "d.t")
    others = iter([lambda: judge.compact(tmp_path, "d.t")])
    meanwhile(lambda: next(others, lambda: None)())
    assert made(spark_of_library, tmp_path, "d.t") is None
    assert seen(judge, tmp_path, "d.t") == rows


def test_who_is_outrun_each_time_says_so_and_leaves_no_file(
    spark_of_library: SparkSession,
    tmp_path: Path,
    judge: Judge,
    meanwhile: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compaction, "_TRIES", 1)
    filled(judge, tmp_path, "d.t", KINDS["keys in dynamic buckets"])
    there: set[Path] = set()

    def outrun() -> None:
        judge.compact(tmp_path, "d.t")
        there.update(data(tmp_path, "d.t"))

    meanwhile(outrun)
    before = data(tmp_path, "d.t")
    with pytest.raises(Refused, match=about("others", "files of d.t", "1 times")):
        made(spark_of_library, tmp_path, "d.t")
    left = data(tmp_path, "d.t")
    assert before <= left < there


def test_a_file_that_was_only_to_be_raised_is_not_deleted(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge, meanwhile: Callable[..., None]
) -> None:
    """The compaction tells that very file as its own new one."""
    filled(judge, tmp_path, "d.t", Kind({"bucket": "1"}), WRITES[:1])
    meanwhile(lambda: judge.alter(tmp_path, "d.t", "add", "more", type="INT"))
    before = data(tmp_path, "d.t")
    assert len(before) == 1
    with pytest.raises(Refused, match=r"The definition of d\.t changed"):
        made(spark_of_library, tmp_path, "d.t")
    assert data(tmp_path, "d.t") == before
    assert len(seen(judge, tmp_path, "d.t")) == 2


def test_a_compaction_killed_at_any_write_leaves_the_same_rows(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge
) -> None:
    table, files = TablePath("d", "t"), LocalFiles(str(tmp_path))
    filled(judge, tmp_path, "d.t", Kind({**WAITS, "bucket": "1"}))
    rows, points = seen(judge, tmp_path, "d.t"), 0
    while True:
        dying = FaultFiles(files, points + 1)
        try:
            made(spark_of_library, tmp_path, "d.t", dying, operation=COMPACTION, commit_user=f"u{points}")
            break
        except Death:
            points += 1
        assert seen(judge, tmp_path, "d.t") == rows
        newest = Lineage(files, table.root()).latest()
        logged = [each.turned.rows for each in read_operations(files, table)]
        # The log has exactly the compactions that were committed.
        assert newest is not None
        committed = [each.after.id for each in logged if each]
        kinds = {
            each: Lineage(files, table.root()).snapshot(each).commit_kind for each in range(1, newest.id + 1)
        }
        assert committed == [each for each, kind in kinds.items() if kind == "COMPACT"]
        judge.put(tmp_path, "d.t", [("+I", row) for row in rows])
    assert points >= 3
    assert seen(judge, tmp_path, "d.t") == rows


UNSEEN = {
    "first row": {"bucket": "1", "merge-engine": "first-row"},
    "first row in dynamic buckets": {"merge-engine": "first-row"},
    "vectors": {"bucket": "2", "deletion-vectors.enabled": "true"},
    "vectors of sums": {
        "bucket": "1",
        "deletion-vectors.enabled": "true",
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
    },
    "postponed": {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"},
    "postponed first row": {
        "bucket": "-2",
        "postpone.batch-write-fixed-bucket": "false",
        "merge-engine": "first-row",
    },
}
SEEN_OFTEN = ("first row",)


def inserted(session: SparkSession, warehouse: Path, rows: Sequence[Sequence[Any]], **more: Any) -> Committed:
    overwrite = more.pop("overwrite", False)
    target = replace(find_target({"warehouse": str(warehouse), "table": "d.t"}, overwrite), **more)
    frame = session.createDataFrame([tuple(row) for row in rows], "k INT NOT NULL, v INT, s STRING")
    done = writes_of(session, LocalFiles(str(warehouse))).write(target, frame)
    assert done is not None
    return done


@pytest.mark.parametrize("name", long_but(UNSEEN, *SEEN_OFTEN))
def test_inserted_rows_are_seen_by_stock_paimon(
    name: str, spark_of_library: SparkSession, tmp_path: Path, judge: Judge
) -> None:
    """As if stock had written them to another table of this kind."""
    options = UNSEEN[name]
    for table in ("d.t", "d.u"):
        judge.create(tmp_path, table, COLUMNS, keys=("k",), options=options)
    lineage = Lineage(LocalFiles(str(tmp_path)), TablePath("d", "t").root())
    for rows in WRITES:
        assert inserted(spark_of_library, tmp_path, rows).unseen == ""
        judge.put(tmp_path, "d.u", [("+I", row) for row in rows])
        # Stock for Java leaves postponed rows to a job of Flink or Spark.
        if "postponed" not in name:
            assert seen(judge, tmp_path, "d.t") == seen(judge, tmp_path, "d.u")
    kinds = [lineage.snapshot(number).commit_kind for number in (1, 2, 3, 4)]
    assert kinds == ["APPEND", "COMPACT"] * 2
    if "postponed" in name:
        newest = {1: 11, 2: 21, 3: 30, 4: 40} if name == "postponed" else {1: 10, 2: 20, 3: 30, 4: 40}
        assert {row[0]: row[1] for row in seen(judge, tmp_path, "d.t")} == newest
    judge.put(tmp_path, "d.t", [("+I", [9, 90, "z"])], postpones="postponed" in name)
    if "postponed" in name:
        assert made(spark_of_library, tmp_path, "d.t", is_full=True) is not None
    else:
        judge.compact(tmp_path, "d.t")
    assert len(seen(judge, tmp_path, "d.t")) == 5


@pytest.mark.parametrize("name", long_but(UNSEEN, "vectors", "postponed first row"))
def test_rows_that_replace_others_are_seen_by_the_commit_that_brings_them(
    name: str, spark_of_library: SparkSession, tmp_path: Path, judge: Judge
) -> None:
    options = {**UNSEEN[name], "write-only": "true", "changelog-producer": "lookup"}
    judge.create(tmp_path, "d.t", COLUMNS, keys=("k",), options=options)
    files, root = LocalFiles(str(tmp_path)), TablePath("d", "t").root()
    named = set[str]()
    for number, rows in enumerate(WRITES[:2], 1):
        done = inserted(spark_of_library, tmp_path, rows, overwrite=True)
        assert done.unseen == "" and done.snapshot.id == number and not done.snapshot.changelog_record_count
        assert seen(judge, tmp_path, "d.t") == rows and not list(unseen_rows(files, root))
        named |= set(done.changes.added)
        # What was merged on the way is gone.
        assert {each.name for each in data(tmp_path, "d.t")} == named
    judge.put(tmp_path, "d.t", [("+I", [9, 90, "z"])], postpones="postponed" in name)
    assert made(spark_of_library, tmp_path, "d.t", is_full=True) is not None
    assert seen(judge, tmp_path, "d.t") == [*WRITES[1], [9, 90, "z"]]


def test_rows_whose_compaction_fails_stay_and_the_answer_says_what_helps(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.create(tmp_path, "d.t", COLUMNS, keys=("k",), options=UNSEEN["vectors"])
    with monkeypatch.context() as patch:

        def fails(*of: Any) -> None:
            raise Refused("No space is left", "")

        patch.setattr(compaction, "require_own_files", fails)
        unseen = inserted(spark_of_library, tmp_path, WRITES[0]).unseen
    told = ("committed", "no reader", "No space is left", "`paimark compact d.t`")
    assert about(*told).search(unseen)
    assert seen(judge, tmp_path, "d.t") == []
    state = LocalFiles(str(tmp_path)), TablePath("d", "t").root()
    [(word, detail, hint)] = unseen_rows(*state)
    assert word == "warning" and about("no reader", "rows").search(detail) and "paimark compact d.t" in hint
    assert made(spark_of_library, tmp_path, "d.t", is_full=False) is not None
    assert seen(judge, tmp_path, "d.t") == WRITES[0]
    assert not list(unseen_rows(*state))


def test_a_table_that_only_a_job_compacts_is_left_to_it(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge
) -> None:
    judge.create(tmp_path, "d.t", COLUMNS, keys=("k",), options={**WAITS, **UNSEEN["vectors"]})
    assert "write-only = true" in inserted(spark_of_library, tmp_path, WRITES[0]).unseen
    assert seen(judge, tmp_path, "d.t") == []
