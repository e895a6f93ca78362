"""When rows can be chosen by their keys, and what is kept of the choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paimark.core.spark.incremental.delta import BitCache
from paimark.core.spark.merging.model import (
    Bits,
    MergeColumns,
    MergeFile,
    MergeGroup,
    MergeRules,
    Unmergeable,
)
from paimark.core.spark.merging.rules import merge_rules
from paimark.core.table.records import SchemaField, TableSchema


def schema(number: int, columns: list[tuple[int, str, str]], **options: str) -> TableSchema:
    """Of columns by id, name and type; `k` is the key."""
    return TableSchema(
        id=number,
        fields=[SchemaField(id=id_, name=name, type=kind) for id_, name, kind in columns],
        highest_field_id=9,
        partition_keys=["p"],
        primary_keys=["p", columns[0][1]],
        options={name.replace("_", "-").replace("--", "."): value for name, value in options.items()},
    )


OLD = schema(0, [(0, "k", "BIGINT NOT NULL"), (1, "p", "INT NOT NULL"), (2, "s", "INT")])
NEW = schema(
    1,
    [(0, "id", "BIGINT NOT NULL"), (1, "p", "INT NOT NULL"), (2, "at", "BIGINT"), (3, "more", "DOUBLE")],
    sequence__field="at, more",
)


def test_columns_go_by_their_ids() -> None:
    rules = merge_rules(NEW, {0: OLD, 1: NEW})
    assert rules.columns == {
        0: MergeColumns(("_KEY_k",), ("s", None)),
        1: MergeColumns(("_KEY_id",), ("at", "more")),
    }
    assert rules.key_types == ("BIGINT NOT NULL",)
    assert not rules.descending
    assert not rules.ignore_delete


def test_options_decide_what_is_newer_and_what_a_delete_is() -> None:
    rules = merge_rules(
        schema(0, [(0, "k", "INT")], sequence__field="k", sequence__field__sort_order="DESCENDING"),
        {},
    )
    assert rules.descending
    assert merge_rules(schema(0, [(0, "k", "INT")], deduplicate__ignore_delete="true"), {}).ignore_delete
    both = {"ignore_delete": "false", "deduplicate__ignore_delete": "true"}
    assert not merge_rules(schema(0, [(0, "k", "INT")], **both), {}).ignore_delete


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (schema(0, [(0, "k", "INT")], merge_engine="first-row"), "merge-engine first-row"),
        (schema(0, [(0, "k", "INT")], sequence__snapshot_ordering="true"), "sequence.snapshot-ordering"),
        (schema(0, [(0, "k", "TIMESTAMP(9)")]), "TIMESTAMP\\(9\\)"),
        (schema(0, [(0, "k", "INT"), (1, "a", "ARRAY<INT>")], sequence__field="a"), "ARRAY"),
        (schema(0, [(0, "k", "INT")], sequence__field="gone"), "gone"),
        (schema(0, [(0, "p", "INT")]), "key .*partition"),
    ],
)
def test_what_can_not_be_chosen_by_keys_says_why(table: TableSchema, why: str) -> None:
    with pytest.raises(Unmergeable, match=why):
        merge_rules(table, {0: table})


def test_a_sequence_field_that_was_of_another_kind_is_not_compared() -> None:
    texts = schema(0, [(0, "k", "BIGINT"), (2, "s", "STRING"), (3, "more", "FLOAT")])
    with pytest.raises(Unmergeable, match="at was STRING once"):
        merge_rules(NEW, {0: texts, 1: NEW})


@pytest.mark.parametrize(
    ("written", "now", "alike"),
    [
        ("TIMESTAMP(3)", "TIMESTAMP(6)", True),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", False),
        ("TIMESTAMP(7)", "TIMESTAMP(6)", False),
        ("VARCHAR(3)", "VARCHAR(5)", True),
        ("VARCHAR(5)", "VARCHAR(3)", False),
        ("CHAR(5)", "VARCHAR(3)", False),
        ("VARCHAR(5)", "STRING", True),
        ("DECIMAL(5, 2)", "DECIMAL(7, 2)", True),
        ("DECIMAL(7, 2)", "DECIMAL(5, 2)", False),
        ("DECIMAL(5, 2)", "DECIMAL(7, 3)", False),
        ("BINARY(5)", "BINARY(3)", False),
        ("INT NOT NULL", "INT", True),
        ("SMALLINT", "BIGINT", True),
        ("BIGINT", "INT", False),
        ("FLOAT", "DOUBLE", True),
    ],
)
def test_a_sequence_field_that_lost_room_is_not_compared(written: str, now: str, alike: bool) -> None:
    older = schema(0, [(0, "k", "INT"), (1, "p", "INT"), (2, "s", written)], sequence__field="s")
    newer = schema(1, [(0, "k", "INT"), (1, "p", "INT"), (2, "s", now)], sequence__field="s")
    if alike:
        merge_rules(newer, {0: older, 1: newer})
        return
    with pytest.raises(Unmergeable, match="sequence field s was"):
        merge_rules(newer, {0: older, 1: newer})


def group(name: str, **changes: Any) -> MergeGroup:
    rules = MergeRules(("INT",), (), False, False, {0: MergeColumns(("_KEY_k",), ())})
    file = MergeFile(name, "parquet", 0, 0, 64, 0, 63, 0, ((True, 0),), ((True, 63),))
    return MergeGroup(MergeRules(**{**_fields(rules), **changes}), (file,))


def _fields(rules: MergeRules) -> dict[str, Any]:
    return {name: getattr(rules, name) for name in MergeRules.__slots__}


def test_what_was_used_longest_ago_goes_first() -> None:
    kept = BitCache(most_bytes=16)
    bits = [Bits.of(np.ones(64, dtype=np.bool_))]
    for name in ("a", "b"):
        kept.put(group(name), bits)
    assert kept.get(group("a")) is bits
    kept.put(group("c"), bits)
    assert [kept.get(group(name)) is bits for name in ("a", "b", "c")] == [True, False, True]
    kept.put(group("c"), [Bits.of(np.ones(640, dtype=np.bool_))])
    assert [kept.get(group(name)) for name in ("a", "c")] == [None, None]


def test_what_is_merged_in_another_way_is_another_choice() -> None:
    kept = BitCache(most_bytes=1024)
    kept.put(group("a"), [Bits.of(np.ones(1, dtype=np.bool_))])
    assert kept.get(group("a", ignore_delete=True)) is None
    assert kept.get(group("a", sequence_types=("INT",))) is None
    assert kept.get(group("a", columns={0: MergeColumns(("_KEY_id",), ())})) is None
