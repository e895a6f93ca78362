"""Actions from the command line."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.registry import ACTIONS
from paimark.core.table.definition.retention import retention_off
from tests.cli.command import Paimark, on_terminal, program
from tests.conftest import ORDERS
from tests.paimon import commit, open_table
from tests.table.branches import create_branch
from tests.wording import about


def tree(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def test_a_savepoint_a_branch_and_a_tag_are_made_and_listed(paimark: Paimark, warehouse: Path) -> None:
    paimark_json = ["--warehouse", str(warehouse), "--output", "json"]
    made = paimark(*paimark_json, "create-savepoint", "shop.orders", "--snapshot", "5", "--comment", "ours")
    assert made.code == 0
    assert [(row["action"], row["savepoint_id"]) for row in made.rows] == [("create-savepoint", 1)]
    (savepoint,) = paimark(*paimark_json, "savepoints", "shop.orders").rows
    assert list(savepoint)[:5] == [
        *("savepoint_id", "saved_snapshot_id", "schema_id", "save_time", "record_count"),
    ]
    assert (savepoint["saved_snapshot_id"], savepoint["comment"]) == (5, "ours")
    assert (
        paimark(*paimark_json, "create-branch", "shop.orders", "--name", "fix", "--tag", "savepoint.1").code
        == 0
    )
    assert paimark(*paimark_json, "create-tag", "shop.orders", "--name", "v5", "--branch", "fix").code == 0
    assert [row["branch_name"] for row in paimark(*paimark_json, "branches", "shop.orders").rows] == [
        "main",
        "fix",
    ]
    tags = paimark(*paimark_json, "tags", "shop.orders", "--branch", "fix").rows
    assert "v5" in [row["tag_name"] for row in tags]


def test_a_note_is_of_a_change_and_of_nothing_else(
    paimark: Paimark, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a saved plan, and of a CALL in a script. What changes nothing refuses it."""
    at, plan = ["--warehouse", str(warehouse)], tmp_path / "plan"
    made = paimark(*at, "create-tag", "shop.orders", "--name", "a", "--message", "of May", "--plan-out", plan)
    assert made.code == 0
    monkeypatch.setenv("PAIMARK_AUTHOR", "nightly")
    assert paimark(*at, "apply", plan, "--author", "jane").code == 0
    call = "CALL sys.create_tag(table => 'shop.orders', name => 'b', author => 'x')"
    assert paimark(*at, "sql", "--message", "of June", call).code == 0
    listed = paimark(*at, "--output", "json", "operations", "shop.orders").rows
    assert [(each["message"], each["author"]) for each in listed] == [("of May", "jane"), ("of June", "x")]
    assert paimark(*at, "create-tag", "shop.orders", "--name", "c").code == 0
    assert paimark(*at, "--output", "json", "operations", "shop.orders").rows[-1]["author"] == "nightly"
    for words, said in (
        (["snapshots", "shop.orders"], "No such option '--message'"),
        (["sql", "SELECT 1"], "--message and --author"),
    ):
        refused = paimark(*at, *words, "--message", "x")
        assert refused.code == 2 and said in refused.err


def test_the_outcome_is_data_and_the_way_there_is_narration(warehouse: Path, tmp_path: Path) -> None:
    ran = program(
        *("create-tag", "shop.orders", "--name", "v5", "--warehouse", warehouse),
        environment={"XDG_STATE_HOME": str(tmp_path)},
    )
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 1
    assert "v5" in ran.out
    assert "tag-v5" not in ran.out
    # Where nobody watches there is no line a step.
    assert [line.partition(" ")[0] for line in ran.err.splitlines()] == [
        *("Tag", "keeps", "undo", "how"),
        "undo",
    ]


def test_every_step_that_is_done_is_told_on_a_terminal(warehouse: Path) -> None:
    ran = on_terminal("create-tag", "shop.orders", "--name", "v5", "--warehouse", warehouse)
    assert "tagged snapshot 5 as v5" in ran.out
    assert "copy shop.db/orders/tag/tag-v5" not in ran.out


