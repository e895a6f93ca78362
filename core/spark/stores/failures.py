"""Turn errors of a store's Java client into a sentence for a person, and a hint, or what Spark lacks for it.

What it lacks has the command that adds it. Kerberos in Java is here as far as it differs from the libraries
of `kinit` in the same environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from glob import glob
from typing import TYPE_CHECKING, Any

from paimark.core.spark.stores.jars import jar_sets
from paimark.core.spark.stores.settings import Store, store_of
from paimark.core.storage.remote_errors import hint_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Errors of Hadoop's client if a NameNode requires a ticket.
NO_TICKET = r"GSSException|GSS initiate failed|annot authenticate via|Kerberos tgt|LoginException"
_KEYTAB = "spark.kerberos.keytab"
_REALMS = "-Djava.security.krb5.conf="
# The meanings of a client's words. The first match counts, so specific patterns come first.
_MEANINGS = {
    r"ExpiredToken|RequestExpired|[Tt]oken (?:has|is) expired|TokenRefreshRequired|EXPIRED_TOKEN": (
        "the session token has expired",
        "ExpiredToken",
    ),
    r"RequestTimeTooSkewed|Clock skew too great|REQUEST_TIME_TOO_SKEWED": (
        "this machine's clock is off",
        "RequestTimeTooSkewed",
    ),
    NO_TICKET: (
        "it has no valid Kerberos ticket",
        "kerberos",
    ),
    r"NoSuchBucket|NO_SUCH_BUCKET|UnknownStoreException|Bucket does not exist": (
        "there is no such bucket, or the endpoint is another store's",
        "endpoint",
    ),
    r"NoAwsCredentials|NoAuthWithAWS|Unable to load credentials|CredentialInitialization": (
        "Spark found no credentials",
        "credential",
    ),
    # The answer to a HEAD request, such as for the size of a file, has no body and no error code.
    r"Bad Request.*Status Code: 400|HTTP 400": (
        "the store refuses the request, as it does a token that has expired",
        "ExpiredToken",
    ),
    r"InvalidAccessKeyId|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|ACCESS_DENIED|SignatureDoesNotMatch|InvalidToken|AccessDenied|AccessControlException"
    r"|Status Code: 40[13]|HTTP 40[13]|Unauthorized|AuthenticationFail|Permission denied": (
        "the store refuses the credentials",
        "credential",
    ),
    r"SlowDown|SLOW_DOWN|AWSServiceThrottled|Status Code: 503|ServerBusy": (
        "the store is overloaded",
        "SlowDown",
    ),
    r"safe ?mode": ("the NameNode is in safe mode", "safemode"),
    r"BlockMissing|Could not obtain block": ("blocks of its files are on no DataNode", ""),
    r"NETWORK_CONNECTION|REQUEST_TIMEOUT|curlCode"
    r"|ConnectException|Connection (?:refused|reset)|UnknownHost|NoRouteToHost|ConnectTimeout|SocketTimeout"
    r"|Unable to execute HTTP request|[Cc]onnect to .* failed|ApiCallTimeout|Call From .* failed|EOFException"
    r"|failed to respond|Status Code: 5\d\d": ("the store does not answer", "connect"),
}
# An error of Arrow's client: the bucket, and Arrow's name for the error.
_OF_ARROW = re.compile(r"bucket '(?P<bucket>[^']+)'.*?AWS Error (?P<error>.*)", re.DOTALL)
_ADDRESS = re.compile(r"\b(?:s3[an]?|gs|oss|abfss?|hdfs)://[^\s,'\"\]]+")
_LONGEST = 200
_VERSION = re.compile(r"-(\d+\.\d+[^-/]*)\.jar$")
# Clients that must have exactly the version of Hadoop.
_OF_HADOOP = re.compile(r"hadoop-(?:aws|aliyun|azure)-")
_MISSING = ("NoClassDefFoundError", "ClassNotFoundException", "NoSuchMethodError", "NoSuchFieldError")
# The most common case: a jar that hadoop-aws needs and that SDK users seldom have.
_TRANSFER = "software/amazon/awssdk/transfer"


def explain(store: Store, text: str) -> tuple[str, str]:
    """A sentence and a hint; an unknown error is quoted in the sentence."""
    for words, (message, reason) in _MEANINGS.items():
        if re.search(words, text):
            return f"Spark can't read {store}: {message}", hint_for(str(store), reason)
    quoted = " ".join(text.split())[:_LONGEST].rstrip(".")
    return f"Spark can't read {store}: {quoted}", hint_for(str(store), "")


def explain_arrow(text: str) -> tuple[str, str] | None:
    """Like `explain`, for an error of Arrow's S3 client; None for other errors."""
    error = _OF_ARROW.search(text)
    for words, (message, reason) in _MEANINGS.items() if error else ():
        assert error is not None
        if re.search(words, error["error"]):
            store = f"s3://{error['bucket']}"
            return f"{store} can't be read: {message}", hint_for(store, reason)
    return None


