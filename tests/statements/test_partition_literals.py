"""What a plan makes of `PARTITION (p = ...)`: the value that Spark writes, or a refusal."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import Refused
from paimark.core.statements.insert import action_of_insert, printed
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.layout import TablePath
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.statements.inserts import read_insert
from tests.actions.acting import context_on
from tests.paimon import commit, create_table


def value_of(literal: str, kind: str) -> str | None:
    insert = read_insert(read_statement(f"INSERT OVERWRITE t PARTITION (p = {literal}) SELECT 1"))
    return printed(insert.static[0], ColumnType.of(kind))


@pytest.mark.parametrize(
    ("literal", "kind", "value"),
    [
        ("007", "INT", "7"),
        ("-0", "INT", "0"),
        ("7L", "BIGINT", "7"),
        ("' 7 '", "INT", "7"),
        ("7.0", "INT NOT NULL", "7"),
        ("1.5", "DECIMAL(5, 2)", "1.50"),
        ("'1.5'", "DECIMAL(5, 2)", "1.50"),
        ("TRUE", "BOOLEAN", "true"),
        ("'No'", "BOOLEAN", "false"),
        ("'2026-5-1'", "DATE", "2026-05-01"),
        ("DATE '2026-05-01'", "DATE", "2026-05-01"),
        ("'2026'", "DATE", "2026-01-01"),
        ("'2026-05-01'", "TIMESTAMP(3)", "2026-05-01 00:00:00.000"),
        ("TIMESTAMP '2026-05-01 12:00:00.5'", "TIMESTAMP(6)", "2026-05-01 12:00:00.500000"),
        ("'2026-5-1'", "STRING", "2026-5-1"),
        ("DATE '2026-5-1'", "VARCHAR(10)", "2026-05-01"),
        ("007", "STRING", "7"),
        ("true", "STRING", "true"),
        ("' x'", "STRING", " x"),
        ("''", "STRING", ""),
        ("NULL", "INT", None),
    ],
)
def test_a_literal_is_the_value_that_is_written(literal: str, kind: str, value: str | None) -> None:
    assert value_of(literal, kind) == value


@pytest.mark.parametrize(
    ("literal", "kind"),
    [
        ("'x'", "INT"),
        ("7.5", "INT"),
        ("TRUE", "INT"),
        ("1.555", "DECIMAL(5, 2)"),
        ("1", "BOOLEAN"),
        ("'maybe'", "BOOLEAN"),
        ("'noon'", "DATE"),
        ("5", "DATE"),
        ("TIMESTAMP '2026-05-01 12:00:00'", "DATE"),
        ("'12:00'", "TIMESTAMP(3)"),
        ("'2026-05-01 12:00:00+02:00'", "TIMESTAMP(3)"),
        ("1.5", "STRING"),
        ("TIMESTAMP '2026-05-01 12:00:00'", "STRING"),
        ("'12:00:00'", "TIME(0)"),
    ],
)
def test_one_that_is_not_known_for_sure_is_refused(literal: str, kind: str) -> None:
    with pytest.raises(Refused, match=r"partition p = "):
        value_of(literal, kind)


SCHEMA = pa.schema(
    [
        ("number", pa.int32()),
        ("day", pa.date32()),
        ("money", pa.decimal128(5, 2)),
        ("hour", pa.timestamp("ms")),
        ("flag", pa.bool_()),
        ("text", pa.string()),
        ("id", pa.int64()),
    ]
)
PARTITION = {
    "number": 7,
    "day": date(2026, 5, 1),
    "money": Decimal("1.50"),
    "hour": datetime(2026, 5, 1, 12),
    "flag": True,
    "text": "",
}


@pytest.mark.parametrize(
    ("partition", "files", "said"),
    [
        ("NUMBER = 007, day = '2026-5-1'", 1, "number = 7, day = 2026-05-01"),
        ("money = 1.5, hour = '2026-05-01 12:00'", 1, "hour = 2026-05-01 12:00:00.000"),
        ("flag = TRUE, text = ''", 1, "flag = true, text = ''"),
        ("text = NULL", 1, "text = NULL"),
        ("number = 8", 0, "number = 8"),
    ],
)
def test_the_plan_of_an_overwrite_counts_what_goes(
    tmp_path: Path, partition: str, files: int, said: str
) -> None:
    create_table(tmp_path, "shop.t", SCHEMA, partition_keys=SCHEMA.names[:-1])
    rows = [PARTITION | {"id": 1}, dict.fromkeys(SCHEMA.names) | {"id": 2}]
    commit(tmp_path, "shop.t", pa.Table.from_pylist(rows, schema=SCHEMA))
    sql = f"INSERT OVERWRITE shop.t PARTITION ({partition}) SELECT 1"
    plan = action_of_insert(read_statement(sql))[1].plan(context_on(tmp_path), TablePath("shop", "t"), {})
    assert plan.refusals == ()
    assert said in plan.headline
    assert plan.steps[0].detail.startswith(f"{files} file")
    assert [each.count for each in plan.items if each.code == "rows-replaced"] == [1] * files
    assert plan.ask.kind == ("type" if files else "none")