def test_the_steps_of_a_plan_are_shown_on_request(paimark: Paimark, warehouse: Path) -> None:
    words = ("create-tag", "shop.orders", "--name", "v5", "--warehouse", warehouse, "--dry-run")
    assert "(--verbose)" in paimark(*words).out and "tag-v5" not in paimark(*words).out
    assert "copy shop.db/orders/tag/tag-v5" in paimark(*words, "--verbose").out


def test_lines_of_a_plan_are_as_wide_as_the_terminal_and_whole_in_a_pipe(
    paimark: Paimark, warehouse: Path
) -> None:
    made = ("--name", "fix", "--tag", "v2")
    words = ("create-branch", "shop.orders", *made, "--warehouse", warehouse, "--dry-run")
    piped = paimark(*words).out.splitlines()
    shown = on_terminal(*words, environment={"NO_COLOR": "1"}).out.splitlines()
    assert len(shown) > len(piped)
    assert max(map(len, shown)) <= 80
    assert [line for line in shown if line.startswith(" " * 9)]


def test_a_plan_as_json_has_items_with_codes_beside_the_texts(paimark: Paimark, warehouse: Path) -> None:
    words = ("delete-tag", "shop.orders", "--name", "v2", "--warehouse", warehouse, "--output", "json")
    [plan] = paimark(*words, "--dry-run").rows
    assert {"headline", "summary", "steps", "kept", "warnings", "undo", "freed_files"} <= {*plan}
    assert [each["kind"] for each in plan["items"]] == ["loses", "final", "how"]
    assert [each["code"] for each in plan["items"]][:2] == ["name-gone", "final"]
    assert plan["take_back"] == {"how": "never", "command": "", "until": ""}
    assert plan["ask"] == {"kind": "type", "phrase": "v2"}


def test_what_must_be_known_is_told_without_a_terminal_too(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "paimark").write_text("in the way of the audit line")
    ran = program(
        *("create-tag", "shop.orders", "--name", "v5", "--warehouse", warehouse),
        environment={"XDG_STATE_HOME": str(tmp_path)},
    )
    assert ran.code == 0
    assert about("audit line", "not", tmp_path / "paimark").search(ran.err)


@pytest.mark.parametrize(
    "words",
    [
        ["create-savepoint", "shop.orders"],
        ["create-tag", "shop.orders", "--name", "v5"],
        ["create-branch", "shop.orders", "--name", "fix", "--tag", "v2"],
        ["recover", "shop.orders"],
    ],
)
def test_a_dry_run_prints_the_plan_and_writes_nothing(
    paimark: Paimark, warehouse: Path, words: list[str]
) -> None:
    before = tree(warehouse)
    ran = paimark("--warehouse", warehouse, *words, "--dry-run", "--output", "json")
    (plan,) = ran.rows
    assert ran.code == 0
    assert plan["action"] == words[0]
    assert bool(plan["steps"]) is (words[0] != "recover")
    text = paimark("--warehouse", warehouse, "--dry-run", *words)
    assert plan["summary"] in text.out
    assert tree(warehouse) == before


def test_a_refusal_is_exit_code_1_and_changes_nothing(paimark: Paimark, warehouse: Path) -> None:
    before = tree(warehouse)
    for words in (
        ["create-tag", "shop.orders", "--name", "7"],
        ["create-branch", "shop.orders", "--name", "main", "--tag", "v2"],
        ["create-branch", "shop.orders", "--name", "fix", "--tag", "nope"],
        ["create-branch", "shop.orders", "--name", "fix", "--snapshot", "9"],
        ["create-savepoint", "shop.orders", "--snapshot", "99"],
    ):
        ran = paimark("--warehouse", warehouse, *words)
        assert (ran.code, ran.out) == (1, "")
        assert 1 <= len(ran.err.splitlines()) <= 2
        assert paimark("--warehouse", warehouse, *words, "--dry-run").code == 1
    assert tree(warehouse) == before


