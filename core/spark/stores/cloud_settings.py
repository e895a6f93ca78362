"""Catalog options of Google, Azure and Alibaba as Hadoop's settings.

What the metadata's client found for itself is among the options. Google's and Alibaba's clients in Java have
settings for all buckets, Azure's for an account.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.spark.stores.addresses import Store
from core.storage.clouds import azure_account, google_options
from core.storage.clouds.alibaba_options import OPTIONS as ALIBABA

Settings = dict[str, str]
_GOOGLE_CLIENT = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
_OSS_CLIENT = "org.apache.hadoop.fs.aliyun.oss.AliyunOSSFileSystem"
# What the type means to the line 2.2 of the connector, which does not know it.
_GOOGLE_UNSIGNED = {"fs.gs.auth.service.account.enable": "false", "fs.gs.auth.null.enable": "true"}
# A store that is gone is given up in seconds; the clients' own patience is many minutes.
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
# Hadoop asks for the kind of account by a protocol that emulators do not speak.
_BLOBS = {azure_account.IS_HIERARCHICAL: "false", azure_account.PROTOCOL: "BLOB"}


def of_google(options: Mapping[str, str]) -> tuple[Settings, Settings]:
    """Given and found, as `HadoopSettings` has them."""
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
    """Given and found. Hadoop wants the whole host behind the account's name."""
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
    """Hadoop has them under Paimon's own names, which are taken in any case."""
    known = {name.lower(): name for name in ALIBABA}
    given = {known[name.lower()]: value for name, value in options.items() if name.lower() in known}
    return given, {**_OSS_PATIENCE, "fs.oss.impl": _OSS_CLIENT}
