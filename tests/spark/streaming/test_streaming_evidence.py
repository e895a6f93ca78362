"""What tells whether a batch landed whose snapshot expired before it was marked, also if its file is left.

Rows that are not found are written again. So what nothing tells, a person is asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.errors import Refused
from paimark.core.spark.streaming import commit_attempts
from paimark.core.storage.local import LocalFiles
from tests.actions.acting import context_on, done
from tests.faults.fault_files import Death, DiesAfter
from tests.interop.judge import Judge
from tests.paimon import commit, create_table
from tests.spark.micro_batches import lineage
from tests.spark.streaming.sink import LOG, SCHEMA, Sink, ids, other_commits
from tests.spark.streaming.test_streaming_writes import Died, die
from tests.wording import about

pytestmark = pytest.mark.usefixtures("spark_of_library")

# Each stock commit merges all manifests: they do not name a deleted file any more.
MERGING = {"manifest.full-compaction-threshold-size": "1 b"}
CHANGELOGS = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "1",
    "changelog.num-retained.min": "1",
    "changelog.num-retained.max": "9",
    "changelog.time-retained": "1 h",
}


def made(warehouse: Path, point: str, **options: str) -> Sink:
    """A query whose batch 0 has row 1, and whose batch 1, with row 2, died there as snapshot 2."""
    create_table(warehouse, "shop.log", SCHEMA, options=options)
    sink = Sink(warehouse)
    sink.batch(0, [1])
    dies(sink, point)
    return sink


def dies(sink: Sink, point: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        die(patched, point)
        with pytest.raises(Died):
            sink.batch(1, [2])


def keep_by_claim(warehouse: Path) -> None:
    """Expire all but the newest snapshot, while an unfinished savepoint of snapshot 2 keeps its files."""
    killed = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), "CLAIM-1"))
    with pytest.raises(Death):
        done(killed, "create-savepoint", LOG, snapshot=2)
    expire(warehouse, 1)


def expire(warehouse: Path, left: int) -> None:
    done(context_on(warehouse), "expire-snapshots", LOG, retain_last=left)
    assert not lineage(warehouse, "shop.log").has_snapshot(2)


def overwrite(warehouse: Path, *numbers: int) -> None:
    rows = pa.table({"id": numbers, "said": ["o"] * len(numbers)}, schema=SCHEMA)
    commit(warehouse, "shop.log", rows, overwrite=True)


def file_of(sink: Sink) -> Path:
    """The data file of batch 1's attempt."""
    [attempt] = [each for each in sink.attempts if each.batch == 1]
    return sink.warehouse / attempt.file


def test_manifests_tell_of_a_file_that_a_later_commit_deleted(tmp_path: Path) -> None:
    sink = made(tmp_path, "before the mark")
    other_commits(tmp_path, 90)
    overwrite(tmp_path, 1, 2, 90)
    keep_by_claim(tmp_path)
    assert file_of(sink).exists()
    sink.batch(1, [2])
    sink.batch(2, [3])
    assert ids(tmp_path) == [1, 2, 3, 90]


def test_a_changelog_tells_of_the_snapshot_that_it_was(tmp_path: Path, judge: Judge) -> None:
    sink = made(tmp_path, "before the mark", **CHANGELOGS, **MERGING)
    other_commits(tmp_path, 90)
    judge.compact(tmp_path, "shop.log")
    judge.write(tmp_path, "shop.log", [{"id": 91, "said": "o"}])
    judge.expire_by_options(tmp_path, "shop.log")
    assert lineage(tmp_path, "shop.log").snapshot_ids() == [5]
    assert file_of(sink).exists()
    changelog = tmp_path / LOG.root(None).changelog(2)
    held = changelog.read_bytes()
    changelog.unlink()
    with pytest.raises(Refused, match=about("nothing", "batch 1")):
        sink.batch(1, [2])
    changelog.write_bytes(held)
    sink.batch(1, [2])
    assert ids(tmp_path) == [1, 2, 90, 91]


@pytest.mark.parametrize("is_left", [True, False])
def test_where_nothing_tells_a_person_is_asked(tmp_path: Path, judge: Judge, is_left: bool) -> None:
    sink = made(tmp_path, "before the mark", **MERGING)
    other_commits(tmp_path, 90)
    judge.compact(tmp_path, "shop.log")
    judge.write(tmp_path, "shop.log", [{"id": 91, "said": "o"}])
    if is_left:
        keep_by_claim(tmp_path)
    else:
        expire(tmp_path, 1)
    assert file_of(sink).exists() == is_left
    [attempt] = [each for each in sink.attempts if each.batch == 1]
    path = tmp_path / attempt.path(LOG)
    fields = json.loads(path.read_bytes())
    path.write_text(json.dumps({**fields, "time": fields["time"] - 2 * 86_400_000}))
    files = set(tmp_path.glob("shop.db/log/bucket-*/*"))
    with pytest.raises(Refused, match=about("nothing", "batch 1")) as refused:
        sink.batch(1, [2])
    assert attempt.path(LOG) in refused.value.hint
    assert set(tmp_path.glob("shop.db/log/bucket-*/*")) == files
    # As its hint says.
    path.write_text(json.dumps({**fields, "landed": True}))
    sink.batch(1, [2])
    assert ids(tmp_path) == [1, 2, 90, 91]


def test_the_next_snapshot_tells_that_a_batch_did_not_land(tmp_path: Path) -> None:
    sink = made(tmp_path, "before the snapshot")
    other_commits(tmp_path, 90, 91, 92)
    expire(tmp_path, 2)
    assert file_of(sink).exists()
    sink.batch(1, [2])
    assert ids(tmp_path) == [1, 2, 90, 91, 92]


@pytest.mark.parametrize("is_first", [True, False])
def test_an_attempt_that_landed_tells_more_than_one_of_which_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    sink = made(tmp_path, "before the snapshot")
    unknown = file_of(sink)
    dies(sink, "before the mark")
    other_commits(tmp_path, 90, 91)
    expire(tmp_path, 1)
    found = commit_attempts.attempts

    def ordered(*args: Any) -> list[commit_attempts.Attempt]:
        return sorted(found(*args), key=lambda each: (tmp_path / each.file == unknown) != is_first)

    monkeypatch.setattr(commit_attempts, "attempts", ordered)
    sink.batch(1, [2])
    assert ids(tmp_path) == [1, 2, 90, 91]


def test_a_branch_whose_own_snapshots_expired_says_nothing_of_main(tmp_path: Path) -> None:
    """It reused the id for a commit of its own; main has no such snapshot, so nothing landed."""
    create_table(tmp_path, "shop.log", SCHEMA)
    sink, context = Sink(tmp_path), context_on(tmp_path)
    sink.batch(0, [1])
    done(context, "create-tag", LOG, name="one")
    done(context, "create-branch", LOG, name="fix", tag="one")
    dies(sink, "before the snapshot")
    for number in (90, 91, 92):
        rows = pa.table({"id": [number], "said": ["o"]}, schema=SCHEMA)
        commit(tmp_path, "shop.log$branch_fix", rows)
    done(context, "expire-snapshots", LOG, retain_last=1, branch="fix")
    assert not lineage(tmp_path, "shop.log", "fix").has_snapshot(2)
    sink.batch(1, [2])
    assert ids(tmp_path) == [1, 2]
