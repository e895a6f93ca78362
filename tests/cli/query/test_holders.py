"""`paimark holders` with the suite's Spark: who has a row, and that no file has it after the commands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paimark as api
from paimark.core.spark.client.client import Engine
from tests.cli.command import Paimark
from tests.cli.shared_engine import Shared, share
from tests.paimon import commit, create_table, open_table
from tests.wording import about

ROWS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])


@pytest.fixture(scope="session")
def held(engine_warehouse: Path) -> Path:
    """`held.people`: person 1 came with snapshot 2, and is in a tag, savepoint, branch and the newest rows.

    The savepoint of snapshot 1, and branch clean, made from it, have only person 9.
    """
    # None may come between the deletion and the compaction.
    by_the_clock = {"bucket": "1", "savepoint.create-interval": "1 min"}
    create_table(engine_warehouse, "held.people", ROWS, primary_keys=["id"], options=by_the_clock)
    for key, name in ((9, "other"), (1, "ann"), (1, "anna")):
        commit(engine_warehouse, "held.people", pa.table({"id": [key], "name": [name]}, schema=ROWS))
    table = api.open(engine_warehouse).table("held.people")
    table.create_savepoint(snapshot=1)
    table.create_savepoint(snapshot=2)
    table.create_tag(name="both", snapshot=3)
    for name, tag in (("clean", "savepoint.1"), ("fix", "savepoint.2"), ("old", "both")):
        table.create_branch(name=name, tag=tag)
    table.delete_branch(name="old", keep=True)
    table.protect(tag="both", reason="the audit")
    return engine_warehouse


@pytest.fixture
def holders(paimark: Paimark, engine: Engine, held: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    share(engine, held, monkeypatch)
    return paimark


def with_person(warehouse: Path) -> list[str]:
    """The data files below the table that have the row, whether a version needs them or not."""
    files = (warehouse / "held.db/people").rglob("data-*.parquet")
    return [str(each) for each in files if 1 in pq.read_table(each, partitioning=None)["id"].to_pylist()]


def words_of(command: str) -> list[str]:
    """As a shell reads the command."""
    script = f"set -- {command}; printf '%s\\n' \"$@\""
    return subprocess.check_output(["sh", "-c", script], text=True).splitlines()[1:]


def test_no_file_has_the_row_after_the_commands(
    holders: Paimark, held: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = holders("holders", "held.people", "--key", "id=1", "--output", "json").rows
    retired = next(each["name"] for each in rows if each["name"].startswith("retired-old-"))
    assert [(each["what"], each["name"], each["snapshot_id"], each["rows"]) for each in rows] == [
        ("branch", "fix", 2, 1),
        ("branch", retired, 3, 1),
        ("tag", "both", 3, 1),
        ("savepoint", "2", 2, 1),
        ("newest", "main", 3, 1),
        ("snapshots", "2 to 3", 3, 1),
        ("files", "main", 3, 0),
    ]
    commands = [command for each in rows for command in each["commands"]]
    assert commands == [
        "paimark delete-branch held.people --name fix",
        f"paimark delete-branch held.people --name {retired}",
        "paimark unprotect held.people --tag both",
        "paimark delete-tag held.people --name both",
        "paimark delete-savepoint held.people --id 2",
        "paimark alter-branch-schema held.people --unset \"'savepoint.create-interval'\"",
        "paimark sql \"DELETE FROM held.people WHERE \\`id\\` = CAST('1' AS BIGINT)\"",
        "paimark compact held.people --full",
        "paimark expire-snapshots held.people --retain-last 1",
        "paimark compact held.people --full --branch clean",
        "paimark expire-snapshots held.people --retain-last 1 --branch clean",
        "paimark alter-branch-schema held.people --set \"'savepoint.create-interval' = '1 min'\"",
    ]
    told = holders("holders", "held.people", "--where", "name = 'anna'").out
    assert "snapshots  3" in told and "savepoint" not in told.partition("Run the commands")[0]
    assert with_person(held)
    for command in commands:
        assert holders(*words_of(command), "--yes").code == 0, command
    assert with_person(held) == []
    assert [each["id"] for each in holders("sql", "SELECT id FROM held.people", "--output", "json").rows] == [
        9
    ]
    monkeypatch.setattr("paimark.core.spark.client.client.Engine", lambda *told: Shared(engine))
    assert api.open(held).table("held.people").holders("id = 1") == []
    said = holders("sql", "CALL sys.holders('held.people', key => 'id=1')").err
    assert about("no version", "held.people").search(said)
    assert open_table(held, "held.people")


def test_the_rows_are_given_in_one_way(holders: Paimark) -> None:
    assert about("condition", "key", "--where", "--key C=V").search(holders("holders", "held.people").err)
    both = holders("holders", "held.people", "--where", "id = 1", "--key", "id=1")
    assert both.code == 2 and about("condition", "key", "--where", "--key C=V").search(both.err)
    assert "no column nope" in holders("holders", "held.people", "--key", "nope=1").err
    assert about("one", "value", "id").search(holders("holders", "held.people", "--key", "id=one").err)
    twice = holders("holders", "held.people", "--where", "id = 1; x")
    assert about("id = 1; x", "one condition").search(twice.err)


@pytest.mark.long
def test_columns_are_those_that_readers_of_each_version_see(holders: Paimark, held: Path) -> None:
    create_table(held, "held.altered", ROWS, primary_keys=["id"], options={"bucket": "1"})
    commit(held, "held.altered", pa.table({"id": [1], "name": ["ann"]}, schema=ROWS))
    table = api.open(held).table("held.altered")
    table.create_savepoint()
    for name in ("again", "gone", "other"):
        table.create_branch(name=name, tag="savepoint.1")

    def again(**branch: str) -> None:
        table.alter_branch_schema(**branch, drop="name")
        table.alter_branch_schema(**branch, add="name STRING")

    again(branch="again")
    table.alter_branch_schema(branch="gone", drop="name")
    table.alter_branch_schema(branch="other", rename="name TO called")
    asked = ("holders", "held.altered", "--where", "name = 'ann'", "--output", "json")
    names = [(each["what"], each["name"]) for each in holders(*asked).rows]
    branches = [("branch", "again"), ("branch", "gone"), ("branch", "other")]
    assert names == [*branches, ("savepoint", "1"), ("newest", "main"), ("snapshots", "1"), ("files", "main")]

    table.delete_branch(name="other")
    again()
    commit(held, "held.altered", pa.table({"id": [1], "name": ["bob"]}, schema=ROWS))
    names = [(each["what"], each["name"]) for each in holders(*asked).rows]
    assert names == [*branches[:2], ("savepoint", "1"), ("snapshots", "1"), ("files", "main")]
    changed, added = holders("history", "held.altered", "--key", "id=1", "--output", "json").rows
    assert (changed["old"], changed["new"]) == (
        [{"id": 1, "name": "ann"}],
        [{"id": 1, "name": "bob"}],
    )
    assert added["new"] == [{"id": 1, "name": "ann"}]
    [count, _] = holders("when", "held.altered", "name = 'ann'", "--all", "--output", "json").rows
    assert (count["version"], count["rows"]) == ("snapshot.1", 1)


def test_a_branch_with_other_keys_is_named_and_the_rest_is_answered(holders: Paimark, held: Path) -> None:
    create_table(held, "held.keys", ROWS, primary_keys=["id"], options={"bucket": "1"})
    commit(held, "held.keys", pa.table({"id": [1], "name": ["ann"]}, schema=ROWS))
    table = api.open(held).table("held.keys")
    table.create_savepoint()
    table.create_branch(name="made", tag="savepoint.1")
    schema = held / "held.db/keys/branch/branch-made/schema/schema-0"
    other = {**msgspec.json.decode(schema.read_bytes()), "primaryKeys": ["id", "name"]}
    schema.write_bytes(msgspec.json.encode(other))
    ran = holders("holders", "held.keys", "--where", "name = 'ann'")
    assert ran.code == 0 and "newest" in ran.out and "paimark delete-savepoint held.keys --id 1" in ran.out
    unsearched = about("not searched", "branch made", "keys")
    assert unsearched.search(ran.out)
    none = holders("holders", "held.keys", "--where", "name = 'bob'").out
    assert about("no searched version", "held.keys").search(none) and unsearched.search(none)
    [row, *_] = holders("sql", "CALL sys.holders('held.keys', key => 'id=1')", "--output", "json").rows
    assert (row["what"], row["name"], row["rows"]) == ("unsearched", "made", 0)
