"""Where the warehouse and its options come from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paimark.core.config import Flags, load_settings, read_only_environment
from paimark.core.errors import UsageError
from tests.cli.command import Paimark
from tests.wording import about

CONFIG = """
default_context = "lab"

[contexts.lab]
warehouse = "s3://lab/warehouse"
read_only = true
spark_master = "local[4]"
options = { "s3.endpoint" = "http://minio:9000" }
spark_conf = { "spark.driver.memory" = "4g" }

[contexts.home]
warehouse = "~/warehouse"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def write_config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "paimark" / "config.toml"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_the_default_context_brings_everything_it_says(tmp_path: Path, environment: dict[str, str]) -> None:
    write_config(tmp_path, CONFIG)
    settings = load_settings(Flags(), environment)
    assert settings.warehouse == "s3://lab/warehouse"
    assert settings.options == {"s3.endpoint": "http://minio:9000"}
    assert settings.read_only
    assert settings.spark_master == "local[4]"
    assert settings.spark_conf == {"spark.driver.memory": "4g"}
    assert settings.context == "lab"


def test_another_warehouse_gets_none_of_the_default_contexts_options(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    write_config(tmp_path, CONFIG)
    settings = load_settings(Flags(), {**environment, "PAIMARK_WAREHOUSE": "/elsewhere"})
    assert (settings.warehouse, settings.options, settings.context) == ("/elsewhere", {}, None)


def test_a_named_context_goes_before_the_environment_and_flags_before_both(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    write_config(tmp_path, CONFIG)
    environment["PAIMARK_WAREHOUSE"] = "/elsewhere"
    assert load_settings(Flags(context="lab"), environment).warehouse == "s3://lab/warehouse"
    flags = Flags(context="lab", warehouse="s3://lab/other", options={"s3.endpoint": "http://other"})
    settings = load_settings(flags, environment)
    assert settings.warehouse == "s3://lab/other"
    assert settings.options == {"s3.endpoint": "http://other"}
    assert settings.read_only


def test_a_home_directory_and_a_relative_path_become_absolute(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    write_config(tmp_path, CONFIG)
    assert load_settings(Flags(context="home"), environment).warehouse == str(Path.home() / "warehouse")
    assert load_settings(Flags(warehouse="lake"), environment).warehouse == str(Path.cwd() / "lake")
    assert load_settings(Flags(warehouse="file:///lake/"), environment).warehouse == "/lake"


def test_no_warehouse_anywhere_is_a_usage_error_that_says_what_to_do(environment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="No warehouse") as refused:
        load_settings(Flags(), environment)
    assert "PAIMARK_WAREHOUSE" in refused.value.hint
    assert "paimark demo" in refused.value.hint


def test_an_unknown_context_suggests_the_near_one(tmp_path: Path, environment: dict[str, str]) -> None:
    write_config(tmp_path, CONFIG)
    with pytest.raises(UsageError) as refused:
        load_settings(Flags(context="labb"), environment)
    assert refused.value.hint == "Did you mean 'lab'?"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("default_context = = 1", ("line 1",)),
        ("[contexts.lab]\nwarehouse = 5", ("'warehouse'", "[contexts.lab]", "text")),
        ("[contexts.lab]\nwarehouse = 'x'\nwharehouse = 'y'", ("[contexts.lab]", "'wharehouse'")),
        ("[contexts.lab]\nread_only = true", ("[contexts.lab]", "lacks", "'warehouse'")),
        ("[contexts]\nlab = 'x'", ("[contexts.lab]", "table")),
        ("[contexts.lab]\nwarehouse = 'x'\nread_only = 'yes'", ("'read_only'", "true", "false")),
        ("[contexts.lab]\nwarehouse = 'x'\noptions = { a = 5 }", ("'options'", '{ "name"')),
        ("default_contxt = 'x'", ("'default_contxt'",)),
        ("mouse = 'on'", ("'mouse'", "true", "false")),
        ("[keys]\n'act.tag' = 5", ("'keys'", "table")),
        ("[command]\nkey = 'f6'", ("[[command]]", "brackets")),
        (
            "[[command]]\nkey = 'f6'\nrun = 'a'\n[[command]]\nkey = 'f7'",
            ("[[command]]", "2", "lacks", "'run'"),
        ),
        ("[[command]]\nkey = 'f6'\nrun = 5", ("'run'", "list")),
    ],
)
def test_a_fault_in_the_file_is_one_sentence_with_its_path(
    tmp_path: Path, environment: dict[str, str], text: str, fault: tuple[str, ...]
) -> None:
    path = write_config(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        load_settings(Flags(warehouse="/lake"), environment)
    assert str(path) in refused.value.message
    assert about(*fault).search(refused.value.message)


def test_a_file_that_is_not_text_is_said_so(tmp_path: Path, environment: dict[str, str]) -> None:
    write_config(tmp_path, "").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="can't be read"):
        load_settings(Flags(warehouse="/lake"), environment)


def test_a_config_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path, environment: dict[str, str]) -> None:
    path = write_config(tmp_path, "")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UsageError, match="can't be read"):
        load_settings(Flags(warehouse="/lake"), environment)


