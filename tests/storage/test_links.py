"""Links inside a table: nothing is written or deleted through one, and a link itself can be deleted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from tests.wording import about

TABLE = "shop.db/orders"


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A table with one tag, and a directory outside with one file."""
    (tmp_path / "warehouse").mkdir()
    LocalFiles(f"{tmp_path}/warehouse").create(f"{TABLE}/tag/tag-v1", b"{}")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").write_bytes(b"x")
    return tmp_path / "warehouse"


@pytest.fixture
def outside(tmp_path: Path, warehouse: Path) -> Path:
    return tmp_path / "outside"


def contents(directory: Path) -> dict[str, bytes]:
    return {str(each.relative_to(directory)): each.read_bytes() for each in directory.rglob("*")}


@pytest.mark.parametrize("place", ["schema", "branch/branch-fix", "branch/branch-fix/tag"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda files, path: files.create(path, b"y"), id="create"),
        pytest.param(lambda files, path: files.replace(path, b"y"), id="replace"),
        pytest.param(lambda files, path: files.delete(path), id="delete"),
    ],
)
@pytest.mark.parametrize("below", ["precious", "new", "deep/new"])
def test_a_directory_that_is_a_link_is_not_followed_by_a_change(
    warehouse: Path, outside: Path, place: str, change: Callable[[Files, str], object], below: str
) -> None:
    link = warehouse / TABLE / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    with pytest.raises(Refused, match=about(f"{TABLE}/{place}", "link")):
        change(LocalFiles(str(warehouse)), f"{TABLE}/{place}/{below}")
    assert contents(outside) == {"precious": b"x"}


def test_a_link_in_a_files_place_is_replaced_or_deleted_itself(warehouse: Path, outside: Path) -> None:
    files = LocalFiles(str(warehouse))
    for name in ("tag-a", "tag-b"):
        (warehouse / TABLE / "tag" / name).symlink_to(outside / "precious")
    files.replace(f"{TABLE}/tag/tag-a", b"mine")
    files.delete(f"{TABLE}/tag/tag-b")
    assert sorted(files.names(f"{TABLE}/tag")) == ["tag-a", "tag-v1"]
    assert files.read(f"{TABLE}/tag/tag-a") == b"mine"
    assert contents(outside) == {"precious": b"x"}


def test_a_link_to_nowhere_is_no_place_for_a_new_file(warehouse: Path, outside: Path) -> None:
    (warehouse / TABLE / "tag/tag-a").symlink_to(outside / "new")
    assert not LocalFiles(str(warehouse)).create(f"{TABLE}/tag/tag-a", b"mine")
    assert contents(outside) == {"precious": b"x"}


def test_a_link_to_a_directory_is_deleted_and_not_what_it_leads_to(warehouse: Path, outside: Path) -> None:
    (warehouse / TABLE / "notes").symlink_to(outside)
    files = LocalFiles(str(warehouse))
    files.delete(f"{TABLE}/notes")
    assert files.names(TABLE) == ["tag"]
    assert contents(outside) == {"precious": b"x"}


def test_pruning_follows_no_link(warehouse: Path, outside: Path) -> None:
    (outside / "empty").mkdir()
    root = warehouse / TABLE / "branch/branch-fix"
    (root / "empty").mkdir(parents=True)
    (root / "notes").symlink_to(outside)
    files = LocalFiles(str(warehouse))
    files.prune(f"{TABLE}/branch/branch-fix")
    assert files.names(f"{TABLE}/branch/branch-fix") == ["notes"]
    with pytest.raises(Refused):
        files.prune(f"{TABLE}/branch/branch-fix/notes/empty")
    files.prune(f"{TABLE}/branch/branch-fix/notes")
    assert (outside / "empty").is_dir()


def test_entries_tell_links(warehouse: Path, outside: Path) -> None:
    (warehouse / TABLE / "to-directory").symlink_to(outside)
    (warehouse / TABLE / "to-file").symlink_to(outside / "precious")
    entries = {each.name: each for each in LocalFiles(str(warehouse)).entries(TABLE)}
    # What it leads to counts for who reads: a branch that is a link needs its files all the same.
    assert (entries["to-directory"].is_directory, entries["to-directory"].is_link) == (True, True)
    assert (entries["to-file"].is_directory, entries["to-file"].is_link) == (False, True)
    assert not entries["tag"].is_link


def test_links_to_directories_are_told_by_their_paths(warehouse: Path, outside: Path) -> None:
    (warehouse / TABLE / "schema").symlink_to(outside)
    (warehouse / TABLE / "notes").symlink_to(outside / "precious")
    files = LocalFiles(str(warehouse))
    assert files.links([TABLE, f"{TABLE}/tag", f"{TABLE}/missing"]) == [f"{TABLE}/schema"]


def test_a_warehouse_a_database_and_a_table_may_be_links(tmp_path: Path) -> None:
    for name in ("disk1", "disk2/orders", "warehouse/shop.db"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "here").symlink_to(tmp_path / "warehouse")
    (tmp_path / "warehouse/far.db").symlink_to(tmp_path / "disk1")
    (tmp_path / "warehouse/shop.db/orders").symlink_to(tmp_path / "disk2/orders")
    files = LocalFiles(f"{tmp_path}/here")
    for path in ("far.db/events/tag/tag-x", "shop.db/orders/tag/tag-x"):
        assert files.create(path, b"1")
        files.replace(path, b"2")
        assert files.read(path) == b"2"
    assert (tmp_path / "disk2/orders/tag/tag-x").read_bytes() == b"2"
    files.delete("far.db/events/tag/tag-x")
    files.prune("far.db/events")
    assert os.listdir(tmp_path / "disk1") == []
