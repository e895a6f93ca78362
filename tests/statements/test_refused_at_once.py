"""What no Spark is needed for is refused before one starts, in the console as in the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed
from paimark.core.statements.run import context_for, run_statement
from tests.wording import about


@pytest.fixture
def stopped(warehouse: Path, tmp_path: Path) -> Iterator[Engine]:
    """An engine that no statement has started."""
    with closing(Engine(Settings(str(warehouse)), tmp_path / "engine.log")) as engine:
        yield engine


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DESCRIBE ^EXTENDED shop.orders", "DESCRIBE EXTENDED"),
        ("SELECT ^java_method('java.lang.System', 'exit', 0)", "java_method exit"),
        ("SELECT * FROM shop.orders WHERE price > ^?", "? parameter"),
        ("INSERT INTO shop.orders SELECT ^?", "? parameter"),
        ("EXPLAIN ^DELETE FROM shop.orders", "EXPLAIN DELETE query"),
        ("SET ^spark.paimark.scann", "setting spark.paimark.scann"),
        ("SET ^spark.paimark.scan = nativ", "spark.paimark.scan auto library nativ"),
    ],
)
def test_no_engine_starts_for_a_refusal(stopped: Engine, sql: str, message: str) -> None:
    [end] = run_statement(context_for(stopped), sql.replace("^", ""))
    assert isinstance(end, Failed) and end.cause == "statement"
    assert about(*message.split()).search(end.message)
    assert stopped.state == "stopped"
    assert end.position == sql.index("^")
