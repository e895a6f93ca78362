"""Catalog options as Hadoop's clients take them, and where a user's own Spark settings stand."""

from __future__ import annotations

import pytest

from paimark.core.spark.stores.access import chosen
from paimark.core.spark.stores.settings import (
    HadoopSettings,
    Identity,
    Store,
    hadoop_address,
    hadoop_settings,
    store_of,
    unsupported_option,
)

LAKE = Store("s3", "my.lake")
CHAIN = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
CHAIN = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
S3A = "org.apache.hadoop.fs.s3a"
IN_BUCKET = "fs.s3a.bucket.my.lake."
ACCOUNT = "acc.dfs.core.windows.net"


def of_bucket(settings: HadoopSettings) -> dict[str, str]:
    """All that is set for the bucket, by the names after it."""
    both = {**settings.found, **settings.given}
    return {name.removeprefix(IN_BUCKET): value for name, value in both.items() if name.startswith(IN_BUCKET)}


@pytest.mark.parametrize("prefix", ["s3.", "s3a.", "fs.s3.", "fs.s3a."])
def test_every_option_of_s3_is_one_of_the_bucket(prefix: str) -> None:
    options = {
        "endpoint": "http://minio:9000",
        "access-key": "k",
        "secret-key": "s",
        "session-token": "t",
        "region": "eu-west-1",
        "path.style.access": "false",
        "connection.timeout": "5000",
    }
    settings = hadoop_settings(LAKE, {prefix + name: value for name, value in options.items()})
    assert settings.given == {
        f"{IN_BUCKET}endpoint": "http://minio:9000",
        f"{IN_BUCKET}endpoint.region": "eu-west-1",
        f"{IN_BUCKET}path.style.access": "false",
        f"{IN_BUCKET}connection.timeout": "5000",
        f"{IN_BUCKET}access.key": "k",
        f"{IN_BUCKET}secret.key": "s",
        f"{IN_BUCKET}session.token": "t",
        f"{IN_BUCKET}aws.credentials.provider": f"{S3A}.TemporaryAWSCredentialsProvider",
    }
    assert settings.found["fs.s3.impl"] == f"{S3A}.S3AFileSystem"
    assert not settings.given.keys() & settings.found.keys()


def test_no_setting_shows_in_a_repr() -> None:
    settings = hadoop_settings(LAKE, {"s3.access-key": "kkkk", "s3.secret-key": "ssss"})
    assert "kkkk" not in repr(settings) and "ssss" not in repr(settings)


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        (
            Identity(),
            {"aws.credentials.provider": CHAIN},
        ),
        (Identity(is_anonymous=True), {"aws.credentials.provider": f"{S3A}.AnonymousAWSCredentialsProvider"}),
        (
            Identity("http://minio:9000", "", False, "k", "s"),
            {
                "aws.credentials.provider": f"{S3A}.SimpleAWSCredentialsProvider",
                "access.key": "k",
                "secret.key": "s",
                "endpoint": "http://minio:9000",
                # As the client of the metadata has both on a store of one's own.
                "path.style.access": "true",
                "endpoint.region": "us-east-1",
            },
        ),
        (
            Identity("", "eu-west-1", False, "k", "s", "t"),
            {
                "aws.credentials.provider": f"{S3A}.TemporaryAWSCredentialsProvider",
                "access.key": "k",
                "secret.key": "s",
                "session.token": "t",
                "endpoint.region": "eu-west-1",
            },
        ),
    ],
    ids=["found by Java", "anonymous", "handed over", "with a token"],
)
def test_spark_is_who_the_client_of_the_metadata_is(identity: Identity, expected: dict[str, str]) -> None:
    settings = hadoop_settings(LAKE, {}, identity)
    patience = ("retry.", "attempts.", "connection.")
    found = {name: value for name, value in of_bucket(settings).items() if not name.startswith(patience)}
    assert found == expected
    assert not settings.given


def test_a_users_own_settings_stand() -> None:
    settings = HadoopSettings(
        {f"{IN_BUCKET}endpoint": "http://a", f"{IN_BUCKET}access.key": "k"},
        {f"{IN_BUCKET}aws.credentials.provider": "p", f"{IN_BUCKET}retry.limit": "2", "fs.s3.impl": "c"},
    )

    def left(*users: str) -> set[str]:
        return {name.removeprefix(IN_BUCKET) for name in chosen(LAKE, settings, users.__contains__)}

    assert left() == {"endpoint", "access.key", "aws.credentials.provider", "retry.limit", "fs.s3.impl"}
    assert left(f"{IN_BUCKET}endpoint", f"{IN_BUCKET}retry.limit", "fs.s3.impl") == {
        "access.key",
        "aws.credentials.provider",
    }
    # For all buckets: options of the catalog are nearer, what was only found is not.
    assert left("fs.s3a.endpoint", "fs.s3a.retry.limit") == left() - {"retry.limit"}
    # Who names keys does not mean those of the environment.
    assert left("fs.s3a.secret.key") == left() - {"aws.credentials.provider"}


def test_hdfs_has_settings_of_its_own() -> None:
    assert dict(
        hadoop_settings(
            Store("hdfs", "n:1"),
            {"hdfs.config.dfs.a": "1", "dfs.b": "2", "hdfs.conf-dir": "/c"},
        ).given
    ) == {"dfs.a": "1", "dfs.b": "2"}


