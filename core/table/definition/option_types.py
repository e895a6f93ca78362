"""The values that stock Paimon accepts for an option: it opens no table with a value that it can't read.

Options that are not listed here are texts, or unknown. `tests.interop` compares the lists with stock Paimon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from paimark.core.errors import UsageError
from paimark.core.redaction import shown_value
from paimark.core.table.definition.kind_signs import MERGE_ENGINES


def _words(text: str) -> list[str]:
    return text.split()


_BOOLEANS = _words("""
    add-column-before-partition aggregation.remove-record-on-delete
    alter-column-null-to-not-null.disabled async-file-write auto-create blob-as-descriptor
    blob.split-by-file-size bucket-append-ordered chain-table.enabled changelog-producer.lookup-wait
    changelog-producer.row-deduplicate clustering.incremental clustering.incremental.optimize-write
    commit.discard-duplicate-files commit.force-compact commit.force-create-snapshot
    compaction.force-rewrite-all-files compaction.force-up-level-0 consumer.changelog-only
    consumer.ignore-progress data-evolution.enabled data-file.thin-mode deduplicate.ignore-delete
    delete.force-produce-changelog deletion-vectors.bitmap64 deletion-vectors.enabled
    deletion-vectors.modifiable disable-explicit-type-casting dynamic-partition-overwrite
    end-input.check-partition-expire file-index.read.enabled file.suffix.include.compression
    first-row.ignore-delete force-lookup format-table.partition-path-only-value global-index.enabled
    ignore-delete ignore-update-before incremental-between-tag-to-snapshot index-file-in-data-file-dir
    key-value.sequence_number.enabled lookup-wait lookup.cache.bloom.filter.enabled
    lookup.remote-file.enabled manifest.delete-file-drop-stats
    metadata.iceberg.delete-after-commit.enabled metadata.iceberg.glue.skip-archive
    metadata.iceberg.hive-skip-update-stats metadata.iceberg.manifest-legacy-version
    metadata.stats-dense-store
    metastore.partitioned-table overwrite-upgrade partial-update.ignore-delete
    partial-update.remove-record-on-delete partition.end-input-to-done partition.legacy-name
    partition.timestamp-format.strict pk-clustering-override postpone.batch-write-fixed-bucket
    query-auth.enabled row-tracking.enabled scan.ignore-corrupt-files scan.ignore-lost-files
    scan.plan-sort-partition snapshot.clean-empty-directories snapshot.expire.clean-empty-directories
    snapshot.ignore-empty-commit streaming-read-append-overwrite streaming-read-overwrite
    table-read.sequence-number.enabled tag.automatic-completion tag.create-success-file
    tag.time-expire-enabled variant.inferShreddingSchema visibility-callback.enabled
    write-buffer-for-append write-buffer-spillable write-only write.compaction-skip
""")
_INTEGERS = _words("""
    bucket changelog.num-retained.max changelog.num-retained.min clustering.history-partition.limit
    commit.max-retries compaction.file-num-limit compaction.max-size-amplification-percent
    compaction.min.file-num compaction.offpeak-ratio compaction.offpeak.end.hour
    compaction.offpeak.start.hour compaction.size-ratio cross-partition-upsert.bootstrap-parallelism
    delete-file.thread-num dynamic-bucket.assigner-parallelism dynamic-bucket.initial-buckets
    dynamic-bucket.max-buckets file-operation.thread-num file.compression.zstd-level
    full-compaction.delta-commits global-index.build.max-parallelism global-index.build.max-shard
    global-index.thread-num local-sort.max-num-file-handles lookup-compact.max-interval
    lookup.merge-records-threshold lookup.remote-file.level-threshold manifest.merge-min-count
    metadata.iceberg.compaction.max.file-num metadata.iceberg.compaction.min.file-num
    metadata.iceberg.format-version metadata.iceberg.previous-versions-max
    metadata.stats-keep-first-n-columns num-levels num-sorted-run.compaction-trigger
    num-sorted-run.stop-trigger orc.write.batch-size parquet.enable.dictionary
    partition.expiration-batch-size partition.expiration-max-num
    postpone.batch-write-fixed-bucket.max-parallelism postpone.default-bucket-num read.batch-size
    scan.manifest.parallelism scan.max-splits-per-task snapshot.expire.limit snapshot.num-retained.max
    snapshot.num-retained.min sort-compaction.local-sample.magnification sort-spill-threshold
    spill-compression.zstd-level tag.num-retained-max variant.shredding.maxInferBufferRow
    variant.shredding.maxSchemaDepth variant.shredding.maxSchemaWidth write-max-writers-to-spill
    write.batch-size zorder.var-length-contribution
