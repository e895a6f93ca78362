"""Addresses of files and stores in Hadoop's form, and Paimon's catalog options as settings of its clients.

There is a table for each kind of store. They are settings of one bucket if Hadoop supports that, so that one
Spark can read several stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from paimark.core.storage.clouds import azure_account, google_options
from paimark.core.storage.clouds.alibaba_options import OPTIONS as ALIBABA
from paimark.core.storage.clouds.azure_account import account_of
from paimark.core.storage.clouds.google_options import TOKEN as GOOGLE_TOKEN
from paimark.core.storage.known_options import S3_CREDENTIALS, s3_name

# The client of S3 is used for all its schemes.
S3_CLIENT = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_S3A = "org.apache.hadoop.fs.s3a"
_S3_CHAIN = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
# Hadoop's names, after `fs.s3a.bucket.<bucket>.`, by Paimon's without a prefix.
_S3 = {
    "endpoint": "endpoint",
    "endpoint-region": "endpoint.region",
    "region": "endpoint.region",
    "path-style-access": "path.style.access",
    "connection-ssl-enabled": "connection.ssl.enabled",
    "connection-establish-timeout": "connection.establish.timeout",
    "connection-timeout": "connection.timeout",
}
_S3_KEYS = {"key": "access.key", "secret": "secret.key", "token": "session.token"}
# Give up an unreachable store within seconds; Hadoop's default is many minutes.
_S3_PATIENCE = {
    "attempts.maximum": "3",
    "connection.establish.timeout": "15s",
    "retry.limit": "2",
    "retry.throttle.limit": "4",
    "retry.throttle.interval": "500ms",
}
# A signature needs some region; a self-hosted store seldom has one.
_SOME_REGION = "us-east-1"
_S3_PROVIDER = "aws.credentials.provider"
# Settings that define the identity.
WHO = (*_S3_KEYS.values(), _S3_PROVIDER)
_HADOOPS_OWN = ("dfs.", "fs.", "hadoop.", "ipc.", "io.")
_HDFS_PREFIX = "hdfs.config."
# Alternative schemes, each with the one that Hadoop's client accepts.
_SAME = {"gcs": "gs", "az": "abfs"}
# By scheme, the kind of store, which names its jars and settings.
_KINDS = {
    **{"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gcs", "gcs": "gcs", "oss": "oss"},
    **{"abfs": "abfs", "abfss": "abfs", "az": "abfs", "hdfs": "hdfs", "viewfs": "hdfs", "file": "file"},
}


class Identity(NamedTuple):
    """Values that the S3 client finds by itself, beside the catalog options; empty if it finds none.

    `key`, `secret` and `token` are set if Spark can't find them in the same place.
    """

    endpoint: str = ""
    region: str = ""
    is_anonymous: bool = False
    key: str = ""
    secret: str = ""
    token: str = ""


_NOBODY = Identity()


@dataclass(frozen=True, slots=True)
class HadoopSettings:
    """`given` follow from catalog options; `found` are used only if the user's Spark settings lack them.

    Both may hold secrets.
    """

    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    found: Mapping[str, str] = field(default_factory=dict, repr=False)


def hadoop_settings(store: Store, options: Mapping[str, str], identity: Identity = _NOBODY) -> HadoopSettings:
    """The settings by which Hadoop reads the store with the same identity as the rest of the program.

    `options` include values that the metadata's client found by itself; for S3 `identity` has those.
    """
    match store.kind:
        case "s3":
            return _of_s3(store, options, identity)
        case "oss":
            return HadoopSettings(*of_alibaba(options))
        case "abfs":
            return HadoopSettings(*of_azure(store, options))
        case "gcs":
            return HadoopSettings(*of_google(options))
        case "hdfs":
            return HadoopSettings(_of_hdfs(options))
    return HadoopSettings()


def unsupported_option(store: Store, options: Mapping[str, str]) -> str:
    """An option for the identity that Hadoop's client does not support; empty for none."""
    return GOOGLE_TOKEN if store.kind == "gcs" and GOOGLE_TOKEN in options else ""


