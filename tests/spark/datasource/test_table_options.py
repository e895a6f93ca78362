"""Options of a table that change what a scan returns: read as stock Paimon reads, or refused by name."""

from __future__ import annotations

import json
import re
from fnmatch import translate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pypaimon.common.options.core_options import CoreOptions

import paimark
from paimark.core.spark.client.client import Engine
from paimark.core.spark.datasource.table_options import RULES, Use, judged, rule_of
from tests.interop.judge import Judge, comparable
from tests.long import long_but
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, by_library, rows
from tests.wording import about

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        pa.field("a", pa.int32()),
        pa.field("s", pa.int32()),
    ]
)
ROW = {"p": "x", "k": 1, "a": 1, "s": 1}


def make(warehouse: Path, name: str, options: dict[str, str], rows_of: list[dict[str, Any]]) -> str:
    table = f"options.{name}"
    create_table(
        warehouse,
        table,
        SCHEMA,
        primary_keys=["p", "k"],
        partition_keys=["p"],
        options={"bucket": "1", "write-only": "true", **options},
    )
    if rows_of:
        commit(warehouse, table, pa.Table.from_pylist(rows_of, schema=SCHEMA))
    return table


def set_options(warehouse: Path, table: str, options: dict[str, str], branch: str = "") -> None:
    """A newer schema with more options, whatever they are."""
    database, name = table.split(".")
    schemas = warehouse / f"{database}.db" / name / branch / "schema"
    newest = max(int(path.name.removeprefix("schema-")) for path in schemas.glob("schema-*"))
    schema = json.loads((schemas / f"schema-{newest}").read_text())
    schema["id"] = newest + 1
    schema["options"] |= options
    (schemas / f"schema-{newest + 1}").write_text(json.dumps(schema))