""")
_LONGS = _words("""
    commit.strict-mode.last-safe-snapshot dynamic-bucket.target-row-num global-index.row-count-per-shard
    log.scan.timestamp-millis scan.bounded.watermark scan.creation-time-millis
    scan.file-creation-time-millis scan.snapshot-id scan.timestamp-millis scan.watermark
""")
_NUMBERS = _words("""
    compaction.delete-ratio-threshold lookup.cache.bloom.filter.fpp
    lookup.cache.high-priority-pool-ratio lookup.hash-load-factor
    variant.shredding.minFieldCardinalityRatio
""")
_DURATIONS = _words("""
    changelog.time-retained clustering.history-partition.idle-to-full-sort commit.max-retry-wait
    commit.min-retry-wait commit.timeout compaction.optimization-interval consumer.expiration-time
    continuous.discovery-interval cross-partition-upsert.index-ttl lookup.cache-file-retention
    partition.expiration-check-interval partition.expiration-time
    partition.idle-time-to-report-statistic record-level.expire-time snapshot.time-retained
    snapshot.watermark-idle-timeout streaming.read.snapshot.delay tag.creation-delay
    tag.creation-period-duration tag.default-time-retained visibility-callback.check-interval
    visibility-callback.timeout
""")
_SIZES = _words("""
    blob.target-file-size cache-page-size compaction.incremental-size-threshold
    compaction.total-size-threshold deletion-vector.index-file.target-size
    file-index.in-manifest-threshold file-reader-async-threshold file.block-size local-merge-buffer-size
    lookup.cache-max-disk-size lookup.cache-max-memory-size lookup.merge-buffer-size
    manifest.full-compaction-threshold-size manifest.target-file-size page-size sort-spill-buffer-size
    source.split.open-file-cost source.split.target-size target-file-size vector.target-file-size
    write-buffer-size write-buffer-spill.max-disk-size write.batch-memory
