"""A merge by key writes its rows once, though others commit meanwhile: if these are rows of other keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.rewrite import rewrite_main
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import applied, done, planned
from tests.actions.merge.test_merge_goes_on import Beside
from tests.paimon import commit, create_table, open_table, read_rows
from tests.wording import about

SCHEMA = pa.schema(
    [
        pa.field("part", pa.int32(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("value", pa.int64()),
    ]
)
# A key's partition is its first letter's place.
Rows = Mapping[str, int]


@dataclass
class Table:
    """Main has a to d; branch `fix` changes a1, adds a5 and removes a3; main changes a2 meanwhile."""

    context: Context
    beside: Beside
    path: TablePath

    def write(self, rows: Rows, where: str = "", *, replaces: bool = False) -> None:
        parts = [{"part": ord(key[0]) - ord("a"), "key": key, "value": rows[key]} for key in rows]
        arrow = pa.Table.from_pylist(parts, schema=SCHEMA)
        name = f"{self.path.full_name}{where}"
        if not replaces:
            commit(self.context.files.uri, name, arrow)
            return
        # By pypaimon only the partitions that rows come for.
        builder = open_table(self.context.files.uri, name).new_batch_write_builder().overwrite()
        write, committing = builder.new_write(), builder.new_commit()
        write.write_arrow(arrow)
        committing.commit(write.prepare_commit())
        write.close()
        committing.close()

    def rows(self) -> dict[str, int]:
        rows = read_rows(Path(self.context.files.uri), self.path.full_name)
        assert all(row["part"] == ord(row["key"][0]) - ord("a") for row in rows)
        found = {row["key"]: row["value"] for row in rows}
        assert len(found) == len(rows)
        return found

    def merge(self, on_conflict: str = "fail") -> int | None:
        """Merge; the snapshot."""
        plan = planned(self.context, "merge-branch", table=self.path, name="fix", on_conflict=on_conflict)
        return cast("int | None", applied(self.context, plan).result["snapshot_id"])


MakeTable = Callable[..., Table]
MAIN = {"a1": 1, "a2": 1, "a3": 1, "b1": 1}
BEFORE = {**MAIN, "a2": 3}
MERGED = {"a1": 2, "a2": 3, "a5": 2, "b1": 1}


@pytest.fixture
def make_table(with_engine: Context, engine_warehouse: Path) -> MakeTable:
    assert with_engine.engine is not None
    beside = Beside(with_engine.engine())

    def make(database: str, *, partitioned: bool = True, **options: str) -> Table:
        context = replace(with_engine, engine=lambda: cast(Engine, beside))
        table = Table(context, beside, TablePath(database, "t"))
        create_table(
            engine_warehouse,
            table.path.full_name,
            SCHEMA,
            primary_keys=["part", "key"],
            partition_keys=["part"] if partitioned else [],
            options={"bucket": "2", **{name.replace("_", "."): each for name, each in options.items()}},
        )
        table.write(MAIN)
        done(context, "create-tag", table=table.path, name="fork")
        done(context, "create-branch", table=table.path, name="fix", tag="fork")
        theirs = {"a1": 2, "a2": 1, "a5": 2} | ({} if partitioned else {"b1": 1})
        table.write(theirs, "$branch_fix", replaces=True)
        table.write({"a2": 3})
        return table

    return make


@pytest.mark.parametrize(
    "partitioned",
    [pytest.param(True, id="partitions"), pytest.param(False, id="one", marks=pytest.mark.long)],
)
def test_other_keys_stay_and_rows_are_written_once(make_table: MakeTable, partitioned: bool) -> None:
    table = make_table(f"others_{partitioned}".lower(), partitioned=partitioned)

    def commit_to_others() -> None:
        # a2 is copied by the merge: the later row has to win.
        table.write({"a2": 7, "b1": 7})
        table.write({"a9": 7, "c1": 7})

    table.beside.deed = commit_to_others
    later = {"a2": 7, "b1": 7, "a9": 7, "c1": 7}
    assert table.merge() == 5 and len(table.beside.writes) == 1
    assert table.rows() == MERGED | later
    # A job goes on: its rows are newer than those of the merge.
    table.write({"a1": 8, "a2": 8})
    assert table.rows() == MERGED | later | {"a1": 8, "a2": 8}
    # What it keeps is main right before the commit.
    [safe] = SavepointManager(table.context.files, table.path).all()
    assert safe.saved_snapshot_id == 4


@pytest.mark.long
def test_it_goes_back_to_main_right_before_it(make_table: MakeTable) -> None:
    table = make_table("back")
    table.beside.deed = lambda: table.write({"a2": 7, "a9": 7})
    table.merge()
    assert len(table.beside.writes) == 1
    table.beside.deed = lambda: None
    done(table.context, "undo", table=table.path)
    assert table.rows() == BEFORE | {"a2": 7, "a9": 7}
    assert planned(table.context, "recover", table=table.path).empty
    table.merge()
    assert table.rows() == MERGED | {"a2": 7, "a9": 7}


@pytest.mark.parametrize(
    ("on_conflict", "key", "merged"),
    [
        ("main", "a1", MERGED | {"a1": 7}),
        pytest.param("branch", "a3", MERGED, marks=pytest.mark.long),
        pytest.param("branch", "a1", MERGED, marks=pytest.mark.long),
        pytest.param("main", "a5", MERGED | {"a5": 7}, marks=pytest.mark.long),
    ],
)
def test_a_key_that_it_changes_is_merged_again(
    make_table: MakeTable, on_conflict: str, key: str, merged: Rows
) -> None:
    table, left = make_table(f"same_{on_conflict}_{key}"), [key]
    table.beside.deed = lambda: table.write({left.pop(): 7}) if left else None
    assert table.merge(on_conflict) == 4 and len(table.beside.writes) == 2
    assert table.rows() == merged


def test_a_job_that_is_always_faster_is_said_and_leaves_nothing(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table("outrun")
    monkeypatch.setattr(rewrite_main, "_TRIES", 2)
    table.beside.deed = lambda: table.write({"a1": 7})
    with pytest.raises(Refused, match=about("moved", "2 times")) as refused:
        table.merge("branch")
    assert about("nothing", "pypaimon 2.1.0").search(refused.value.hint)
    assert table.rows() == BEFORE | {"a1": 7}
    assert SavepointManager(table.context.files, table.path).ids() == []
    assert table.context.files.names(f"{table.path.directory}/consumer") == []


def test_a_new_conflict_is_refused_and_nothing_is_left(make_table: MakeTable) -> None:
    table = make_table("conflict")
    table.beside.deed = lambda: table.write({"a1": 7})
    with pytest.raises(Refused, match=about("1 key", "main", "branch fix")):
        table.merge()
    assert table.rows() == BEFORE | {"a1": 7} and len(table.beside.writes) == 1
    assert SavepointManager(table.context.files, table.path).ids() == []
    directory = Path(table.context.files.uri) / table.path.directory
    live = open_table(table.context.files.uri, table.path.full_name).new_read_builder().new_scan().plan()
    named = {file.file_name for split in live.splits() for file in split.files}
    # Main's three commits, and the branch's: nothing of the merge.
    assert len([*directory.rglob("bucket-*/*")]) <= len(named) + 3
    assert planned(table.context, "recover", table=table.path).empty


@pytest.mark.parametrize(
    ("options", "later", "replaces", "writes"),
    [
        ({}, {"a2": 7}, True, 2),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in (
                ({"bucket": "-1"}, {"b1": 7, "c1": 7}, False, 1),
                ({"file_format": "avro"}, {"a2": 7}, False, 1),
                ({}, {"b1": 7}, True, 1),
                ({"sequence_field": "value"}, {"a2": 7}, False, 2),
                ({"sequence_field": "value"}, {"b1": 7, "c1": 7}, False, 1),
                ({"bucket": "-1"}, {"a2": 7}, False, 1),
                ({"ignore-delete": "true"}, {"a2": 7}, False, 2),
                ({"file_format": "orc"}, {"a2": 7}, False, 1),
            )
        ),
    ],
)
def test_what_goes_on_only_beside_other_partitions(
    make_table: MakeTable, options: Mapping[str, str], later: Rows, replaces: bool, writes: int
) -> None:
    """An overwrite; `sequence.field`; buckets that grow. Keys are read in files of each format."""
    table = make_table("_".join([*options.values(), *later, str(writes)]).replace("-", ""), **options)
    left = [later]
    table.beside.deed = lambda: table.write(left.pop(), replaces=replaces) if left else None
    lost = {"a1": 1, "a2": 1, "a3": 1} if replaces and "a2" in later else {}
    if lost:
        # Main lost a1 and a3, which the branch changed or removed as well.
        table.merge("branch")
        assert table.rows() == {"a1": 2, "a2": 7, "a5": 2, "b1": 1}
    else:
        table.merge()
        assert table.rows() == {**MERGED, **later}
    assert len(table.beside.writes) == writes
