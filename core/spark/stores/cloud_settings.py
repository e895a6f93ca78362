"""Translate catalog options for Google, Azure and Alibaba to Hadoop's settings.

The options include values that the metadata's client found by itself. Google's and Alibaba's Java clients
have settings for all buckets, Azure's for each account.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.spark.stores.addresses import Store
from paimark.core.storage.clouds import azure_account, google_options
from paimark.core.storage.clouds.alibaba_options import OPTIONS as ALIBABA

Settings = dict[str, str]
_GOOGLE_CLIENT = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
_OSS_CLIENT = "org.apache.hadoop.fs.aliyun.oss.AliyunOSSFileSystem"
# The equivalent of the type UNAUTHENTICATED for versions 2.2 of the connector, which do not know it.
_GOOGLE_UNSIGNED = {"fs.gs.auth.service.account.enable": "false", "fs.gs.auth.null.enable": "true"}
# Give up an unreachable store within seconds; the clients' defaults are many minutes.
_GOOGLE_PATIENCE = {
    "fs.gs.http.connect-timeout": "5000",
    "fs.gs.http.read-timeout": "20000",
    "fs.gs.http.max.retry": "3",
}
_AZURE_PATIENCE = {
    "fs.azure.io.retry.max.retries": "3",
    "fs.azure.io.retry.min.backoff.interval": "200",
    "fs.azure.io.retry.max.backoff.interval": "2000",
    "fs.azure.http.connection.timeout": "5000",
}
_OSS_PATIENCE = {"fs.oss.attempts.maximum": "3", "fs.oss.connection.establish.timeout": "5000"}
# Hadoop would query the kind of account by a protocol that emulators do not support.
_BLOBS = {azure_account.IS_HIERARCHICAL: "false", azure_account.PROTOCOL: "BLOB"}


def of_google(options: Mapping[str, str]) -> tuple[Settings, Settings]:
    """The fields `given` and `found` of `HadoopSettings`."""
    given = {
        name: options[name] for name in (google_options.ENDPOINT, google_options.KEYFILE) if name in options
    }
    for name in google_options.PROJECTS:
        if name in options:
            given["fs.gs.project.id"] = options[name]
    if kind := google_options.sign_in(options):
        given[google_options.TYPE] = kind
    if kind == google_options.UNSIGNED:
        given |= _GOOGLE_UNSIGNED
    found = {"fs.gs.impl": _GOOGLE_CLIENT, google_options.TYPE: google_options.DEFAULT}
    return given, {**_GOOGLE_PATIENCE, **{name: value for name, value in found.items() if name not in given}}


def of_azure(store: Store, options: Mapping[str, str]) -> tuple[Settings, Settings]:
    """The fields `given` and `found`. Hadoop's names end with the account's name and full host."""
    account = azure_account.account_of(str(store), options)
    given: Settings = {}
    for name, value in account.options.items():
        whole = name in azure_account.WHOLE_OPTIONS
        given[name if whole else f"{name}.{account.name}.{account.host}"] = value
    if kind := azure_account.sign_in(account):
        given[f"{azure_account.AUTH_TYPE}.{account.name}.{account.host}"] = kind
    if kind == "OAuth":
        given[f"{azure_account.PROVIDER}.{account.name}.{account.host}"] = azure_account.CLIENT_PROVIDER
    found = {**_AZURE_PATIENCE, **(_BLOBS if azure_account.ENDPOINT in given else {})}
    return given, {name: value for name, value in found.items() if name not in given}


def of_alibaba(options: Mapping[str, str]) -> tuple[Settings, Settings]:
    """The fields `given` and `found`. Hadoop uses Paimon's names; their case is ignored."""
    known = {name.lower(): name for name in ALIBABA}
    given = {known[name.lower()]: value for name, value in options.items() if name.lower() in known}
    return given, {**_OSS_PATIENCE, "fs.oss.impl": _OSS_CLIENT}
