"""Addresses that no store can have: refused in a sentence of ours, before any client is asked."""

from __future__ import annotations

import pytest

from paimark.core.errors import UsageError
from paimark.core.storage.connect import require_address
from paimark.core.storage.open import open_files
from tests.wording import about

BUCKETS = ("s3", "s3a", "gs", "gcs", "oss", "abfs", "abfss", "az")
HOSTS = ("hdfs", "http", "webhdfs", "ftp")
# The words of libraries: they mean nothing to a person who mistyped an address.
FOREIGN = ("UrlParseError", "codec", "IPv6 URL", "Parameter validation", "regex", "NameNode hosts", "cast to")


@pytest.mark.parametrize("scheme", [*BUCKETS, *HOSTS])
@pytest.mark.parametrize(
    "location",
    [
        *("a b/x", "a\tb/x", "a\x1b[31mb/x", "a\nb/x", "[/x", "[::1/x", "]/x", ":8020/x", "h:port/x", "h:/x"),
        *("h:99999/x", "h:-1/x", "h:0/x", "%zz/x", "a%20b/x", "../x", "..", "a..b:1:2/x"),
        *("a" * 300 + "/x", "h\udcff/x", "h/x\udcff", "h/\x00", "h/\x7f", "'/x", "a\\b/x", "*", "{a,b}/x"),
        *("#", "::x/y", " /x", "a,b/x"),
    ],
)
def test_an_impossible_address_is_refused_in_one_sentence(scheme: str, location: str) -> None:
    with pytest.raises(UsageError) as refused:
        open_files(f"{scheme}://{location}")
    assert not any(word in str(refused.value) for word in FOREIGN)
    assert refused.value.hint


@pytest.mark.parametrize("scheme", [*BUCKETS, "hdfs"])
@pytest.mark.parametrize("authority", ["h?x", "?", "@h/x", "a@b@c/x"])
def test_a_store_has_no_users_and_no_queries(scheme: str, authority: str) -> None:
    with pytest.raises(UsageError):
        open_files(f"{scheme}://{authority}")


@pytest.mark.parametrize("scheme", [*BUCKETS, "hdfs"])
@pytest.mark.parametrize("path", ["../x", "a/./b", "a/.."])
def test_a_path_never_leads_elsewhere(scheme: str, path: str) -> None:
    """Hadoop's clients shorten it, and others take the dots for names: they would read two warehouses."""
    with pytest.raises(UsageError, match="holds '"):
        open_files(f"{scheme}://h/{path}")


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("hdfs://a b/x", ("hdfs://a b/x", "'a b'", "host name")),
        ("hdfs://h:port/x", ("hdfs://h:port/x", "'port'", "port")),
        ("hdfs://:8020/x", ("hdfs://:8020/x", "no host")),
        ("hdfs://u@h/x", ("hdfs://u@h/x", "user")),
        ("s3://a b/x", ("s3://a b/x", "'a b'", "bucket name")),
        ("abfss://@h/x", ("abfss://@h/x", "no container")),
        ("abfss://c@a b/x", ("abfss://c@a b/x", "'a b'", "host name")),
        ("gs://h/a\nb", ("'gs://h/a\\nb'", "control character")),
        ("s3://h\udcff/a", ("'s3://h\\udcff/a'", "UTF-8")),
    ],
)
def test_the_sentence_names_the_wrong_part(uri: str, told: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=about(*told)):
        open_files(uri)


@pytest.mark.parametrize(
    "uri",
    [
        *("hdfs://namenode:8020/x", "hdfs://name_service/x", "hdfs://[::1]:8020/x", "hdfs:///x", "hdfs://10.0.0.1/x"),
        *("hdfs://bücher/x", "hdfs://h/a b", "hdfs://h/表 ?#[x]*{a,b}", "hdfs://h//x", "hdfs://h."),
        *("s3://my.bucket_1/x", "s3://B/", "s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/mine/x"),
        *("abfss://c@acc.dfs.core.windows.net/x", "abfs://c/x", "abfss://$web@acc.dfs.core.windows.net", "az://c/x"),
        *("gs://b/..x/...", "oss://b/x", "http://user@h:80/x", "http://u:p@h/x", "memory://a b/x", "zip://a b::file://x"),
        "simplecache::s3://b/x",
    ],
)  # fmt: skip
def test_a_possible_address_passes(uri: str) -> None:
    require_address(uri)