def test_a_branch_is_made_from_a_tag_or_a_snapshot(paimark: Paimark, warehouse: Path) -> None:
    before, words = tree(warehouse), ("create-branch", "shop.orders", "--name", "fix")
    for given, said in (((), "missing"), (("--tag", "v2", "--snapshot", "2"), "both")):
        ran = paimark("--warehouse", warehouse, *words, *given)
        assert (ran.code, ran.out) == (2, "") and about("tag", "snapshot", said).search(ran.err)
    assert tree(warehouse) == before


@pytest.mark.parametrize("switch", ["flag", "environment", "context"])
def test_read_only_mode_refuses_every_action(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, switch: str
) -> None:
    words = ["--warehouse", str(warehouse)]
    if switch == "flag":
        words.append("--read-only")
    elif switch == "environment":
        monkeypatch.setenv("PAIMARK_READ_ONLY", "1")
    else:
        config = tmp_path / "paimark" / "config.toml"
        config.parent.mkdir()
        config.write_text(
            f'default_context = "lab"\n[contexts.lab]\nwarehouse = "{warehouse}"\nread_only = true\n'
        )
        words = []
    before = tree(warehouse)
    for action in ACTIONS.values():
        required = [each for each in action.arguments if each.required]
        given = [word for each in required for word in (each.option, "1" if each.takes is int else "x1")]
        ran = paimark(*words, action.name, "shop.orders", *given, "--yes")
        assert (action.name, ran.code, ran.out) == (action.name, 1, "")
        assert "read-only" in ran.err
    assert tree(warehouse) == before


def test_a_destructive_action_needs_yes_without_a_terminal(paimark: Paimark, warehouse: Path) -> None:
    assert paimark("create-savepoint", "shop.orders", "--warehouse", warehouse).code == 0
    words = ["delete-savepoint", "shop.orders", "--id", "1", "--warehouse", str(warehouse)]
    before = tree(warehouse)
    ran = paimark(*words)
    assert (ran.code, ran.out) == (1, "")
    assert "--yes" in ran.err
    assert tree(warehouse) == before
    assert paimark(*words, "--yes").code == 0
    assert paimark("savepoints", "shop.orders", "--warehouse", warehouse, "--output", "json").rows == []


@pytest.mark.parametrize(
    ("typed", "code"), [("savepoint 1\n", 0), ("yes\n", 1), ("\n", 1), ("savepoint 2\n", 1), ("\x04", 1)]
)
def test_a_destructive_action_asks_on_a_terminal(
    paimark: Paimark, warehouse: Path, typed: str, code: int
) -> None:
    assert paimark("create-savepoint", "shop.orders", "--warehouse", warehouse).code == 0
    ran = on_terminal("delete-savepoint", "shop.orders", "--id", "1", "--warehouse", warehouse, typed=typed)
    assert ran.code == code
    assert about("type savepoint 1", "--yes").search(ran.out)
    assert bool(about("not savepoint 1").search(ran.out)) == bool(code)
    left = paimark("savepoints", "shop.orders", "--warehouse", warehouse, "--output", "json").rows
    assert len(left) == code


@pytest.mark.parametrize(("no_color", "is_red"), [("", True), ("1", False)])
def test_what_is_lost_is_red_on_a_terminal(
    paimark: Paimark, warehouse: Path, no_color: str, is_red: bool
) -> None:
    words = ("expire-snapshots", "shop.orders", "--retain-last", "1", "--dry-run", "--warehouse", warehouse)
    ran = on_terminal(*words, environment={"NO_COLOR": no_color})
    (line,) = [each for each in ran.out.splitlines() if "! final" in each]
    assert ("\x1b[31m" in line) == is_red and ("\x1b[" in line) == is_red
    assert "\x1b" not in paimark(*words).out


