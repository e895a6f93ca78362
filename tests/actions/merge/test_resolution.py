"""A merge in which a person chose for each key in conflict: against a model, and what is refused by name."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.merge import conflict_file, resolution
from paimark.core.actions.merge.conflict_file import write_conflicts
from paimark.core.actions.merge.resolution import read_resolution
from paimark.core.actions.registry import conflicting
from paimark.core.errors import NotFound, PaimarkError, Refused, UsageError
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from tests.actions.acting import applied, context_on, done, item, planned
from tests.paimon import commit, create_table, open_table, read_rows
from tests.table.branches import create_branch
from tests.wording import about

TABLE = TablePath("chosen", "t")
NOON = datetime(2026, 3, 29, 2, 30, 0, 123456)
ROWS = pa.schema(
    [
        pa.field("part", pa.int32(), nullable=False),
        pa.field("amount", pa.decimal128(38, 10), nullable=False),
        pa.field("at", pa.timestamp("us"), nullable=False),
        pa.field("a", pa.string()),
        pa.field("b", pa.decimal128(20, 2)),
        pa.field("kind", pa.string()),
    ]
)


class Row(NamedTuple):
    a: str | None
    b: Decimal | None


TWO, ONE = Decimal("2.00"), Decimal("1.00")
# Base, branch and main of a key; None for no row. Every way in which a cell can differ is among them.
BASES = (Row("x", None), None)
BRANCHES = (Row("x", None), None, Row("b", None), Row("b", ONE), Row(None, ONE))
MAINS = (None, Row("m", None), Row("m", TWO), Row("x", TWO), Row("b", TWO), Row("x", None))
CASES = [*itertools.product(BASES, BRANCHES, MAINS)]


def key_of(number: int) -> tuple[int, Decimal, datetime]:
    # More digits than a float, or Python's own decimals, hold.
    return (
        number % 3,
        Decimal(f"1234567890123456789012345{number:03}.0123456789"),
        NOON + timedelta(microseconds=number),
    )


def is_conflict(base: Row | None, branch: Row | None, main: Row | None) -> bool:
    return branch != base and main != base and branch != main


def cells_in_conflict(base: Row | None, branch: Row | None, main: Row | None) -> list[str]:
    """Those that both sides changed, to different values."""
    if branch is None or main is None:
        return []
    rows = zip(Row._fields, base or (..., ...), branch, main, strict=True)
    return [name for name, was, theirs, mine in rows if theirs != was and mine != was and theirs != mine]


def choices(case: tuple[Row | None, ...], number: int) -> str | dict[str, str]:
    """A word for the whole row, or one a cell in conflict, by turns."""
    base, branch, main = case
    turn = itertools.cycle(("main", "branch", *(["base"] if base else [])))
    words = [*itertools.islice(turn, number, number + 2)]
    if branch is None or main is None or number % 4 == 0:
        return ("main", "branch", "base")[number % 3]
    return dict(zip(cells_in_conflict(*case), words, strict=False))


def settled(case: tuple[Row | None, ...], chosen: str | dict[str, str]) -> Row | None:
    base, branch, main = case
    rows = {"main": main, "branch": branch, "base": base}
    if isinstance(chosen, str):
        return rows[chosen]
    assert branch is not None and main is not None
    cells: dict[str, Any] = {}
    for name in Row._fields:
        was, theirs, mine = (getattr(each, name, ...) for each in (base, branch, main))
        cells[name] = theirs if theirs != was and mine == was else mine
        if name in chosen:
            cells[name] = getattr(rows[chosen[name]], name)
    return Row(**cells)


def rows_of(side: int) -> pa.Table:
    """What a side commits: 0 the base, 1 the branch's changes of it, 2 main's."""
    made = []
    for number, case in enumerate(CASES):
        if side and case[side] == case[0]:
            continue
        row = case[side]
        if side == 0 and row is None:
            continue
        part, amount, at = key_of(number)
        values = {"a": None, "b": None} if row is None else row._asdict()
        kind = "-D" if row is None else "+I"
        made.append({"part": part, "amount": amount, "at": at, **values, "kind": kind})
    return pa.Table.from_pylist(made, schema=ROWS)


@pytest.fixture(scope="session")
def table(engine_warehouse: Path) -> TablePath:
    """Partitioned, with a key of a number, a decimal and a time, and a branch `fix`."""
    name, keys = TABLE.full_name, ["part", "amount", "at"]
    options = {"bucket": "1", "rowkind.field": "kind"}
    create_table(engine_warehouse, name, ROWS, primary_keys=keys, partition_keys=["part"], options=options)
    commit(engine_warehouse, name, rows_of(0))
    open_table(engine_warehouse, name).create_tag("start", 1)
    create_branch(engine_warehouse, name, "fix", "start")
    commit(engine_warehouse, f"{name}$branch_fix", rows_of(1))
    commit(engine_warehouse, name, rows_of(2))
    return TABLE


@pytest.fixture(scope="module")
def context(engine: Engine, engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Context:
    audit = tmp_path_factory.mktemp("chosen") / "audit"
    return replace(context_on(engine_warehouse), audit_path=audit, engine=lambda: engine)


Lines = list[dict[str, Any]]


def write_lines(path: Path, lines: Lines) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def between(context: Context) -> resolution.Between:
    return conflicting("merge-branch", context, TABLE, {"name": "fix"})


def read(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def conflicts(context: Context, table: TablePath, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """The file of all conflicts as it is written, nothing chosen yet."""
    path = tmp_path_factory.mktemp("conflicts") / "all.jsonl"
    expected = sum(is_conflict(*case) for case in CASES)
    assert write_conflicts(context, between(context), str(path), lambda line: None) == (expected, 0)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Refused, match=about(path, "exists")):
        write_conflicts(context, between(context), str(path), lambda line: None)
    return read(path)


def chosen_lines(conflicts: Lines) -> Lines:
    """With a choice for each key, as `choices` has it."""
    header, *keys, end = conflicts
    numbers = [int(line["key"]["amount"].partition(".")[0][-3:]) for line in keys]
    chosen = [choices(CASES[number], number) for number in numbers]
    return [
        header,
        *({**line, "choose": choose} for line, choose in zip(keys, chosen, strict=True)),
        end,
    ]


def test_a_file_holds_every_conflict_exactly(conflicts: Lines) -> None:
    header, *lines, end = conflicts
    assert [*header["columns"]] == ROWS.names
    assert (header["table"], header["branch"], header["keys"]) == (
        "chosen.t",
        "fix",
        ["part", "amount", "at"],
    )
    assert [header[side]["id"] for side in ("base", "main", "head")] == [1, 2, 2]
    assert end == {"end": len(lines)}
    by_key = {(line["key"]["part"], line["key"]["amount"], line["key"]["at"]): line for line in lines}
    for number, case in enumerate(CASES):
        if not is_conflict(*case):
            continue
        part, amount, at = key_of(number)
        line = by_key.pop((part, str(amount), at.isoformat()))
        rows = [
            None if (row := line[side]) is None else Row(row["a"], row["b"])
            for side in ("base", "branch", "main")
        ]
        texts = [None if row is None else Row(row.a, None if row.b is None else str(row.b)) for row in case]  # type: ignore[arg-type]
        assert rows == texts
        assert line.get("both", []) == cells_in_conflict(*case)
        assert line["choose"] == ""
    assert by_key == {}


def test_what_a_side_changed_alone_comes_and_what_both_changed_is_chosen(
    context: Context, engine_warehouse: Path, table: TablePath, conflicts: Lines, tmp_path: Path
) -> None:
    def state() -> dict[tuple[object, ...], Row]:
        rows = read_rows(engine_warehouse, table.full_name)
        return {
            (row["part"], row["amount"], row["at"]): Row(row["a"], row["b"])
            for row in rows
            if row["kind"] != "-D"
        }

    path = write_lines(tmp_path / "chosen.jsonl", chosen_lines(conflicts))
    before, expected = state(), {}
    for number, case in enumerate(CASES):
        base, branch, main = case
        row = main if branch == base else branch
        if is_conflict(*case):
            row = settled(case, choices(case, number))
        if row is not None:
            expected[key_of(number)] = row
    plan = planned(context, "merge-branch", table=table, name="fix", resolve=str(path))
    assert plan.refusals == ()
    said = str(plan.arguments["resolved"])
    assert said.endswith("column by column") and "as in branch fix" in said
    assert item(plan, "rows-replaced").text.endswith(said.removeprefix("Keys in conflict: "))
    assert said in applied(context, plan).message
    assert state() == expected
    done(context, "undo", table=table)
    assert state() == before
    done(context, "redo", table=table)
    assert state() == expected
    done(context, "undo", table=table)
    write_lines(path, [{**line, "choose": "main"} if "key" in line else line for line in conflicts])
    with pytest.raises(Refused, match=about(path, "changed", "choices")):
        planned(context, "redo", table=table)
    # Main holds the rows again that the file is of.
    plan = planned(context, "merge-branch", table=table, name="fix", resolve=str(path))
    path.write_text(
        path.read_text().replace('"main"}', '"main" }', 1).replace('"choose": "main"', '"choose": "base"', 1)
    )
    with pytest.raises(Refused, match=about(path, "changed", "choices")):
        applied(context, plan)
    path.unlink()
    with pytest.raises(Refused, match=about(path, "read")) as gone:
        applied(context, plan)
    assert about("new plan").search(gone.value.hint)


def first_choosing(lines: Lines, **changed: Any) -> Lines:
    return [lines[0], {**lines[1], **changed}, *lines[2:]]


def headed(lines: Lines, **changed: Any) -> Lines:
    return [{**lines[0], **changed}, *lines[1:]]


def whole_row(lines: Lines) -> Lines:
    place = next(place for place, line in enumerate(lines) if "key" in line and line["main"] is None)
    return [*lines[:place], {**lines[place], "choose": {"a": "branch"}}, *lines[place + 1 :]]


Edit = Callable[[Lines], Lines]
# What is done to a file in which all is chosen, and how that is refused, without Spark.
EDITS: dict[str, tuple[Edit, tuple[str, ...]]] = {
    "of another table": (lambda lines: headed(lines, table="a.b"), ("a.b", "chosen.t")),
    "of another branch": (lambda lines: headed(lines, branch="x"), ("branch x", "fix")),
    "of another format": (lambda lines: headed(lines, version=2), ("format 2",)),
    "no such file": (lambda lines: lines[1:], ("no file", "conflicts")),
    "cut off": (lambda lines: lines[:-1], ("cut off",)),
    "a line is missing": (lambda lines: [lines[0], *lines[2:]], ("lines", "missing")),
    "more behind its end": (lambda lines: [*lines, lines[1]], ("after", "end",)),
    "twice": (lambda lines: [*lines[:-1], lines[1], {"end": lines[-1]["end"] + 1}], ("key", "twice")),
    "no key": (lambda lines: first_choosing(lines, key={"part": 1}), ("line 2", "part, amount, at")),
    "no choice": (lambda lines: [lines[0], {"key": lines[1]["key"]}, *lines[2:]], ("line 2", "no conflict")),
    "another word": (lambda lines: first_choosing(lines, choose="mine"), ("'mine'", "key")),
    "no column": (lambda lines: first_choosing(lines, choose={"c": "main"}), ("column c", "key")),
    "a key column": (lambda lines: first_choosing(lines, choose={"part": "main"}), ("column part",)),
    "the same": (
        lambda lines: first_choosing(lines, columns=["a"], choose={"b": "main"}),
        ("b", "both sides", "same"),
    ),
    "a row that is not there": (whole_row, ("columns", "no row")),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_a_file_that_can_not_be_meant_is_refused_by_name(
    context: Context, table: TablePath, conflicts: Lines, tmp_path: Path, name: str
) -> None:
    edit, terms = EDITS[name]
    path = write_lines(tmp_path / "edited.jsonl", edit(chosen_lines(conflicts)))
    with pytest.raises(Refused, match=about(path, *terms)):
        planned(context, "merge-branch", table=table, name="fix", resolve=str(path))


def test_undecided_keys_are_counted_and_nothing_else_decides_them(
    context: Context, table: TablePath, conflicts: Lines, tmp_path: Path
) -> None:
    lines = chosen_lines(conflicts)
    open_cells = next(place for place, line in enumerate(lines) if len(line.get("both", [])) == 2)
    lines[open_cells] = {**lines[open_cells], "choose": {"a": "main"}}
    lines[-2] = {**lines[-2], "choose": ""}
    path = write_lines(tmp_path / "open.jsonl", lines)
    plan = planned(context, "merge-branch", table=table, name="fix", resolve=str(path))
    [refusal] = plan.refusals
    assert about(f"2 of {lines[-1]['end']} keys", "undecided", path).search(refusal.reason)
    assert lines[open_cells]["key"]["amount"] in refusal.reason
    with pytest.raises(UsageError, match=about("resolve", "on_conflict", "main")):
        planned(context, "merge-branch", table=table, name="fix", resolve=str(path), on_conflict="main")
    with pytest.raises(NotFound, match=about(tmp_path, "read")):
        planned(context, "merge-branch", table=table, name="fix", resolve=str(tmp_path))


def test_what_only_spark_can_tell_is_refused_before_anything_is_written(
    context: Context, table: TablePath, conflicts: Lines, tmp_path: Path
) -> None:
    """Of lines that hold nothing but a key and a choice."""
    header, *keys, _ = chosen_lines(conflicts)
    lines = [{"key": line["key"], "choose": line["choose"]} for line in keys]
    whole = next(place for place, line in enumerate(keys) if line["main"] is None)
    both = [place for place, line in enumerate(keys) if line.get("both") == ["a", "b"]]
    with_base = next(place for place in both if keys[place]["base"])
    without_base = next(place for place in both if not keys[place]["base"])
    gone = lines[-1]
    lines[whole]["choose"] = {"a": "main"}
    lines[with_base]["choose"] = {"b": "main"}
    lines[without_base]["choose"] = {"a": "base", "b": "base"}
    lines[-1] = {"key": {**gone["key"], "part": 9}, "choose": "main"}
    path = write_lines(tmp_path / "short.jsonl", [header, *lines, {"end": len(lines)}])
    plan = planned(context, "merge-branch", table=table, name="fix", resolve=str(path))
    with pytest.raises(Refused) as refused:
        applied(context, plan)
    for terms in (
        ("chooses base", "columns", "1 key"),
        ("lacks 1 key", '(first {"part":'),
        ("1 key", "not in conflict"),
        ("columns", "1 key open"),
        ("columns for 1 key", "no row"),
    ):
        assert about(*terms).search(refused.value.message)
    assert gone["key"]["amount"] in refused.value.message
    assert not planned(context, "recover", table=table).steps


def test_choices_stay_with_keys_whose_rows_are_the_same_when_a_side_moved(
    context: Context,
    engine_warehouse: Path,
    conflicts: Lines,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a script writes the file, which spaces and orders it otherwise."""
    first, second = chosen_lines(conflicts)[1:3]
    path = write_lines(tmp_path / "chosen.jsonl", chosen_lines(conflicts))
    row = {"part": second["key"]["part"], "amount": Decimal(second["key"]["amount"])}
    row |= {"at": datetime.fromisoformat(second["key"]["at"]), "a": "later", "b": None, "kind": "+I"}
    plan = planned(context, "merge-branch", table=TABLE, name="fix", resolve=str(path))
    commit(engine_warehouse, TABLE.full_name, pa.Table.from_pylist([row], schema=ROWS))
    # A merge that nobody chose for goes on beside jobs; other rows of main may be in other conflicts.
    with pytest.raises(Refused, match=about("main", path, "conflicts", "others")):
        applied(context, plan)
    [refusal] = planned(context, "merge-branch", table=TABLE, name="fix", resolve=str(path)).refusals
    assert about("main", path, "snapshot 2", "conflicts", "others").search(refusal.reason)
    assert about("--conflicts-out").search(refusal.hint)
    anew, told = tmp_path / "anew.jsonl", list[str]()
    monkeypatch.setattr(conflict_file, "_TOLD_EVERY", 10)
    counts = write_conflicts(context, between(context), str(anew), told.append, chosen_in=str(path))
    assert counts == (conflicts[-1]["end"], conflicts[-1]["end"] - 1)
    assert any(about("10 keys", "conflict").search(line) for line in told)
    by_key = {line["key"]["amount"]: line["choose"] for line in read(anew)[1:-1]}
    assert (by_key[first["key"]["amount"]], by_key[second["key"]["amount"]]) == (first["choose"], "")


def test_more_keys_than_fit_into_a_message_are_refused(
    conflicts: Lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution, "MOST_KEYS", 3)
    with pytest.raises(PaimarkError, match=about("more than", "3 keys")):
        read_resolution(str(write_lines(tmp_path / "many.jsonl", conflicts)))
