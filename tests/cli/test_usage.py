"""Words, exit codes and the two streams."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

from paimark import open as open_warehouse
from paimark.core.cli.root import root
from paimark.core.errors import UsageError
from paimark.core.storage.known_options import require_known
from tests.cli.command import PROGRAM, Paimark, bare_environment, loaded_modules, on_terminal, program
from tests.wording import about

HEAVY = {"pyarrow", "pandas", "numpy", "polars", "pypaimon", "pyspark", "textual", "fsspec", "sqlglot"}


def test_global_options_work_before_and_after_the_command(paimark: Paimark, warehouse: Path) -> None:
    options = ["--warehouse", str(warehouse), "--output", "json", "--option", "s3.region=eu", "--read-only"]
    before = paimark(*options, "snapshots", "shop.orders")
    after = paimark("snapshots", "shop.orders", *options)
    between = paimark(*options[:2], "snapshots", *options[2:], "shop.orders")
    assert before == after == between
    assert before.code == 0
    assert len(before.rows) == 5


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("s3.endpont", "s3.endpoint?"),
        ("lock.enable", "lock.enabled?"),
        ("paimark.verify_wait", "paimark.verify-wait?"),
        ("spark.driver.memory", "--spark-conf, or spark_conf"),
        ("bucket", "schema"),
    ],
)
def test_an_option_that_nobody_obeys_is_refused_by_name(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str, hint: str
) -> None:
    """On the command line, in a context of the config file, and in a program."""
    config = tmp_path / "paimark" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[contexts.lab]\nwarehouse = "{warehouse}"\noptions = {{ "{option}" = "x" }}\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for words in (
        ("tables", "--warehouse", warehouse, "--option", f"{option}=x"),
        ("tables", "--context", "lab"),
    ):
        ran = paimark(*words)
        assert ran.code == 2 and f"option {option}" in ran.err
        assert hint in ran.err
    with pytest.raises(UsageError, match=about("no", f"option {option}")):
        open_warehouse(warehouse, options={option: "x"})


def test_the_console_refuses_such_an_option_too(warehouse: Path) -> None:
    ran = on_terminal(warehouse, "--option", "s3.endpont=x")
    assert ran.code == 2 and about("no", "option s3.endpont").search(ran.out)
    ran = on_terminal(warehouse, "--option", "s3.path.style.access=maybe")
    assert ran.code == 2 and about("s3.path.style.access", "true", "false", "maybe").search(ran.out)


def test_options_of_stores_pass(warehouse: Path) -> None:
    options = {"s3.path.style.access": "true", "fs.s3a.connection.timeout": "9", "metastore": "FileSystem"}
    assert open_warehouse(warehouse, options=options).tables()
    require_known(("dfs.ha.namenodes.lake", "hadoop.security.authentication"), "hdfs://lake/warehouse")


def test_the_later_word_wins(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark(
        "--warehouse", "/nowhere", "--output", "table", "tables", "--output", "json", "--warehouse", warehouse
    )
    assert len(ran.rows) == 2


def test_an_option_of_its_own_is_given_once(paimark: Paimark, warehouse: Path) -> None:
    """Click takes the last, and nobody hears of the first."""
    here = ("--warehouse", warehouse)
    ran = paimark("snapshots", "shop.orders", "--limit", "1", *here, "--limit", "2")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "paimark: --limit is given 2 times")
    ran = paimark("verify", "shop.orders", "--read-data", "1%", *here, "--read-data", "2%")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "paimark: --read-data is given 2 times")
    assert "the later counts" in paimark("snapshots", "--help").out


@pytest.mark.parametrize("words", [["--warehouse", ""], ["--context", " "]])
def test_an_empty_name_never_means_another_warehouse(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """A script's variable that is not set: what it deletes would be of the default warehouse."""
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    ran = paimark("tables", *words)
    assert (ran.code, ran.out) == (2, "")
    assert f"{words[0]} is empty" in ran.err
    ran = paimark("")
    assert ran.code == 2 and "WAREHOUSE is empty" in ran.err


def every_value(blank: str) -> Iterator[tuple[list[str], str]]:
    """Words with one blank value, for each that a command takes, and its name; "" for an argument."""
    ctx = root.make_context("paimark", [], resilient_parsing=True)
    for name in root.list_commands(ctx):
        command = root.get_command(ctx, name)
        assert command is not None
        before: list[str] = []
        for each in command.params:
            if isinstance(each, click.Argument):
                yield [name, *before, blank], ""
                before.append("x")
            elif isinstance(each, click.Option) and not each.is_flag:
                option = max(each.opts, key=len)
                yield [name, option, blank], option


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_value_is_refused_by_name_at_every_command(paimark: Paimark, blank: str) -> None:
    """An unset variable of a script: with its default another layout, or another directory, would count."""
    cases = list(every_value(blank))
    assert len(cases) > 200
    for words, name in cases:
        ran = paimark(*words)
        assert (ran.code, ran.out) == (2, ""), (words, ran)
        assert f"{name} is empty" in ran.err and len(ran.err.splitlines()) == 2, (words, ran.err)