""")
_PAIRS = _words("file.compression.per.level file.format.per.level metadata.stats-mode.per.level")
# The words that each of these takes, in any case.
_CHOICES: Mapping[str, str] = {
    "batch-scan-mode": "none compact",
    "bucket-function.type": "default mod hive",
    "changelog-producer": "none input full-compaction lookup",
    "clustering.incremental.mode": "global-sort local-sort",
    "consumer.mode": "exactly-once at-least-once",
    "data-file.external-paths.strategy": "none specific-fs round-robin entropy-inject weight-robin",
    "format-table.implementation": "paimon engine",
    "global-index.column-update-action": "THROW_ERROR DROP_PARTITION_INDEX",
    "incremental-between-scan-mode": "auto delta changelog diff",
    "lookup-compact": "RADICAL GENTLE",
    "materialized-table.interval-freshness.time-unit": "SECOND MINUTE HOUR DAY",
    "materialized-table.logical-refresh-mode": "CONTINUOUS FULL AUTOMATIC",
    "materialized-table.refresh-mode": "CONTINUOUS FULL AUTOMATIC",
    "materialized-table.refresh-status": "INITIALIZING ACTIVATED SUSPENDED",
    "merge-engine": " ".join(MERGE_ENGINES),
    "metadata.iceberg.storage": "disabled table-location hadoop-catalog hive-catalog rest-catalog",
    "metadata.iceberg.storage-location": "table-location catalog-location",
    "metastore.tag-to-partition.preview": "none process-time watermark batch",
    "partition.sink-strategy": "NONE HASH",
    "scan.mode": (
        "default latest-full full latest compacted-full from-timestamp from-creation-timestamp "
        "from-file-creation-time from-snapshot from-snapshot-full incremental"
    ),
    "sequence.field.sort-order": "ascending descending",
    "snapshot.expire.execution-mode": "sync async",
    "sort-compaction.range-strategy": "SIZE QUANTITY",
    "sort-engine": "min-heap loser-tree",
    "stream-scan-mode": "none compact-bucket-table file-monitor",
    "tag.automatic-creation": "none process-time watermark batch",
    "tag.creation-period": "daily hourly two-hours",
    "tag.period-formatter": "with_dashes without_dashes without_dashes_and_spaces",
    "type": "table format-table materialized-table object-table lance-table iceberg-table",
}
_PAIR = r"[^:,]*[^:,\s][^:,]*:[^:,]*[^:,\s][^:,]*"
_KINDS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "BOOLEAN": (re.compile(r"true|false", re.IGNORECASE), "true or false"),
    "INTEGER": (re.compile(r"[+-]?[0-9]{1,10}"), "a whole number up to 2147483647"),
    "LONG": (re.compile(r"[+-]?[0-9]{1,19}"), "a whole number"),
    "NUMBER": (
        re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?\s*"),
        "a number",
    ),
    "DURATION": (
        re.compile(
            r"\s*[0-9]{1,18}\s*(?:d|days?|h|hours?|m|min|minutes?|s|sec|seconds?|ms|millis?|milliseconds?"
            r"|\u00b5s|micros?|microseconds?|ns|nanos?|nanoseconds?)?\s*",
            re.IGNORECASE,
        ),
        "a length of time like 30 min, 1 h or 7 d",
    ),
    "SIZE": (
        re.compile(
            r"\s*[0-9]{1,18}\s*(?:b|bytes|kb?|kibibytes|mb?|mebibytes|gb?|gibibytes|tb?|tebibytes)?\s*",
            re.IGNORECASE,
        ),
        "a size like 128 mb",
    ),
    "PAIRS": (re.compile(rf"(?:{_PAIR}(?:,{_PAIR})*,?)?"), "pairs like 0:lz4,1:zstd"),
}
# The kind of each option, or the words that it takes.
OPTION_KINDS: Mapping[str, str] = {
    **dict.fromkeys(_BOOLEANS, "BOOLEAN"),
    **dict.fromkeys(_INTEGERS, "INTEGER"),
    **dict.fromkeys(_LONGS, "LONG"),
    **dict.fromkeys(_NUMBERS, "NUMBER"),
    **dict.fromkeys(_DURATIONS, "DURATION"),
    **dict.fromkeys(_SIZES, "SIZE"),
    **dict.fromkeys(_PAIRS, "PAIRS"),
    **_CHOICES,
}
_MOST = {"INTEGER": 2**31 - 1, "LONG": 2**63 - 1}


def require_value(option: str, value: str) -> None:
    """Raises `UsageError` for a value that stock Paimon can't read."""
    kind = OPTION_KINDS.get(option)
    if kind is None or _is_read(kind, value):
        return
    words = _KINDS[kind][1] if kind in _KINDS else f"one of {', '.join(kind.split())}"
    raise UsageError(
        f"Option {option} is {words}, not {shown_value(option, value)!r}",
        "Stock engines could not open the table with it.",
    )


def _is_read(kind: str, value: str) -> bool:
    if kind not in _KINDS:
        return value.lower() in kind.lower().split()
    if not _KINDS[kind][0].fullmatch(value):
        return False
    return kind not in _MOST or abs(int(value)) <= _MOST[kind]
