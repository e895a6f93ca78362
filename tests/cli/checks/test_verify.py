"""`paimark verify` and `doctor --deep`: what a person is told, and the exit codes by cause."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.command import Paimark
from tests.wording import about

TABLE = "shop.orders"


def orders(warehouse: Path) -> Path:
    return warehouse / "shop.db/orders"


def old_orphan(warehouse: Path) -> Path:
    path = orders(warehouse) / "bucket-0/data-lost-0.parquet"
    path.write_bytes(b"12345")
    os.utime(path, (1_700_000_000,) * 2)
    return path


def test_a_whole_table_is_code_0_and_says_what_was_looked_at(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark("verify", TABLE, "--warehouse", warehouse, "--output", "json")
    assert (ran.code, ran.rows) == (0, [])
    assert "shop.orders: 6 versions on main need" in ran.err
    old_orphan(warehouse)
    ran = paimark("verify", TABLE, "--warehouse", warehouse)
    assert ran.code == 0 and "1 orphan, 5 B: nothing needs them" in ran.err


def test_orphans_are_listed_when_asked_for_and_old_ones_are_code_4(paimark: Paimark, warehouse: Path) -> None:
    words = ("verify", TABLE, "--orphans", "--warehouse", warehouse, "--output", "json")
    assert paimark(*words).code == 0
    (orders(warehouse) / "bucket-0/data-young-0.parquet").write_bytes(b"1")
    ran = paimark(*words)
    assert (ran.code, [row["finding"] for row in ran.rows]) == (0, ["young"])
    path = old_orphan(warehouse)
    ran = paimark(*words)
    assert ran.code == 4
    [old, young] = ran.rows
    assert (old["finding"], old["path"], old["size"]) == ("orphan", str(path.relative_to(warehouse)), 5)
    assert old["age"] > 86400 and about("writer", "died").search(old["detail"])
    assert young["finding"] == "young"
    assert paimark(*words, "--older-than", "20000 d").code == 0


def test_what_is_missing_is_code_1_and_named_with_who_needs_it(paimark: Paimark, warehouse: Path) -> None:
    path = min(orders(warehouse).glob("bucket-1/data-*"))
    path.unlink()
    ran = paimark("verify", TABLE, "--orphans", "--warehouse", warehouse, "--output", "json")
    assert ran.code == 1
    assert about("shop.orders", "1 file", "missing").search(ran.err)
    [row] = ran.rows
    assert (row["finding"], row["path"]) == ("missing", str(path.relative_to(warehouse)))
    assert about("not there", "snapshot").search(row["detail"])


def test_data_that_cannot_be_decoded_is_code_1_when_it_is_read(paimark: Paimark, warehouse: Path) -> None:
    path = min(orders(warehouse).glob("bucket-1/data-*"))
    path.write_bytes(b"x" * path.stat().st_size)
    words = ("verify", TABLE, "--warehouse", warehouse, "--output", "json")
    assert paimark(*words).code == 0
    ran = paimark(*words, "--read-data", "100%")
    assert ran.code == 1 and "10 data files read" in ran.err
    assert [row["finding"] for row in ran.rows] == ["damaged"]


def test_a_store_that_does_not_answer_is_code_3(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from paimark.core.errors import Unavailable
    from paimark.core.storage.local import LocalFiles

    def fail(self: LocalFiles, directory: str) -> list[object]:
        raise Unavailable(f"{directory} can't be used: input/output error")

    monkeypatch.setattr(LocalFiles, "entries", fail)
    assert paimark("verify", TABLE, "--warehouse", warehouse).code == 3


@pytest.mark.parametrize("share", ["0%", "101%", "-3", "much"])
def test_a_share_that_is_none_is_code_2(paimark: Paimark, warehouse: Path, share: str) -> None:
    ran = paimark("verify", TABLE, "--warehouse", warehouse, "--read-data", share)
    assert ran.code == 2 and about(f"'{share}'", "share").search(ran.err)


def test_no_such_table_is_code_1(paimark: Paimark, warehouse: Path) -> None:
    assert paimark("verify", "shop.nope", "--warehouse", warehouse).code == 1


def test_doctor_looks_into_files_when_asked_to(paimark: Paimark, warehouse: Path) -> None:
    words = ("doctor", TABLE, "--warehouse", warehouse, "--output", "json", "--deep")
    ran = paimark(*words)
    assert ran.code == 0 and any("6 versions on main" in row["detail"] for row in ran.rows)
    path = min(orders(warehouse).glob("bucket-1/data-*"))
    path.unlink()
    ran = paimark(*words)
    assert ran.code == 1
    broken = [row for row in ran.rows if row["state"] == "broken"]
    assert len(broken) == 1 and str(path.relative_to(warehouse)) in broken[0]["detail"]
    assert paimark("doctor", "--deep", "--warehouse", warehouse).code == 2


def test_plain_doctor_tells_which_versions_lost_their_lists(paimark: Paimark, warehouse: Path) -> None:
    words = ("doctor", TABLE, "--warehouse", warehouse, "--output", "json")
    assert paimark(*words).code == 0
    record = json.loads((orders(warehouse) / "snapshot/snapshot-2").read_text())
    (orders(warehouse) / "manifest" / record["deltaManifestList"]).unlink()
    ran = paimark(*words)
    assert ran.code == 1
    (broken,) = [row for row in ran.rows if row["state"] == "broken"]
    assert record["deltaManifestList"] in broken["detail"]
    assert "snapshot 2 of main, tag v2 of main can't be read" in broken["detail"]


def test_doctor_names_commits_to_a_branch_that_is_no_more(paimark: Paimark, warehouse: Path) -> None:
    words = (TABLE, "--warehouse", warehouse, "--yes")
    assert paimark("create-branch", *words, "--name", "b", "--tag", "v2").code == 0
    shutil.rmtree(orders(warehouse) / "branch/branch-b/schema")
    ran = paimark("doctor", *words, "--output", "json")
    assert [row["check"] for row in ran.rows if row["state"] == "broken"] == ["branch b"]


def test_doctor_names_tags_whose_names_are_other_versions(paimark: Paimark, warehouse: Path) -> None:
    place = (TABLE, "--warehouse", warehouse)
    tags = orders(warehouse) / "tag"
    for name in ("snapshot.3", "4"):
        shutil.copy(tags / "tag-v2", tags / f"tag-{name}")
    assert paimark("create-savepoint", *place, "--yes").code == 0
    ran = paimark("doctor", *place, "--output", "json")
    said = {row["detail"]: row["hint"] for row in ran.rows if row["state"] == "warning"}
    (of_name,) = [
        hint
        for detail, hint in said.items()
        if about("snapshot.3", "also", "tag", "snapshot 2").search(detail)
    ]
    assert "rename-tag shop.orders --name snapshot.3 --to NAME" in of_name
    assert (
        any(about("4", "tag", "snapshot 2", "'snapshot.4'").search(detail) for detail in said)
        and ran.code == 0
    )
    shutil.copy(tags / "tag-v2", tags / "tag-savepoint.1")
    ran = paimark("doctor", *place, "--output", "json")
    [broken] = [row["detail"] for row in ran.rows if row["state"] == "broken"]
    assert ran.code == 1 and about("tag savepoint.1", "main", "snapshot 2").search(broken)
    assert paimark("rename-tag", *place, "--name", "snapshot.3", "--to", "third", "--yes").code == 0


def test_doctor_and_verify_name_what_a_killed_writer_left_at_once(paimark: Paimark, warehouse: Path) -> None:
    left = orders(warehouse) / "tag/.tag-x.0a1b2c3d-0000-4000-8000-0123456789ab"
    left.write_bytes(b"{")
    place = (TABLE, "--warehouse", warehouse, "--output", "json")
    [said] = [row for row in paimark("doctor", *place).rows if "half-written" in row["detail"]]
    assert said["state"] == "warning" and str(left.relative_to(warehouse)) in said["detail"]
    assert about("paimark recover shop.orders", "day").search(said["hint"])
    rows = paimark("verify", *place, "--orphans").rows
    assert [(row["finding"], row["path"]) for row in rows] == [("leftover", str(left.relative_to(warehouse)))]