def explain_read(text: str) -> tuple[str, str] | None:
    """Like `explain`, for a failed read with all its causes; None if no store caused it."""
    address = _ADDRESS.search(text)
    if address is None or not any(re.search(words, text) for words in _MEANINGS):
        return None
    return explain(store_of(address[0]), text)


def realm_option(options: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The option that names krb5.conf if the environment does, because Java only looks in /etc.

    Empty if `options` already have one. Java accepts one file only: the first that exists.
    """
    named = [path for path in environment.get("KRB5_CONFIG", "").split(os.pathsep) if os.path.isfile(path)]
    if not named or any(option.startswith(_REALMS) for option in options):
        return ()
    return (f"{_REALMS}{named[0]}",)


def lacks_ticket(text: str) -> bool:
    return re.search(NO_TICKET, text) is not None


def log_in_again(session: SparkSession, jvm: Any) -> None:
    """Log in with the present ticket of the cache. With a keytab Hadoop does that itself."""
    if not session.sparkContext.getConf().get(_KEYTAB):
        jvm.org.apache.hadoop.security.UserGroupInformation.loginUserFromSubject(None)


def no_client(store: Store, said: str, hadoop: str) -> tuple[str, str]:
    """The sentence and the hint for a missing client class of a store; `said` is Hadoop's own message."""
    lacks, hint = f"Spark has no client for {store.scheme}", how_to_add(store, hadoop)
    return lacks if hint or not said else f"{lacks}: {said}", hint


def of_other_hadoop(store: Store, jar: str, hadoop: str) -> tuple[str, str] | None:
    """The same for a client's jar of another version of Hadoop than Spark's; None if it fits."""
    version = _VERSION.search(jar)
    if not _OF_HADOOP.match(jar) or version is None or version[1] == hadoop:
        return None
    differs = f"{jar} is of Hadoop {version[1]}, and Spark here brings Hadoop {hadoop}"
    return differs, how_to_add(store, hadoop)


def missing_class(store: Store, kind: str, said: str, hadoop: str) -> tuple[str, str] | None:
    """The same for a jar that the client needs and that is missing or wrong; None for other errors."""
    if not kind.endswith(_MISSING):
        return None
    name = said.replace(".", "/")
    what = "the jar s3-transfer-manager is missing" if _TRANSFER in name else f"the jars lack {said.strip()}"
    return f"The client for {store.scheme} is not whole: {what}", how_to_add(store, hadoop)


def incomplete(store: Store, files: Collection[str], hadoop: str) -> tuple[str, str] | None:
    """The same if these jars have the client, but lack one that it needs; None if none is missing."""
    is_whole = any(name.startswith(("s3-transfer-manager-", "bundle-")) for name in files)
    if store.kind != "s3" or is_whole:
        return None
    return "hadoop-aws is among your jars, and s3-transfer-manager is not", how_to_add(store, hadoop)


def how_to_add(store: Store, hadoop: str) -> str:
    """The hint with the exact command; empty if none is known."""
    jars = jar_sets().get(store.kind)
    if jars is None:
        return ""
    if jars.version == hadoop:
        return (
            f"Run `paimark jars fetch {jars.name}`, or give them with --spark-conf 'spark.jars=/dir/*.jar'."
        )
    group, artifact, listed, _ = jars.jars[0].parts
    version = hadoop if artifact.startswith("hadoop-") else listed
    return f"Give it with --spark-conf spark.jars.packages={group}:{artifact}:{version}"


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
