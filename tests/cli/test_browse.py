"""What the browsing commands print."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.command import Paimark
from tests.conftest import ORDERS
from tests.paimon import commit
from tests.wording import about


def test_tables_name_every_table_with_its_newest_commit(paimark: Paimark, warehouse: Path) -> None:
    rows = paimark("--warehouse", warehouse, "tables", "--output", "json").rows
    assert [(row["database_name"], row["table_name"]) for row in rows] == [
        ("shop", "events"),
        ("shop", "orders"),
    ]
    assert [row["latest_snapshot_id"] for row in rows] == [2, 5]
    assert {row["main_branch"] for row in rows} == {"main"}


@pytest.mark.parametrize(
    ("below", "words"),
    [
        ("shop.db", ("shop.db", "database")),
        ("shop.db/orders", ("orders", "database shop.db")),
        ("shop.db/orders/snapshot", ("snapshot", "part", "table shop.orders")),
    ],
)
def test_a_place_in_a_warehouse_is_told_from_an_empty_one(
    paimark: Paimark, warehouse: Path, below: str, words: tuple[str, ...]
) -> None:
    ran = paimark("--warehouse", warehouse / below, "tables")
    assert ran.code == 0
    assert about("no databases", *words, f"warehouse is {warehouse}").search(ran.err)
    assert about(*words).search(paimark("--warehouse", warehouse / below, "snapshots", "shop.orders").err)


@pytest.mark.parametrize(
    ("below", "words"),
    [
        ("shop", ("shop", "database")),
        ("shop.db/orders/snapshot/snapshot-1", ("snapshot-1", "part", "table shop.orders")),
        ("shop.db/orders/bucket-0/data-1.parquet", ("data-1.parquet", "part", "table shop.orders")),
    ],
)
def test_the_console_tells_what_an_address_names_that_is_no_warehouse(
    paimark: Paimark, warehouse: Path, below: str, words: tuple[str, ...]
) -> None:
    (warehouse / "shop.db/orders/bucket-0").mkdir(exist_ok=True)
    (warehouse / "shop.db/orders/bucket-0/data-1.parquet").touch()
    ran = paimark(warehouse / below)
    assert ran.code == 1
    assert about("no warehouse", *words, f"warehouse is {warehouse}").search(ran.err)


def test_the_columns_of_a_long_list_stay_in_line(paimark: Paimark, warehouse: Path) -> None:
    names = [f"t{number:03}" for number in range(520)]
    for name in [*names, "the_longest_name_comes_last"]:
        (warehouse / "many.db" / name / "schema").mkdir(parents=True)
        shutil.copy(warehouse / "shop.db/orders/schema/schema-0", warehouse / "many.db" / name / "schema")
    _, _, *lines = paimark("--warehouse", warehouse, "tables", "many").out.splitlines()
    assert len(lines) == 521
    assert len({line.rindex("  main") for line in lines}) == 1


def test_what_has_a_name_that_is_left_out_is_told(paimark: Paimark, warehouse: Path) -> None:
    for name in ("shop.db/re\x1b[31md", "shop.db/two\nlines", "\x07.db"):
        shutil.copytree(warehouse / "shop.db/orders", warehouse / name)
    ran = paimark("--warehouse", warehouse, "tables", "--output", "json")
    assert [row["table_name"] for row in ran.rows] == ["events", "orders"]
    assert about("left out", r"'\x07.db'", "'/'", r"'\'", "control characters").search(ran.err)
    assert about("left out", r"'re\x1b[31md'", "1 more").search(ran.err)
    assert r"\x07" not in paimark("--warehouse", warehouse, "tables", "shop").err


def test_a_broken_table_hides_no_other(paimark: Paimark, warehouse: Path) -> None:
    (warehouse / "shop.db" / "events" / "branch").mkdir()
    (warehouse / "shop.db" / "events" / "branch" / "MAIN-BRANCH").write_text("gone")
    ran = paimark("--warehouse", warehouse, "tables", "--output", "json")
    assert [row["latest_snapshot_id"] for row in ran.rows] == [None, 5]
    assert "shop.events: " in ran.err
    assert ran.code == 0


def test_snapshots_come_newest_first_with_the_system_tables_columns(
    paimark: Paimark, warehouse: Path
) -> None:
    rows = paimark("snapshots", "shop.orders", "--warehouse", warehouse, "--output", "json").rows
    assert [row["snapshot_id"] for row in rows] == [5, 4, 3, 2, 1]
    assert list(rows[0])[:6] == [
        *("snapshot_id", "schema_id", "commit_user", "commit_identifier", "commit_kind", "commit_time"),
    ]
    assert rows[0]["commit_time"] >= rows[1]["commit_time"] > 1_700_000_000_000


def test_a_limit_takes_the_newest(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark("snapshots", "shop.orders", "--limit", "2", "--warehouse", warehouse, "--output", "json")
    assert [row["snapshot_id"] for row in ran.rows] == [5, 4]


def test_a_half_written_snapshot_is_left_out_and_said_so(paimark: Paimark, warehouse: Path) -> None:
    (warehouse / "shop.db" / "orders" / "snapshot" / "snapshot-3").write_text('{"id": 3')
    ran = paimark("snapshots", "shop.orders", "--warehouse", warehouse, "--output", "json")
    assert [row["snapshot_id"] for row in ran.rows] == [5, 4, 2, 1]
    assert "snapshot-3" in ran.err


@pytest.mark.usefixtures("in_berlin")
def test_tables_for_people_show_times_in_the_local_zone(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark("snapshots", "shop.orders", "--limit", "1", "--warehouse", warehouse)
    assert re.search(r"\+0[12]:00", ran.out.splitlines()[2])


def test_counts_for_people_have_their_thousands_apart_and_ids_do_not(
    paimark: Paimark, warehouse: Path
) -> None:
    path = warehouse / "shop.db/orders/snapshot/snapshot-5"
    record = json.loads(path.read_bytes())
    path.write_text(
        json.dumps({**record, "totalRecordCount": 16200, "deltaRecordCount": -1200, "schemaId": 1000})
    )
    ran = paimark("snapshots", "shop.orders", "--limit", "1", "--warehouse", warehouse)
    assert ran.out.splitlines()[2].split()[4:7] == ["16,200", "-1,200", "1000"]
    as_json = paimark(
        "snapshots", "shop.orders", "--limit", "1", "--warehouse", warehouse, "--output", "json"
    )
    assert as_json.rows[0]["total_record_count"] == 16200


def test_tags_branches_and_schemas_are_the_system_tables(paimark: Paimark, warehouse: Path) -> None:
    def rows(name: str) -> list[dict[str, object]]:
        printed: list[dict[str, object]] = paimark(
            name, "shop.orders", "--warehouse", warehouse, "--output", "json"
        ).rows
        return printed

    assert [(row["tag_name"], row["snapshot_id"]) for row in rows("tags")] == [("v2", 2)]
    assert [row["branch_name"] for row in rows("branches")] == ["main"]
    (schema,) = rows("schemas")
    assert schema["primary_keys"] == ["order_id"]
    assert schema["options"] == {"bucket": "2"}
    assert rows("savepoints") == []


def test_schemas_for_people_are_spelled_as_in_sql(paimark: Paimark, warehouse: Path) -> None:
    out = paimark("schemas", "shop.orders", "--warehouse", warehouse).out
    assert "order_id BIGINT NOT NULL, customer STRING, price DOUBLE" in out


@pytest.mark.parametrize(
    "name", ["shop.orders/../x", "shop.or\x1b[31mders", "shop.$orders", "orders", "shop.", ""]
)
def test_a_hostile_table_name_is_one_sentence_without_control_characters(
    paimark: Paimark, warehouse: Path, name: str
) -> None:
    ran = paimark("snapshots", name, "--warehouse", warehouse)
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert "\x1b" not in ran.err
    assert "fault of paimark" not in ran.err


def test_hostile_text_in_a_table_reaches_the_terminal_as_text(paimark: Paimark, warehouse: Path) -> None:
    snapshot = warehouse / "shop.db" / "orders" / "snapshot" / "snapshot-5"
    snapshot.write_text(snapshot.read_text().replace('"APPEND"', '"\\u001b]0;x\\u0007[red]"'))
    ran = paimark("snapshots", "shop.orders", "--warehouse", warehouse)
    assert "\x1b" not in ran.out
    assert "]0;x" in ran.out
    assert "[red]" in ran.out


def test_names_that_are_not_there_suggest_near_ones(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark("tags", "shop.ordesr", "--warehouse", warehouse)
    assert (ran.code, ran.out) == (1, "")
    assert "orders" in ran.err
    assert paimark("tags", "shop.orders", "--branch", "nope", "--warehouse", warehouse).code == 1


def test_what_a_list_has_to_leave_out_is_said_on_stderr(paimark: Paimark, warehouse: Path) -> None:
    table = warehouse / "shop.db" / "orders"
    (table / "savepoint").mkdir()
    for name, path in (
        ("tags", table / "tag" / "tag-torn"),
        ("schemas", table / "schema" / "schema-7"),
        ("savepoints", table / "savepoint" / "savepoint-4"),
    ):
        path.write_text("{")
        ran = paimark(name, "shop.orders", "--warehouse", warehouse, "--output", "json")
        assert ran.code == 0
        assert isinstance(ran.rows, list)
        (line,) = ran.err.splitlines()
        assert line.startswith("left out: ") and path.name in line


def test_savepoints_of_branches_are_listed_with_those_of_main(paimark: Paimark, warehouse: Path) -> None:
    on = ("shop.orders", "--warehouse", warehouse)
    assert paimark("create-branch", *on, "--name", "fix", "--tag", "v2").code == 0
    # A state of its own: main knows a savepoint of one that both have.
    row = {"order_id": [1], "customer": ["c"], "price": [1.0]}
    commit(warehouse, "shop.orders$branch_fix", pa.table(row, schema=ORDERS))
    assert paimark("create-savepoint", *on, "--branch", "fix").code == 0
    assert paimark("create-savepoint", *on).code == 0
    listed = paimark("savepoints", *on, "--output", "json").rows
    assert [(row["savepoint_id"], row["branch"]) for row in listed] == [(1, "fix"), (2, "main")]
    of_main = paimark("savepoints", *on, "--branch", "main", "--output", "json").rows
    assert [row["savepoint_id"] for row in of_main] == [2]
