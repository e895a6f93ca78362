"""Make the options by which pypaimon-rust reads a store, or give the reason why Python reads there.

Credentials and endpoints are always passed as options: what pypaimon-rust finds itself may be another
identity or place. It supports few options, and silently ignores all others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from paimark.core.storage.hadoop.site_files import site_settings
from paimark.core.storage.known_options import S3_CREDENTIALS, s3_name

_S3 = ("s3", "s3a")
_S3_TAKEN = frozenset(
    {
        *(name for names in S3_CREDENTIALS.values() for name in names),
        *("endpoint", "region", "endpoint-region", "path-style-access", "connection-ssl-enabled"),
    }
)
# The names that it supports; of other spellings it knows only some.
_S3_KEYS = {"key": "s3.access-key", "secret": "s3.secret-key", "token": "s3.session.token"}
_PATH_STYLE = "s3.path-style-access"
# Requests are signed for a region; a self-hosted store usually has none.
_SOME_REGION = "us-east-1"
# The Amazon regions whose hosts have other names.
_OTHER_HOSTS = ("cn-", "us-iso", "eu-iso")
_HDFS_OPTIONS = (
    "hdfs.",
    "security.",
    "dfs.",
    "fs.default",
    "fs.hdfs.",
    "fs.viewfs.",
    "hadoop.",
    "ipc.",
    "io.",
)
_NAME_NODES = "hdfs.name-node"


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """`options` are those for pypaimon-rust. With `why_python` there are none, and Python reads."""

    why_python: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def store_access(warehouse: str, options: Mapping[str, str]) -> StoreAccess:
    """`options` are the catalog's, with those that the metadata's client found itself."""
    scheme, is_address, rest = warehouse.partition("://")
    if not is_address:
        return StoreAccess()
    if scheme in _S3:
        return _s3(options)
    if scheme == "hdfs":
        return _hdfs(rest.partition("/")[0], options)
    return StoreAccess(f"it is not tried on {scheme}")


def _s3(options: Mapping[str, str]) -> StoreAccess:
    settings: dict[str, str] = {}
    for option, value in options.items():
        if name := s3_name(option):
            if name not in _S3_TAKEN:
                return StoreAccess(f"it takes no {option}")
            settings[name] = value
    keys = {
        part: settings[name] for part, names in S3_CREDENTIALS.items() for name in names if settings.get(name)
    }
    if missing := next((_S3_KEYS[part] for part in ("key", "secret") if part not in keys), ""):
        return StoreAccess(f"it needs {missing} as an option, in the environment or in a profile")
    region = settings.get("region") or settings.get("endpoint-region") or ""
    endpoint = settings.get("endpoint", "")
    style = settings.get("path-style-access")
    # As in the metadata's client: a self-hosted store rarely answers at bucket.host.
    by_path = bool(endpoint) if style is None else style.lower() == "true"
    if not endpoint:
        if not region or region.startswith(_OTHER_HOSTS):
            return StoreAccess(f"it does not know the host of Amazon's region {region}".rstrip())
        # Without an endpoint it would use variables that no other client reads.
        endpoint = f"https://s3.{region}.amazonaws.com"
    elif "://" not in endpoint:
        is_plain = settings.get("connection-ssl-enabled", "true").lower() == "false"
        endpoint = f"{'http' if is_plain else 'https'}://{endpoint}"
    credentials = {_S3_KEYS[part]: value for part, value in keys.items()}
    return StoreAccess(
        options={
            **credentials,
            "s3.endpoint": endpoint,
            "s3.region": region or _SOME_REGION,
            _PATH_STYLE: "true" if by_path else "false",
        }
    )


def _hdfs(host: str, options: Mapping[str, str]) -> StoreAccess:
    """On HDFS it reads Hadoop's files, if the environment names them, and tickets of `kinit`."""
    if option := next((option for option in options if option.startswith(_HDFS_OPTIONS)), ""):
        return StoreAccess(f"it takes no {option}")
    if not host:
        return StoreAccess("it does not look for Hadoop's default file system")
    if host.rpartition(":")[2].isdigit():
        return StoreAccess(options={_NAME_NODES: f"hdfs://{host}"})
    settings = _hadoop_settings()
    names = settings.get(f"dfs.ha.namenodes.{host}")
    if names is None:
        # It would try to resolve a host of that name for minutes.
        return StoreAccess(f"it needs a port in the address, or Hadoop's files with the name service {host}")
    if settings.get(f"dfs.client.failover.resolve-needed.{host}", "").lower() == "true":
        return StoreAccess(f"it does not look for more hosts behind the names of {host}'s NameNodes")
    name_nodes = [
        settings.get(f"dfs.namenode.rpc-address.{host}.{name.strip()}", "") for name in names.split(",")
    ]
    if not all(name_nodes):
        return StoreAccess(f"Hadoop's files do not name the address of each NameNode of {host}")
    return StoreAccess(options={_NAME_NODES: f"hdfs://{','.join(name_nodes)}"})


def _hadoop_settings() -> dict[str, str]:
    """The settings in files that pypaimon-rust reads too; empty if they can't be read (it reports it)."""
    home = os.environ.get("HADOOP_HOME")
    directory = os.environ.get("HADOOP_CONF_DIR") or (f"{home}/etc/hadoop" if home else "")
    return site_settings([directory] if directory else [], ("core-site.xml", "hdfs-site.xml"))
