"""A secret of an address or an option is in nothing that is printed, logged, saved or shown."""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

import paimark.core
import paimark.tui
from paimark.core.actions.context import open_context
from paimark.core.config import Flags, load_settings
from paimark.core.errors import PaimarkError
from paimark.core.storage.open import open_files
from tests.cli.command import Paimark, program

SECRET = "s3cr3tW0rd"
ADDRESSES = [
    f"sftp://bob:{SECRET}@127.0.0.1/lake",
    f"sftp://bob:{SECRET}/more@127.0.0.1/lake",
    f"sftp://bob:%40{SECRET}@127.0.0.1/lake",
    f"ftp://bob:{SECRET}@127.0.0.1:1/lake",
    f"s3://KEY:{SECRET}@",
    f"s3://KEY:{SECRET}@lake/warehouse",
    f"s3://KEY:a/{SECRET}@lake/warehouse",
    f"S3://KEY:{SECRET}@lake/warehouse",
    f"s3:/KEY:{SECRET}@lake/warehouse",
    f"gs://KEY:{SECRET}@lake/warehouse",
    f"abfs://KEY:{SECRET}@account/warehouse",
    f"oss://KEY:{SECRET}@lake/warehouse",
    f"hdfs://bob:{SECRET}@127.0.0.1:1/lake",
    f"http://127.0.0.1:1/lake?token={SECRET}",
    f"http://{SECRET}@127.0.0.1:1/lake",
    f"https://bob:{SECRET}@127.0.0.1:1/lake?a=b&X-Amz-Signature={SECRET}",
    f"zip://x::s3://KEY:{SECRET}@lake/a.zip",
    f"zip://x::simplecache::http://127.0.0.1:1/lake?sig={SECRET}",
    f"foo://bob:{SECRET}@lake",
    f"abfs://container@account/warehouse?sv=1&sig={SECRET}",
    f"s3://lake/warehouse?X-Amz-Signature={SECRET}",
]
HELD = {"options", "spark_conf", "conf"}
# One of Spark Connect may have a token.
MASTERS = {"master", "spark_master"}
OPTIONS = {
    "s3.access-key": "AKIA-of-nobody",
    "s3.secret-key": SECRET,
    "s3.session-token": SECRET,
    "fs.azure.account.key.x.dfs.core.windows.net": SECRET,
}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
def test_an_address_is_never_told_with_its_secret(
    paimark: Paimark, monkeypatch: pytest.MonkeyPatch, address: str, debug: bool
) -> None:
    if debug:
        monkeypatch.setenv("PAIMARK_DEBUG", "1")
    for words in (["tables"], ["doctor", "--output", "json"], ["create-savepoint", "shop.orders"], []):
        ran = paimark(*words, "--warehouse", address)
        assert SECRET not in ran.out + ran.err, words
    monkeypatch.setenv("PAIMARK_WAREHOUSE", address)
    ran = paimark("tables")
    assert ran.code in (1, 2, 3)
    assert any(label in ran.err for label in ("paimark: ", "Refused: ", "Failed: "))
    assert SECRET not in ran.out + ran.err


# With one slash it is a path.
@pytest.mark.parametrize("address", [each for each in ADDRESSES if "://" in each])
def test_nothing_opened_at_an_address_shows_its_secret(address: str) -> None:
    try:
        shown = [open_files(address, OPTIONS).uri]
    except PaimarkError as error:
        shown = [error.message, error.hint, str(error), repr(error)]
    shown.append(repr(load_settings(Flags(warehouse=address, options=OPTIONS))))
    shown.append(repr(Flags(warehouse=address)))
    assert SECRET not in "".join(shown)


def test_what_an_s3_client_says_of_its_settings_holds_no_secret(paimark: Paimark) -> None:
    endpoint = f"http://bob:{SECRET}@127.0.0.1:1"
    given = [f"--option={name}={value}" for name, value in (OPTIONS | {"s3.endpoint": endpoint}).items()]
    ran = paimark("tables", "--warehouse", "s3://lake/x", *given)
    assert ran.code == 3
    assert SECRET not in ran.out + ran.err
    assert "AKIA-of-nobody" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("debug", "parameters"),
    [
        pytest.param("", f"token={SECRET}", marks=pytest.mark.long),
        ("1", f"user_id=bob;token={SECRET};use_ssl=true"),
    ],
)
def test_the_token_of_spark_connect_is_never_told(debug: str, parameters: str, warehouse: Path) -> None:
    """It stands in the address of the master, which every trouble with a server names."""
    given = ["--warehouse", str(warehouse), "--spark-master", f"sc://127.0.0.1:1/;{parameters}"]
    ran = program(*given, "sql", "SELECT 1", environment={"PAIMARK_DEBUG": debug})
    assert ran.code == 3 and "There is no Spark at sc://127.0.0.1:1/;" in ran.err
    assert SECRET not in ran.out + ran.err


@pytest.mark.parametrize(
    "words",
    [
        ["tables", "--option", f"s3.secret-key{SECRET}"],
        ["tables", "--option", "s3.secret-key", SECRET],
        ["tables", f"--optoin=s3.secret-key={SECRET}"],
        ["--option", f"s3.secret-key={SECRET}", "tabels"],
        ["tables", f"s3://KEY:{SECRET}@lake"],
        ["tables", "--option", f"s3.secret-key={SECRET}", "--context", SECRET],
    ],
)
def test_words_that_go_wrong_are_told_without_the_secret(paimark: Paimark, words: list[str]) -> None:
    ran = paimark(*words)
    assert ran.code == 2
    assert SECRET not in ran.out + ran.err


