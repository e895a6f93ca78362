"""A batch of a streaming query is in the table once, whenever its writer dies and whatever expires then."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import LongType, StringType, StructField, StructType

from paimark.core.actions.said import stock_writer
from paimark.core.errors import PaimarkError, Refused, UsageError
from paimark.core.spark.source import PaimarkSource
from paimark.core.spark.streaming import commit_attempts
from paimark.core.spark.streaming.batch_commit import watermark_in
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.travel.version import resolve_version
from tests.actions.acting import context_on, done, item, planned
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, read_rows
from tests.spark.dying import POINTS, die_at
from tests.spark.micro_batches import lineage

LOG, KEYED = TablePath("shop", "log"), TablePath("shop", "keyed")
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("said", pa.string())])
COLUMNS = StructType([StructField("id", LongType()), StructField("said", StringType())])


class Died(BaseException):
    """What a writer does that is killed: nothing after it runs."""


class Sink:
    """A streaming query's writing side, its checkpoint, and the process that dies."""

    def __init__(self, warehouse: Path, table: TablePath = LOG, **options: str) -> None:
        checkpoint = warehouse.parent / f"checkpoint-{uuid.uuid4()}"
        checkpoint.mkdir()
        self.query = str(uuid.uuid4())
        (checkpoint / "metadata").write_text(json.dumps({"id": self.query}))
        self.warehouse = warehouse
        self.table = table
        self.options = {
            "warehouse": str(warehouse),
            "table": table.full_name,
            "checkpointLocation": str(checkpoint),
            **{name.replace("_", "-"): value for name, value in options.items()},
        }

    def write(self, *tasks: Sequence[int], word: str = "") -> list[Any]:
        """The messages of tasks that each write such ids."""
        found: list[Any] = []
        for ids in tasks:
            said = [word or f"s{each}" for each in ids]
            rows = pa.record_batch({"id": pa.array(ids, pa.int64()), "said": said})
            found.append(self._writer().write(iter([rows] if ids else [])))
        return found

    def commit(self, batch: int, messages: list[Any]) -> None:
        self._writer().commit(messages, batch)

    def sets_out(self, batch: int, watermark: int) -> None:
        """What Spark writes before it runs a batch."""
        offsets = Path(self.options["checkpointLocation"]) / "offsets"
        offsets.mkdir(exist_ok=True)
        metadata = {"batchWatermarkMs": watermark, "batchTimestampMs": 1, "conf": {}}
        (offsets / str(batch)).write_text(f'v1\n{json.dumps(metadata)}\n{{"logOffset":0}}')

    def batch(self, number: int, *tasks: Sequence[int], word: str = "") -> None:
        self.commit(number, self.write(*tasks, word=word))

    @property
    def attempts(self) -> list[commit_attempts.Attempt]:
        return commit_attempts.attempts(LocalFiles(str(self.warehouse)), self.table, self.query)

    def _writer(self) -> Any:
        source = PaimarkSource(CaseInsensitiveDict(self.options))  # type: ignore[arg-type]  # as Spark does
        return source.streamWriter(COLUMNS, False)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "warehouse"
    create_table(path, "shop.log", SCHEMA)
    create_table(path, "shop.keyed", SCHEMA, primary_keys=["id"], options={"bucket": "2"})
    return path


def ids(warehouse: Path, table: str = "shop.log") -> list[int]:
    return sorted(row["id"] for row in read_rows(warehouse, table))


def other_commits(warehouse: Path, *numbers: int) -> None:
    for number in numbers:
        commit(warehouse, "shop.log", pa.table({"id": [number], "said": ["other"]}, schema=SCHEMA))


def test_the_querys_watermark_goes_into_the_snapshots_and_never_back(shop: Path) -> None:
    sink = Sink(shop)
    for batch, watermark in enumerate([0, 5000, 3000, 9000]):
        sink.sets_out(batch, watermark)
        sink.batch(batch, [batch])
    other_commits(shop, 10)
    assert [each.watermark for each in lineage(shop, "shop.log").snapshots()] == [
        None,
        5000,
        5000,
        9000,
        9000,
    ]
    root, files = LOG.root(None), LocalFiles(str(shop))
    found = [resolve_version(files, root, f"watermark-{each}").snapshot.id for each in (1, 5001)]
    assert found == [2, 4]
    named = Sink(shop, query_id="mine")
    named.batch(0, [20])
    assert lineage(shop, "shop.log").snapshot(6).watermark == 9000


@pytest.mark.parametrize("text", [b"", b"v1", b"v1\nno json\n{}", b'v1\n{"batchWatermarkMs":0}\n{}'])
def test_what_spark_does_not_say_is_no_watermark(text: bytes) -> None:
    assert watermark_in(text) is None