REFUSED: dict[str, dict[str, str]] = {
    "scan.fallback-branch": {"scan.fallback-branch": "b"},
    "scan.primary-branch": {"scan.primary-branch": "b"},
    "scan.fallback-snapshot-branch": {"scan.fallback-snapshot-branch": "b"},
    "scan.fallback-delta-branch": {"scan.fallback-delta-branch": "b"},
    "chain-table.enabled": {"chain-table.enabled": "true"},
    "branch": {"branch": "b"},
    "sequence.snapshot-ordering": {"sequence.snapshot-ordering": "true"},
    "postpone.merge-on-read": {"postpone.merge-on-read": "true"},
    "fields.a.map.storage-layout": {"fields.a.map.storage-layout": "shared-shredding"},
    "fields.a.nested-sequence-field": {"fields.a.nested-sequence-field": "s"},
    "fields.a.something-new": {"merge-engine": "partial-update", "fields.a.something-new": "1"},
    "query-auth.enabled": {"query-auth.enabled": "true"},
    "type": {"type": "format-table"},
    "merge-engine": {"merge-engine": "newest-wins"},
    "manifest.format": {"manifest.format": "orc"},
    "scan.snapshot-id": {"scan.snapshot-id": "1"},
    "scan.tag-name": {"scan.tag-name": "t"},
    "scan.version": {"scan.version": "1"},
    "scan.timestamp": {"scan.timestamp": "2026-05-01 00:00:00"},
    "scan.timestamp-millis": {"scan.timestamp-millis": "1"},
    "scan.watermark": {"scan.watermark": "1"},
    "scan.file-creation-time-millis": {"scan.file-creation-time-millis": "1"},
    "scan.creation-time-millis": {"scan.creation-time-millis": "1"},
    "scan.mode": {"scan.mode": "compacted-full"},
    "scan.something-new": {"scan.something-new": "1"},
    "incremental-between": {"incremental-between": "1,2"},
    "incremental-between-timestamp": {"incremental-between-timestamp": "1,2"},
    "incremental-to-auto-tag": {"incremental-to-auto-tag": "t"},
    "fields.s.sequence-group": {"merge-engine": "partial-update", "fields.s.sequence-group": "a"},
    "fields.a.aggregate-function": {"merge-engine": "partial-update", "fields.a.aggregate-function": "sum"},
    "ignore-delete": {"merge-engine": "partial-update", "ignore-delete": "true"},
    "partial-update.remove-record-on-delete": {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "fields.default-aggregate-function": {
        "merge-engine": "aggregation",
        "fields.default-aggregate-function": "rbm64",
    },
    "fields.a.ignore-retract": {"merge-engine": "aggregation", "fields.a.ignore-retract": "true"},
    "aggregation.remove-record-on-delete": {
        "merge-engine": "aggregation",
        "aggregation.remove-record-on-delete": "true",
    },
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_nothing_here_obeys_is_refused_by_name(
    option: str, engine: Engine, engine_warehouse: Path
) -> None:
    table = make(engine_warehouse, option.replace(".", "_").replace("-", "_"), {}, [ROW])
    set_options(engine_warehouse, table, REFUSED[option])
    sql = f"SELECT * FROM {table}"
    with pytest.raises(paimark.Refused) as refused:
        paimark.open(str(engine_warehouse)).table(table).at().to_arrow()
    assert about(table, f"option {option} =").search(refused.value.message)
    if is_for_library(option):
        assert "paimark jars fetch paimon" in refused.value.hint
    else:
        failure = ask(engine, sql).failure
        assert failure.message == refused.value.message
        assert failure.position == len("SELECT * FROM ")
    # Its metadata can still be looked at.
    assert rows(engine, f"SELECT * FROM `options`.`{table.partition('.')[2]}$snapshots`")


def test_a_library_that_is_older_than_the_table_does_not_read_it(
    engine: Engine, engine_warehouse: Path
) -> None:
    """It would read the rows otherwise, without a word."""
    table = make(engine_warehouse, "newer", {}, [ROW])
    set_options(engine_warehouse, table, {"deletion-vectors.merge-on-read": "true"})
    for explain in ("", "EXPLAIN "):
        failure = ask(engine, f"{explain}SELECT * FROM {table}").failure
        told = ("deletion-vectors.merge-on-read", "Paimon 2.0", "old")
        assert about(table, *told).search(failure.message)
    assert paimark.open(str(engine_warehouse)).table(table).at().to_arrow().to_pylist() == [ROW]
    grouped = make(engine_warehouse, "newer_rules", {"merge-engine": "partial-update"}, [])
    newer = {"fields.s.sequence-group": "a", "primary-key.nullable": "true"}
    set_options(engine_warehouse, grouped, newer)
    failure = ask(engine, f"SELECT * FROM {grouped}").failure
    assert about(grouped, "primary-key.nullable", "Paimon 2.1", "old").search(failure.message)
    assert "paimon.jar" in failure.hint


def by_python(warehouse: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = paimark.open(str(warehouse)).table(table).at().to_arrow().to_pylist()
    return found


def is_for_library(option: str) -> bool:
    options = REFUSED[option]
    match = judged(options, Use(None, options.get("merge-engine", "deduplicate")))
    assert match is not None
    return match.rule.outcome == "library"


def test_a_version_is_read_whatever_version_the_table_names(engine: Engine, engine_warehouse: Path) -> None:
    table = make(engine_warehouse, "pinned", {}, [ROW])
    set_options(engine_warehouse, table, {"scan.snapshot-id": "1", "scan.mode": "from-snapshot"})
    hint = ask(engine, f"SELECT * FROM {table}").failure.hint
    assert "VERSION AS OF" in hint
    assert rows(engine, f"SELECT * FROM {table} VERSION AS OF 1") == [ROW]


# Written by stock Paimon, then set: read as it reads.
AGREED: dict[str, dict[str, str]] = {
    "default": {"fields.a.default-value": "7"},
    "expiring": {"record-level.expire-time": "1 d", "record-level.time-field": "s"},
    "ordered": {"sequence.field": "s"},
    "latest": {"scan.mode": "latest"},
    "full": {"scan.mode": "full"},
    "sorted": {"scan.plan-sort-partition": "true"},
    "native": {"read.native.enabled": "true"},
    "updates": {"ignore-update-before": "true"},
}


@pytest.mark.parametrize("name", AGREED)
@pytest.mark.parametrize("file_format", long_but(["parquet", "avro"], "parquet"))
def test_other_options_are_read_as_stock_paimon_reads(
    name: str, file_format: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    table = make(engine_warehouse, f"agreed_{name}_{file_format}", {"file.format": file_format}, [])
    judge.write(engine_warehouse, table, [{"p": "x", "k": 1, "a": 1, "s": 5}, {"p": "x", "k": 2, "a": 1}])
    judge.write(engine_warehouse, table, [{"p": "x", "k": 1, "a": 9, "s": 3}, {"p": "y", "k": 3}])
    judge.write(engine_warehouse, table, [{"p": "x", "k": 2}], kind="-D")
    set_options(engine_warehouse, table, AGREED[name])
    found = [comparable(rows(engine, f"SELECT * FROM {table}"))]
    with by_library(engine):
        found.append(comparable(rows(engine, f"SELECT * FROM {table}")))
    found.append(comparable(by_python(engine_warehouse, table)))
    expected = comparable(judge.read(engine_warehouse, table))
    assert found == [expected, expected, expected]


@pytest.mark.parametrize("option", long_but(["ignore-delete", "deduplicate.ignore-delete"], "ignore-delete"))
def test_deletes_that_are_to_be_ignored_are_not_done(
    option: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """pypaimon does those that it finds in files: natively they are ignored, else the table is refused."""
    for file_format in ("parquet", "avro"):
        name = f"{option.replace('-', '_').replace('.', '_')}_{file_format}"
        # Stock Paimon takes both in any case.
        table = make(engine_warehouse, name, {"file.format": file_format, "merge-engine": "Deduplicate"}, [])
        judge.write(engine_warehouse, table, [ROW])
        set_options(engine_warehouse, table, {option: "True"})
        assert by_python(engine_warehouse, table) == [ROW]
        set_options(engine_warehouse, table, {option: "false"})
        judge.write(engine_warehouse, table, [ROW], kind="-D")
        assert rows(engine, f"SELECT * FROM {table}") == []
        set_options(engine_warehouse, table, {option: "true"})
        assert comparable([ROW]) == judge.read(engine_warehouse, table)
        if file_format == "parquet":
            assert rows(engine, f"SELECT * FROM {table}") == [ROW]
        with pytest.raises(paimark.Refused, match=option):
            by_python(engine_warehouse, table)


# Patterns of the options by which no scan is another one: how a state that `incremental-between` names is
# read; what is done when rows are written or compacted (`*ignore-delete`: see `kind_signs.ignored_deletes`);
# how pypaimon reads; of streams; and how a table was made, and what is written, indexed, expired and
# reported.
OF_NO_SCAN = """
    incremental-between-*
    *ignore-delete fields.* ignore-update-before record-level.* rowkind.field sequence.field*
    data-evolution.* data-file.* deletion-vector.* deletion-vectors.* pk-clustering-override row-tracking.*
    local-cache.* read.*
    changelog* consumer* continuous.* stream*
    add-column-before-partition aggregation.* alter-column-* async-file-write auto-create batch-scan-mode
    bitmap-index.* blob* btree-index.* bucket* cache-page-size chain-table.* clustering.* commit.*
    compaction.* cross-partition-upsert.* delete.* disable-explicit-type-casting dynamic-* end-input.* file*
    force-lookup format-table.* full-compaction.* full-text-index.* global-index.*
    index-file-in-data-file-dir key-value.* local-merge-buffer-size local-sort.* lookup* manifest*
    materialized-table.* metadata.* metastore.* mosaic.* num-* overwrite-upgrade page-size parquet.*
    partial-update.* partition* path pk-* postpone.* primary-key* scalar-index.* sink.* snapshot.* sort*
    source.* spill-* table-read.* tag.* target-* upsert-key variant.* vector* video-* visibility-callback.*
    write* zorder.*
"""


def without_outcome(options: list[str]) -> list[str]:
    """Those that neither a rule nor a pattern tells anything of."""
    patterns = re.compile("|".join(map(translate, OF_NO_SCAN.split())))
    return [each for each in options if rule_of(each) is None and not patterns.fullmatch(each)]


def test_every_option_that_pypaimon_knows_has_an_outcome() -> None:
    known = [each.key() for each in vars(CoreOptions).values() if hasattr(each, "key")]
    assert len(known) > 100
    assert without_outcome(known) == []


def test_every_option_that_stock_paimon_knows_has_an_outcome(judge: Judge) -> None:
    known = judge.options()
    assert len(known) > 200
    assert without_outcome(known) == []


def test_no_rule_hides_behind_another() -> None:
    """Of two that fit the first counts."""
    for number, rule in enumerate(RULES):
        first = rule_of(rule.option.replace("*", "x-"), rule.engine or "deduplicate")
        assert first is rule, f"{rule.option} (rule {number}) is hidden by {first and first.option}"


def test_values_are_told_apart() -> None:
    plain = Use(branch=None, engine="deduplicate")
    assert judged({"scan.fallback-branch": "b"}, Use(branch="b", engine="deduplicate")) is None
    assert judged({"branch": "main"}, plain) is None
    assert judged({"chain-table.enabled": "false"}, plain) is None
    assert judged({"fields.a.sequence-group": "b"}, plain) is None
    found = judged(
        {"write-only": "true", "scan.mode": "latest-full", "deletion-vectors.merge-on-read": "TRUE"}, plain
    )
    assert found is not None and found.rule.outcome == "python"
    assert found.option == "deletion-vectors.merge-on-read"
