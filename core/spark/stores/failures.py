"""What a store's client in Java says, as a sentence for a person and what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

from core.spark.stores.addresses import Store, store_of

_KEYS = "Check the credentials, in the environment or as `--option s3.access-key=...` and `s3.secret-key`."
_LATER = "Is it running, and is the network there? Run the statement again."


class _Rule(NamedTuple):
    """Words of the client's, any of which mean this."""

    words: str
    message: str
    hint: str


# The first that fits, so what says more comes first.
_RULES = (
    _Rule(
        r"ExpiredToken|RequestExpired|token (?:has|is) expired|TokenRefreshRequired",
        "the session token has expired",
        "Get new credentials and start again: Spark keeps those that it started with.",
    ),
    _Rule(r"RequestTimeTooSkewed", "this machine's clock is off", "Set the clock right."),
    _Rule(
        r"NoSuchBucket|UnknownStoreException|Bucket does not exist|does not exist in account",
        "there is no such bucket",
        "Check the address, and `--option s3.endpoint=...`.",
    ),
    _Rule(
        r"NoAwsCredentials|NoAuthWithAWS|Unable to load credentials|CredentialInitialization",
        "Spark found no credentials",
        "Give them in the environment, or as `--option s3.access-key=...` and `s3.secret-key`.",
    ),
    _Rule(
        r"InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|AccessDenied|Forbidden|AuthenticationFail"
        r"|Status Code: 40[13]|HTTP 40[13]|Unauthorized",
        "the store refuses the credentials",
        _KEYS,
    ),
    _Rule(
        r"SlowDown|AWSServiceThrottledException|Status Code: 503|ServerBusy",
        "the store is overloaded",
        "Run the statement again later.",
    ),
    _Rule(
        r"ConnectException|Connection refused|UnknownHostException|NoRouteToHost|ConnectTimeout"
        r"|SocketTimeout|Unable to execute HTTP request|Connect to .* failed|Connection reset"
        r"|ApiCallTimeout|Call From .* to .* failed",
        "the store does not answer",
        _LATER,
    ),
)
_ADDRESS = re.compile(r"\b(?:s3[an]?|gs|oss|abfss?|hdfs)://[^\s:,'\"]+")
_LONGEST = 200


def told(store: Store, text: str) -> tuple[str, str]:
    """A sentence and a hint; where the words are not known they are in the sentence."""
    if (known := store_failure(text)) is not None:
        return f"{store} can't be read by Spark: {known[0]}", known[1]
    said = " ".join(text.split())[:_LONGEST].rstrip(".")
    return f"{store} can't be read by Spark: {said}", "See the engine's log."


def store_failure(text: str) -> tuple[str, str] | None:
    """What is wrong and what to do; None for words of no store's client."""
    for rule in _RULES:
        if re.search(rule.words, text):
            return rule.message, rule.hint
    return None


def store_in(text: str) -> Store | None:
    """The store that a message names."""
    found = _ADDRESS.search(text)
    return store_of(found[0]) if found else None