def test_a_token_that_hadoop_has_no_setting_for_is_told() -> None:
    assert unsupported_option(Store("gs", "b"), {"gcs.access-token": "t"}) == "gcs.access-token"
    assert (
        unsupported_option(LAKE, {"gcs.access-token": "t"}) == unsupported_option(Store("gs", "b"), {}) == ""
    )


@pytest.mark.parametrize(
    ("address", "hadoop"),
    [
        ("/w/a b%/f", "file:/w/a b%/f"),
        ("file:/w/f", "file:/w/f"),
        ("s3://b/f%41", "s3://b/f%41"),
        ("s3n://b/f", "s3n://b/f"),
        ("gcs://b/f", "gs://b/f"),
        ("az://c/f", "abfs://c@acc.dfs.core.windows.net/f"),
        ("abfss://c@other.host/f", "abfss://c@other.host/f"),
        ("hdfs://n:8020/f", "hdfs://n:8020/f"),
        ("hdfs:///f", "hdfs:///f"),
    ],
)
def test_addresses_are_hadoops(address: str, hadoop: str) -> None:
    assert hadoop_address(address, {"fs.azure.account.key.acc": "k"}) == hadoop


def test_stores_are_told_apart() -> None:
    addresses = ["/w/f", "file:/w/g", "s3://b/f", "s3a://b/f", "S3://b", "hdfs://n:1/x", "memory://x/y"]
    assert [store_of(each).kind for each in addresses] == ["file", "file", "s3", "s3", "s3", "hdfs", "memory"]
    assert store_of("s3://b/f") == store_of("S3://b")


def settings_of(store: Store, options: dict[str, str]) -> dict[str, str]:
    return dict(hadoop_settings(store, options).given)


def test_alibabas_are_hadoops_own() -> None:
    options = {"fs.oss.accesskeyid": "k", "fs.oss.impl": "jindo", "fs.oss.endpoint": "e"}
    assert settings_of(Store("oss", "b"), options) == {"fs.oss.accessKeyId": "k", "fs.oss.endpoint": "e"}
    # pypaimon's word for a client is none of Hadoop's classes.
    assert hadoop_settings(Store("oss", "b"), options).found["fs.oss.impl"].endswith("AliyunOSSFileSystem")


@pytest.mark.parametrize("name", ["acc", "acc.blob.core.windows.net", ACCOUNT])
@pytest.mark.parametrize("bucket", ["c", f"c@{ACCOUNT}"])
def test_azures_key_is_under_the_whole_host(name: str, bucket: str) -> None:
    assert settings_of(Store("abfs", bucket), {f"fs.azure.account.key.{name}": "k"}) == {
        f"fs.azure.account.key.{ACCOUNT}": "k",
        f"fs.azure.account.auth.type.{ACCOUNT}": "SharedKey",
    }


def test_an_endpoint_of_azures_own_speaks_of_blobs() -> None:
    store = Store("abfs", "c")
    options = {"fs.azure.account.key.acc": "k", "fs.azure.abfs.endpoint": "127.0.0.1:1"}
    assert settings_of(store, options)["fs.azure.abfs.endpoint"] == "127.0.0.1:1"
    assert hadoop_settings(store, options).found["fs.azure.fns.account.service.type"] == "BLOB"
    assert "fs.azure.account.hns.enabled" not in hadoop_settings(store, {}).found
    told = options | {"fs.azure.account.hns.enabled": "true"}
    assert settings_of(store, told)["fs.azure.account.hns.enabled"] == "true"
    assert "fs.azure.account.hns.enabled" not in hadoop_settings(store, told).found


def test_a_service_principal_signs_in_by_its_own_class() -> None:
    names = [f"fs.azure.account.oauth2.client.{part}" for part in ("id", "secret", "endpoint")]
    told = settings_of(Store("abfss", f"c@{ACCOUNT}"), dict.fromkeys(names, "x"))
    assert told.pop(f"fs.azure.account.oauth.provider.type.{ACCOUNT}").endswith(".ClientCredsTokenProvider")
    assert told.pop(f"fs.azure.account.auth.type.{ACCOUNT}") == "OAuth"
    assert told == {f"{name}.{ACCOUNT}": "x" for name in names}


def test_google_is_told_who_reads_in_the_words_of_both_lines_of_its_client() -> None:
    store = Store("gs", "b")
    assert settings_of(store, {"gcs.project-id": "p"}) == {"fs.gs.project.id": "p"}
    unsigned = settings_of(store, {"fs.gs.auth.type": "UNAUTHENTICATED", "fs.gs.storage.root.url": "u"})
    assert unsigned == {
        "fs.gs.auth.type": "UNAUTHENTICATED",
        "fs.gs.auth.service.account.enable": "false",
        "fs.gs.auth.null.enable": "true",
        "fs.gs.storage.root.url": "u",
    }
    by_file = {"fs.gs.auth.service.account.json.keyfile": "/k"}
    assert settings_of(store, by_file) == {**by_file, "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE"}
    assert hadoop_settings(store, {}).found["fs.gs.auth.type"] == "APPLICATION_DEFAULT"
