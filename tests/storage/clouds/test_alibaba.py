"""Alibaba's OSS, as its own clients ask for it: listings, missing files, refusals, rows; and no change."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

import paimark
from paimark.core.errors import FileMissing, Refused, Unavailable
from paimark.core.storage.files import Denied
from paimark.core.storage.open import open_files
from tests.actions.acting import contents
from tests.storage.clouds.alibaba_door import AlibabaDoor, alibaba, alibaba_client, put_all
from tests.storage.stores import S3Server
from tests.wording import about

__all__ = ["alibaba", "alibaba_client"]
# Its client comes from a registry.
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture
def warehouse() -> str:
    return f"oss://lake/{uuid.uuid4().hex[:8]}"


def test_a_directory_is_listed_without_its_neighbours(
    alibaba: AlibabaDoor, s3: S3Server, warehouse: str
) -> None:
    names = ["a/", "a/b/", "a/b/c", "a/b/d/e", "a/b2/x", "a/b.txt", "a/50% + ü"]
    put_all(s3, warehouse, {name: name.encode() for name in names if not name.endswith("/")})
    files = open_files(warehouse, alibaba.options())
    assert sorted((each.name, each.is_directory, each.size) for each in files.entries("a")) == [
        ("50% + ü", False, 10),
        ("b", True, 0),
        ("b.txt", False, 7),
        ("b2", True, 0),
    ]
    assert all(each.modified > 1_700_000_000_000 for each in files.entries("a") if not each.is_directory)
    assert sorted(files.names("a/b")) == ["c", "d"]
    assert files.names("nowhere") == []
    assert [files.exists(path) for path in ("a/b/c", "a/b", "a/z")] == [True, False, False]
    assert list(files.read_many(["a/b/c", "a/z", "a/50% + ü"])) == [b"a/b/c", None, "a/50% + ü".encode()]
    with pytest.raises(FileMissing):
        files.read("a/z")


def test_all_pages_of_a_listing_are_read(alibaba: AlibabaDoor, s3: S3Server, warehouse: str) -> None:
    names = {f"snapshot-{number}" for number in range(1_100)}
    put_all(s3, warehouse, {f"t/{name}": b"" for name in names})
    alibaba.requests.clear()
    assert set(open_files(warehouse, alibaba.options()).names("t")) == names
    assert len(alibaba.requests) == 2


@pytest.mark.parametrize("error", ["AccessDenied", "NoSuchBucket", "InvalidAccessKeyId", "404"])
def test_a_refusal_is_not_an_empty_store(
    alibaba: AlibabaDoor, s3: S3Server, warehouse: str, error: str
) -> None:
    put_all(s3, warehouse, {"t/a": b"1"})
    files = open_files(warehouse, alibaba.options())
    assert files.names("t") == ["a"]
    alibaba.error = error
    for ask in (lambda: files.names("t"), lambda: files.read("t/a")):
        with pytest.raises(Unavailable) as refused:
            ask()
        assert error == "404" or error in refused.value.message
        assert isinstance(refused.value, Denied) == (error in ("AccessDenied", "InvalidAccessKeyId"))


def test_nothing_listens_at_the_endpoint(alibaba_client: None, warehouse: str) -> None:
    files = open_files(warehouse, {"fs.oss.endpoint": "http://127.0.0.1:9"})
    with pytest.raises(Unavailable) as gone:
        files.read("t/a")
    assert "127.0.0.1" in gone.value.message
    assert "network" in gone.value.hint


def test_rows_are_read_and_nothing_is_written(
    alibaba: AlibabaDoor, s3: S3Server, warehouse: str, warehouse_template: Path
) -> None:
    put_all(s3, warehouse, contents(warehouse_template))
    here, there = (
        paimark.open(uri, options=options).table("shop.orders")
        for uri, options in ((warehouse, alibaba.options()), (str(warehouse_template), {}))
    )
    for version in (1, 5, "v2"):
        rows = [table.at(version).to_arrow().sort_by("order_id") for table in (here, there)]
        assert rows[0].equals(rows[1])
    with pytest.raises(Refused, match=about("x-oss-forbid-overwrite", "never", "tried")):
        here.create_savepoint()
    assert {method for method, _, client in alibaba.requests if "aliyun" in client} <= {"GET", "HEAD"}
