"""`paimark sql "CALL ..."`: actions as procedures, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.registry import ACTIONS
from paimark.core.config import Settings
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import CallMode, action_to_confirm, context_for, run_statement
from paimark.core.travel.parse.sql import read_statement
from tests.cli.command import Paimark, on_terminal
from tests.wording import about


@pytest.fixture
def sql(paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    return paimark


@pytest.fixture
def unstarted(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that nothing here may start."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    settings = Settings(str(warehouse))
    return Engine(Settings(settings.warehouse), tmp_path / "engine.log")


def tree(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_call_gives_what_it_did_as_a_row_and_its_plan_in_short_on_stderr(
    sql: Paimark, warehouse: Path
) -> None:
    ran = sql("sql", "CALL sys.create_savepoint(table => 'shop.orders', snapshot => 3)", "--output", "json")
    assert ran.code == 0
    (row,) = ran.rows
    assert list(row)[:4] == ["action", "table", "savepoint_id", "saved_snapshot_id"]
    assert (row["action"], row["savepoint_id"], row["saved_snapshot_id"]) == ("create-savepoint", 1, 3)
    assert (warehouse / "shop.db/orders/savepoint/savepoint-1").exists()
    said = ran.err.splitlines()
    assert said[0].startswith("Save main of shop.orders as savepoint 1 (snapshot 3")
    assert "wrote savepoint 1" not in said
    assert said[-1].startswith("1 row in")
    assert "Spark" not in ran.err


@pytest.mark.parametrize("form", [(), ("--verbose",), ("--output", "json")])
@pytest.mark.parametrize(
    ("statement", "command"),
    [
        ("CALL sys.create_tag('shop.orders', 'v5')", ("create-tag", "shop.orders", "--name", "v5")),
        ("CALL sys.delete_tag('shop.orders', 'v2')", ("delete-tag", "shop.orders", "--name", "v2")),
        # Refused by the plan.
        ("CALL sys.create_tag('shop.orders', 'v2')", ("create-tag", "shop.orders", "--name", "v2")),
        (
            "CALL sys.create_branch(table => 'shop.orders', name => 'fix', snapshot => 3)",
            ("create-branch", "shop.orders", "--name", "fix", "--snapshot", "3"),
        ),
        (
            "ALTER TABLE shop.orders ADD COLUMN note STRING",
            ("alter-branch-schema", "shop.orders", "--add", "note STRING"),
        ),
    ],
)
def test_a_dry_run_shows_the_plan_as_the_command_does_and_writes_nothing(
    sql: Paimark, warehouse: Path, statement: str, command: tuple[str, ...], form: tuple[str, ...]
) -> None:
    before = tree(warehouse)
    ran, wanted = sql("sql", statement, "--dry-run", *form), sql(*command, "--dry-run", *form)
    assert wanted.out or wanted.code == 1
    if form[:1] == ("--output",):
        request = [each.pop("request") for each in (*ran.rows, *wanted.rows)]
        assert request
    assert (ran.code, ran.out) == (wanted.code, wanted.out)
    assert tree(warehouse) == before


def test_a_plan_has_no_rows_for_a_file(sql: Paimark, tmp_path: Path) -> None:
    ran = sql("sql", "CALL sys.create_tag('shop.orders', 'v5')", "--dry-run", "-o", tmp_path / "plan.csv")
    assert (ran.code, ran.out) == (2, "") and about("plan", "no rows", "-o").search(ran.err)


def test_what_is_destructive_needs_yes_where_nobody_can_answer(sql: Paimark, warehouse: Path) -> None:
    before = tree(warehouse)
    ran = sql("sql", "CALL sys.delete_tag(table => 'shop.orders', name => 'v2')")
    assert (ran.code, ran.out) == (1, "")
    assert "needs --yes" in ran.err
    assert tree(warehouse) == before
    agreed = sql(
        "sql", "CALL sys.delete_tag(table => 'shop.orders', name => 'v2')", "--yes", "--output", "json"
    )
    assert agreed.code == 0
    assert not (warehouse / "shop.db/orders/tag/tag-v2").exists()


@pytest.mark.parametrize(("answer", "code"), [("no\n", 1), ("yes\n", 1), ("v2\n", 0)])
def test_on_a_terminal_it_asks(sql: Paimark, warehouse: Path, answer: str, code: int) -> None:
    statement = "CALL sys.delete_tag(table => 'shop.orders', name => 'v2')"
    ran = on_terminal("--warehouse", warehouse, "sql", statement, typed=answer)
    assert ran.code == code
    assert "Type v2 to go on" in ran.out
    assert (warehouse / "shop.db/orders/tag/tag-v2").exists() == bool(code)


def test_alter_table_is_planned_and_asks_for_what_it_drops(sql: Paimark, warehouse: Path) -> None:
    schemas = warehouse / "shop.db/orders/schema"
    made = sql("sql", "ALTER TABLE shop.orders ADD COLUMN note STRING", "--output", "json")
    assert made.rows == [
        {"action": "alter-branch-schema", "table": "shop.orders", "schema_id": 1, "branch": "main"}
    ]
    assert "paimark undo shop.orders" in made.err
    drop = "ALTER TABLE shop.orders DROP COLUMN note"
    held = sql("sql", drop)
    assert (held.code, held.out) == (1, "")
    assert about("--yes", "versions", "snapshot 5").search(held.err)
    planned = sql("sql", drop, "--dry-run", "--output", "json").rows
    assert [step["target"].rpartition("/")[2] for step in planned[0]["steps"]] == ["schema-2"]
    assert not (schemas / "schema-2").exists()
    assert sql("sql", drop, "--yes").code == 0
    assert (schemas / "schema-2").exists()
    assert sql("alter-branch-schema", "shop.orders", "--drop", "price").code == 1
    assert not (schemas / "schema-3").exists()


def test_refusals_and_mistakes_are_pointed_at(sql: Paimark, warehouse: Path) -> None:
    before = tree(warehouse)
    for statement, place, said in (
        ("CALL sys.create_tag('shop.orders', 'v2')", "sys.create_tag", ("tag v2", "already")),
        ("CALL sys.create_tag('shop.ordrs', 'v5')", "'shop.ordrs'", ("no table shop.ordrs",)),
        ("CALL sys.create_tag('shop.orders', 'v5', 99)", "sys.create_tag", ("99",)),
        ("CALL sys.create_tag(table => 'shop.orders', nam => 'v5')", "nam", ("sys.create_tag", "no nam")),
        ("ALTER TABLE shop.orders ADD COLUMN price INT", "price", ("column price", "already")),
        ("ALTER TABLE shop.ordrs DROP COLUMN price", "shop.ordrs", ("no table shop.ordrs",)),
        ("ALTER TABLE shop.orders RENAME TO shop.sold IF EXISTS", "IF", ("IF", "follow")),
        ("DROP TABLE shop.orders PURGE", "PURGE", ("PURGE", "not done")),
        ("DROP TABLE shop.`orders$branch_fix`", "shop.`orders$branch_fix`", ("branch", "no table")),
        ("TRUNCATE TABLE shop.orders PARTITION (day = '1')", "PARTITION", ("PARTITION", "not done")),
        ("UNDROP TABLE shop.ordrs", "shop.ordrs", ("shop.ordrs", "trash")),
        ("ALTER TABLE shop.orders ADD COLUMN x INTT", "x INTT", ("INTT", "type")),
        ("ALTER TABLE shop.`orders$tags` ADD COLUMN x INT", "shop.`orders$tags`", ("system table",)),
    ):
        for more in ([], ["--dry-run"]):
            ran = sql("sql", statement, *more)
            assert (ran.code, ran.out) == (1, "")
            line, caret, *told = ran.err.splitlines()
            assert line[caret.index("^") :].startswith(place)
            assert about(*said).search("\n".join(told))
    assert tree(warehouse) == before


@pytest.mark.parametrize("name", ACTIONS)
def test_read_only_refuses_every_procedure(sql: Paimark, warehouse: Path, name: str) -> None:
    before = tree(warehouse)
    words: dict[type, str] = {str: "'v2'", int: "1"}
    required = [each for each in ACTIONS[name].arguments if each.required]
    given = [f"{each.name.replace('-', '_')} => {words[each.takes]}" for each in required]
    given.append("table => 'shop.orders'")
    statement = f"CALL sys.{name.replace('-', '_')}({', '.join(given)})"
    assert sql("sql", statement, "--yes", "--read-only").code == 1
    assert tree(warehouse) == before


def test_the_console_gets_the_action_and_its_arguments_before_anything_is_done(unstarted: Engine) -> None:
    called = action_to_confirm(read_statement("CALL sys.delete_tag('orders', 'v2')"), "shop")
    assert called is not None
    assert (called.action.name, called.table.full_name) == ("delete-tag", "shop.orders")
    assert called.arguments == {"name": "v2"}
    assert action_to_confirm(read_statement("SELECT 1")) is None
    assert unstarted.state == "stopped"


def test_nothing_is_destroyed_that_nobody_agreed_to(unstarted: Engine, warehouse: Path) -> None:
    before = tree(warehouse)
    statement = "CALL sys.delete_tag('shop.orders', 'v2')"
    (refused,) = run_statement(context_for(unstarted), statement)
    assert isinstance(refused, Failed) and "nobody was asked" in refused.message

    def never(*_: object) -> None:
        raise Refused("No")

    (stopped,) = run_statement(context_for(unstarted), statement, call=CallMode(agree=never))
    assert isinstance(stopped, Failed) and stopped.message == "No"
    assert tree(warehouse) == before
    *_, made = run_statement(context_for(unstarted), "CALL sys.create_tag('orders', 'v5')", database="shop")
    assert isinstance(made, Finished) and "v5" in made.message
    assert unstarted.state == "stopped"


@pytest.mark.parametrize(
    "call",
    [
        r"create_tag('shop.orders', '\ud800')",
        r"create_savepoint('shop.orders', comment => '\ud800')",
        r"create_tag('shop.\ud800', 'x')",
        r"rollback('shop.orders', '\ud800')",
        r"alter_branch_schema('shop.orders', add => 'a\ud800 INT')",
        "create_tag('shop.orders', '\udcff')",
        f"delete_savepoint('shop.orders', '{'9' * 5000}')",
    ],
)
def test_arguments_that_no_file_can_hold_are_refused(sql: Paimark, warehouse: Path, call: str) -> None:
    before = tree(warehouse)
    ran = sql("sql", f"CALL sys.{call}", "--yes")
    assert ran.code in (1, 2)
    assert "fault" not in ran.err
    assert tree(warehouse) == before


def test_two_escaped_halves_are_one_character(sql: Paimark, warehouse: Path) -> None:
    assert sql("sql", r"CALL sys.create_tag('shop.orders', 'a\ud83d\ude00')").code == 0
    assert (warehouse / "shop.db/orders/tag/tag-a\N{GRINNING FACE}").exists()