@pytest.mark.parametrize("system", ["linux", "darwin"])
@pytest.mark.parametrize("variable", ["", "/state"])
def test_the_audit_log_lies_with_the_other_logs(tmp_path: Path, system: str, variable: str) -> None:
    """On every system, with and without the variable."""
    program = (
        f"import sys; sys.platform = {system!r}\n"
        "from paimark.core.config import state_directory\n"
        "from paimark.core.actions.context import open_context\n"
        "print(state_directory(), open_context('/lake', {}, True).audit_path, sep='\\n')"
    )
    environment = {"HOME": str(tmp_path), "XDG_STATE_HOME": variable, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    kept, audit = done.stdout.splitlines()
    assert audit == f"{kept}/audit.jsonl"
    below = ".local/state" if system == "linux" else "Library/Application Support"
    assert kept == f"{variable or tmp_path / below}/paimark"


@pytest.mark.parametrize(("word", "on"), [("1", True), ("TRUE", True), ("no", False), ("", False)])
def test_read_only_follows_the_environment(word: str, on: bool) -> None:
    environment = {"PAIMARK_READ_ONLY": word, "XDG_CONFIG_HOME": "/nowhere"}
    assert load_settings(Flags(warehouse="/lake"), environment).read_only is on


def test_a_read_only_word_that_is_neither_yes_nor_no_is_never_guessed() -> None:
    with pytest.raises(UsageError, match="PAIMARK_READ_ONLY"):
        read_only_environment({"PAIMARK_READ_ONLY": "ture"})


def test_secrets_in_options_are_not_in_the_repr() -> None:
    settings = load_settings(
        Flags(warehouse="/lake", options={"s3.secret-key": "hunter2"}), {"XDG_CONFIG_HOME": "/nowhere"}
    )
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    "text",
    [
        'default_context = "a\\u0000b"',
        '[contexts.a]\nwarehouse = "/tmp/\\u0000"',
        'default_context = "a\0b"',
        "a = " + "[" * 5000,
        "a = " + "[" * 5000 + "]" * 5000,
        "a = " + "{a = " * 3000 + "1" + "}" * 3000,
        "a = " + "9" * 5000,
        'default_context = "\\ud800"',
    ],
    ids=["nul", "nul in a path", "raw nul", "unclosed", "deep", "deep tables", "digits", "half a character"],
)
def test_a_config_file_that_no_config_can_be_is_refused(
    tmp_path: Path, environment: dict[str, str], text: str
) -> None:
    write_config(tmp_path, text)
    with pytest.raises(UsageError, match=about("config.toml", "expected")):
        load_settings(Flags(warehouse="/lake"), environment)


@pytest.mark.parametrize(
    "name", ["PAIMARK_READONLY", "PAIMARK_READ_ONLI", "paimark_read_only", "PAIMARK_WAREHOUSES"]
)
def test_a_variable_that_is_meant_for_another_is_refused(name: str) -> None:
    """Who sets the first one believes that nothing can be changed."""
    with pytest.raises(UsageError, match=about(f"no variable {name}")) as told:
        load_settings(Flags(warehouse="/w"), {name: "1", "XDG_CONFIG_HOME": "/nowhere"})
    assert "PAIMARK_" in told.value.hint


def test_a_variable_for_one_of_several_warehouses_is_the_users_own() -> None:
    """A shell has it for `--warehouse "$PAIMARK_WAREHOUSE_PROD"`; where none is named it may be meant."""
    own = {"PAIMARK_WAREHOUSE_PROD": "/prod", "XDG_CONFIG_HOME": "/nowhere"}
    assert load_settings(Flags(warehouse="/w"), own).warehouse == "/w"
    assert load_settings(Flags(), own | {"PAIMARK_WAREHOUSE": "/lab"}).warehouse == "/lab"
    with pytest.raises(UsageError, match=about("no variable PAIMARK_WAREHOUSE_PROD")):
        load_settings(Flags(), own)
    with pytest.raises(UsageError, match=about("no variable PAIMARK_READ_ONLY_X")):
        load_settings(Flags(warehouse="/w"), own | {"PAIMARK_READ_ONLY_X": "1"})


def test_of_several_faults_the_first_is_told_each_time(tmp_path: Path, environment: dict[str, str]) -> None:
    names = [f"unknown{number}" for number in range(9)]
    write_config(tmp_path, "\n".join(f"{name} = 1" for name in names))
    with pytest.raises(UsageError, match="has an option 'unknown0'"):
        load_settings(Flags(warehouse="/w"), environment)


def test_variables_of_other_programs_pass() -> None:
    others = {"PAIMARK_HOME": "/opt", "PAIMARK_REQUIRE_INTEROP": "1", "XDG_CONFIG_HOME": "/nowhere"}
    assert load_settings(Flags(warehouse="/w"), others).warehouse == "/w"


def test_ids_are_listed_with_the_keys_that_they_have(paimark: Paimark, tmp_path: Path) -> None:
    path = tmp_path / "paimark" / "config.toml"
    path.parent.mkdir()
    path.write_text('[keys]\n"act.savepoint" = "f2"\n')
    rows = {row["id"]: row for row in paimark("keys", "--output", "json").rows}
    assert rows["act.savepoint"]["keys"] == "f2"
    assert rows["act.savepoint"]["does"] == "make a savepoint"
    assert rows["grid.down"]["keys"] == "down j"
    path.write_text('[keys]\n"act.savepoint" = "b"\n')
    ran = paimark("keys")
    assert (ran.code, "act.branch" in ran.err) == (2, True)


def test_the_author_is_of_the_environment_or_the_file(tmp_path: Path, environment: dict[str, str]) -> None:
    assert load_settings(Flags(warehouse="/lake"), environment).author == ""
    write_config(tmp_path, 'author = "jane"')
    assert load_settings(Flags(warehouse="/lake"), environment).author == "jane"
    assert load_settings(Flags(warehouse="/lake"), {**environment, "PAIMARK_AUTHOR": "x"}).author == "x"
