"""Result files."""

from __future__ import annotations

import csv
import json
import os
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from paimark.core.errors import Refused, Unavailable
from paimark.core.export.result_file import ResultFile, arrow_type, empty_rows
from tests.full_disk import no_file_over
from tests.wording import about

ROWS = pa.table(
    {
        "n": pa.array([1, None], pa.int64()),
        "price": pa.array([Decimal("12.50"), None], pa.decimal128(10, 2)),
        "name": pa.array(['say "hi", é', ""], pa.string()),
        "at": pa.array([datetime(2026, 5, 1, 12, 0, 3), None], pa.timestamp("us")),
        "day": pa.array([date(2026, 5, 1), None], pa.date32()),
        "data": pa.array([b"\x00\xff", None], pa.binary()),
        "tags": pa.array([["a", "b"], None], pa.list_(pa.string())),
    }
)


def export(path: Path, *tables: pa.Table) -> None:
    sink = ResultFile(path, tables[0].schema)
    for rows in tables:
        sink.write(rows)
    sink.close()


def test_csv_tells_absent_cells_from_empty_ones_and_nested_ones_are_json(tmp_path: Path) -> None:
    export(tmp_path / "out.csv", ROWS, ROWS)
    lines = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert lines[0] == ROWS.column_names
    assert lines[1][0:3] == ["1", "12.50", 'say "hi", é']
    assert lines[1][3].startswith("2026-05-01 12:00:03")
    assert lines[1][4:] == ["2026-05-01", "AP8=", '["a","b"]']
    assert (tmp_path / "out.csv").read_text().splitlines()[2] == ',,"",,,,'
    assert len(lines) == 5


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_decimal_with_many_places_has_no_exponent(tmp_path: Path, ending: str) -> None:
    small = pa.array([Decimal("0.0000001"), Decimal("0.0000000")], pa.decimal128(10, 7))
    export(
        tmp_path / f"out.{ending}",
        pa.table({"small": small, "all": pa.array([[each] for each in small.to_pylist()])}),
    )
    text = (tmp_path / f"out.{ending}").read_text()
    assert text.count("0.0000001") == text.count("0.0000000") == 2


@pytest.mark.parametrize("ending", ["parquet", "arrow", "PARQUET"])
def test_columnar_files_hold_every_value_with_its_type(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    export(path, ROWS, ROWS)
    read = pa.ipc.open_file(path).read_all() if ending == "arrow" else pa.parquet.read_table(path)
    assert read.to_pylist() == ROWS.to_pylist() * 2
    assert read.schema.types == ROWS.schema.types


def test_json_is_the_same_list_as_on_stdout(tmp_path: Path) -> None:
    export(tmp_path / "out.json", ROWS)
    rows = json.loads((tmp_path / "out.json").read_text())
    assert rows[0]["price"] == "12.50"
    assert rows[1] == dict.fromkeys(ROWS.column_names) | {"name": ""}


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "arrow"])
def test_columns_of_one_name_stay_apart(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    export(path, pa.table([[1], [2]], names=["a", "a"]))
    if ending == "parquet":
        assert pa.parquet.read_table(path).column_names == ["a", "a_2"]
    elif ending == "arrow":
        assert pa.ipc.open_file(path).schema.names == ["a", "a_2"]
    else:
        assert "a_2" in path.read_text()


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "arrow"])
def test_a_result_without_rows_is_a_whole_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    export(path, ROWS.slice(0, 0))
    if ending == "json":
        assert json.loads(path.read_text()) == []
    elif ending == "csv":
        assert path.read_text().splitlines() == ['"n","price","name","at","day","data","tags"']
    else:
        read = pa.ipc.open_file(path).read_all() if ending == "arrow" else pa.parquet.read_table(path)
        assert (read.num_rows, read.column_names) == (0, ROWS.column_names)