@pytest.mark.parametrize(
    "option", ["--warehouse", "--plan-out", "--option", "--spark-conf", "--spark-master"]
)
def test_a_blank_value_is_refused_before_the_command_too(paimark: Paimark, option: str) -> None:
    ran = paimark(option, "", "tables")
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"paimark: {option} is empty")


@pytest.mark.parametrize("option", ["--option", "--spark-conf"])
def test_a_pair_without_a_name_is_refused(paimark: Paimark, option: str) -> None:
    for pair in ("=x", " =x", "x", "="):
        ran = paimark("tables", option, pair)
        assert ran.code == 2 and about(f"'{option}'", "key=value").search(ran.err)


def test_the_environment_names_the_warehouse(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    assert len(paimark("tables", "--output", "json").rows) == 2


def test_a_context_of_the_config_file_names_the_warehouse(
    paimark: Paimark, warehouse: Path, tmp_path: Path
) -> None:
    config = tmp_path / "paimark" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[contexts.lab]\nwarehouse = "{warehouse}"\n')
    assert len(paimark("tables", "--context", "lab", "--output", "json").rows) == 2
    assert paimark("tables", "--context", "lob").code == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["savepoint"], 2, ("'savepoints'",)),
        (["creat-tag", "shop.orders"], 2, ("'create-tag'",)),
        (["snapshots"], 2, ("TABLE",)),
        (["snapshots", "shop.orders", "--bogus"], 2, ("--bogus",)),
        (["snapshots", "shop.orders", "--limit", "0"], 2, ("--limit", "0", "whole number")),
        (["snapshots", "shop.orders", "--limit", "x"], 2, ("--limit", "x", "whole number")),
        (["--read-only", "snapshots", "shop.orders", "--limit"], 2, ("`paimark snapshots --help`",)),
        (["snapshots", "shop.orders", "extra"], 2, ("extra",)),
        (["tables", "--output", "xml"], 2, ("xml",)),
        (["tables", "--option", "nonsense"], 2, ("key=value",)),
        (["tables"], 2, ("no warehouse", "named")),
        ([], 2, ("no warehouse", "named")),
        (["--warehouse", "/nowhere/at/all", "tables"], 1, ("no warehouse", "/nowhere/at/all")),
        (["/nowhere/at/all"], 1, ("no warehouse", "/nowhere/at/all")),
        (["some-lake"], 1, ("no warehouse", "some-lake")),
        (["sql"], 2, ("no statement",)),
        (["sql", "SELECT 1", "-f", "x.sql"], 2, ("SQL", "--file", "both")),
        (["sql", "-f", "/nowhere/x.sql"], 1, ("no file", "/nowhere/x.sql")),
        (["sql", "-f", "/usr"], 2, ("/usr", "Is a directory")),
        (["sql", "-f", sys.executable], 2, (sys.executable, "UTF-8")),
        (["sql", "SELECT 1", "-o", "out.xls"], 2, (".parquet",)),
        (["create-savepoint", "shop.orders", "--snapshot", "x"], 2, ("--snapshot",)),
        (["create-tag", "shop.orders"], 2, ("--name",)),
    ],
)
def test_wrong_words_get_their_exit_code_and_a_sentence_on_stderr(
    paimark: Paimark, words: list[str], code: int, said: tuple[str, ...]
) -> None:
    ran = paimark(*words)
    assert (ran.code, ran.out) == (code, "")
    assert about(*said).search(ran.err)
    assert len(ran.err.splitlines()) <= 2


def test_help_shows_the_commands_the_actions_and_the_global_options(paimark: Paimark) -> None:
    ran = paimark("--help")
    assert ran.code == 0
    for word in (
        "demo",
        "snapshots",
        "sql",
        "create-savepoint",
        "create-branch",
        "recover",
        "--warehouse",
        "--dry-run",
    ):
        assert word in ran.out
    assert not [line for line in ran.out.splitlines() if line.endswith("...")], "no summary is cut"
    assert ran.out.index("  snapshots ") < ran.out.index("Change (") < ran.out.index("  create-tag ")
    assert "--limit" in paimark("snapshots", "--help").out
    assert "--spark-master" in paimark("snapshots", "--help").out


