"""Which files of two states cancel out: on made-up entries, nothing is read."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from paimark.core.spark.incremental.differing_files import ReadWhole, State, differing_files
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.records import SchemaField, TableSchema


def schema(
    number: int = 0, *fields: tuple[int, str, str], keys: str = "", option: tuple[str, str] | None = None
) -> TableSchema:
    return TableSchema(
        id=number,
        fields=[SchemaField(id=each, name=name, type=kind) for each, name, kind in fields or COLUMNS],
        highest_field_id=9,
        partition_keys=[],
        primary_keys=keys.split(),
        options=dict([option] if option else []),
    )


COLUMNS = ((0, "id", "INT NOT NULL"), (1, "price", "INT"))


def key(number: int) -> bytes:
    """A row of one INT, as Paimon serialises it: its arity, then null bits, then the value."""
    return struct.pack(">i", 1) + bytes(8) + struct.pack("<q", number)


def file(
    name: str,
    first: int = 0,
    last: int = 9,
    *,
    bucket: int = 0,
    level: int = 0,
    schema_id: int = 0,
    **more: Any,
) -> ManifestEntry:
    data: dict[str, Any] = {
        "_FILE_NAME": name,
        "_FILE_SIZE": 1,
        "_ROW_COUNT": 1,
        "_SCHEMA_ID": schema_id,
        "_LEVEL": level,
        "_MIN_KEY": key(first),
        "_MAX_KEY": key(last),
        "_MIN_SEQUENCE_NUMBER": 0,
        "_MAX_SEQUENCE_NUMBER": 0,
        **more,
    }
    return ManifestEntry({"_KIND": 0, "_PARTITION": b"", "_BUCKET": bucket, "_FILE": data})


def state(
    definition: TableSchema, *entries: ManifestEntry, vectors: Mapping[str, Hashable] | None = None
) -> State:
    return State(definition, entries, {definition.id: definition}, vectors or {})


def differing(old: State, new: State) -> tuple[str, str]:
    found = differing_files(old, new)
    return "".join(sorted(found.old)), "".join(sorted(found.new))


def test_a_file_of_both_cancels_out_unless_its_vector_or_level_is_another() -> None:
    plain = schema()
    old = state(plain, file("a"), file("b"), file("c", level=0), vectors={"b": 1})
    assert differing(old, state(plain, file("a"), file("b"), file("c"), file("d"), vectors={"b": 1})) == (
        "",
        "d",
    )
    assert differing(old, state(plain, file("a"), file("b"), file("c", level=5), vectors={"b": 2})) == (
        "bc",
        "bc",
    )
    assert differing(old, state(plain)) == ("abc", "")


def test_of_a_keyed_table_groups_of_files_that_share_keys_cancel_out_as_a_whole() -> None:
    keyed = schema(keys="id")
    common = [file("a", 0, 9), file("b", 10, 19), file("c", 15, 30), file("d", 40, 50), file("e", bucket=1)]
    old = state(keyed, *common)
    assert differing(old, state(keyed, *common, file("x", 30, 35))) == ("bc", "bcx")
    assert differing(old, state(keyed, *common, file("x", 60, 70))) == ("", "x")
    assert differing(old, state(keyed, *common, file("x", 0, 0, bucket=1))) == ("e", "ex")
    assert differing_files(old, state(keyed, *common, file("x", 30, 35))).alike == {"b", "c"}
    # What is gone hid keys of what stays.
    assert differing(state(keyed, *common, file("x", 5, 12)), old) == ("abcx", "abc")


def test_keys_without_an_order_make_a_bucket_one_group() -> None:
    keyed = schema(0, (0, "id", "TIMESTAMP(9) NOT NULL"), keys="id")
    common = [file("a"), file("b", bucket=1)]
    assert differing(state(keyed, *common), state(keyed, *common, file("x"))) == ("a", "ax")


@pytest.mark.parametrize(
    ("fields", "cancels"),
    [
        (((0, "id", "INT NOT NULL"), (1, "amount", "INT")), True),  # renamed
        (((0, "id", "INT"), (1, "price", "INT"), (2, "note", "STRING")), True),  # loosened, and added
        (((0, "id", "INT NOT NULL"), (1, "price", "BIGINT")), False),
        (((0, "id", "INT NOT NULL"),), True),  # dropped: not compared
        (((0, "id", "INT NOT NULL"), (2, "price", "INT")), False),  # dropped, and another has its name
        (((0, "id", "INT NOT NULL"), (2, "PRICE", "INT")), False),
    ],
)
def test_files_cancel_out_as_far_as_both_take_the_same_values_from_them(fields: Any, cancels: bool) -> None:
    first, second = schema(), schema(1, *fields)
    old = State(first, [file("a")], {0: first}, {})
    new = State(second, [file("a")], {0: first, 1: second}, {})
    assert differing(old, new) == (("", "") if cancels else ("a", "a"))
    # The other way round, what was added holds values that the older schema knows nothing of.
    later = State(second, [file("a", schema_id=1)], {0: first, 1: second}, {})
    earlier = State(first, [file("a", schema_id=1)], {0: first, 1: second}, {})
    has_new = any(number == 2 for number, *_ in fields)
    assert differing(earlier, later) == (("a", "a") if has_new or not cancels else ("", ""))


def test_a_schema_that_two_branches_have_differently_or_not_at_all_tells_nothing() -> None:
    ours, theirs = schema(), schema(0, *COLUMNS, (2, "x", "INT"))
    assert differing(state(ours, file("a")), State(ours, [file("a")], {0: theirs}, {})) == ("a", "a")
    assert differing(state(ours, file("a")), State(ours, [file("a")], {}, {})) == ("a", "a")


def test_what_can_not_be_told_is_read_whole_and_why_is_said() -> None:
    plain, keyed = schema(), schema(keys="id")
    for old, new, why in (
        (plain, schema(option=("merge-engine", "first-row")), "options"),
        (plain, keyed, "keys"),
        (schema(option=("data-evolution.enabled", "true")),) * 2 + ("several files",),
    ):
        with pytest.raises(ReadWhole, match=why):
            differing_files(state(old, file("a")), state(new, file("a")))
    with pytest.raises(ReadWhole, match="twice"):
        differing_files(state(plain, file("a"), file("a", bucket=1)), state(plain))
    parts = replace(state(plain), entries=[file("a", _WRITE_COLS=["id"])])
    with pytest.raises(ReadWhole, match="several files"):
        differing_files(parts, parts)
    # How long snapshots are kept is nothing that a read knows of: branches have that switched off.
    kept = msgspec.structs.replace(plain, options={"snapshot.num-retained.max": "5", "write-only": "true"})
    assert differing(state(plain, file("a")), state(kept, file("a"))) == ("", "")