def test_a_result_that_breaks_off_leaves_the_older_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("older")
    sink = ResultFile(path, ROWS.schema)
    sink.write(ROWS)
    sink.abandon()
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]
    assert path.read_text() == "older"


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "arrow"])
def test_all_rows_are_on_the_disk_before_they_replace_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Else a power cut may leave a file without rows in its place."""
    path = tmp_path / f"out.{ending}"
    path.write_text("older")
    synced: list[tuple[bytes, int]] = []
    monkeypatch.setattr(
        "os.fsync", lambda descriptor: synced.append((path.read_bytes(), os.fstat(descriptor).st_size))
    )
    export(path, ROWS)
    assert synced == [(b"older", path.stat().st_size)]


def test_only_what_a_killed_process_left_a_day_ago_is_removed(tmp_path: Path) -> None:
    """A process that is alive may not have written for a day either."""
    alive = ResultFile(tmp_path / "alive.csv", ROWS.schema)
    mine, left = tmp_path / ".paimark-notes", tmp_path / f".paimark-{'a' * 32}"
    for each in (mine, left):
        each.touch()
    for each in tmp_path.iterdir():
        os.utime(each, (0, 0))
    young = tmp_path / f".paimark-{'b' * 32}"
    young.touch()
    export(tmp_path / "new.csv", ROWS)
    alive.close()
    assert {*tmp_path.iterdir()} == {tmp_path / "alive.csv", tmp_path / "new.csv", mine, young}


def test_a_type_the_format_lacks_is_refused_in_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    months = pa.schema([pa.field("m", pa.month_day_nano_interval())])
    with pytest.raises(Refused, match=r"out\.parquet can't hold"):
        ResultFile(tmp_path / "out.parquet", months)
    assert not list(tmp_path.iterdir())


def test_a_name_as_long_as_a_name_can_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 251}.csv"
    export(path, ROWS)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_directory_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file or directory"):
        ResultFile(tmp_path / "nowhere" / "out.csv", ROWS.schema)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "arrow"])
def test_a_disk_that_is_full_is_one_sentence_and_leaves_nothing(tmp_path: Path, ending: str) -> None:
    """Also what its buffer still holds, which is tried once more as it is closed."""
    many = pa.table({"n": pa.array(range(20_000), pa.int64())})
    with no_file_over(4096), pytest.raises(Unavailable, match=about(f"out.{ending}", "written")):
        sink = ResultFile(tmp_path / f"out.{ending}", many.schema)
        try:
            sink.write(many)
            sink.close()
        finally:
            sink.abandon()
    assert not list(tmp_path.iterdir())


def test_a_file_that_nobody_else_may_read_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.touch(0o600)
    export(path, ROWS)
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_empty_file_stays_where_the_rows_could_not_be_put(tmp_path: Path) -> None:
    goal = tmp_path / "out.csv"
    sink = ResultFile(goal, ROWS.schema, replacing=False)
    sink.write(ROWS)
    [temporary] = tmp_path.iterdir()
    temporary.unlink()
    with pytest.raises(Unavailable):
        sink.close()
    sink.abandon()
    assert not list(tmp_path.iterdir())


def test_a_file_that_came_meanwhile_stays_as_it_is(tmp_path: Path) -> None:
    goal = tmp_path / "out.csv"
    sink = ResultFile(goal, ROWS.schema, replacing=False)
    sink.write(ROWS)
    goal.write_text("theirs")
    with pytest.raises(Refused):
        sink.close()
    sink.abandon()
    assert list(tmp_path.iterdir()) == [goal] and goal.read_text() == "theirs"


def test_the_rows_come_under_their_name_at_once(tmp_path: Path) -> None:
    goal = tmp_path / "out.csv"
    sink = ResultFile(goal, ROWS.schema, replacing=False)
    sink.write(ROWS)
    sink.close()
    sink.abandon()
    assert list(tmp_path.iterdir()) == [goal] and goal.stat().st_nlink == 1
    assert len(goal.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("spark", "arrow"),
    [
        ("bigint", pa.int64()),
        ("decimal(10,2)", pa.decimal128(10, 2)),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("varchar(20)", pa.string()),
        ("interval day to second", pa.string()),
        ("array<decimal(10,2)>", pa.list_(pa.decimal128(10, 2))),
        ("map<string,array<int>>", pa.map_(pa.string(), pa.list_(pa.int32()))),
        (
            "struct<a:int,b:struct<`c d`:decimal(3,1),e:map<int,date>>>",
            pa.struct(
                {
                    "a": pa.int32(),
                    "b": pa.struct({"c d": pa.decimal128(3, 1), "e": pa.map_(pa.int32(), pa.date32())}),
                }
            ),
        ),
        ("struct<>", pa.struct([])),
    ],
)
def test_spark_names_have_their_arrow_type(spark: str, arrow: pa.DataType) -> None:
    assert arrow_type(spark) == arrow


def test_an_empty_result_keeps_columns_of_one_name() -> None:
    rows = empty_rows(["a", "a"], ["int", "string"])
    assert (rows.num_rows, rows.column_names) == (0, ["a", "a"])