def test_a_fault_of_our_own_is_a_sentence_and_debug_shows_where(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by\x1b[31m zero")

    monkeypatch.setattr("paimark.core.cli.browse.open_files", broken)
    ran = paimark("tables", "--warehouse", warehouse)
    assert ran.code == 1
    assert "ZeroDivisionError" in ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    monkeypatch.setenv("PAIMARK_DEBUG", "1")
    assert "Traceback" in paimark("tables", "--warehouse", warehouse).err


def test_an_unreadable_store_is_exit_code_3(paimark: Paimark, warehouse: Path) -> None:
    orders = warehouse / "shop.db" / "orders" / "snapshot" / "LATEST"
    orders.unlink()
    orders.symlink_to("LATEST")
    assert paimark("snapshots", "shop.orders", "--limit", "1", "--warehouse", warehouse).code == 3


def test_the_console_says_that_it_needs_a_terminal(warehouse: Path) -> None:
    for words in ([str(warehouse)], ["--warehouse", str(warehouse)], ["--read-only", str(warehouse)]):
        ran = program(*words)
        assert (ran.code, ran.out) == (2, "")
        assert "needs a terminal" in ran.err


def test_characters_that_an_encoding_lacks_can_still_be_told_apart(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (warehouse / "shop.db" / "orders").rename(warehouse / "shop.db" / "café…")
    ran = program("tables", "--warehouse", str(warehouse))
    assert "caf\\xe9~" in ran.out and "---" in ran.out and "?" not in ran.out


def test_a_shell_completes_commands_options_and_values(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The shell calls the program without any word: they are in its environment."""

    def asked(*words: str) -> dict[str, str]:
        return {
            "PAIMARK_WAREHOUSE": str(warehouse),
            "COMP_WORDS": " ".join(["paimark", *words]),
            "COMP_CWORD": str(len(words)),
        }

    def follows(*words: str) -> list[str]:
        """As in the program, which takes a third of a second to start."""
        for name, value in asked(*words).items():
            monkeypatch.setenv(name, value)
        lines = BashComplete(root, {}, "paimark", "_PAIMARK_COMPLETE").complete().splitlines()
        return [line.partition(",")[2] for line in lines]

    ran = program(environment=asked("snapshots", "sh") | {"_PAIMARK_COMPLETE": "bash_complete"})
    assert (ran.code, ran.out, ran.err) == (0, "plain,shop.events\nplain,shop.orders\n", "")
    assert follows("create-s") == ["create-savepoint"]
    assert follows("snapshots", "--li") == ["--limit"]
    assert follows("snapshots", "--limit", "1", "--out") == ["--output"]
    # A name that a shell would run is not offered.
    shutil.copytree(warehouse / "shop.db/orders", warehouse / "shop.db/$(id)")
    assert follows("snapshots", "sh") == ["shop.events", "shop.orders"]
    orders = warehouse / "shop.db/orders"
    shutil.copy(orders / "tag/tag-v2", orders / "tag/tag-v2;id")
    assert follows("delete-tag", "shop.orders", "") == ["v2"]
    assert follows("rename-tag", "shop.orders", "--to", "x", "--name", "v") == ["v2"]
    assert follows("replace-main-branch", "shop.orders", "--layout", "p") == ["pointer"]
    # Versions are branches and tags; a table can only be taken out of the trash if it is there.
    assert follows("diff", "shop.orders", "") == ["main", "v2"]
    assert follows("when", "shop.orders", "x", "--to", "") == ["v2"]
    assert follows("sql", "--database", "") == follows("tables", "") == ["shop"]
    assert follows("undrop", "sh") == []
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "paimark").mkdir()
    (tmp_path / "paimark/config.toml").write_text('[contexts.lab]\nwarehouse = "/lake"\n')
    assert follows("tables", "--context", "") == ["lab"]
    assert not any(follows("delete-tag", "shop.missing", ""))
    ran = program(environment={"_PAIMARK_COMPLETE": "zsh_source"})
    assert ran.code == 0 and "_PAIMARK_COMPLETE=zsh_complete" in ran.out


def test_the_program_prints_its_version(warehouse: Path) -> None:
    ran = program("--version")
    assert ran.code == 0
    assert ran.out.startswith("paimark 0.")


def test_an_encoding_that_lacks_a_sign_stops_nothing_and_json_is_utf_8(warehouse: Path) -> None:
    latin = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    snapshot = warehouse / "shop.db" / "orders" / "snapshot" / "snapshot-5"
    snapshot.write_text(snapshot.read_text().replace('"APPEND"', '"表"'))
    words = [str(PROGRAM), "--warehouse", str(warehouse), "snapshots", "shop.orders", "--limit", "1"]
    table = subprocess.run(words, env=bare_environment(latin), capture_output=True, timeout=240, check=True)
    assert rb" \u8868 " in table.stdout and b"-----" in table.stdout
    rows = subprocess.run(
        [*words, "--output", "json"],
        env=bare_environment(latin),
        capture_output=True,
        timeout=240,
        check=True,
    )
    assert json.loads(rows.stdout.decode())[0]["commit_kind"] == "表"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_leads_nowhere(closed: str, warehouse: Path, tmp_path: Path) -> None:
    """And no file gets its number: what is said would go into a file of the table."""
    shutil.copytree(warehouse, tmp_path / "w")
    words = f'"{PROGRAM}" create-tag shop.orders --name kept --warehouse "{tmp_path / "w"}" {closed}'
    ran = subprocess.run(["sh", "-c", words], env=bare_environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "Error" not in ran.stderr and "fault" not in ran.stderr
    assert (tmp_path / "w" / "shop.db" / "orders" / "tag" / "tag-kept").read_text().startswith("{")


@pytest.mark.parametrize(
    ("to", "reason"), [("> /dev/full", "No space left on device"), (">&-", "stdout is closed")]
)
def test_output_that_cannot_be_written_is_said(to: str, reason: str, warehouse: Path) -> None:
    """A list has done nothing all the same."""
    words = f'"{PROGRAM}" tables --warehouse "{warehouse}" {to}'
    ran = subprocess.run(["sh", "-c", words], env=bare_environment(), capture_output=True, text=True)
    message, hint = ran.stderr.splitlines()
    assert ran.returncode == 1 and about("output", "written", reason).search(message)
    assert about("nothing", "changed").search(hint)


def test_a_named_pipe_that_nobody_writes_is_named_while_it_waits(warehouse: Path, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "statement")
    waiting = subprocess.Popen(
        [PROGRAM, "--warehouse", warehouse, "sql", "-f", pipe],
        env=bare_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stderr is not None
    assert about("waiting", "writes", pipe).search(waiting.stderr.readline())
    pipe.write_text("SELECT snapshot_id FROM shop.orders$snapshots WHERE snapshot_id = 4")
    out, _ = waiting.communicate(timeout=240)
    assert (waiting.returncode, out.split()[0], out.split()[-1]) == (0, "snapshot_id", "4")


def test_a_closed_pipe_is_quiet(warehouse: Path) -> None:
    listing = subprocess.Popen(
        [PROGRAM, "--warehouse", warehouse, "snapshots", "shop.orders"],
        env=bare_environment({"PYTHONUNBUFFERED": "1"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert listing.stdout is not None
    listing.stdout.close()
    _, err = listing.communicate(timeout=240)
    assert (listing.returncode, err) == (0, "")


def test_a_terminal_gets_lines_that_fit_it(warehouse: Path) -> None:
    out = on_terminal("--warehouse", str(warehouse), "snapshots", "shop.orders", columns=60).out
    lines = [line for line in out.splitlines() if line.strip()]
    assert len(lines) == 8
    assert all(len(line) <= 60 for line in lines[:7])
    assert about("not shown", "width").search(lines[7])


def test_on_a_narrow_terminal_the_log_says_when_what_and_why(warehouse: Path) -> None:
    there = ("--warehouse", warehouse)
    why = ("--message", "prices were wrong", "--author", "jane")
    assert program("create-tag", "shop.orders", "--name", "bad", *why, *there).code == 0
    head, _, line, *_ = on_terminal("operations", "shop.orders", *there).out.splitlines()
    assert head.split() == ["operation_id", "summary", "time", "message", "author"]
    assert line.split("  ")[-1] == "jane" and "Tagged snapshot" in line and "prices" in line
    assert len(head) <= 80 >= len(line)


def test_on_a_narrow_terminal_hints_stay_whole(warehouse: Path) -> None:
    out = on_terminal("doctor", "shop.nope", "--warehouse", warehouse, columns=60).out
    assert about("`paimark tables`", "lists").search(out)
    assert "1 check found something broken" in out
    assert max(map(len, out.splitlines())) <= 60


def test_options_that_would_have_no_effect_are_refused_by_name(paimark: Paimark, warehouse: Path) -> None:
    for words in (
        ("space", "shop.orders", "--branch", "b"),
        ("verify", "shop.orders", "--older-than", "1 d"),
        ("branches", "shop.orders", "--branch", "b"),
        ("operations", "shop.orders", "--branch", "b"),
    ):
        ran = paimark(*words, "--warehouse", warehouse)
        assert (ran.code, ran.out) == (2, "") and words[2] in ran.err, words


def test_browsing_imports_nothing_heavy(warehouse: Path) -> None:
    commands = [
        ["--help"],
        ["tables"],
        ["snapshots", "shop.orders", "--limit", "2"],
        ["savepoints", "shop.orders"],
        ["branches", "shop.orders"],
        ["tags", "shop.orders"],
        ["schemas", "shop.orders"],
    ]
    assert not loaded_modules([["--warehouse", str(warehouse), *each] for each in commands]) & HEAVY