def test_every_action_is_a_command_with_its_arguments(paimark: Paimark) -> None:
    for action in ACTIONS.values():
        ran = paimark(action.name, "--help")
        assert ran.code == 0
        for argument in action.arguments:
            assert argument.option in ran.out


def test_an_interrupted_change_is_found_and_recovered(paimark: Paimark, warehouse: Path) -> None:
    dies = (
        "import os, sys\n"
        "from paimark.core.cli.query.answering import Narrator\n"
        "from paimark.core.cli.main import run\n"
        "Narrator.step = lambda self, line: line.startswith('copied tag') and os._exit(9)\n"
        "run(sys.argv[1:])\n"
    )
    words = ["--warehouse", str(warehouse), "create-branch", "shop.orders", "--name", "fix", "--tag", "v2"]
    assert subprocess.run([sys.executable, "-c", dies, *words], check=False).returncode == 9
    (row,) = [
        row
        for row in paimark("doctor", "shop.orders", "--warehouse", warehouse, "--output", "json").rows
        if row["check"] == "changes"
    ]
    assert (row["state"], "recover shop.orders" in row["hint"]) == ("warning", True)
    assert paimark("recover", "shop.orders", "--warehouse", warehouse).code == 0
    assert (
        "nothing interrupted" in paimark("recover", "shop.orders", "--warehouse", warehouse, "--dry-run").out
    )


def test_doctor_names_what_is_broken_in_a_table(paimark: Paimark, warehouse: Path) -> None:
    assert paimark("doctor", "shop.orders", "--warehouse", warehouse).code == 0
    (warehouse / "shop.db" / "orders" / "tag" / "tag-v2").write_text("{")
    paimark("create-savepoint", "shop.orders", "--warehouse", warehouse)
    assert (
        "1 savepoint protected by its tag" in paimark("doctor", "shop.orders", "--warehouse", warehouse).out
    )
    (warehouse / "shop.db" / "orders" / "tag" / "tag-savepoint.1").unlink()
    ran = paimark("doctor", "shop.orders", "--warehouse", warehouse, "--output", "json")
    broken = [row["detail"] for row in ran.rows if row["state"] == "broken"]
    assert ran.code == 1
    assert len(broken) == 2
    assert "tag-v2" in broken[0]
    assert "Savepoint 1 is unprotected" in broken[1]


def test_doctor_does_not_promise_a_tag_whose_branch_is_gone(paimark: Paimark, warehouse: Path) -> None:
    table = warehouse / "shop.db" / "orders"
    words = ("--name", "fix", "--tag", "v2")
    assert paimark("create-branch", "shop.orders", *words, "--warehouse", warehouse).code == 0
    rows = {"order_id": [7], "customer": ["c7"], "price": [1.0]}
    commit(warehouse, "shop.orders$branch_fix", pa.table(rows, schema=ORDERS), overwrite=True)
    assert paimark("create-savepoint", "shop.orders", "--branch", "fix", "--warehouse", warehouse).code == 0
    # As a stock engine deletes a branch.
    shutil.rmtree(table / "branch" / "branch-fix")
    ran = paimark("doctor", "shop.orders", "--warehouse", warehouse, "--output", "json")
    (broken,) = [row for row in ran.rows if row["state"] == "broken"]
    assert about("can't", "tag", "VERSION AS OF 'savepoint.1'").search(broken["hint"])
    assert (
        paimark("recover", "shop.orders", "--dry-run", "--warehouse", warehouse).out.count("savepoint 1") == 0
    )


