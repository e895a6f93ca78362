"""Describe what Spark lacks for a store, in one sentence with the command that adds it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from glob import glob

from paimark.core.spark.stores.addresses import Store
from paimark.core.spark.stores.jars.cached import jar_sets

# The consequence for queries.
SLOWLY = "so tables are read through Python"
_VERSION = re.compile(r"-(\d+\.\d+[^-/]*)\.jar$")
# Clients that must have exactly the version of Hadoop.
_OF_HADOOP = re.compile(r"hadoop-(?:aws|aliyun|azure)-")
_MISSING = ("NoClassDefFoundError", "ClassNotFoundException", "NoSuchMethodError", "NoSuchFieldError")
# The most common case: a jar that hadoop-aws needs and that SDK users seldom have.
_TRANSFER = "software/amazon/awssdk/transfer"


def no_client(store: Store, said: str, hadoop: str) -> str:
    """The sentence for a missing client class of a store."""
    return f"Spark has no client for {store.scheme}: {how_to_add(store, hadoop) or said}"


def of_other_hadoop(store: Store, jar: str, hadoop: str) -> str:
    """The sentence for a client's jar of another version of Hadoop than Spark's; empty if it fits."""
    version = _VERSION.search(jar)
    if not _OF_HADOOP.match(jar) or version is None or version[1] == hadoop:
        return ""
    return (
        f"{jar} is of Hadoop {version[1]}, and Spark here brings Hadoop {hadoop}: {how_to_add(store, hadoop)}"
    )


def missing_class(store: Store, kind: str, said: str, hadoop: str) -> str:
    """The sentence for a jar that the client needs and that is missing or wrong; empty for other errors."""
    if not kind.endswith(_MISSING):
        return ""
    name = said.replace(".", "/")
    what = "the jar s3-transfer-manager is missing" if _TRANSFER in name else f"the jars lack {said.strip()}"
    return f"The client for {store.scheme} is not whole, {what}: {how_to_add(store, hadoop)}"


def incomplete(store: Store, files: Collection[str], hadoop: str) -> str:
    """The sentence if these jars have the client, but lack one that it needs; empty if none is missing."""
    is_whole = any(name.startswith(("s3-transfer-manager-", "bundle-")) for name in files)
    if store.kind != "s3" or is_whole:
        return ""
    return f"hadoop-aws is among your jars, and s3-transfer-manager is not: {how_to_add(store, hadoop)}"


def how_to_add(store: Store, hadoop: str) -> str:
    """The exact command; empty if none is known."""
    jars = jar_sets().get(store.kind)
    if jars is None:
        return ""
    if jars.version == hadoop:
        return f"run `paimark jars fetch {jars.name}`, or give them with --spark-conf 'spark.jars=/dir/*.jar'"
    group, artifact, listed, _ = jars.jars[0].parts
    version = hadoop if artifact.startswith("hadoop-") else listed
    return f"give it with --spark-conf spark.jars.packages={group}:{artifact}:{version}"


_FILES = {"spark.jars": ",", "spark.driver.extraClassPath": ":"}
_PACKAGES = "spark.jars.packages"


def named_files(settings: Mapping[str, str]) -> list[str]:
    """The names of jars given as files: `hadoop-aws-3.4.2.jar`."""
    patterns = [
        each.strip() for name, mark in _FILES.items() for each in settings.get(name, "").split(mark) if each
    ]
    paths = [path for each in patterns for path in (glob(_path(each)) or [each])]
    return [path.rpartition("/")[2] for path in paths]


def named_packages(settings: Mapping[str, str]) -> list[str]:
    """The names of jars given as packages, without their dependencies."""
    packages = [each.strip().split(":") for each in settings.get(_PACKAGES, "").split(",")]
    return ["-".join(each[1:3]) + ".jar" for each in packages if len(each) >= 3]


def _path(written: str) -> str:
    """A glob pattern of paths; in a class path `/*` stands for all jars of a directory."""
    path = "/" + written.removeprefix("file:").lstrip("/") if written.startswith("file:") else written
    return f"{path}.jar" if path.endswith("/*") else path