def test_each_batch_is_one_commit_of_the_query(shop: Path, judge: Judge) -> None:
    sink = Sink(shop)
    sink.batch(0, [1, 2], [3])
    sink.batch(1, [])
    sink.batch(2, [4])
    snapshots = list(lineage(shop, "shop.log").snapshots())
    assert [(each.commit_user, each.commit_identifier) for each in snapshots] == [
        (f"paimark-stream-{sink.query}", 0),
        (f"paimark-stream-{sink.query}", 2),
    ]
    assert ids(shop) == [1, 2, 3, 4]
    assert [row["id"] for row in judge.read(shop, "shop.log")] == [1, 2, 3, 4]


def die(patched: pytest.MonkeyPatch, point: str) -> None:
    """Let the next commit die there."""
    die_at(point, patched.setattr, died)


def died() -> NoReturn:
    raise Died


@pytest.mark.parametrize("meanwhile", ["nothing", "commits", "expiry", "compaction and expiry"])
@pytest.mark.parametrize("point", POINTS)
def test_a_batch_that_is_written_again_counts_once(
    shop: Path, judge: Judge, point: str, meanwhile: str
) -> None:
    sink = Sink(shop)
    sink.batch(0, [1])
    messages = sink.write([2], [3])
    with pytest.MonkeyPatch.context() as patched:
        die(patched, point)
        with pytest.raises(Died):
            sink.commit(1, messages)
    others = [] if meanwhile == "nothing" else [90, 91, 92]
    other_commits(shop, *others)
    if meanwhile == "compaction and expiry":
        judge.compact(shop, "shop.log")
    if "expiry" in meanwhile:
        done(context_on(shop), "expire-snapshots", LOG, retain_last=1)
        assert not lineage(shop, "shop.log").has_snapshot(2)
        if point == "before the snapshot":
            # The file is there, as it could be if the snapshot had been: see test_streaming_evidence.
            with pytest.raises(Refused, match="Nothing is left that tells whether batch 1"):
                sink.batch(1, [2], [3])
            [attempt] = [each for each in sink.attempts if each.batch == 1]
            (shop / attempt.path(LOG)).unlink()
    for _ in range(2):
        sink.batch(1, [2], [3])
        assert ids(shop) == [1, 2, 3, *others]
    sink.batch(2, [4])
    assert ids(shop) == [1, 2, 3, 4, *others]
    assert [(each.batch, each.landed) for each in sink.attempts] == [(2, True)]


def test_what_another_process_of_the_query_lands_first_is_found(shop: Path) -> None:
    """One thought dead, whose commit comes between the look and the own commit."""
    sink = Sink(shop)
    late, messages = sink.write([1]), sink.write([1])
    look = commit_attempts.has_landed

    def looked(*args: Any) -> bool:
        found = look(*args)
        with pytest.MonkeyPatch.context() as back:
            back.setattr(commit_attempts, "has_landed", look)
            sink.commit(0, late)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(commit_attempts, "has_landed", looked)
        sink.commit(0, messages)
    assert ids(shop) == [1]
    assert lineage(shop, "shop.log").snapshot_ids() == [1]


def test_a_record_that_somebody_took_away_is_made_up_for(shop: Path) -> None:
    sink = Sink(shop)
    sink.batch(0, [1])
    [attempt] = sink.attempts
    (shop / attempt.path(LOG)).unlink()
    sink.batch(0, [1])
    assert ids(shop) == [1]


def test_a_batch_that_landed_on_the_previous_main_is_not_written_to_the_new(shop: Path) -> None:
    sink, context = Sink(shop), context_on(shop)
    sink.batch(0, [1])
    done(context, "create-tag", LOG, name="one")
    done(context, "create-branch", LOG, name="fix", tag="one")
    with pytest.MonkeyPatch.context() as patched:
        die(patched, "before the mark")
        with pytest.raises(Died):
            sink.batch(1, [2])
    done(context, "replace-main-branch", LOG, name="fix")
    sink.batch(1, [2])
    sink.batch(2, [3])
    assert ids(shop, "shop.log$branch_fix") == [1, 3]


def test_each_batch_goes_where_main_is_then_and_a_branch_stays(shop: Path) -> None:
    context = context_on(shop)
    other_commits(shop, 90)
    done(context, "create-tag", LOG, name="one")
    done(context, "create-branch", LOG, name="fix", tag="one")
    done(context, "create-branch", LOG, name="side", tag="one")
    main, side = Sink(shop), Sink(shop, branch="side")
    main.batch(0, [1])
    side.batch(0, [11])
    messages = main.write([2])
    done(context, "replace-main-branch", LOG, name="fix")
    side.batch(1, [12])
    # Also rows that were written when the table directory was main.
    main.commit(1, messages)
    done(context, "undo", LOG)
    main.batch(2, [3])
    assert ids(shop, "shop.log$branch_fix") == [2, 90]
    assert ids(shop) == [1, 3, 90]
    assert ids(shop, "shop.log$branch_side") == [11, 12, 90]