def test_doctor_tells_what_protects_savepoints_and_what_does_not(paimark: Paimark, warehouse: Path) -> None:
    for _ in range(3):
        assert paimark("create-savepoint", "shop.orders", "--warehouse", warehouse).code == 0
    table = warehouse / "shop.db" / "orders"
    open_table(warehouse, "shop.orders").create_tag("savepoint.9", 3)
    create_branch(warehouse, "shop.orders", "theirs", "v2")
    healthy = table / "savepoint" / "savepoint-1"
    healthy.with_name("savepoint-2").write_text(
        re.sub(r',\s*"verifiedAt": \d+', "", healthy.with_name("savepoint-2").read_text())
    )
    (table / "tag" / "tag-savepoint.3").unlink()
    ran = paimark("doctor", "shop.orders", "--warehouse", warehouse, "--output", "json")
    assert ran.code == 1

    def found(check: str, state: str, *terms: str) -> dict[str, str]:
        of_it: list[dict[str, str]] = [
            row for row in ran.rows if (row["check"], row["state"]) == (check, state)
        ]
        (one,) = [row for row in of_it if about(*terms).search(row["detail"])]
        return one

    assert found("savepoints", "ok", "1 savepoint protected")
    assert found("savepoints", "warning", "savepoint 2", "unverified")
    assert found("savepoints", "broken", "savepoint 3", "unprotected")
    assert found("savepoints", "warning", "tag savepoint.9", "main", "foreign")
    exposed = found("branch theirs", "warning", "stock expiry", "branch theirs", "savepoints")
    assert exposed["hint"].startswith("Run: paimark alter-branch-schema shop.orders --branch theirs --set ")
    listed = paimark("savepoints", "shop.orders", "--warehouse", warehouse, "--output", "json").rows
    assert [row["health"] for row in listed] == ["ok", "unverified", "unprotected"]
    branches = paimark("branches", "shop.orders", "--warehouse", warehouse, "--output", "json").rows
    assert [row["health"] for row in branches] == ["ok", "exposed"]
    assert exposed["hint"].endswith(f'--set "{retention_off()}"')
    words = shlex.split(exposed["hint"].partition("paimark ")[2])
    assert paimark(*words, "--warehouse", warehouse).code == 0
    branches = paimark("branches", "shop.orders", "--warehouse", warehouse, "--output", "json").rows
    assert [row["health"] for row in branches] == ["ok", "ok"]


def test_a_dry_run_says_what_is_freed_and_the_run_frees_exactly_that(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    table = warehouse / "shop.db" / "orders"
    assert paimark("create-savepoint", "shop.orders").code == 0
    assert paimark("delete-tag", "shop.orders", "--name", "v2", "--yes").code == 0
    rows = {"order_id": [1], "customer": ["c1"], "price": [1.0]}
    commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS), overwrite=True)
    assert paimark("expire-snapshots", "shop.orders", "--retain-last", "1", "--yes").code == 0
    before = {path: len(data) for path, data in tree(table).items()}
    words = ("delete-savepoint", "shop.orders", "--id", "1", "--output", "json")
    (plan,) = paimark(*words, "--dry-run").rows
    assert {path: len(data) for path, data in tree(table).items()} == before
    (done,) = paimark(*words, "--yes").rows
    gone = {path: size for path, size in before.items() if path not in tree(table)}
    own = {"savepoint/savepoint-1", "tag/tag-savepoint.1"}
    freed = {path: size for path, size in gone.items() if path not in own}
    assert own < gone.keys()
    assert any(path.endswith(".parquet") for path in freed)
    assert (plan["freed_files"], plan["freed_bytes"]) == (len(freed), sum(freed.values()))
    assert (done["freed_files"], done["freed_bytes"]) == (plan["freed_files"], plan["freed_bytes"])


def test_several_are_one_plan_and_one_undo(paimark: Paimark, warehouse: Path, tmp_path: Path) -> None:
    here = ("--warehouse", str(warehouse), "--output", "json")
    several = ("--name", "n-{id}", "--snapshot", "3", "--snapshot", "4")
    before = tree(warehouse)
    (plan,) = paimark(*here, "--dry-run", "create-tag", "shop.orders", *several).rows
    assert [part["arguments"]["name"] for part in plan["parts"]] == ["n-3", "n-4"]
    file = str(tmp_path / "tags.plan")
    assert paimark(*here, "create-tag", "shop.orders", *several, "--plan-out", file).code == 0
    assert tree(warehouse) == before
    made = paimark(*here, "apply", file).rows
    assert [(row["action"], row["tag_name"], row["snapshot_id"]) for row in made] == [
        ("create-tag", "n-3", 3),
        ("create-tag", "n-4", 4),
    ]
    summaries = [row["summary"] for row in paimark(*here, "operations", "shop.orders").rows]
    assert [text.rpartition(" (")[2] for text in summaries] == ["1 of 2 at once)", "2 of 2 at once)"]
    assert len(paimark(*here, "--yes", "undo", "shop.orders").rows) == 2
    assert {path for path in tree(warehouse) if "operations" not in path} == {*before}


