"""Every way of reading agrees: Spark's own readers, Paimon's library, Python, pypaimon alone, stock Paimon.

Each table is made up from its number, which a failure shows with how the table came to be. There are 2 of
them, in `make test-long` 500; `PAIMARK_TABLES` says otherwise.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import paimark
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import LOCAL_BYTES
from paimark.core.spark.protocol import Failed
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import find_table
from paimark.core.travel.diff.diff import make_difference
from paimark.core.travel.requested_version import RequestedVersion
from tests.interop.judge import Judge
from tests.paimon import open_table
from tests.spark.engine_fixture import Answer, ask, by_library
from tests.spark.generated_tables import Column, Generated, Target, generate, types
from tests.spark.generated_tables_questions import condition, key_condition, quoted, summary
from tests.spark.generated_tables_values import Plain, comparable, plain

_MANY, _FEW = 500, 2
# West of Greenwich Python has no word for the first moments of year 1.
ZONES = ["UTC", "Australia/Sydney", "Asia/Kolkata", "+13:00"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    usual = _MANY if metafunc.config.getoption("--long") else _FEW
    metafunc.parametrize("seed", range(1, int(os.environ.get("PAIMARK_TABLES", usual)) + 1))


def test_all_readers_agree(seed: int, engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    check(seed, engine, engine_warehouse, judge)
    if seed % 5 == 0:
        _check_difference(f"generated.t{seed}", engine, engine_warehouse)


def _check_difference(table: str, engine: Engine, warehouse: Path) -> None:
    """The last commit's difference is the same with all files read, and without those that cancel out."""
    files = LocalFiles(str(warehouse))
    place = find_table(files, table)
    newest = open_table(warehouse, table).snapshot_manager().get_latest_snapshot().id
    before = RequestedVersion(None, f"snapshot.{max(1, newest - 1)}")
    sql = make_difference(files, place, before, RequestedVersion(None, f"snapshot.{newest}")).sql
    less, whole = ask(engine, sql, differing=True), ask(engine, sql)
    assert whole.finish.rows == less.finish.rows
    # Zeros of both signs, deep inside, have no order among them.
    assert sorted(map(repr, whole.rows)) == sorted(map(repr, less.rows))


def check(seed: int, engine: Engine, warehouse: Path, judge: Judge) -> None:
    """Make the table of this seed and read it in every way."""
    table = Generated(seed)
    random = Random(seed)
    try:
        generate(table, warehouse, judge)
        # Keys are merged all at once, or piece by piece.
        assert ask(engine, f"SET {LOCAL_BYTES}={random.choice([0, 1 << 30])}").finish
        # Values are compared as moments, whatever the zone.
        assert ask(engine, f"SET TIME ZONE '{random.choice(ZONES)}'").finish
        for target in table.targets:
            agree(random, table, target, engine, warehouse, judge)
    except Exception as error:
        error.add_note("\n".join([f"seed {seed}", *table.story]))
        raise
    finally:
        for setting in (LOCAL_BYTES, "spark.sql.session.timeZone"):
            assert ask(engine, f"RESET {setting}").finish


def agree(
    random: Random,
    table: Generated,
    target: Target,
    engine: Engine,
    warehouse: Path,
    judge: Judge,
    *,
    every_way: bool = True,
) -> bool:
    """Whether it was read natively. Raises `AssertionError` for rows that differ.

    The engine may read another warehouse with the same files as `warehouse`. Without `every_way` it reads in
    the way that it chooses itself: over Spark Connect nobody else can.
    """
    rows = alive(target, judge.rows(warehouse, target.table, snapshot=target.snapshot))
    whole, *rest = _questions(random, table, target, rows)
    questions = [whole, *random.sample(rest, 3), _aggregate(table, target, rows)]
    faults = [_differ("pypaimon", _pypaimon_rows(warehouse, target), whole.rows)]
    answers = [judge_question(engine, each) for each in questions]
    if every_way:
        # What Spark's own readers don't read, the library has read.
        with by_library(engine):
            answers += [judge_question(engine, each) for each in questions if answers[0].is_native]
        faults.append(_fault_of_python(warehouse, target, whole.rows))
    found = [fault for fault in [*faults, *(answer.fault for answer in answers)] if fault]
    assert not found, "\n".join([f"{target.table}:", *found])
    return answers[0].is_native


@dataclass(frozen=True)
class Question:
    """A statement, and the rows it must have; with `at_most`, so many of them, whichever."""

    sql: str
    columns: tuple[Column, ...]
    rows: Counter[str]
    at_most: int | None = None


def _aggregate(table: Generated, target: Target, rows: list[list[Plain]]) -> Question:
    asked = summary(Random(f"aggregate of {table.seed}"), target.columns, rows)
    sql = f"SELECT {asked.selected} FROM {_named(target)} WHERE {asked.condition.sql}"
    return Question(sql, asked.columns, Counter([comparable(asked.row, types(asked.columns))]))


def _named(target: Target) -> str:
    at = f" VERSION AS OF {target.snapshot}" if target.snapshot else ""
    return f"{_quoted(target.table)}{at}"


