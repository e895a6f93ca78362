"""Google's and Azure's stores on their emulators: conditions, listings, lost answers, and whole changes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

import paimark
from paimark.core.errors import FileMissing, Unavailable
from paimark.core.storage.open import open_files, options_for_others
from paimark.core.storage.remote import RemoteFiles
from tests.actions.acting import contents
from tests.storage.clouds.emulators import (
    ACCOUNT,
    KEY,
    Cloud,
    azure,
    azure_tools,
    cloud,
    google,
    google_options,
    google_tools,
)
from tests.storage.stores import Proxy, S3Server

__all__ = ["azure", "azure_tools", "cloud", "google", "google_tools"]
pytestmark = [
    # A run of all tests must not depend on two more registries.
    pytest.mark.long,
    # The first of them waits until the servers are there, which a busy machine compiles for long.
    pytest.mark.timeout(1800),
    # Their clients close connections when they are collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def opened(cloud: Cloud) -> RemoteFiles:
    files = open_files(cloud.warehouse(), cloud.options)
    assert isinstance(files, RemoteFiles)
    return files


def test_of_many_writers_one_wins(cloud: Cloud) -> None:
    files = opened(cloud)
    assert files.race().fault == ""
    assert files.create("t/a", b"first")
    assert not files.create("t/a", b"second")
    assert files.read("t/a") == b"first"
    assert files.names("") == ["t"]


def test_a_file_is_copied_inside_the_store(cloud: Cloud) -> None:
    files = opened(cloud)
    files.replace("t/a", data := b"bytes" * 100_000)
    files.copy("t/a", "u/b", len(data))
    assert files.read("u/b") == data and files.size("t/a") == len(data)
    with pytest.raises(FileMissing):
        files.copy("t/none", "u/c", 1)


def test_a_directory_is_listed_without_its_neighbours(cloud: Cloud) -> None:
    files = opened(cloud)
    for path in ("a/b/c", "a/b/d/e", "a/b2/x", "a/b.txt"):
        files.replace(path, path.encode())
    assert sorted((each.name, each.is_directory, each.size) for each in files.entries("a")) == [
        ("b", True, 0),
        ("b.txt", False, 7),
        ("b2", True, 0),
    ]
    assert sorted(files.names("a/b")) == ["c", "d"]
    assert files.names("nowhere") == []
    assert [files.exists(path) for path in ("a/b/c", "a/b", "a/z")] == [True, False, False]
    assert list(files.read_many(["a/b/c", "a/z", "a/b.txt"])) == [b"a/b/c", None, b"a/b.txt"]
    files.delete("a/b/c")
    files.delete("a/b/c")
    with pytest.raises(FileMissing):
        files.read("a/b/c")


def test_a_create_whose_answer_is_lost_is_not_anothers(google: Cloud) -> None:
    """gcsfs sends it again, and finds its own object."""
    lost: list[str] = []

    def spoil(method: str, headers: dict[str, str]) -> str:
        if method == "POST" and not lost:
            lost.append(method)
            return "nothing"
        return "all"

    with Proxy(cast(S3Server, SimpleNamespace(endpoint=google.endpoint)), spoil) as proxy:
        files = open_files(google.warehouse(), google_options(proxy.endpoint))
        assert isinstance(files, RemoteFiles)
        assert files.put_new("t/a", b"ours")
    assert lost
    assert not files.must_prove or opened(google).must_prove


def test_who_reads_is_found_in_the_environment(azure: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    account = f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={azure.endpoint}/{ACCOUNT}"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"DefaultEndpointsProtocol=http;{account}")
    files = open_files("abfs://lake/somewhere")
    files.replace("t/a", b"1")
    assert files.names("t") == ["a"]
    assert options_for_others(files, {}) == azure.options


def test_a_wrong_key_is_told(azure: Cloud) -> None:
    files = open_files(azure.warehouse(), azure.options | {f"fs.azure.account.key.{ACCOUNT}": "AAAA"})
    with pytest.raises(Unavailable, match="authenticate") as refused:
        files.read("t/a")
    assert refused.value.hint.startswith("Check the credentials")


def test_a_branch_becomes_main_and_back(cloud: Cloud, warehouse_template: Path) -> None:
    files = opened(cloud)
    for path, data in contents(warehouse_template).items():
        files.replace(path, data)
    here, there = (
        paimark.open(uri, options=options).table("shop.orders")
        for uri, options in ((files.uri, cloud.options), (str(warehouse_template), {}))
    )
    rows = sorted_rows(there, 5)
    assert sorted_rows(here, 5).equals(rows)
    saved = here.create_savepoint(snapshot=5)
    kept = f"savepoint.{saved.savepoint_id}"
    here.create_branch(name="fix", tag=kept)
    assert here.replace_main_branch(name="fix").branch_name == "fix"
    assert sorted_rows(here, kept).equals(rows)
    assert here.undo().undone == "replace-main-branch"
    assert sorted_rows(here, kept).equals(rows)


def sorted_rows(table: paimark.Table, version: int | str) -> pa.Table:
    return table.at(version).to_arrow().sort_by("order_id")
