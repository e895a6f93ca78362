"""Success files of tags are as stock Paimon makes them, and go as it deletes them."""

from __future__ import annotations

import json
from pathlib import Path

from paimark.core.table.layout import TablePath
from paimark.core.verify import verify
from tests.actions.acting import context_on, done, planned
from tests.interop.judge import Judge
from tests.interop.written import Table

TABLE = TablePath("d", "t")
NAME = TABLE.full_name


def success_files(table: Table) -> dict[str, bytes]:
    directory = table.directory / "tag/tag-success-file"
    return {path.name: path.read_bytes() for path in directory.glob("*")}


def shape(data: bytes) -> str:
    """The file with its times left out."""
    return "".join("0" if each.isdigit() else each for each in data.decode())


def made(warehouse: Path, **options: str) -> Table:
    return Table(warehouse, NAME, {"id": "INT"}, options={"bucket": "-1", **options})


def test_a_tag_gets_the_file_that_stock_would_write(tmp_path: Path, judge: Judge) -> None:
    table, context = made(tmp_path, **{"tag.create-success-file": "true"}), context_on(tmp_path)
    table.write([(1,)])
    judge.create_tag(tmp_path, NAME, "theirs", 1)
    plan = planned(context, "create-tag", table=TABLE, name="ours")
    assert plan.steps[-1].target == "d.db/t/tag/tag-success-file/ours_SUCCESS"
    before = context.clock()
    done(context, "create-tag", table=TABLE, name="ours")
    files = success_files(table)
    assert shape(files["ours_SUCCESS"]) == shape(files["theirs_SUCCESS"])
    assert json.loads(files["ours_SUCCESS"])["creationTime"] >= before
    assert verify(context, TABLE, older_than=0).orphan_count == 0
    for name in ("theirs", "ours"):
        done(context, "delete-tag", table=TABLE, name=name)
    assert success_files(table) == {}


def test_a_tag_made_again_keeps_the_time_of_the_first(tmp_path: Path, judge: Judge) -> None:
    table, context = made(tmp_path, **{"tag.create-success-file": "TRUE"}), context_on(tmp_path)
    table.write([(1,)])
    judge.create_tag(tmp_path, NAME, "t", 1)
    first = json.loads(success_files(table)["t_SUCCESS"])
    (table.directory / "tag/tag-t").unlink()
    done(context, "create-tag", table=TABLE, name="t")
    again = json.loads(success_files(table)["t_SUCCESS"])
    assert again["creationTime"] == first["creationTime"]
    assert again["modificationTime"] > first["modificationTime"]


def test_a_tag_of_a_branch_has_its_file_where_stock_looks(tmp_path: Path, judge: Judge) -> None:
    table, context = made(tmp_path, **{"tag.create-success-file": "true"}), context_on(tmp_path)
    table.write([(1,)])
    done(context, "create-branch", table=TABLE, name="b", snapshot=1)
    judge.create_tag(tmp_path, f"{NAME}$branch_b", "theirs", 1)
    done(context, "create-tag", table=TABLE, name="ours", branch="b")
    assert {"theirs_SUCCESS", "ours_SUCCESS"} <= success_files(table).keys()
    done(context, "delete-tag", table=TABLE, name="ours", branch="b")
    assert "ours_SUCCESS" not in success_files(table)


def test_a_table_without_the_option_gets_none(tmp_path: Path) -> None:
    table, context = made(tmp_path), context_on(tmp_path)
    table.write([(1,)])
    done(context, "create-tag", table=TABLE, name="t")
    assert success_files(table) == {}
