"""The night of the prices: all statements on one table, from its making to its drop and back."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from tests.interop.judge import Judge
from tests.spark.engine_fixture import rows
from tests.wording import about

_MADE = """
CREATE TABLE night.prices (
  id INT NOT NULL, name STRING, price DECIMAL(8, 2), price_at INT, stock INT, stock_at INT
) TBLPROPERTIES (
  'primary-key' = 'id', 'merge-engine' = 'partial-update', 'bucket' = '1',
  'fields.price_at.sequence-group' = 'price', 'fields.stock_at.sequence-group' = 'stock')
"""
_FILLED = (
    "INSERT INTO night.prices VALUES (1, 'apple', 1.50, 1, 10, 1), (2, 'pear', 2.00, 1, 20, 1)",
    "INSERT INTO night.prices (id, stock, stock_at) VALUES (1, 9, 2)",
)
_WRONG = "INSERT INTO night.prices (id, price, price_at) SELECT id, price * 100, 2 FROM night.prices"
_FIX = "night.`prices$branch_fix`"


def end(engine: Engine, sql: str) -> Finished | Failed:
    *_, last = run_statement(context_for(engine), sql, call=CallMode(lambda action, plan: None))
    assert isinstance(last, Finished | Failed)
    return last


def done(engine: Engine, *statements: str) -> str:
    message = ""
    for sql in statements:
        last = end(engine, sql)
        assert isinstance(last, Finished), (sql, last)
        message = last.message
    return message


def prices(engine: Engine, table: str = "night.prices") -> dict[int, tuple[str, float, int]]:
    found = rows(engine, f"SELECT id, name, price, stock FROM {table}")
    return {row["id"]: (row["name"], float(row["price"]), row["stock"]) for row in found}


@pytest.mark.long
def test_prices_are_repaired_on_a_branch(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    (engine_warehouse / "night.db").mkdir()
    done(engine, _MADE, *_FILLED)
    right = prices(engine)
    assert right == {1: ("apple", 1.5, 9), 2: ("pear", 2.0, 20)}
    done(engine, _WRONG)
    wrong = {key: (name, price * 100, stock) for key, (name, price, stock) in right.items()}
    assert prices(engine) == wrong
    done(
        engine,
        "CALL sys.create_savepoint(table => 'night.prices')",
        "CALL sys.create_branch(table => 'night.prices', name => 'fix', tag => 'savepoint.1')",
    )
    # What the table would not keep is said, and nothing changes.
    for sql, words in {
        f"UPDATE {_FIX} SET price = price / 100, price_at = 1": "row older sequence group",
        f"UPDATE {_FIX} SET price = price / 100000": "hold 0.001500*",
        f"DELETE FROM {_FIX} WHERE id = 2": "partial-update.remove-record-on-delete",
    }.items():
        refused = end(engine, sql)
        assert isinstance(refused, Failed) and about(*words.split()).search(
            f"{refused.message}. {refused.hint}"
        ), refused
    assert prices(engine, _FIX) == wrong
    assert "2 rows updated" in done(engine, f"UPDATE {_FIX} SET price = price / 100, price_at = 3")
    assert prices(engine, _FIX) == right and prices(engine) == wrong
    assert "became 1" in done(
        engine, "CALL sys.compact(table => 'night.prices', branch => 'fix', full => true)"
    )
    done(engine, "CALL sys.replace_main_branch(table => 'night.prices', name => 'fix')")
    assert prices(engine) == right
    done(engine, "CALL sys.undo(table => 'night.prices')")
    assert prices(engine) == wrong
    done(engine, "CALL sys.redo(table => 'night.prices')", "DROP TABLE night.prices")
    gone = end(engine, "SELECT * FROM night.prices")
    assert isinstance(gone, Failed) and "paimark undrop night.prices" in gone.hint
    done(engine, "UNDROP TABLE night.prices")
    assert prices(engine) == right
    assert prices(engine, "night.prices VERSION AS OF 'savepoint.1'") == wrong
    stock = judge.read(engine_warehouse, "night.prices$branch_fix")
    assert {row["id"]: Decimal(row["price"]) for row in stock} == {1: Decimal("1.50"), 2: Decimal("2.00")}