def test_a_config_file_with_secrets_is_told_without_them(paimark: Paimark, tmp_path: Path) -> None:
    config = tmp_path / "paimark" / "config.toml"
    config.parent.mkdir()
    for text in (
        f'[contexts.lab]\nwarehouse = "sftp://bob:{SECRET}@host/lake"\noptions = {{ "s3.secret-key" = 5 }}',
        f'[contexts.lab]\nwarehouse = "sftp://bob:{SECRET}@host/lake"',
        f'[contexts.lab]\nwarehouse = "s3://"\noptions = {{ "s3.secret-key" = "{SECRET}" }}',
        f'[contexts.lab]\nwarehouse = "s3://KEY:{SECRET}@',
    ):
        config.write_text(text)
        ran = paimark("tables", "--context", "lab")
        assert ran.code in (2, 3)
        assert SECRET not in ran.out + ran.err


def test_a_change_leaves_no_secret_in_its_records(paimark: Paimark, tmp_path: Path, warehouse: Path) -> None:
    """Audit log, plan file, dry run and answer, on a store that takes a password in its address."""
    address = f"memory://bob:{SECRET}@lake-{tmp_path.name}/warehouse"
    files = open_files(address)
    for each in (warehouse / "shop.db").rglob("*"):
        if each.is_file():
            files.replace(each.relative_to(warehouse).as_posix(), each.read_bytes())
    told = ""
    given = ["--warehouse", address, "--option", "s3.access-key=who", "--option", f"s3.secret-key={SECRET}"]
    for words in (
        ["create-savepoint", "shop.orders", "--plan-out", str(tmp_path / "a.plan")],
        ["create-savepoint", "shop.orders", "--dry-run", "--output", "json"],
        ["create-savepoint", "shop.orders", "--comment", "kept"],
        ["alter-branch-schema", "shop.orders", "--set", f"fs.oss.accessKeySecret={SECRET}"],
        ["operations", "shop.orders", "--output", "json"],
        ["doctor", "shop.orders"],
    ):
        ran = paimark(*words, *given)
        assert ran.code == 0, ran.err
        told += ran.out + ran.err
    log = (tmp_path / "paimark" / "audit.jsonl").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["action"] for line in lines] == ["create-savepoint", "alter-branch-schema"]
    assert lines[0]["warehouse"] == f"memory://lake-{tmp_path.name}/warehouse"
    assert SECRET not in log
    assert SECRET not in told
    assert SECRET not in (tmp_path / "a.plan").read_text()


async def test_what_a_console_that_fails_leaves_on_the_terminal_holds_no_secret() -> None:
    """Textual's own traceback shows the locals of every call."""
    from paimark.tui.console import Console as Program
    from paimark.tui.opening import Opening
    from paimark.tui.session import Session

    def fail(address: str, options: dict[str, str]) -> None:
        settings = load_settings(Flags(warehouse=address, options=options))
        context = open_context("/lake", options, read_only=True)
        raise ValueError(f"{address} {settings} {context}")

    session = Session(load_settings(Flags(warehouse="/lake", options=OPTIONS)))
    program = Program(session, Opening(session), start_engine=False)
    try:
        fail(f"sftp://bob:{SECRET}@host/lake", dict(OPTIONS))
    except ValueError as error:
        program._handle_exception(error)
    shown = io.StringIO()
    for each in program._exit_renderables:
        Console(file=shown, width=200).print(each)
    assert "ValueError" in shown.getvalue()
    assert "in fail" in shown.getvalue()
    assert SECRET not in shown.getvalue()


def _kinds() -> list[type[Any]]:
    """Every record of the program that has options."""
    kinds = {}
    for package in (paimark.core, paimark.tui):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for each in vars(importlib.import_module(module.name)).values():
                if isinstance(each, type) and each.__module__ == module.name:
                    kinds[each] = _names(each)
    return [kind for kind, names in kinds.items() if names & HELD]


def _names(kind: type[Any]) -> set[str]:
    if is_dataclass(kind):
        return {field.name for field in fields(kind)}
    return set(kind.__struct_fields__) if issubclass(kind, msgspec.Struct) else set()


def test_no_record_shows_its_options() -> None:
    """Each kind of record that has options, whatever else it holds."""
    shown = {}
    # Not the catalog's: those of a table are in its schema, for every reader of the table.
    of_tables = {"TableSchema", "TableFacts", "_Draft"}
    # What Spark's session is set to, and a warehouse that is no address but a record of its own.
    of_sessions = {"EngineSession"}
    for kind in _kinds():
        values: dict[str, Any] = dict.fromkeys(_names(kind))
        values |= {name: {"plain": SECRET} for name in HELD & set(values)}
        values |= {name: f"sc://host/;token={SECRET}" for name in MASTERS & set(values)}
        if "warehouse" in values:
            values["warehouse"] = f"sftp://bob:{SECRET}@host/lake"
        record = kind(**values)
        shown[kind.__name__] = repr(record) + _rich(record)
    told = {name for name, text in shown.items() if SECRET in text}
    assert told <= of_tables | of_sessions
    assert {"Context", "Settings", "Start", "Scan", "WriteTarget", "WarehouseAccess"} <= set(shown)


def _rich(record: Any) -> str:
    shown = io.StringIO()
    Console(file=shown, width=200).print(record)
    return shown.getvalue()
