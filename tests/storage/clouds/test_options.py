"""Catalog options of Google, Azure and Alibaba: what their clients are told, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from paimark.core.errors import UsageError
from paimark.core.storage.clouds import azure_account, google_options
from paimark.core.storage.clouds.alibaba_options import OPTIONS, alibaba_arguments
from paimark.core.storage.clouds.azure_account import account_of, azure_arguments, client_account
from paimark.core.storage.clouds.google_options import google_arguments
from paimark.core.storage.known_options import is_known
from tests.wording import about

KEY = {"fs.azure.account.key.acc": "k"}
WHOLE = "abfss://c@acc.dfs.core.windows.net/w"
CLIENT = {
    "fs.azure.account.oauth2.client.id": "i",
    "fs.azure.account.oauth2.client.secret": "s",
    "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
}
EMULATOR = {"fs.azure.abfs.endpoint": "127.0.0.1:10000", "fs.azure.always.use.https": "false"}


def test_all_of_them_are_known() -> None:
    google = (google_options.ENDPOINT, google_options.KEYFILE, google_options.TYPE, *google_options.PROJECTS)
    azure = (*azure_account.WHOLE_OPTIONS, *azure_account.OPTIONS)
    azure_of_one = [f"{name}.acc.dfs.core.windows.net" for name in azure_account.OPTIONS]
    every = (*google, google_options.TOKEN, *OPTIONS, *azure, *azure_of_one)
    assert [name for name in every if not is_known(name, "/lake")] == []
    near = [f"{name}s" for name in (*google, *azure)]
    assert [name for name in near if is_known(name, "/lake")] == []


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, {}),
        ({"gcs.project-id": "p"}, {"project": "p"}),
        ({"fs.gs.project.id": "p", "gcs.access-token": "t"}, {"project": "p", "token": "t"}),
        ({"fs.gs.auth.service.account.json.keyfile": "/k.json"}, {"token": "/k.json"}),
        ({"fs.gs.auth.type": "application_default"}, {"token": "google_default"}),
        (
            {"fs.gs.auth.type": "UNAUTHENTICATED", "fs.gs.storage.root.url": "http://h:1/"},
            {"token": "anon", "endpoint_url": "http://h:1"},
        ),
    ],
)
def test_google(options: dict[str, str], arguments: dict[str, object]) -> None:
    assert google_arguments(options) == arguments


@pytest.mark.parametrize(
    "options",
    [
        {"fs.gs.auth.type": "ACCESS_TOKEN_PROVIDER"},
        {"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE"},
        {"fs.gs.auth.type": "UNAUTHENTICATED", "fs.gs.auth.service.account.json.keyfile": "/k"},
        {"fs.gs.auth.type": "UNAUTHENTICATED", "gcs.access-token": "t"},
    ],
)
def test_two_ways_to_sign_in_to_google_or_half_a_one_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        google_arguments(options)


@pytest.mark.parametrize(
    ("uri", "options", "arguments"),
    [
        ("abfs://c/w", {}, {}),
        ("abfs://c/w", KEY, {"account_name": "acc", "account_key": "k"}),
        (WHOLE, KEY, {"account_name": "acc", "account_key": "k"}),
        (WHOLE, {"fs.azure.account.key.acc.blob.core.windows.net": "k"}, {"account_key": "k"}),
        (WHOLE, {"fs.azure.account.key.other": "k"}, {"account_name": "acc"}),
        (WHOLE, {"fs.azure.sas.fixed.token.acc": "t"}, {"account_name": "acc", "sas_token": "t"}),
        (WHOLE, CLIENT, {"client_id": "i", "client_secret": "s", "tenant_id": "tenant"}),
        (
            "abfss://c@acc.dfs.core.chinacloudapi.cn/w",
            {},
            {"account_name": "acc", "account_host": "acc.blob.core.chinacloudapi.cn"},
        ),
        (
            WHOLE,
            KEY | EMULATOR,
            {
                "connection_string": "DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=k;"
                "BlobEndpoint=http://127.0.0.1:10000/acc"
            },
        ),
    ],
)
def test_azure(uri: str, options: dict[str, str], arguments: dict[str, object]) -> None:
    told = azure_arguments(account_of(uri, options))
    assert told == {
        **({"account_name": "acc"} if uri == WHOLE and "connection_string" not in told else {}),
        **arguments,
    }


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("OAuth", "client.id is not given"),
        ("SAS", "sas.fixed.token is not given"),
        ("Custom", "only Hadoop's"),
    ],
)
def test_half_a_way_to_sign_in_to_azure_is_refused(kind: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        account_of(WHOLE, KEY | {"fs.azure.account.auth.type": kind})
    machines = "org.apache.hadoop.fs.azurebfs.oauth2.MsiTokenProvider"
    with pytest.raises(UsageError, match=about("oauth.provider.type", "MsiTokenProvider", "Hadoop's")):
        account_of(WHOLE, CLIENT | {"fs.azure.account.oauth.provider.type": machines})


@pytest.mark.parametrize(
    ("adlfs", "options"),
    [
        ({}, {}),
        ({"account_name": "acc"}, {}),
        ({"account_name": "acc", "account_key": "k"}, KEY),
        ({"account_name": "acc", "sas_token": "?sv=1"}, {"fs.azure.sas.fixed.token.acc": "sv=1"}),
        ({"account_name": "acc", "client_id": "i", "client_secret": "s", "tenant_id": "tenant"}, CLIENT),
        ({"connection_string": "AccountName=acc;AccountKey=k"}, KEY),
        (
            {
                "connection_string": "DefaultEndpointsProtocol=http;AccountName=acc;AccountKey=k;"
                "BlobEndpoint=http://127.0.0.1:10000/acc;"
            },
            KEY | EMULATOR,
        ),
    ],
)
def test_the_account_of_azures_client_becomes_options(adlfs: dict[str, str], options: dict[str, str]) -> None:
    names = ["account_name", "account_key", "sas_token", "connection_string"]
    names += ["client_id", "client_secret", "tenant_id"]
    assert client_account(SimpleNamespace(**dict.fromkeys(names) | adlfs)) == options


def test_alibaba_takes_names_in_any_case() -> None:
    assert alibaba_arguments({"fs.oss.accesskeyid": "k", "fs.oss.impl": "jindo"}) == {"key": "k"}
