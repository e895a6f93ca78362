"""Which root is main, and which roots there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.errors import Corrupt, NotFound, UsageError
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names, branch_root, main_root
from tests.table.branches import create_branch
from tests.table.lineages import CountingFiles
from tests.wording import about

ORDERS = TablePath("shop", "orders")


@pytest.fixture
def files(warehouse: Path) -> Files:
    """`shop.orders` with branch `fix`, made by pypaimon from tag `v2`, and files of ours beside it."""
    create_branch(warehouse, "shop.orders", "fix", "v2")
    for name in ("ACTION", "merges", "branch-not-a-directory"):
        (warehouse / ORDERS.branches / name).write_text("{}")
    return LocalFiles(str(warehouse))


def point_to(warehouse: Path, content: bytes) -> None:
    (warehouse / ORDERS.main_branch_file).write_bytes(content)


@pytest.mark.parametrize("content", [None, b"", b" \n"])
def test_without_a_name_main_is_the_table_directory(
    files: Files, warehouse: Path, content: bytes | None
) -> None:
    if content is not None:
        point_to(warehouse, content)
    assert main_root(files, ORDERS) == ORDERS.root()
    assert branch_root(files, ORDERS, None) == branch_root(files, ORDERS, "main") == ORDERS.root()


def test_main_is_the_branch_that_the_file_names(files: Files, warehouse: Path) -> None:
    point_to(warehouse, b"fix\n")
    root = main_root(files, ORDERS)
    assert root == ORDERS.root("fix")
    assert branch_root(files, ORDERS, None) == branch_root(files, ORDERS, "fix") == root
    latest = Lineage(files, root).latest()
    assert latest is not None
    assert latest.id == 2


@pytest.mark.parametrize("name", ["gone", "main", "Fix"])
def test_a_main_that_is_missing_is_an_error_that_names_both(files: Files, warehouse: Path, name: str) -> None:
    point_to(warehouse, name.encode())
    for use in (main_root, all_roots):
        with pytest.raises(Corrupt) as caught:
            use(files, ORDERS)
        named, missing = "shop.db/orders/branch/MAIN-BRANCH", f"shop.db/orders/branch/branch-{name}"
        assert about(named, f"{name} is main", missing, "missing").search(caught.value.message)


@pytest.mark.parametrize(
    "content", [b"../../events", b"..", b"a/b", b"a\\b", b"a\nb", b"\x1b]52;c;", b"\xff\xfe"]
)
def test_a_hostile_main_is_refused_and_never_read(warehouse: Path, content: bytes) -> None:
    (warehouse / ORDERS.branches).mkdir()
    point_to(warehouse, content)
    counting = CountingFiles(LocalFiles(str(warehouse)))
    with pytest.raises(Corrupt, match=about("not", "name", "branch")):
        main_root(counting, ORDERS)
    assert (counting.reads, counting.listings) == ([ORDERS.main_branch_file], [])


def test_branches_are_directories_and_nothing_else(files: Files, warehouse: Path) -> None:
    point_to(warehouse, b"")
    (warehouse / ORDERS.branches / "branch-").mkdir()
    (warehouse / ORDERS.branches / "other").mkdir()
    assert branch_names(files, ORDERS) == ["fix"]


def test_a_branch_that_cannot_be_read_for_its_name_stops_who_asks_for_all(
    files: Files, warehouse: Path
) -> None:
    (warehouse / ORDERS.branches / "branch-a\x1b[2J").mkdir()
    assert branch_names(files, ORDERS) == ["fix"]
    with pytest.raises(Corrupt, match="can't be read") as caught:
        all_roots(files, ORDERS)
    assert caught.value.message.isprintable()


def test_a_branch_that_is_missing_is_not_found(files: Files) -> None:
    with pytest.raises(NotFound, match=r"^shop\.orders has no branch fixx$") as caught:
        branch_root(files, ORDERS, "fixx")
    assert caught.value.hint == "Did you mean fix?"
    with pytest.raises(NotFound) as caught:
        branch_root(files, TablePath("shop", "events"), "b")
    assert caught.value.hint == "It has only main."


@pytest.mark.parametrize("name", ["", "..", "../../events", "a/b"])
def test_a_hostile_branch_name_is_refused(files: Files, name: str) -> None:
    with pytest.raises(UsageError):
        branch_root(files, ORDERS, name)


def test_all_roots_are_the_table_and_its_branches(files: Files) -> None:
    assert all_roots(files, ORDERS) == [ORDERS.root(), ORDERS.root("fix")]
    assert all_roots(files, TablePath("shop", "events")) == [TablePath("shop", "events").root()]


def test_the_table_directory_is_no_root_while_it_only_holds_notices(files: Files, warehouse: Path) -> None:
    directory = warehouse / ORDERS.directory
    (directory / "snapshot").rename(directory / "branch/branch-fix/old")
    (directory / "schema/schema-0").write_text("main is on branch fix\n")
    point_to(warehouse, b"fix")
    assert all_roots(files, ORDERS) == [ORDERS.root("fix")]


def test_snapshots_left_in_the_table_directory_count_whatever_main_is(files: Files, warehouse: Path) -> None:
    point_to(warehouse, b"fix")
    assert all_roots(files, ORDERS) == [ORDERS.root(), ORDERS.root("fix")]


def test_the_main_branch_file_is_read_once_and_nothing_else(warehouse: Path) -> None:
    counting = CountingFiles(LocalFiles(str(warehouse)))
    main_root(counting, ORDERS)
    assert (counting.reads, counting.listings) == ([ORDERS.main_branch_file], [])
