"""YARN and HDFS that accept only Kerberos tickets: from the first query to a main branch that was replaced.

This machine logs in with a ticket or a keytab; executors have delegation tokens only. The servers and each
start of Spark take about a minute, so these tests are `long`.
"""

from __future__ import annotations

from contextlib import closing

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.storage.known_options import KEYTAB, PRINCIPAL
from tests.cli.command import CommandResult, program
from tests.spark.engine_fixture import ask, by_library, in_order, rows
from tests.spark.launch.yarn.secure_fixture import OnYarn, on_yarn
from tests.spark.launch.yarn.yarn_server import secure_yarn
from tests.spark.test_on_s3 import rows_of
from tests.storage.hadoop.conftest import secure

__all__ = ["on_yarn", "secure", "secure_yarn"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


def test_with_a_ticket_an_insert_to_a_branch_becomes_main(on_yarn: OnYarn) -> None:
    def paimark(*words: str) -> CommandResult:
        options = ("--warehouse", on_yarn.uri, "--spark-master", "yarn", "--output", "json")
        run = program(*options, *words, seconds=600)
        assert run.code == 0, run.err
        return run

    query = "SELECT order_id FROM shop.orders {} ORDER BY order_id"
    earlier = paimark("sql", query.format("VERSION AS OF 2"))
    assert [row["order_id"] for row in earlier.rows] == [1, 2, 3, 4, 5]
    paimark("create-savepoint", "shop.orders")
    paimark("create-branch", "shop.orders", "--name", "fix", "--tag", "savepoint.1")
    paimark("sql", "INSERT INTO shop.`orders$branch_fix` VALUES (100, 'fixed', 1.5)")
    paimark("replace-main-branch", "shop.orders", "--name", "fix", "--yes")
    assert [row["order_id"] for row in paimark("sql", query.format("")).rows] == [*range(1, 9), 100]
    executors_used_tokens(on_yarn)


def executors_used_tokens(on_yarn: OnYarn) -> None:
    opened = on_yarn.accesses("open")
    assert ("TOKEN", "SPARK_TASK") in opened and ("KERBEROS", "SPARK_TASK") not in opened
    # The upload of the fixture has a ticket.
    assert "TOKEN" in {way for way, _ in on_yarn.accesses("create")}


def test_with_a_keytab_that_only_this_machine_has(on_yarn: OnYarn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors have another working directory, so they don't find it."""
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{on_yarn.scratch}/none")
    monkeypatch.chdir(on_yarn.secure.directory)
    with closing(on_yarn.engine(**{PRINCIPAL: "alice@LAKE.TEST", KEYTAB: "alice.keytab"})) as engine:
        engine.wait_ready(400)
        reads_by_all_ways(engine)
        replaces_main(engine)
    executors_used_tokens(on_yarn)


def reads_by_all_ways(engine: Engine) -> None:
    query = "SELECT * FROM shop.orders VERSION AS OF {}"
    native = ask(engine, query.format(5))
    assert native.readings[0].scan == "native" and len(native.rows) == 8
    with by_library(engine):
        library = ask(engine, query.format(5))
    assert library.readings[0].scan == "paimon library"
    assert in_order(library.rows) == in_order(native.rows)
    assert len(rows(engine, query.format(4))) == 7


def replaces_main(engine: Engine) -> None:
    for statement in (
        "CALL sys.create_savepoint(table => 'shop.orders')",
        "CALL sys.create_branch(table => 'shop.orders', name => 'fix', tag => 'savepoint.1')",
        "INSERT INTO shop.`orders$branch_fix` VALUES (100, 'fixed', 1.5)",
        "CALL sys.replace_main_branch(table => 'shop.orders', name => 'fix')",
    ):
        rows_of(engine, statement)
    names = rows(engine, "SELECT customer FROM shop.orders WHERE order_id IN (8, 100)")
    assert {row["customer"] for row in names} == {"c2", "fixed"}


def test_a_warehouse_that_is_not_on_the_default_file_system(on_yarn: OnYarn) -> None:
    """Its executors have a token of both."""
    with closing(on_yarn.engine(f"hdfs://localhost:{on_yarn.secure.active}{on_yarn.path}")) as engine:
        engine.wait_ready(400)
        native = ask(engine, "SELECT * FROM shop.orders VERSION AS OF 5")
    assert native.readings[0].scan == "native" and len(native.rows) == 8
    opened = on_yarn.accesses("open")
    assert ("TOKEN", "SPARK_TASK") in opened and ("KERBEROS", "SPARK_TASK") not in opened
