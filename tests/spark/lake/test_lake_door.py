"""Options that ask for other rows than the library would read are refused in a foreign Spark, as here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import paimark
from paimark.core.errors import Refused
from paimark.core.spark.datasource.table_options import Use, mattering_newer, require_obeyed
from paimark.core.table.definition.kind_signs import merge_engine
from paimark.core.table.definition.newer import newer_options
from tests.paimon import commit, create_table
from tests.spark.datasource.test_table_options import REFUSED, ROW, make, set_options
from tests.spark.lake.foreign_spark import ForeignSpark
from tests.spark.lake.test_later_kinds import (
    FILES,
    FORMATS,
    TYPES,
    names_a_version,
    of_format,
    of_type,
    with_files,
)
from tests.wording import about

# Those that came with a later Paimon, on a table that merges rows, or has a column `a`, by them.
NEWER = {option: {option: "true"} for option in newer_options() if "*" not in option}
# The library itself refuses what they are set to.
BY_LIBRARY = ("merge-engine", "manifest.format")
# Options of the files that are read: they change no rows.
HARMLESS = {"scan.mode": "latest-full", "type": "table", "query-auth.enabled": "false", "branch": "main"}


def is_refused(table: str, options: dict[str, str]) -> bool:
    """Whether Paimark refuses it where Paimon 1.4 is the library."""
    if any(mattering_newer(options, Use(None, merge_engine(options)))):
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
            assert about(table, f"option {option}").search(str(told)), told
        elif option not in BY_LIBRARY and isinstance(told, str):
            # What makes no valid table.
            assert not about(table, f"option {option}").search(told), told
    assert found[0] == [ROW]
    for table, told in zip([*changed, *changed], found[len(queries) :], strict=True):
        assert str(told).startswith(f"{table} "), told
    kept = json.loads((first.with_name(names["sequence.snapshot-ordering"]) / "snapshot/LATEST").read_text())
    assert kept == 1


@pytest.mark.parametrize(("name", "kind", "told"), TYPES)
def test_a_type_that_came_later_is_refused_with_its_version(
    foreign_spark: ForeignSpark, tmp_path: Path, name: str, kind: object, told: tuple[str, ...]
) -> None:
    table = of_type(tmp_path, name, kind)
    asked = (
        "SELECT p FROM lake.{}",
        "INSERT INTO lake.{} VALUES ('x', 2, NULL, 1)",
        "SELECT p FROM lake.{} VERSION AS OF 1",
    )
    *refused, read = foreign_spark.answers(tmp_path, [each.format(table) for each in asked])
    for said in refused:
        assert about(table, *told, "library").search(said) and names_a_version(said) == (name == "later")
    assert read == [{"p": "x"}]


@pytest.mark.parametrize(("option", "form", "told"), FORMATS)
def test_a_format_that_came_later_is_refused_with_its_version(
    foreign_spark: ForeignSpark, tmp_path: Path, option: str, form: str, told: tuple[str, ...]
) -> None:
    table = of_format(tmp_path, option, form)
    select, written = foreign_spark.answers(
        tmp_path, [f"SELECT p FROM lake.{table}", f"INSERT INTO lake.{table} VALUES ('x', 2, 2, 1)"]
    )
    assert about(table, f"{option} = {form}", *told, "library").search(select)
    assert about("files", f"format {form}", *told, "library").search(written)


def test_files_of_a_format_that_came_later_are_named_by_who_finds_them(
    foreign_spark: ForeignSpark, tmp_path: Path
) -> None:
    with_files(tmp_path)
    [log] = foreign_spark.answers(tmp_path, ["SELECT * FROM lake.options.`later_files$audit_log`"])
    assert FILES.search(log)


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
