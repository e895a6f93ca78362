"""Options that ask for other rows than the library would read are refused in a foreign Spark, as here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa

import paimark
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from paimark.core.spark.datasource.table_options import RULES, Use, newer_options, require_obeyed
from paimark.core.table.definition.kind_signs import merge_engine
from tests.paimon import commit, create_table
from tests.spark.datasource.test_table_options import REFUSED, ROW, make, set_options
from tests.spark.engine_fixture import ask
from tests.spark.lake.foreign_spark import ForeignSpark

# Those that came with a later Paimon, on a table that merges rows, or has a column `a`, by them.
NEWER = {option: {option: "true"} for rule in RULES if rule.since and "*" not in (option := rule.option)}
# The library itself refuses what they are set to.
BY_LIBRARY = ("merge-engine", "manifest.format")
# Options of the files that are read: they change no rows.
HARMLESS = {"scan.mode": "latest-full", "type": "table", "query-auth.enabled": "false", "branch": "main"}


def is_refused(table: str, options: dict[str, str]) -> bool:
    """Whether Paimark refuses it where Paimon 1.4 is the library."""
    if any(newer_options(options, Use(None, merge_engine(options)))):
        return True
    try:
        require_obeyed(table, options, None, "table", by_library=True)
    except Refused:
        return True
    return False


def test_the_same_options_are_refused(foreign_spark: ForeignSpark, tmp_path: Path) -> None:
    """It would read the rows otherwise, without a word."""
    first = tmp_path / "options.db" / make(tmp_path, "plain", {}, [ROW]).partition(".")[2]
    cases = {"harmless": HARMLESS, **NEWER, **REFUSED}
    names = {option: option.replace(".", "_").replace("-", "_") for option in cases}
    for option, name in names.items():
        shutil.copytree(first, first.with_name(name))
        set_options(tmp_path, f"options.{name}", cases[option])
    queries = [f"SELECT * FROM lake.options.{name}" for name in names.values()]
    changed = [f"options.{names[option]}" for option in NEWER]
    changes = [f"UPDATE lake.{table} SET a = 2" for table in changed]
    logs = [f"SELECT * FROM lake.options.`{names[option]}$audit_log`" for option in NEWER]
    found = foreign_spark.answers(tmp_path, [*queries, *changes, *logs])
    for option, told in zip(cases, found, strict=False):
        table = f"options.{names[option]}"
        if is_refused(table, cases[option]) and option not in BY_LIBRARY:
            assert str(told).startswith(f"{table} has the option {option}"), told
        elif option not in BY_LIBRARY and isinstance(told, str):
            # What makes no valid table.
            assert "has the option" not in told, told
    assert found[0] == [ROW]
    for table, told in zip([*changed, *changed], found[len(queries) :], strict=True):
        assert str(told).startswith(f"{table} "), told
    kept = json.loads((first.with_name(names["sequence.snapshot-ordering"]) / "snapshot/LATEST").read_text())
    assert kept == 1


def test_types_and_formats_that_came_later_are_refused_by_name(
    foreign_spark: ForeignSpark, engine: Engine, engine_warehouse: Path
) -> None:
    typed = make(engine_warehouse, "later_type", {}, [ROW])
    stored = make(engine_warehouse, "later_format", {"file.format": "avro", "bucket": "1"}, [ROW, ROW])
    schema = engine_warehouse / "options.db/later_type/schema/schema-0"
    schema.write_text(schema.read_text().replace('"INT"', '"QUATERNION(4)"', 1))
    assert "QUATERNION" in schema.read_text()
    set_options(engine_warehouse, stored, {"file.format": "later", "merge-engine": "partial-update"})
    failure = ask(engine, f"SELECT p FROM {typed}").failure
    assert failure.message == "A column has the type QUATERNION, which is not known here"
    failure = ask(engine, f"SELECT p FROM {stored}").failure
    assert failure.message == (
        f"{stored} has the option file.format = later, which Paimon's library here does not know"
    )
    queries = [f"SELECT p FROM lake.{table}" for table in (typed, stored)]
    of_type, of_format = foreign_spark.answers(engine_warehouse, queries)
    assert of_type.startswith(f"Paimon's library here does not know a type of {typed}: ")
    assert of_format.startswith(failure.message)


DAYS = pa.schema([("day", pa.string()), ("n", pa.int32())])


def test_rows_of_a_fallback_branch_are_mains_by_its_plain_name(
    foreign_spark: ForeignSpark, tmp_path: Path
) -> None:
    create_table(tmp_path, "shop.days", DAYS, partition_keys=["day"])
    commit(tmp_path, "shop.days", pa.table({"day": ["a"], "n": [1]}, schema=DAYS))
    days = paimark.open(tmp_path).table("shop.days")
    days.create_tag(name="first", snapshot=1)
    for name, day in (("second", "b"), ("fix", "c")):
        days.create_branch(name=name, tag="first")
        commit(tmp_path, f"shop.days$branch_{name}", pa.table({"day": [day], "n": [2]}, schema=DAYS))
    for branch in ("", "branch/branch-fix"):
        set_options(tmp_path, "shop.days", {"scan.fallback-branch": "second"}, branch)
    select = "SELECT day FROM lake.shop.`{}` ORDER BY 1"
    names = ("days", "days$branch_main", "days$branch_fix", "days$branch_second")
    queries = [select.format(name) for name in names]
    before = [[row["day"] for row in rows] for rows in foreign_spark.answers(tmp_path, queries)]
    days.replace_main_branch(name="fix")
    after = [[row["day"] for row in rows] for rows in foreign_spark.answers(tmp_path, queries)]
    assert before == [["a", "b"], ["a"], ["a", "b", "c"], ["a", "b"]]
    assert after == [["a", "b", "c"], ["a", "c"], ["a", "b", "c"], ["a", "b"]]
