"""What every store promises, whatever it is made of."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from paimark.core.errors import FileMissing, NotFound, Refused
from paimark.core.storage.files import DirectoryEntry, Files
from tests.wording import about

HOSTILE = ["", "/etc/passwd", "..", "a/../../b", "a//b", "a/", "./a", "a\\b", "a\nb", "a\x1b[31m", "a\x00b"]


def names(files: Files, directory: str) -> list[str]:
    return sorted(files.names(directory))


def test_a_created_file_reads_back_whole(store: Files) -> None:
    data = bytes(range(256)) * 1024
    assert store.create("shop.db/t/snapshot/snapshot-1", data)
    assert store.read("shop.db/t/snapshot/snapshot-1") == data


def test_an_empty_file_is_a_file(store: Files) -> None:
    assert store.create("t/empty", b"")
    assert store.read("t/empty") == b""
    assert list(store.read_many(["t/empty"])) == [b""]
    assert store.size("t/empty") == 0


def test_creating_what_exists_says_so_and_changes_nothing(store: Files) -> None:
    assert store.create("t/a", b"first")
    assert not store.create("t/a", b"second")
    assert store.read("t/a") == b"first"
    assert store.names("t") == ["a"]


def test_of_ten_creators_one_wins(open_warehouse: Callable[[str], Files]) -> None:
    creators = [open_warehouse("warehouse") for _ in range(10)]
    barrier = Barrier(10)

    def create(number: int) -> bool:
        barrier.wait()
        return creators[number].create("t/savepoint/CLAIM-1", f"creator {number}".encode())

    with ThreadPoolExecutor(10) as threads:
        won = list(threads.map(create, range(10)))
    assert won.count(True) == 1
    assert creators[0].read("t/savepoint/CLAIM-1") == f"creator {won.index(True)}".encode()
    assert creators[0].names("t/savepoint") == ["CLAIM-1"]


def test_files_tell_when_they_were_written(store: Files) -> None:
    store.create("t/a", b"")
    assert store.entries("t")[0].modified > 1_600_000_000_000


@pytest.mark.parametrize(
    ("library", "address", "extra"),
    [("hdfs_native", "hdfs://namenode:8020/x", "hdfs"), ("s3fs", "s3://lake/x", "s3")],
)
def test_a_library_that_is_not_installed_is_named(library: str, address: str, extra: str) -> None:
    program = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from paimark.core.errors import Unavailable; from paimark.core.storage.open import open_files\n"
        f"try: open_files({address!r})\n"
        "except Unavailable as error: print(error.message, '|', error.hint)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    message, hint = told.split(" | ")
    assert about(address, "library").search(message)
    assert f"pip install 'paimark[{extra}]'" in hint


def test_a_replaced_file_has_the_new_bytes_alone(store: Files) -> None:
    store.replace("t/LATEST", b"10")
    store.replace("t/LATEST", b"9")
    assert store.read("t/LATEST") == b"9"
    assert store.names("t") == ["LATEST"]


def test_ones_own_file_is_deleted_and_no_other(store: Files) -> None:
    store.create("t/lock", b"mine")
    store.delete_own("t/lock", lambda data: data == b"another's")
    assert store.read("t/lock") == b"mine"
    store.delete_own("t/lock", lambda data: data == b"mine")
    assert not store.exists("t/lock")
    store.delete_own("t/lock", lambda data: True)


def test_reading_what_is_not_there_names_it(store: Files) -> None:
    with pytest.raises(FileMissing, match=r"^t/nothing does not exist$"):
        store.read("t/nothing")


def test_a_directory_is_no_file(store: Files) -> None:
    store.create("t/snapshot/snapshot-1", b"x")
    with pytest.raises(FileMissing):
        store.read("t/snapshot")
    assert list(store.read_many(["t/snapshot", "t/snapshot/snapshot-1"])) == [None, b"x"]
    assert not store.exists("t/snapshot")
    assert store.size("t/snapshot") is None


def test_many_files_come_in_the_order_asked_with_none_for_the_missing(store: Files) -> None:
    for number in range(0, 120, 2):
        store.replace(f"t/n-{number}", str(number).encode())
    asked = [f"t/n-{number}" for number in range(119, -1, -1)] + ["other/n-0", "t/n-0"]
    expected = [str(number).encode() if number % 2 == 0 else None for number in range(119, -1, -1)]
    assert list(store.read_many(asked)) == [*expected, None, b"0"]


def test_reading_many_reads_only_a_little_ahead(store: Files) -> None:
    store.create("t/n-0", b"0")
    endless = (f"t/n-{number}" for number in itertools.count())
    assert list(itertools.islice(store.read_many(endless), 3)) == [b"0", None, None]
    assert int(next(endless).removeprefix("t/n-")) < 1000


def test_entries_tell_files_from_directories(store: Files) -> None:
    store.create("t/schema/schema-0", b"{}")
    store.create("t/notice", b"four")
    entries = sorted(entry[:3] for entry in store.entries("t"))
    assert entries == [("notice", False, 4), ("schema", True, 0)]
    assert names(store, "t") == ["notice", "schema"]
    assert [entry[:3] for entry in store.entries("")] == [DirectoryEntry("t", True, 0)[:3]]


def test_an_etag_is_told_for_every_name_and_changes_with_the_file(store: Files) -> None:
    store.create("t/a", b"x")
    store.create("t/b", b"x")
    first = store.etags("t")
    assert sorted(first) == ["a", "b"]
    assert store.etags("t") == first
    store.replace("t/b", b"y")
    second = store.etags("t")
    assert second["a"] == first["a"]
    assert second["b"] is None or second["b"] != first["b"]


def test_a_directory_that_is_missing_or_a_file_has_no_entries(store: Files) -> None:
    store.create("t/file", b"x")
    assert store.entries("t/missing") == store.entries("t/file") == []
    assert store.names("t/missing") == store.names("t/file") == []


def test_sizes_are_bytes(store: Files) -> None:
    store.create("t/a", b"12345")
    assert (store.size("t/a"), store.exists("t/a")) == (5, True)
    assert (store.size("t/b"), store.exists("t/b")) == (None, False)


def test_deleting_twice_is_deleting_once(store: Files) -> None:
    store.create("t/a", b"x")
    store.delete("t/a")
    store.delete("t/a")
    assert not store.exists("t/a")
    assert store.create("t/a", b"again")


def test_pruning_leaves_nothing_of_a_tree_without_files(store: Files) -> None:
    for path in ("t/branch/branch-b/schema/schema-0", "t/branch/branch-b/tag/tag-x"):
        store.create(path, b"x")
        store.delete(path)
    store.create("t/branch/MAIN-BRANCH", b"")
    store.prune("t/branch/branch-b")
    store.prune("t/branch/branch-b")
    assert names(store, "t/branch") == ["MAIN-BRANCH"]


def test_pruning_spares_every_file_and_what_leads_to_it(store: Files) -> None:
    store.create("t/branch/branch-b/schema/schema-0", b"x")
    store.prune("t/branch/branch-b")
    assert store.read("t/branch/branch-b/schema/schema-0") == b"x"


def test_a_warehouse_that_is_not_there_is_said_to_be_missing(open_warehouse: Callable[[str], Files]) -> None:
    files = open_warehouse("gone")
    with pytest.raises(NotFound, match=r"no warehouse at .*gone$"):
        files.entries("")


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda files, path: files.read(path), id="read"),
        pytest.param(lambda files, path: list(files.read_many(["t/a", path])), id="read_many"),
        pytest.param(lambda files, path: files.exists(path), id="exists"),
        pytest.param(lambda files, path: files.create(path, b""), id="create"),
        pytest.param(lambda files, path: files.replace(path, b""), id="replace"),
        pytest.param(lambda files, path: files.delete(path), id="delete"),
        pytest.param(lambda files, path: files.prune(path), id="prune"),
    ],
)
def test_no_path_leaves_the_warehouse(store: Files, use: Callable[[Files, str], object]) -> None:
    for path in HOSTILE:
        with pytest.raises(Refused, match=about("path", "inside")):
            use(store, path)
            pytest.fail(f"{path!r} was taken")


def test_no_listing_leaves_the_warehouse(store: Files) -> None:
    for path in HOSTILE[1:]:
        for listed in (store.entries, store.names):
            with pytest.raises(Refused):
                listed(path)
                pytest.fail(f"{path!r} was taken")


def test_odd_names_are_only_names(store: Files) -> None:
    names = ["snapshot 1", "tag-ünïcødé", "tag-%2e%2e", "tag-a?b#c&d", "tag-$x", "tag-*"]
    for name in names:
        assert store.create(f"t/{name}", b"x")
        assert store.read(f"t/{name}") == b"x"
    assert sorted(store.names("t")) == sorted(names)
    assert list(store.read_many([f"t/{name}" for name in names])) == [b"x"] * len(names)