def test_what_was_written_for_another_state_of_the_table_is_refused_or_fits(shop: Path) -> None:
    sink, context = Sink(shop), context_on(shop)
    sink.batch(0, [1])
    messages = sink.write([2])
    done(context, "alter-branch-schema", LOG, add="more INT")
    sink.commit(1, messages)
    assert ids(shop) == [1, 2]
    assert lineage(shop, "shop.log").snapshot(2).schema_id == 1
    messages = sink.write([3])
    done(context, "alter-branch-schema", LOG, drop="more")
    with pytest.raises(Refused, match="changed while a batch was written"):
        sink.commit(2, messages)
    assert not any((shop / each.file_path).exists() for m in messages[0].messages for each in m.new_files)
    keyed = Sink(shop, KEYED)
    keyed.batch(0, [1])
    done(context, "create-tag", KEYED, name="one")
    done(context, "create-branch", KEYED, name="fix", tag="one")
    messages = keyed.write([2])
    done(context, "replace-main-branch", KEYED, name="fix")
    with pytest.raises(Refused, match="became main while a batch was written"):
        keyed.commit(1, messages)
    keyed.batch(1, [2])
    assert ids(shop, "shop.keyed$branch_fix") == [1, 2]


def test_an_abort_deletes_only_what_was_never_committed(shop: Path) -> None:
    sink = Sink(shop)
    messages = sink.write([1], [2])
    sink.commit(0, messages)
    sink._writer().abort(messages, 0)
    assert ids(shop) == [1, 2]
    lost = sink.write([3])
    sink._writer().abort([*lost, None], 1)
    assert len(list(shop.glob("shop.db/log/bucket-*/data-*"))) == 2


def test_a_due_savepoint_follows_a_batch(tmp_path: Path) -> None:
    create_table(tmp_path / "w", "shop.log", SCHEMA, options={"savepoint.create-interval": "1 h"})
    Sink(tmp_path / "w").batch(0, [1])
    assert (tmp_path / "w/shop.db/log/savepoint/savepoint-1").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checkpointLocation": ""}, "checkpointLocation is missing"),
        ({"checkpointLocation": "/nowhere"}, "query's id can't be read"),
        ({"query_id": "a/b"}, "query-id is letters"),
    ],
)
def test_a_query_without_an_id_is_refused(shop: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Sink(shop, LOG, **options).write([1])


def test_a_query_can_name_itself(shop: Path) -> None:
    sink = Sink(shop, query_id="nightly.orders-2")
    sink.batch(0, [1])
    sink.batch(0, [1])
    assert ids(shop) == [1]
    assert lineage(shop, "shop.log").snapshot(1).commit_user == "paimark-stream-nightly.orders-2"


def test_a_batch_that_an_earlier_build_committed_is_known_again(shop: Path) -> None:
    """Its commit user was the id of the query alone. Without its attempt's file the snapshot decides."""
    sink = Sink(shop)
    sink.batch(0, [1])
    path = shop / LOG.root().snapshot(1)
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "commitUser": sink.query}))
    [attempt] = sink.attempts
    (shop / attempt.path(LOG)).unlink()
    sink.batch(0, [1])
    assert ids(shop) == [1]


def test_plans_name_a_stream_as_one_of_paimark_and_not_as_another_engine(shop: Path) -> None:
    context = context_on(shop)
    sink = Sink(shop, query_id="nightly")
    sink.batch(0, [1])
    sink.batch(1, [2])
    root = LOG.root()
    assert stock_writer(context.files, root) is None
    plan = planned(context, "rollback", LOG, to="snapshot.1", truncate=True)
    assert "(a Paimark stream did " in item(plan, "stop-writers").text
    other_commits(shop, 3)
    assert stock_writer(context.files, root) is not None


def test_a_checkpoint_that_was_put_back_loses_no_row_in_silence(shop: Path) -> None:
    """Its next batch has a number that has landed, and may have other rows: left out, they were nowhere."""
    sink = Sink(shop)
    for batch in range(3):
        sink.batch(batch, [batch])
    files = set(shop.glob("shop.db/log/bucket-*/*"))
    with pytest.raises(Refused, match="Batch 1 of this query comes after its batch 2") as refused:
        sink.batch(1, [1, 9])
    assert "query-id" in refused.value.hint
    assert set(shop.glob("shop.db/log/bucket-*/*")) == files
    Sink(shop, query_id="anew").batch(1, [9])
    assert ids(shop) == [0, 1, 2, 9]


