"""Keyed merges against a model, a dictionary a side: any commits on both, merged again while both go on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from paimark.core.actions.change import driver
from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from paimark.core.spark.datasource.paimon import plan_splits, read_splits
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import contents, context_on, done
from tests.paimon import commit, create_table, open_table

COLUMNS = (
    pa.field("part", pa.int32(), nullable=False),
    pa.field("key", pa.int64(), nullable=False),
    pa.field("value", pa.string()),
)
KIND = pa.field("kind", pa.string())
PARTS = 3
# A key's value: no row, a row with a null, or a text.
Value = str | None
State = dict[int, str]
Changes = Mapping[int, Value]
Choice = Literal["fail", "branch", "main"]

KEYS = st.integers(0, 7)
CHANGES = st.dictionaries(KEYS, st.sampled_from((None, "", "a", "b", "c")), max_size=4)


@dataclass(frozen=True)
class Round:
    """What both sides commit, one after another, before the branch is merged. No change: the same rows in
    other files, as a compaction leaves them."""

    branch: tuple[Changes, ...]
    main: tuple[Changes, ...]
    choice: Choice


@dataclass(frozen=True)
class History:
    """`kinds`: rows are deleted by the column that `rowkind.field` names, else by an OVERWRITE."""

    base: State
    rounds: tuple[Round, ...]
    partitioned: bool = True
    kinds: bool = False


def commits(fewest: int) -> st.SearchStrategy[tuple[Changes, ...]]:
    return st.lists(CHANGES, min_size=fewest, max_size=2).map(tuple)


def rounds(fewest: int) -> st.SearchStrategy[Round]:
    """`fewest` commits of each side at least."""
    choices: st.SearchStrategy[Choice] = st.sampled_from(("fail", "branch", "main"))
    return st.builds(Round, commits(fewest), commits(fewest), choices)


HISTORIES = st.builds(
    History,
    st.dictionaries(KEYS, st.sampled_from(("", "a", "b")), min_size=3),
    st.tuples(rounds(1), rounds(0)),
    st.booleans(),
    st.booleans(),
)


def every_combination() -> tuple[State, Changes, Changes]:
    """A base, and what the branch and main change: a key for each way in which the three may differ."""
    cases = list(itertools.product((None, "a", ""), (None, "a", "b", ""), (None, "a", "b", "c", "")))

    def changes(place: int) -> Changes:
        return {key: case[place] for key, case in enumerate(cases) if case[place] != case[0]}

    return {key: case[0] for key, case in enumerate(cases) if case[0] is not None}, changes(1), changes(2)


BASE, MINE, THEIRS = every_combination()
REFUSED_AND_TOLD = History(BASE, (Round((MINE,), (THEIRS,), "fail"), Round((), (), "branch")))
# Then the branch changes all keys, those too that main alone had changed, and main only some.
TOLD_AND_REFUSED = History(
    BASE,
    (
        Round((MINE,), (THEIRS,), "main"),
        Round((dict.fromkeys(range(60), "d"),), (dict.fromkeys(range(0, 60, 7), "e"),), "fail"),
    ),
    partitioned=False,
    kinds=True,
)


@dataclass
class Side:
    """A branch or main: its rows, and those it had when it was merged last."""

    root: Root
    rows: State
    merged: State

    @property
    def name(self) -> str:
        return self.root.table.full_name + (f"$branch_{self.root.branch}" if self.root.branch else "")

    def changed(self) -> set[int]:
        return {key for key in self.rows.keys() | self.merged.keys() if self.at(key) != self.merged.get(key)}

    def at(self, key: int) -> str | None:
        return self.rows.get(key)


class Table:
    """The table that a history happens to."""

    def __init__(self, warehouse: Path, name: str, history: History) -> None:
        self.warehouse = warehouse
        self.files = LocalFiles(str(warehouse))
        self.kinds = history.kinds
        self.schema = pa.schema([*COLUMNS, *([KIND] if history.kinds else [])])
        create_table(
            warehouse,
            name,
            self.schema,
            primary_keys=["part", "key"],
            partition_keys=["part"] if history.partitioned else [],
            options={"bucket": "2", **({"rowkind.field": "kind"} if self.kinds else {})},
        )

    def commit(self, side: Side, changes: Changes) -> None:
        """Changes to a side as one commit; without any an OVERWRITE by the rows that there are."""
        for key, value in changes.items():
            side.rows.pop(key, None)
            if value is not None:
                side.rows[key] = value
        overwrites = not changes or (not self.kinds and None in changes.values())
        written = side.rows if overwrites else changes
        rows = [
            {"part": key % PARTS, "key": key, "value": value or None, "kind": "-D" if value is None else "+I"}
            for key, value in written.items()
        ]
        arrow = pa.Table.from_pylist(rows, schema=self.schema)
        if overwrites:
            self.overwrite(side.name, arrow)
        else:
            commit(self.warehouse, side.name, arrow)

    def overwrite(self, name: str, rows: pa.Table) -> None:
        table = open_table(self.warehouse, name).copy({"dynamic-partition-overwrite": "false"})
        builder = table.new_batch_write_builder().overwrite()
        write, committing = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        committing.commit(write.prepare_commit())
        write.close()
        committing.close()

    def rows(self, side: Side) -> State:
        """Not as pypaimon alone reads them: it takes a deletion that nothing lies under for a row."""
        snapshot = Lineage(self.files, side.root).latest()
        warehouse = WarehouseAccess(self.files, str(self.warehouse), {})
        scan = make_scan(warehouse, side.root, snapshot, pinned=False)
        batches = read_splits(scan, plan_splits(scan))
        return {row["key"]: row["value"] or "" for batch in batches for row in batch.to_pylist()}


@pytest.fixture(scope="module")
def context(engine: Engine, engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Context:
    audit = tmp_path_factory.mktemp("merged") / "audit"
    return replace(context_on(engine_warehouse), audit_path=audit, engine=lambda: engine)


TABLES = itertools.count()


# Each example takes seconds of Spark: few, and none to find a smaller one.
@settings(
    max_examples=2,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(HISTORIES)
@example(REFUSED_AND_TOLD)
@pytest.mark.long
def test_any_merge_does_what_two_dictionaries_do(
    context: Context, engine_warehouse: Path, history: History
) -> None:
    assert_like_dictionaries(context, engine_warehouse, history)


def test_a_merge_does_what_two_dictionaries_do(context: Context, engine_warehouse: Path) -> None:
    assert_like_dictionaries(context, engine_warehouse, TOLD_AND_REFUSED)


def assert_like_dictionaries(context: Context, engine_warehouse: Path, history: History) -> None:
    path = TablePath(f"model{next(TABLES)}", "t")
    table = Table(engine_warehouse, path.full_name, history)
    main = Side(path.root(), {}, {})
    table.commit(main, history.base)
    done(context, "create-tag", table=path, name="fork")
    done(context, "create-branch", table=path, name="fix", tag="fork")
    main.merged = dict(main.rows)
    fix = Side(path.root("fix"), dict(main.rows), dict(main.rows))
    for each in history.rounds:
        for side, made in ((fix, each.branch), (main, each.main)):
            for changes in made:
                table.commit(side, changes)
        merged(context, path, table, fix, main, each.choice)
        assert table.rows(main) == main.rows
        assert table.rows(fix) == fix.rows


def merged(context: Context, path: TablePath, table: Table, fix: Side, main: Side, choice: Choice) -> None:
    """Merge, and say what main has then; or be refused, and nothing is as much as touched."""
    mine = fix.changed()
    conflicts = {key for key in mine & main.changed() if fix.at(key) != main.at(key)}
    plan = action("merge-branch").plan(context, path, {"name": "fix", "on_conflict": choice})
    assert plan.refusals == ()
    if conflicts and choice == "fail":
        directory = table.warehouse / path.directory
        before = contents(directory)
        first = sorted(conflicts, key=lambda key: (key % PARTS, key))[:5]
        named = [f'{{"part":{key % PARTS},"key":{key}}}' for key in first]
        said = rf"{len(conflicts)} keys?\b.* main\b.* branch fix\b.*: {re.escape(', '.join(named))}"
        with pytest.raises(Refused, match=f"^{said}"):
            driver.apply(context, plan, lambda line: None)
        assert contents(directory) == before
        return
    driver.apply(context, plan, lambda line: None)
    for key in mine - (conflicts if choice == "main" else set()):
        value = fix.at(key)
        main.rows.pop(key, None)
        if value is not None:
            main.rows[key] = value
    main.merged, fix.merged = dict(main.rows), dict(fix.rows)
    assert action("merge-branch").plan(context, path, {"name": "fix"}).empty
