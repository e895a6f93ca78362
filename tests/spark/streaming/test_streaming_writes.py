"""A batch of a streaming query is in the table once, whenever its writer dies and whatever expires then."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from paimark.core.actions.plan_wording import stock_writer
from paimark.core.errors import PaimarkError, Refused, UsageError
from paimark.core.spark.streaming import commit_attempts
from paimark.core.spark.streaming.batch_commit import watermark_in
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.travel.version import resolve_version
from tests.actions.acting import context_on, done, item, planned
from tests.interop.judge import Judge
from tests.long import long_but
from tests.paimon import create_table
from tests.spark.dying import POINTS, die_at
from tests.spark.library.ways import names_of
from tests.spark.micro_batches import lineage
from tests.spark.streaming.sink import LOG, SCHEMA, Sink, ids, other_commits, shop
from tests.wording import about

__all__ = ["shop"]


class Died(BaseException):
    """What a writer does that is killed: nothing after it runs."""


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


@pytest.mark.parametrize(
    "meanwhile",
    long_but(["nothing", "commits", "expiry", "compaction and expiry"], "compaction and expiry"),
)
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
            with pytest.raises(Refused, match=about("nothing", "batch 1", "shop.log")):
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
    written = main.write([2])
    done(context, "replace-main-branch", LOG, name="fix")
    side.batch(1, [12])
    with pytest.raises(Refused, match=about("another branch", "shop.log", "main", "written")):
        main.commit(1, written)
    # As Spark does when the query is started again.
    main.batch(1, [2])
    done(context, "undo", LOG)
    main.batch(2, [3])
    assert ids(shop, "shop.log$branch_fix") == [2, 90]
    assert ids(shop) == [1, 3, 90]
    assert ids(shop, "shop.log$branch_side") == [11, 12, 90]


def test_what_was_written_for_another_definition_is_refused_and_written_again(shop: Path) -> None:
    sink, context = Sink(shop), context_on(shop)
    sink.batch(0, [1])
    written = sink.write([2])
    files = names_of(written.files)
    done(context, "alter-branch-schema", LOG, add="more INT")
    with pytest.raises(Refused, match=about("definition", "shop.log", "written")):
        sink.commit(1, written)
    assert files and not files & {path.name for path in shop.rglob("*.parquet")}
    sink.batch(1, [2])
    assert ids(shop) == [1, 2]
    assert lineage(shop, "shop.log").snapshot(2).schema_id == 1


def test_a_due_savepoint_follows_a_batch(shop: Path) -> None:
    create_table(shop, "often.log", SCHEMA, options={"savepoint.create-interval": "1 h"})
    Sink(shop, TablePath("often", "log")).batch(0, [1])
    assert (shop / "often.db/log/savepoint/savepoint-1").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checkpointLocation": ""}, "checkpointLocation missing"),
        ({"checkpointLocation": "/nowhere"}, "id checkpoint /nowhere"),
        ({"query_id": "a/b"}, "query-id letters a/b"),
    ],
)
def test_a_query_without_an_id_is_refused(shop: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=about(*words.split())):
        Sink(shop, LOG, **options).write([1])


def test_a_query_can_name_itself(shop: Path) -> None:
    sink = Sink(shop, query_id="nightly.orders-2")
    sink.batch(0, [1])
    sink.batch(0, [1])
    assert ids(shop) == [1]
    assert lineage(shop, "shop.log").snapshot(1).commit_user == "paimark-stream-nightly.orders-2"


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
    with pytest.raises(Refused, match=about("batch 1", "batch 2", "query")) as refused:
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
    with pytest.raises(Refused, match=about("batch 0", "other rows")):
        sink.batch(0, [1, 2])
    assert ids(shop) == [1]


@pytest.mark.parametrize(("others", "words"), [([], "table ends"), ([7], "another commit")])
def test_a_truncation_of_what_a_query_wrote_is_noticed(shop: Path, others: list[int], words: str) -> None:
    """Spark has told the source that those rows are written: they would be missing without a word."""
    sink = Sink(shop)
    for batch in range(3):
        sink.batch(batch, [batch])
    done(context_on(shop), "rollback", LOG, to="snapshot.2", truncate=True)
    other_commits(shop, *others)
    with pytest.raises(PaimarkError, match=about("batch 2", "snapshot 3", words, "truncated")) as stopped:
        sink.batch(3, [3])
    assert ids(shop) == [0, 1, *others]
    # As its hint says.
    path = sink.attempts[-1].path(LOG)
    assert path in stopped.value.hint
    (shop / path).unlink()
    sink.batch(3, [2, 3])
    assert ids(shop) == sorted([0, 1, 2, 3, *others])


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
        with pytest.raises(PaimarkError, match=about("no snapshot 2", "batch 1")):
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
