"""A plan made by one person and applied later by another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Paimark
from tests.full_disk import no_file_over
from tests.wording import about


@pytest.fixture
def saved(paimark: Paimark, warehouse: Path, tmp_path: Path) -> Path:
    """A plan to tag the newest snapshot."""
    file = tmp_path / "tag.plan"
    words = ("create-tag", "shop.orders", "--name", "kept", "--plan-out", str(file))
    assert paimark("--warehouse", str(warehouse), *words).code == 0
    return file


def tags(paimark: Paimark, warehouse: Path) -> list[object]:
    rows = paimark("--warehouse", str(warehouse), "--output", "json", "tags", "shop.orders").rows
    return [row["tag_name"] for row in rows]


def test_a_saved_plan_changes_nothing_until_it_is_applied(
    paimark: Paimark, warehouse: Path, saved: Path
) -> None:
    assert "kept" not in tags(paimark, warehouse)
    assert saved.stat().st_mode & 0o777 == 0o600
    assert paimark("--warehouse", str(warehouse), "apply", str(saved)).code == 0
    assert "kept" in tags(paimark, warehouse)


def test_a_saved_plan_is_refused_when_the_table_moved(
    paimark: Paimark, warehouse: Path, tmp_path: Path
) -> None:
    file = str(tmp_path / "delete.plan")
    here = ("--warehouse", str(warehouse))
    assert paimark(*here, "delete-tag", "shop.orders", "--name", "v2", "--plan-out", file).code == 0
    assert paimark(*here, "--yes", "delete-tag", "shop.orders", "--name", "v2").code == 0
    ran = paimark(*here, "--yes", "apply", file)
    assert ran.code == 1 and "v2" in ran.err


@pytest.mark.parametrize("snapshots", [(), ("--snapshot", "4", "--snapshot", "5")])
def test_a_plan_of_savepoints_is_applied_once(
    paimark: Paimark, warehouse: Path, tmp_path: Path, snapshots: tuple[str, ...]
) -> None:
    """Nothing that it makes is in its own way, as a tag is that has its name already."""
    file, here = str(tmp_path / "save.plan"), ("--warehouse", str(warehouse))
    asked = ("create-savepoint", "shop.orders", *snapshots, "--option", "paimark.verify-wait=0 s")
    assert paimark(*here, *asked, "--plan-out", file).code == 0
    again = (*here, "apply", file, "--option", "paimark.verify-wait=0 s")
    assert paimark(*again).code == 0
    made = len(paimark(*here, "--output", "json", "savepoints", "shop.orders").rows)
    for words in (again, (*again, "--dry-run")):
        ran = paimark(*words)
        assert ran.code == 1 and about("savepoint", "since", "this plan").search(ran.err)
    assert len(paimark(*here, "--output", "json", "savepoints", "shop.orders").rows) == made
    # Nor after it was taken back: its number is not used again.
    assert paimark(*here, "--yes", "undo", "shop.orders").code == 0
    assert paimark(*again).code == 1


def test_a_file_is_never_overwritten(paimark: Paimark, warehouse: Path, saved: Path) -> None:
    words = ("create-tag", "shop.orders", "--name", "other", "--plan-out", str(saved))
    ran = paimark("--warehouse", str(warehouse), *words)
    assert ran.code == 1 and "exists already" in ran.err


def test_where_it_is_comes_as_json_too(paimark: Paimark, warehouse: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "tag.plan")
    words = ("create-tag", "shop.orders", "--name", "kept", "--plan-out", file, "--output", "json")
    ran = paimark("--warehouse", str(warehouse), *words)
    assert ran.rows == [{"action": "create-tag", "table": "shop.orders", "file": file}]


def test_half_a_plan_is_not_left_behind(paimark: Paimark, warehouse: Path, tmp_path: Path) -> None:
    """It would be in the way of the next one."""
    file = tmp_path / "tag.plan"
    words = ("create-tag", "shop.orders", "--name", "kept", "--plan-out", str(file))
    with no_file_over(100):
        ran = paimark("--warehouse", str(warehouse), *words)
    assert ran.code == 1 and about("plan", "can't", "written", file).search(ran.err)
    assert not file.exists()


def test_what_is_no_plan_is_said(paimark: Paimark, warehouse: Path, saved: Path, tmp_path: Path) -> None:
    here = ("--warehouse", str(warehouse))
    assert paimark(*here, "apply", str(tmp_path / "none")).code == 1
    bad = tmp_path / "bad.plan"
    for content in (b"\xff", b"[]", b"{" * 5000, b'{"version": 1}'):
        bad.write_bytes(content)
        ran = paimark(*here, "apply", str(bad))
        assert ran.code == 1 and about(bad, "saved plan").search(ran.err)
    newer = json.loads(saved.read_text())
    newer["version"] = 2
    bad.write_text(json.dumps(newer))
    assert "has format 2" in paimark(*here, "apply", str(bad)).err


def test_a_plan_of_another_warehouse_is_refused(
    paimark: Paimark, warehouse: Path, saved: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    ran = paimark("--warehouse", str(tmp_path / "elsewhere"), "apply", str(saved))
    assert ran.code == 1 and "was planned on" in ran.err


def test_a_command_without_a_plan_refuses_to_save_one(
    paimark: Paimark, warehouse: Path, tmp_path: Path
) -> None:
    ran = paimark("--warehouse", str(warehouse), "tags", "shop.orders", "--plan-out", str(tmp_path / "p"))
    assert ran.code == 2 and about("no plan", "save").search(ran.err)
