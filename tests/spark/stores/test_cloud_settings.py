"""Catalog options of Google, Azure and Alibaba as the settings of Hadoop's clients."""

from __future__ import annotations

import pytest

from paimark.core.spark.stores.settings import Store, hadoop_settings

ACCOUNT = "acc.dfs.core.windows.net"


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
