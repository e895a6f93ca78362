"""CREATE DATABASE and DROP DATABASE, on a disk and on an object store, without Spark."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from paimark.core.actions.tables import databases
from paimark.core.config import Settings
from paimark.core.errors import Refused, StatementFailed
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import context_for, require_runnable, run_statement
from paimark.core.storage.open import open_files
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import ORDERS, context_on, done
from tests.storage.stores import BUCKET, S3Server
from tests.wording import about


@pytest.fixture(params=["disk", "s3", pytest.param("hdfs", marks=pytest.mark.long)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Of a warehouse without a database."""
    if request.param == "disk":
        return Settings(str(tmp_path))
    if request.param == "hdfs":
        return Settings(f"{request.getfixturevalue('hdfs')}/{uuid.uuid4().hex}")
    s3: S3Server = request.getfixturevalue("s3")
    return Settings(f"s3://{BUCKET}/{uuid.uuid4().hex}", s3.options())


def said(settings: Settings, sql: str) -> str:
    """The message of a statement, which starts no Spark."""
    engine = Engine(settings, Path(os.devnull))
    [event] = run_statement(context_for(engine), sql)
    assert engine.state == "stopped" and isinstance(event, Finished | Failed)
    return event.message


def test_a_database_is_made_and_an_empty_one_is_dropped(settings: Settings) -> None:
    files = open_files(settings.warehouse, settings.options)
    assert about("created", "database shop").search(said(settings, "CREATE DATABASE shop"))
    assert [(each.name, each.is_directory) for each in files.entries("")] == [("shop.db", True)]
    assert about("database shop", "already").search(said(settings, "CREATE SCHEMA `shop`"))
    unchanged = said(settings, "CREATE DATABASE IF NOT EXISTS shop")
    assert about("shop", "already", "nothing").search(unchanged)
    files.create("shop.db/orders/schema/schema-0", b"{}")
    assert about("shop", "1 table", "orders").search(said(settings, "DROP DATABASE shop"))
    files.delete("shop.db/orders/schema/schema-0")
    files.create("shop.db/notes/a", b"precious")
    assert about("shop", "empty", "shop.db/notes/a").search(said(settings, "DROP DATABASE shop"))
    files.delete("shop.db/notes/a")
    assert about("dropped", "shop").search(said(settings, "DROP DATABASE shop RESTRICT"))
    assert about("no database shop", "nothing").search(said(settings, "DROP DATABASE IF EXISTS shop"))


def test_a_trash_is_something(warehouse: Path) -> None:
    context = context_on(warehouse)
    done(context, "drop-table")
    done(context, "drop-table", type(ORDERS)("shop", "events"))
    with pytest.raises(Refused, match=about("2 dropped tables", "trash")):
        databases.drop(context, "shop", lambda line: None)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("DROP DATABASE shop CASCADE", "CASCADE "),
        ("CREATE DATABASE shop LOCATION '/a'", "LOCATION "),
        ("CREATE DATABASE shop WITH DBPROPERTIES ('a' = 'b')", "no properties"),
        ("CREATE DATABASE a.b", "no dots"),
        ("DROP SCHEMA", "is missing"),
    ],
)
def test_what_would_have_no_effect_is_refused(sql: str, reason: str) -> None:
    with pytest.raises(StatementFailed, match=reason):
        require_runnable(read_statement(sql))