def test_several_names_may_follow_the_table(paimark: Paimark, warehouse: Path, tmp_path: Path) -> None:
    here = ("--warehouse", str(warehouse), "--output", "json")
    for name in ("a", "b", "c"):
        assert paimark(*here, "create-tag", "shop.orders", "--name", name).code == 0
    assert paimark(*here, "delete-tag", "shop.orders", "a", "b").code == 1
    asked = paimark(*here, "delete-tag", "shop.orders", "a", "--name", "c", "--name", "none", "--yes")
    assert (asked.code, asked.out) == (1, "") and "has no tag none" in asked.err
    file = str(tmp_path / "two.plan")
    assert paimark(*here, "delete-tag", "shop.orders", "a", "--name", "c", "--plan-out", file).code == 0
    assert paimark(*here, "--yes", "delete-tag", "shop.orders", "a").code == 0
    ran = paimark(*here, "--yes", "apply", file)
    assert [row["tag_name"] for row in ran.rows] == ["c"] and ran.code == 1
    assert "1 of 2 done: tag c; not done: tag a" in ran.err
    assert paimark(*here, "delete-tag", "shop.orders").code == 2
    assert paimark(*here, "delete-savepoint", "shop.orders", "one").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("rollback", "--to", "snapshot.2", "--to", "snapshot.3", "--truncate"),
        ("create-tag", "--name", "a", "--name", "b"),
        ("create-savepoint", "--branch", "main", "--branch", "main"),
        ("merge-branch", "--name", "x", "--on-conflict", "main", "--on-conflict", "branch"),
    ],
)
def test_what_is_one_is_not_given_twice(paimark: Paimark, warehouse: Path, words: tuple[str, ...]) -> None:
    """Else the last would be taken, and nobody would hear of the others."""
    before = tree(warehouse)
    name, *options = words
    ran = paimark("--warehouse", warehouse, name, "shop.orders", *options, "--yes")
    assert (ran.code, ran.out) == (2, "")
    assert "is given 2 times" in ran.err
    assert tree(warehouse) == before


@pytest.mark.parametrize("number", [" 5", "+5", "0_5", "٥", "5.0"])
def test_an_id_is_digits(paimark: Paimark, warehouse: Path, number: str) -> None:
    """Each but the last two is 5 to Python."""
    before = tree(warehouse)
    ran = paimark("--warehouse", warehouse, "create-savepoint", "shop.orders", "--snapshot", number)
    assert (ran.code, ran.out) == (2, "")
    assert about("--snapshot", "whole number").search(ran.err)
    assert tree(warehouse) == before


def test_a_plan_of_nothing_is_said_once_and_why(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark("expire-snapshots", "shop.orders", "--warehouse", warehouse)
    assert ran.code == 0 and about("no snapshot", "main", "shop.orders", "expire").search(ran.out)
    (why,) = ran.err.splitlines()
    assert about("keeps", "newest 10 snapshots", "5", "--retain-last N").search(why)
    ran = paimark("recover", "shop.orders", "--warehouse", warehouse)
    assert ran.err == "" and about("shop.orders", "nothing", "recover").search(ran.out)
    ran = paimark("expire-snapshots", "shop.orders", "--warehouse", warehouse, "--output", "json")
    assert about("no snapshot", "main").search(ran.err), "JSON has no sentence"
