"""Kinds of tables, and statements that are refused, in the catalog of a Spark that Paimark did not start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import paimark
from tests.interop.judge import Judge
from tests.paimon import create_table
from tests.spark.lake.foreign_spark import ForeignSpark
from tests.spark.lake.test_lake_catalog import SCHEMA
from tests.wording import about

_PAIR = pa.struct([("a", pa.int32()), ("b", pa.int32())])
_NESTED = pa.schema([pa.field("k", pa.int32(), nullable=False), ("pair", _PAIR), ("pairs", pa.list_(_PAIR))])
_ROWS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32()), ("p", pa.string())])
_MERGE = (
    "MERGE INTO {t} t USING (SELECT * FROM VALUES (3, 30, 'x'), (4, 40, 'd') AS x(k, v, p)) s ON t.k = s.k "
    "WHEN NOT MATCHED THEN INSERT *"
)
# What is done to a table of each kind; its rows then.
KINDS: dict[str, tuple[dict[str, str], str, list[str], list[str], list[str]]] = {
    "crossing": (
        {"bucket": "-1"},
        "p",
        ["k"],
        [
            "UPDATE {t} SET p = 'z' WHERE k = 2",
            "INSERT OVERWRITE {t} PARTITION (p = 'c') SELECT 9, 9",
            "DELETE FROM {t} WHERE p = 'a'",
        ],
        ["2 2 z", "9 9 c"],
    ),
    "marked": (
        {"deletion-vectors.enabled": "true"},
        "",
        [],
        ["UPDATE {t} SET v = v + 10 WHERE k = 2", "DELETE FROM {t} WHERE k = 3"],
        ["1 1 a", "2 12 b"],
    ),
    "partial": (
        {"bucket": "1", "merge-engine": "partial-update"},
        "",
        ["k"],
        ["UPDATE {t} SET v = v + 10 WHERE k = 2", "!DELETE FROM {t}", "!UPDATE {t} SET v = NULL WHERE k = 1"],
        ["1 1 a", "2 12 b", "3 3 c"],
    ),
    "postponed": (
        {"bucket": "-2"},
        "",
        ["k"],
        [
            _MERGE,
            "DELETE FROM {t} WHERE v < 3",
        ],
        ["3 3 c", "4 40 d"],
    ),
    "first": ({"bucket": "1", "merge-engine": "first-row"}, "", ["k"], ["!UPDATE {t} SET v = 1"], []),
}
# The others differ less from this one.
OFTEN = ("crossing",)


def test_kinds_of_tables(foreign_spark: ForeignSpark, tmp_path: Path, judge: Judge, is_long: bool) -> None:
    kinds = {name: kind for name, kind in KINDS.items() if is_long or name in OFTEN}
    create_table(tmp_path, "shop.nested", _NESTED, primary_keys=["k"], options={"bucket": "1"})
    statements = [
        "INSERT INTO lake.shop.nested SELECT id, named_struct('a', id, 'b', id + 1), "
        "array(named_struct('a', 5, 'b', 6)) FROM range(1, 4)",
        "UPDATE lake.shop.nested SET pair.a = 7 WHERE pair.b = 3",
        "DELETE FROM lake.shop.nested WHERE pair.b = 4",
        "SELECT pair.b, pairs.b AS many FROM lake.shop.nested WHERE pair.b > 2",
    ]
    for name, (options, partition, keys, changes, _) in kinds.items():
        create_table(
            tmp_path,
            f"shop.{name}",
            _ROWS,
            primary_keys=keys,
            partition_keys=[partition] if partition else [],
            options=options,
        )
        table = f"lake.shop.{name}"
        statements.append(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')")
        statements += [each.replace("{t}", table) for each in changes]
    found = foreign_spark.answers(tmp_path, [each.removeprefix("!") for each in statements])
    for statement, told in zip(statements, found, strict=True):
        assert isinstance(told, str) == statement.startswith("!"), (statement, told)
    assert found[3] == [{"b": 3, "many": [6]}]
    nested = sorted(judge.rows(tmp_path, "shop.nested"))
    assert nested == [[1, [1, 2], [[5, 6]]], [2, [7, 3], [[5, 6]]]]
    for name, (*_, rows) in kinds.items():
        if rows:
            read = sorted(judge.rows(tmp_path, f"shop.{name}"))
            assert [" ".join(map(str, row)) for row in read] == rows, name


def test_what_is_not_obeyed_is_refused(foreign_spark: ForeignSpark, tmp_path: Path) -> None:
    create_table(tmp_path, "shop.k", SCHEMA, primary_keys=["id"], options={"bucket": "1"})
    create_table(tmp_path, "shop.two", _ROWS, partition_keys=["p"])
    place = paimark.open(tmp_path).spark_settings("lake")["spark.sql.catalog.lake.warehouse"]
    catalogs = {
        "maybe": ("read-only", "yes"),
        "none": ("python", "/bin/false"),
        "other": ("python", "/no/python"),
    }
    dying = tmp_path / "dying"
    dying.write_text(f'#!/bin/sh\ncase "$*" in *commit*) exit 9;; esac\nexec {sys.executable} "$@"\n')
    dying.chmod(0o755)
    catalogs["dying"] = ("python", str(dying))
    given = []
    for name, (option, value) in catalogs.items():
        settings = {"": "paimark.library.LakeCatalog", ".warehouse": place, f".{option}": value}
        given += [f"SET `spark.sql.catalog.{name}{key}` = `{each}`" for key, each in settings.items()]
    two = "MERGE INTO lake.shop.k t USING (SELECT * FROM VALUES (8, 1), (8, 2) AS x(id, price)) s ON {} "
    only = "WHEN NOT MATCHED THEN INSERT *"
    steps: list[tuple[str, str | None]] = [
        *((each, None) for each in given),
        ("INSERT INTO maybe.shop.k VALUES (1, 1)", "read-only true false yes"),
        ("INSERT INTO none.shop.k VALUES (1, 1)", "Python not start /bin/false"),
        ("DELETE FROM other.shop.k", "Python not start"),
        ("INSERT INTO dying.shop.k VALUES (1, 1)", "committed `paimark operations`"),
        ("INSERT INTO lake.shop.k VALUES (1, 1), (2, 2)", None),
        ("APPEND lake.shop.k branch main", "no option branch"),
        ("APPEND lake.shop.k change delete", "no option change"),
        ("APPEND lake.shop.k message why", None),
        ("UPDATE lake.shop.k SET id = 9 WHERE id = 1", "primary key updated id = 1"),
        (two.format("t.id = s.id") + only, "two rows key id = 8"),
        (two.format("false") + only, "two rows key"),
        # Others commit a row that it has not read.
        ("INSERT OVERWRITE lake.shop.k SELECT id, others(7) FROM lake.shop.k", "moved rows written"),
        ("EXPLAIN " + two.format("t.id = s.id") + only, None),
        ("CREATE TABLE lake.shop.mine (id INT)", "catalog rows"),
    ]
    found = foreign_spark.answers(tmp_path, [statement for statement, _ in steps])
    for (statement, words), told in zip(steps, found, strict=True):
        assert isinstance(told, str) == (words is not None), (statement, told)
        assert about(*(words or "").split()).search(str(told)), (statement, told)
    k = paimark.open(tmp_path).table("shop.k")
    rows: list[dict[str, Any]] = k.at().to_arrow().to_pylist()
    assert {row["id"]: row["price"] for row in rows} == {1: 1.0, 2: 2.0, 7: 0.5}
    assert [each.action for each in k.operations()] == ["write", "write"]
