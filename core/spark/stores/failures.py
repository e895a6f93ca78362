"""Turn errors of a store's Java client into a sentence for a person, and a hint."""

from __future__ import annotations

import re

from paimark.core.spark.stores.addresses import Store, store_of
from paimark.core.spark.stores.tickets import NO_TICKET
from paimark.core.storage.remote_errors import hint_for

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