def _questions(random: Random, table: Generated, target: Target, rows: list[list[Plain]]) -> list[Question]:
    columns, kinds, name = target.columns, types(target.columns), _named(target)
    texts = [comparable(row, kinds) for row in rows]
    asked = [Question(f"SELECT * FROM {name}", columns, Counter(texts))]
    number = (Column("n", pa.int64()),)
    asked.append(Question(f"SELECT count(*) AS n FROM {name}", number, Counter([f"[{len(rows)}]"])))
    limit = random.choice([1, 3, 10])
    asked.append(Question(f"SELECT * FROM {name} LIMIT {limit}", columns, Counter(texts), limit))
    conditions = [condition(random, columns, rows) for _ in range(2)]
    if table.key and rows:
        conditions.append(key_condition(columns, table.key, random.choice(rows)))
    for each in conditions:
        held = [row for row in rows if each.holds(row) is True]
        chosen = random.sample(range(len(columns)), random.randint(1, len(columns)))
        some = tuple(columns[place] for place in chosen)
        told = Counter(comparable([row[place] for place in chosen], types(some)) for row in held)
        words = ", ".join(quoted(column.name) for column in some)
        asked.append(Question(f"SELECT {words} FROM {name} WHERE {each.sql}", some, told))
    sql = f"SELECT count(*) AS n FROM {name} WHERE {conditions[0].sql}"
    held = [row for row in rows if conditions[0].holds(row) is True]
    asked.append(Question(sql, number, Counter([f"[{len(held)}]"])))
    return asked


@dataclass(frozen=True)
class Verdict:
    """`fault` is empty where the answer is right."""

    is_native: bool
    fault: str


def judge_question(engine: Engine, question: Question) -> Verdict:
    answer = ask(engine, question.sql)
    how = "".join(reading.scan for reading in answer.readings)
    return Verdict(how == "native", _fault(answer, question, f"{how}: {question.sql}"))


def _fault(answer: Answer, question: Question, what: str) -> str:
    if isinstance(answer.end, Failed):
        return f"{what}\n  fails: {answer.end.message}"
    kinds = types(question.columns)
    padded = [place for place, each in enumerate(question.columns) if each.word.startswith("CHAR")]
    rows = [[plain(row[each.name], each.type) for each in question.columns] for row in answer.rows]
    found = Counter(comparable(row, kinds) for row in without_blanks(rows, padded))
    known = [*map(json.loads, question.rows.elements())]
    expected = Counter(map(json.dumps, without_blanks(known, padded))) if padded else question.rows
    if question.at_most is None:
        return _differ(what, found, expected)
    most = min(question.at_most, expected.total())
    if found.total() == most and found <= expected:
        return ""
    return f"{what}\n  {found.total()} rows, and wrong are {list(found - expected)[:3]}"


def _pypaimon_rows(warehouse: Path, target: Target) -> Counter[str]:
    """A known fault of pypaimon: it leaves the spaces that ORC fills CHAR up with."""
    table = open_table(warehouse, target.table)
    is_orc = table.table_schema.options.get("file.format") == "orc"
    filled = [place for place, each in enumerate(target.columns) if is_orc and each.word.startswith("CHAR")]
    if target.snapshot is not None:
        table = table.copy({"scan.snapshot-id": str(target.snapshot)})
    builder = table.new_read_builder()
    found = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    kinds = types(target.columns)
    rows = [[plain(row[each.name], each.type) for each in target.columns] for row in found]
    return Counter(comparable(row, kinds) for row in alive(target, without_blanks(rows, filled)))


def _fault_of_python(warehouse: Path, target: Target, expected: Counter[str]) -> str:
    """What `to_arrow` reads otherwise. It refuses by name what it would not read as it is."""
    version = None if target.snapshot is None else f"snapshot.{target.snapshot}"
    name, _, branch = target.table.partition("$branch_")
    try:
        table = paimark.open(str(warehouse)).table(name)
        found = table.at(version, branch=branch or None).to_arrow().to_pylist()
    except paimark.Refused as refused:
        return "" if "Python" in refused.message else f"Python refuses: {refused.message}"
    rows = [[plain(row[each.name], each.type) for each in target.columns] for row in found]
    return _differ("Python", Counter(comparable(row, types(target.columns)) for row in rows), expected)


def without_blanks(rows: list[list[Plain]], places: list[int]) -> list[list[Plain]]:
    """Rows without the blanks at the end of a CHAR, with which Spark fills it up."""
    for row, place in product(rows, places):
        text = row[place]
        row[place] = text.rstrip(" ") if isinstance(text, str) else text
    return rows


def alive(target: Target, rows: list[list[Plain]]) -> list[list[Plain]]:
    """Rows without those that delete, by the column that says so.

    A known fault of pypaimon: it counts no deletes in the files it writes. Where such a file overlaps no
    other, pypaimon and stock Paimon take its word and show them as rows.
    """
    kinds = [place for place, each in enumerate(target.columns) if each.role == "rowkind"]
    return [row for row in rows if not any(row[place] in ("-D", "-U") for place in kinds)]


def _differ(what: str, found: Counter[str], expected: Counter[str]) -> str:
    """Empty for equal rows; a few that differ."""
    if found == expected:
        return ""
    more, less = list((found - expected).elements()), list((expected - found).elements())
    return f"{what}\n  {len(more)} rows too many {more[:3]}, {len(less)} missing {less[:3]}"


def _quoted(table: str) -> str:
    database, name = table.split(".")
    return f"`{database}`.`{name}`"
