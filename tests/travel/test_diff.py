"""From two versions as a person names them to the SQL of their difference: metadata only, no Spark."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from paimark.core.errors import NotFound, PaimarkError, Refused, UsageError
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.records import SchemaField, TableSchema
from paimark.core.travel.diff.columns import pair_columns
from paimark.core.travel.diff.diff import make_difference
from paimark.core.travel.diff.versions import find_version, parse_version, shared_field_id
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.requested_version import RequestedVersion
from tests.paimon import open_table
from tests.table.branches import create_branch

ORDERS, EVENTS = TablePath("shop", "orders"), TablePath("shop", "events")


@pytest.fixture
def files(warehouse: Path) -> LocalFiles:
    orders = open_table(warehouse, "shop.orders")
    create_branch(warehouse, "shop.orders", "fix", "v2")
    orders.create_tag("savepoint.1", 3)
    (warehouse / "shop.db/orders/branch/branch-fix/tag/tag-savepoint.7").write_bytes(
        (warehouse / "shop.db/orders/tag/tag-v2").read_bytes()
    )
    return LocalFiles(str(warehouse))


@pytest.mark.parametrize(
    ("text", "requested"),
    [
        ("main", RequestedVersion()),
        ("fix", RequestedVersion("fix")),
        ("branch.fix", RequestedVersion("fix")),
        ("branch.main", RequestedVersion()),
        ("branch.v2", RequestedVersion(None, "branch.v2")),
        ("v2", RequestedVersion(None, "v2")),
        ("12", RequestedVersion(None, "12")),
        ("savepoint.1", RequestedVersion(None, "savepoint.1")),
        ("fix:savepoint.1", RequestedVersion("fix", "savepoint.1")),
        ("main:v2", RequestedVersion(None, "v2")),
        ("other:v2", RequestedVersion(None, "other:v2")),
    ],
)
def test_a_version_is_written_in_several_ways(
    files: LocalFiles, text: str, requested: RequestedVersion
) -> None:
    assert parse_version(files, ORDERS, text) == requested


def test_a_name_of_a_branch_and_a_tag_is_refused_with_both_spellings(
    files: LocalFiles, warehouse: Path
) -> None:
    open_table(warehouse, "shop.orders").create_tag("fix", 3)
    with pytest.raises(UsageError) as caught:
        parse_version(files, ORDERS, "fix")
    assert "branch.fix" in caught.value.hint
    assert "main:fix" in caught.value.hint
    assert parse_version(files, ORDERS, "main:fix") == RequestedVersion(None, "fix")


def test_heads_are_not_pinned_and_versions_are(files: LocalFiles) -> None:
    head = find_version(files, ORDERS, RequestedVersion("fix"))
    assert (head.label, head.name, head.snapshot and head.snapshot.id) == ("fix", None, 2)
    then = find_version(files, ORDERS, RequestedVersion(None, "3"))
    assert (then.label, then.name) == ("snapshot.3", "snapshot.3")


def test_a_savepoint_is_found_in_the_branch_that_has_it(files: LocalFiles) -> None:
    version = find_version(files, ORDERS, RequestedVersion(None, "savepoint.7"))
    assert (version.root.branch, version.label) == ("fix", "fix:savepoint.7")


def test_a_version_that_is_not_there_names_those_that_are(files: LocalFiles) -> None:
    with pytest.raises(NotFound) as caught:
        find_version(files, ORDERS, parse_version(files, ORDERS, "nothing"))
    assert "no version 'nothing'" in caught.value.message
    assert "Branches: main, fix" in caught.value.hint


def schema(*fields: tuple[int, str, object], highest: int | None = None) -> TableSchema:
    columns = [SchemaField(id=number, name=name, type=kind) for number, name, kind in fields]
    top = max((number for number, _, _ in fields), default=-1) if highest is None else highest
    return TableSchema(
        id=0, fields=columns, highest_field_id=top, partition_keys=[], primary_keys=[], options={}
    )


def named(old: TableSchema, new: TableSchema, shared: int) -> list[tuple[str | None, str | None]]:
    return [
        (pair.old.name if pair.old else None, pair.new.name if pair.new else None)
        for pair in pair_columns(old, new, shared)
    ]


def test_columns_are_the_same_by_id_up_to_the_fork_and_by_name_after_it() -> None:
    old = schema((0, "id", "INT"), (1, "amount", "INT"), (2, "gone", "INT"), (3, "mine", "INT"))
    new = schema((0, "id", "INT"), (1, "price", "BIGINT"), (3, "theirs", "INT"))
    assert named(old, new, 2) == [
        ("id", "id"),
        ("amount", "price"),
        (None, "theirs"),
        ("gone", None),
        ("mine", None),
    ]
    assert named(old, new, 3)[2] == ("mine", "theirs")
    # Dropped and added again under its name.
    again = schema((0, "id", "INT"), (4, "gone", "INT"))
    assert ("gone", "gone") in named(old, again, 4)


def test_ids_mean_the_same_as_far_as_schemas_are_equal(files: LocalFiles, warehouse: Path) -> None:
    main, fix = ORDERS.root(), ORDERS.root("fix")
    assert shared_field_id(files, main, fix) == 2
    path = warehouse / "shop.db/orders/schema/schema-0"
    made = msgspec.json.decode(path.read_bytes())
    grown = {"id": 3, "name": "x", "type": "INT"}
    for root in (main, fix):
        grown["name"] = root.label
        written = {**made, "id": 1, "highestFieldId": 3, "fields": [*made["fields"], grown]}
        (warehouse / root.schema(1)).write_bytes(msgspec.json.encode(written))
    assert shared_field_id(files, main, fix) == 2
    difference = make_difference(files, ORDERS, RequestedVersion(), RequestedVersion("fix"))
    assert [note for note in difference.notes if "only in" in note] == [
        "Column fix is only in fix: compared with null",
        "Column main is only in main: not compared",
    ]


def test_the_statement_reads_both_versions_and_survives_any_name(files: LocalFiles, warehouse: Path) -> None:
    hostile = "o'x` [red] -- '' $"
    orders = open_table(warehouse, "shop.orders")
    orders.create_tag(hostile, 3)
    difference = make_difference(files, ORDERS, RequestedVersion(None, hostile), RequestedVersion("fix"))
    tokens = read_statement(difference.statement).tokens
    assert hostile in [token.value for token in tokens if token.kind == "string"]
    assert "orders$branch_fix" in [token.value for token in tokens]
    ends_so = make_difference(files, ORDERS, RequestedVersion(), RequestedVersion(None, "v2"))
    object.__setattr__(ends_so.new, "label", "v\\")
    assert read_statement(ends_so.statement).kind == "query"


def test_keys_that_are_not_there_are_refused_by_name(files: LocalFiles) -> None:
    with pytest.raises(NotFound, match="no column nothing"):
        make_difference(files, ORDERS, RequestedVersion(), RequestedVersion("fix"), ["nothing"])
    difference = make_difference(files, ORDERS, RequestedVersion(), RequestedVersion("fix"), ["customer"])
    assert not difference.is_unique
    assert make_difference(
        files, ORDERS, RequestedVersion(), RequestedVersion("fix"), ["order_id", "price"]
    ).is_unique
    assert not make_difference(files, EVENTS, RequestedVersion(None, "1"), RequestedVersion()).keys


def test_other_primary_keys_need_keys(files: LocalFiles, warehouse: Path) -> None:
    path = warehouse / "shop.db/orders/branch/branch-fix/schema/schema-0"
    made = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode({**made, "primaryKeys": ["customer"]}))
    with pytest.raises(Refused) as caught:
        make_difference(files, ORDERS, RequestedVersion(), RequestedVersion("fix"))
    assert "--keys" in caught.value.hint
    assert isinstance(caught.value, PaimarkError)


class CountedId(int):
    """An id that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedId.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


@pytest.mark.parametrize("shared", [-1, 300])
def test_many_columns_are_not_each_compared_with_each(shared: int) -> None:
    ids = range(300)
    old, new = (schema(*((CountedId(each), f"c{each}", "INT") for each in ids)) for _ in range(2))
    CountedId.compared = 0
    pairs = pair_columns(old, new, shared)
    assert CountedId.compared < 10 * len(ids)
    assert [(id(pair.old), id(pair.new)) for pair in pairs] == [
        (id(old.fields[each]), id(new.fields[each])) for each in ids
    ]