def test_a_checkpoint_that_was_put_back_by_a_batch_is_noticed(shop: Path) -> None:
    sink = Sink(shop)
    for watermark in (5, 5):
        sink.sets_out(0, watermark)
        sink.batch(0, [1])
    assert ids(shop) == [1]
    sink.sets_out(0, 6)
    with pytest.raises(Refused, match="Batch 0 of this query has landed with other rows"):
        sink.batch(0, [1, 2])
    assert ids(shop) == [1]


@pytest.mark.parametrize(
    ("others", "words"), [([], "the table ends before it now"), ([7], "another commit has its place")]
)
def test_a_truncation_of_what_a_query_wrote_is_noticed(shop: Path, others: list[int], words: str) -> None:
    """Spark has told the source that those rows are written: they would be missing without a word."""
    sink = Sink(shop)
    for batch in range(3):
        sink.batch(batch, [batch])
    done(context_on(shop), "rollback", LOG, to="snapshot.2", truncate=True)
    other_commits(shop, *others)
    with pytest.raises(
        PaimarkError, match=f"Batch 2 of this query was snapshot 3 .*{words}.* truncated"
    ) as stopped:
        sink.batch(3, [3])
    assert ids(shop) == [0, 1, *others]
    # As its hint says.
    path = sink.attempts[-1].path(LOG)
    assert path in stopped.value.hint
    (shop / path).unlink()
    sink.batch(3, [2, 3])
    assert ids(shop) == sorted([0, 1, 2, 3, *others])


def test_columns_and_output_modes_that_cannot_be_written_are_refused(shop: Path) -> None:
    sink = Sink(shop)
    source = PaimarkSource(CaseInsensitiveDict(sink.options))  # type: ignore[arg-type]  # as Spark does
    with pytest.raises(UsageError, match="output mode complete"):
        source.streamWriter(COLUMNS, True)
    with pytest.raises(PaimarkError, match="has no column other"):
        source.streamWriter(StructType([*COLUMNS, StructField("other", StringType())]), False)
    definition = shop / "shop.db" / "log" / "schema" / "schema-0"
    schema = json.loads(definition.read_text())
    schema["fields"][1]["defaultValue"] = "'none'"
    definition.write_text(json.dumps(schema))
    # Stock Paimon fills it in; null would be another row.
    with pytest.raises(PaimarkError, match="lack column said, whose default"):
        source.streamWriter(StructType([COLUMNS["id"]]), False)
    assert source.streamWriter(COLUMNS, False)


def test_a_process_that_stood_still_makes_no_snapshot_in_a_past_that_expired(shop: Path) -> None:
    """Its id is free again, and what was committed on it would be lost."""
    sink = Sink(shop)
    sink.batch(0, [1])
    late = sink.write([2])
    create = LocalFiles.create

    def stood_still(files: LocalFiles, path: str, data: bytes) -> bool:
        if path.endswith("/snapshot-2"):
            back.undo()
            sink.batch(1, [2])
            other_commits(shop, 90, 91)
            done(context_on(shop), "expire-snapshots", LOG, retain_last=1)
        return create(files, path, data)

    with pytest.MonkeyPatch.context() as back:
        back.setattr(LocalFiles, "create", stood_still)
        # Whether what it lost to was its own batch it can't see any more.
        with pytest.raises(PaimarkError, match="Cannot determine whether"):
            sink.commit(1, late)
    assert lineage(shop, "shop.log").snapshot_ids() == [4]
    other_commits(shop, 92)
    sink.batch(1, [2])
    sink.batch(2, [3])
    assert ids(shop) == [1, 2, 3, 90, 91, 92]


def test_a_commit_that_expired_before_its_process_went_on_counts_once(shop: Path) -> None:
    """Others have built on it: written again, its rows would be there twice."""
    sink = Sink(shop)
    sink.batch(0, [1])
    create = LocalFiles.create

    def stood_still(files: LocalFiles, path: str, data: bytes) -> bool:
        is_created = create(files, path, data)
        if path.endswith("/snapshot-2"):
            other_commits(shop, 90, 91)
            done(context_on(shop), "expire-snapshots", LOG, retain_last=1)
        return is_created

    with pytest.MonkeyPatch.context() as back:
        back.setattr(LocalFiles, "create", stood_still)
        with suppress(PaimarkError):
            sink.batch(1, [2])
    sink.batch(1, [2])
    sink.batch(2, [3])
    assert ids(shop) == [1, 2, 3, 90, 91]
