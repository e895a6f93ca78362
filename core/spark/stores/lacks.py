"""What Spark lacks for a store, in one sentence with the line that adds it."""

from __future__ import annotations

import re
from collections.abc import Collection

from core.spark.stores.addresses import Store
from core.spark.stores.jars.lists import jar_sets

# What becomes of queries then.
SLOWLY = "so tables are read through Python"
_VERSION = re.compile(r"-(\d+\.\d+[^-/]*)\.jar$")
# Clients that must be of the very version of Hadoop itself.
_OF_HADOOP = re.compile(r"hadoop-(?:aws|aliyun|azure)-")
_MISSING = ("NoClassDefFoundError", "ClassNotFoundException", "NoSuchMethodError", "NoSuchFieldError")
# The trap that most fall into: a jar that hadoop-aws needs and that SDK users seldom have.
_TRANSFER = "software/amazon/awssdk/transfer"


def no_client(store: Store, said: str, hadoop: str) -> str:
    """There is no class for the store."""
    return f"Spark has no client for {store.scheme}: {how_to_add(store, hadoop) or said}"


def of_other_hadoop(store: Store, jar: str, hadoop: str) -> str:
    """The jar of the client is of another Hadoop than Spark's; empty if it is not."""
    version = _VERSION.search(jar)
    if not _OF_HADOOP.match(jar) or version is None or version[1] == hadoop:
        return ""
    return (
        f"{jar} is of Hadoop {version[1]}, and Spark here brings Hadoop {hadoop}: {how_to_add(store, hadoop)}"
    )


def missing_class(store: Store, kind: str, said: str, hadoop: str) -> str:
    """A jar is missing beside the client, or is of another version; empty for other errors."""
    if not kind.endswith(_MISSING):
        return ""
    name = said.replace(".", "/")
    what = "the jar s3-transfer-manager is missing" if _TRANSFER in name else f"the jars lack {said.strip()}"
    return f"The client for {store.scheme} is not whole, {what}: {how_to_add(store, hadoop)}"


def incomplete(store: Store, files: Collection[str], hadoop: str) -> str:
    """The client is among these jars without one that it needs; empty for none missing."""
    is_whole = any(name.startswith(("s3-transfer-manager-", "bundle-")) for name in files)
    if store.kind != "s3" or is_whole:
        return ""
    return f"hadoop-aws is among your jars, and s3-transfer-manager is not: {how_to_add(store, hadoop)}"


def how_to_add(store: Store, hadoop: str) -> str:
    """The exact line; empty where none is known."""
    jars = jar_sets().get(store.kind)
    if jars is None:
        return ""
    if jars.version == hadoop:
        return f"run `paimark jars fetch {jars.name}`, or give them with --spark-conf 'spark.jars=/dir/*.jar'"
    group, artifact, listed, _ = jars.jars[0].parts
    version = hadoop if artifact.startswith("hadoop-") else listed
    return f"give it with --spark-conf spark.jars.packages={group}:{artifact}:{version}"