def _of_s3(store: Store, options: Mapping[str, str], identity: Identity) -> HadoopSettings:
    values = {name: value for option, value in options.items() if (name := s3_name(option))}
    given = {hadoop: values[name] for name, hadoop in _S3.items() if name in values}
    keys = _keys(values)
    found = {**_S3_PATIENCE, **({"endpoint": identity.endpoint} if identity.endpoint else {})}
    endpoint = given.get("endpoint", identity.endpoint)
    if endpoint:
        # As in the metadata's client: a self-hosted store seldom answers at bucket.host.
        found["path.style.access"] = "true"
    if region := identity.region or (_SOME_REGION if endpoint else ""):
        found["endpoint.region"] = region
    if keys:
        given |= {**keys, _S3_PROVIDER: _provider(keys)}
    elif identity.is_anonymous:
        found[_S3_PROVIDER] = f"{_S3A}.AnonymousAWSCredentialsProvider"
    elif identity.key:
        theirs = dict(zip(_S3_KEYS.values(), identity[3:], strict=True))
        theirs = {name: value for name, value in theirs.items() if value}
        found |= {**theirs, _S3_PROVIDER: _provider(theirs)}
    else:
        found[_S3_PROVIDER] = _S3_CHAIN
    prefix = bucket_setting(store, "")
    return HadoopSettings(
        {prefix + name: value for name, value in given.items()},
        {
            **{prefix + name: value for name, value in found.items() if name not in given},
            **({} if store.scheme == "s3a" else {f"fs.{store.scheme}.impl": S3_CLIENT}),
        },
    )


def place_settings(store: Store, options: Mapping[str, str]) -> dict[str, str]:
    """Of a bucket of S3, where it is. Whoever reads it needs keys too, which Hadoop finds by itself."""
    if store.kind != "s3":
        return {}
    made = _of_s3(store, {name: value for name, value in options.items() if s3_name(name) in _S3}, _NOBODY)
    where = {bucket_setting(store, name) for name in ("path.style.access", "endpoint.region")}
    return {**{name: value for name, value in made.found.items() if name in where}, **made.given}


def bucket_setting(store: Store, name: str) -> str:
    """Hadoop's name for a setting of one bucket of S3."""
    return f"fs.s3a.bucket.{store.bucket}.{name}"


def _keys(values: Mapping[str, str]) -> dict[str, str]:
    """Access key, secret key and session token by Hadoop's names, as far as they are given."""
    return {
        _S3_KEYS[part]: values[name]
        for part, names in S3_CREDENTIALS.items()
        for name in names
        if values.get(name)
    }


def _provider(keys: Mapping[str, str]) -> str:
    has_token = _S3_KEYS["token"] in keys
    return f"{_S3A}.{'Temporary' if has_token else 'Simple'}AWSCredentialsProvider"


def _of_hdfs(options: Mapping[str, str]) -> dict[str, str]:
    """Options with Hadoop's names, and those with a prefix: see `hdfs` of storage."""
    own = {name: value for name, value in options.items() if name.startswith(_HADOOPS_OWN)}
    prefixed = {
        name.removeprefix(_HDFS_PREFIX): value
        for name, value in options.items()
        if name.startswith(_HDFS_PREFIX)
    }
    return own | prefixed


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


# The options include values that the metadata's client found by itself. Google's and Alibaba's Java clients
# have settings for all buckets, Azure's for each account.
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


class Store(NamedTuple):
    """One bucket, container, name service or the local disk. `bucket` may be empty."""

    scheme: str
    bucket: str

    @property
    def kind(self) -> str:
        """`s3`, `gcs`, `oss`, `abfs`, `hdfs`, `file`; any other scheme unchanged."""
        return _KINDS.get(self.scheme, self.scheme)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}"


def store_of(address: str) -> Store:
    """The store of a file or of a warehouse."""
    scheme, separator, rest = address.partition("://")
    if not separator or address.startswith("file:"):
        return Store("file", "")
    return Store(scheme.lower(), rest.partition("/")[0])


def anybodys_address(address: str, options: Mapping[str, str]) -> str:
    """As `hadoop_address`, for a Spark that no setting tells which client reads `s3://`."""
    found = hadoop_address(address, options)
    return f"s3a://{found.partition('://')[2]}" if store_of(found).kind == "s3" else found


def hadoop_address(address: str, options: Mapping[str, str]) -> str:
    """The address for Hadoop, which always needs a scheme, and for Azure the account in the host."""
    if address.startswith("/"):
        # Without a scheme Hadoop would use its default file system.
        return f"file:{address}"
    store = store_of(address)
    if store.kind == "file":
        return address
    path = address.partition("://")[2].removeprefix(store.bucket)
    bucket = _with_account(store.bucket, options) if store.kind == "abfs" else store.bucket
    return f"{_SAME.get(store.scheme, store.scheme)}://{bucket}{path}"


def _with_account(container: str, options: Mapping[str, str]) -> str:
    account = account_of(f"abfs://{container}", options)
    return f"{container.partition('@')[0]}@{account.name}.{account.host}" if account.name else container
