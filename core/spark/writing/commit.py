"""pypaimon's commit on our store, with a check of the state that the rows were made for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cache, cached_property
from typing import Any

from pypaimon.common.json_util import JSON
from pypaimon.index.dynamic_bucket import HASH_INDEX
from pypaimon.index.index_file_handler import IndexFileHandler
from pypaimon.manifest import manifest_file_manager
from pypaimon.snapshot.snapshot_commit import SnapshotCommit
from pypaimon.table.bucket_mode import BucketMode
from pypaimon.write.file_store_commit import CommitFailRetryResult, FileStoreCommit

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Refused
from paimark.core.spark.writing.late_commit import FileChanges
from paimark.core.spark.writing.publishing import Publisher
from paimark.core.spark.writing.target import WriteTarget, require_unchanged
from paimark.core.spark.writing.write_log import write_log
from paimark.core.storage.files import Files
from paimark.core.storage.open import require_conditions
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Snapshot

# pypaimon's 10 tries are used up within seconds beside a job that commits all the time.
_RETRIES, _MOST_WAIT_MS = 100, 1000
# What records of Paimon 0.9 lack; without a value each means what it means to Paimon if it is null.
_LATER = ("_VALUE_STATS_COLS", "_DELETE_ROW_COUNT", "_FILE_SOURCE", "_EMBEDDED_FILE_INDEX", "_CREATION_TIME")


@cache
def read_old_manifests() -> None:
    """Make pypaimon read manifests of Paimon 0.9 and older in this process, where it writes. Idempotent."""
    usual = manifest_file_manager._read_manifest_records

    def records(*given: Any) -> Iterator[Any]:
        for record, partition, is_filtered in usual(*given):
            record["_FILE"] = {**dict.fromkeys(_LATER), "_EXTRA_FILES": [], **record["_FILE"]}
            yield record, partition, is_filtered

    manifest_file_manager._read_manifest_records = records


class Commit(FileStoreCommit):  # type: ignore[misc]  # pypaimon has no types
    """One commit. If it fails with `may_have_landed`, it may be committed all the same.

    `known` is the newest snapshot's id before the rows were written, 0 for none.
    """

    def __init__(
        self, files: Files, target: WriteTarget, table: Any, create: CreateSnapshot | None = None
    ) -> None:
        create = create or CreateSnapshot(files, target.root, log=write_log(files, target))
        super().__init__(create, table, target.commit_user)
        self._files = files
        self._target = target
        self.known = target.known
        if "commit.max-retries" not in table.table_schema.options:
            self.commit_max_retries = _RETRIES
        if "commit.max-retry-wait" not in table.table_schema.options:
            self.commit_max_retry_wait = _MOST_WAIT_MS

    def _try_commit_once(self, *args: Any, latest_snapshot: Any, **rest: Any) -> Any:
        check_cancelled()
        require_conditions(self._files)
        # At each try, because a commit that lost a race is tried again on the winner's snapshot.
        require_unchanged(self._files, self._target)
        if latest_snapshot is not None and self._has_rescaled and not self._target.overwrite:
            self._require_same_buckets(latest_snapshot, rest["commit_entries"])
        if self.table.bucket_mode() == BucketMode.HASH_DYNAMIC:
            self._require_same_index(latest_snapshot, rest["index_adds"])
        self.snapshot_commit.file_changes = FileChanges.of(rest["commit_entries"])
        self.snapshot_commit.before = _record(latest_snapshot)
        result = super()._try_commit_once(*args, latest_snapshot=latest_snapshot, **rest)
        if isinstance(result, CommitFailRetryResult) and not self.may_have_landed:
            self._delete_manifests(latest_snapshot, self.snapshot_commit.last)
        if self.snapshot_commit.refused is not None:
            raise self.snapshot_commit.refused
        return result

    @property
    def may_have_landed(self) -> bool:
        return bool(self.snapshot_commit.may_have_landed)

    @property
    def snapshot_json(self) -> bytes | None:
        """The content of the snapshot's file; None if there was nothing to commit."""
        data: bytes | None = self.snapshot_commit.snapshot_json
        return data

    def forget(self) -> None:
        """Take back the entry in the operation log, if the commit was not made and never will be."""
        if not self.may_have_landed:
            self.snapshot_commit.forget()

    def _delete_manifests(self, before: Any, refused: Any) -> None:
        """Delete the manifests of a try that lost a race: the next one writes its own."""
        is_same_index = before is not None and refused.index_manifest == before.index_manifest
        self._clean_up_tmp_manifests(
            refused.base_manifest_list,
            refused.delta_manifest_list,
            refused.changelog_manifest_list,
            None if is_same_index else refused.index_manifest,
        )

    @cached_property
    def _has_rescaled(self) -> bool:
        """Whether the number of buckets was ever changed: partitions keep theirs until they are rewritten."""
        if self.table.bucket_mode() != BucketMode.HASH_FIXED:
            return False
        schemas = Lineage(self._files, self._target.root).schemas()
        return len({each.options.get("bucket") for each in schemas}) > 1

    def _require_same_buckets(self, latest: Any, entries: Sequence[Any]) -> None:
        there = self.commit_scanner.read_all_entries_from_changed_partitions(latest, entries, [])
        if self.conflict_detection.check_bucket_num_conflicts([*there, *entries]) is not None:
            counts = sorted({entry.total_buckets for entry in there} - {self.table.total_buckets})
            raise Refused(
                f"Rows would go to partitions of {self._target.name} with "
                f"{' or '.join(map(str, counts))} buckets, and it has {self.table.total_buckets} now",
                "INSERT OVERWRITE the partitions with their own rows first.",
            )

    def _require_same_index(self, latest: Any, adds: Sequence[Any]) -> None:
        """Raises `Refused` if another writer has assigned keys to buckets since the rows were begun.

        This writer would assign the same keys to others. And it writes a bucket's index as a whole, so the
        other writer's would be lost.
        """
        then, now = self._index_files(self.known), self._index_files(latest.id if latest else 0)
        touched = {tuple(each.partition.values) for each in adds}
        if (
            then is None
            or now is None
            or any(self._target.overwrite or partition in touched for (partition, _), _ in then ^ now)
        ):
            raise Refused(
                f"Another writer gave keys of {self._target.name} their buckets while these "
                "rows were written",
                "Nothing has changed. Run it again, while no other job writes to the table.",
            )

    def _index_files(self, snapshot_id: int) -> Set[tuple[tuple[Any, int], str]] | None:
        """The hash index file of each partition's buckets; None if the snapshot is gone."""
        if not snapshot_id:
            return set()
        snapshot = self.snapshot_manager.get_snapshot_by_id(snapshot_id)
        if snapshot is None:
            return None
        entries = IndexFileHandler(self.table).scan(snapshot)
        return {
            ((tuple(each.partition.values), each.bucket), each.index_file.file_name)
            for each in entries
            if each.index_file.index_type == HASH_INDEX
        }


class CreateSnapshot(Publisher, SnapshotCommit):  # type: ignore[misc]  # as above
    """pypaimon's door to `Publisher`. `last` is the snapshot that it tried to publish."""

    last: Any = None

    def commit(self, base_snapshot_uuid: Any, snapshot: Any, statistics: Any) -> bool:
        self.last = snapshot
        return self.publish(snapshot.id, JSON.to_json(snapshot, indent=2).encode())

    def close(self) -> None:
        return

    def __enter__(self) -> CreateSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        return


def _record(snapshot: Any) -> Snapshot | None:
    return None if snapshot is None else Snapshot.from_json(JSON.to_json(snapshot).encode(), "a snapshot")
