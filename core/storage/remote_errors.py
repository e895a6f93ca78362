"""Turn an error of a store's client into one sentence and a hint."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from paimark.core.errors import Unavailable
from paimark.core.figures import duration
from paimark.core.storage.files import Denied

_LONGEST_REASON = 200
# The errors of aiohttp and botocore for a truncated body. The clients repeat requests, but not bodies.
_BROKEN_OFF = ("ClientPayloadError", "IncompleteRead", "IncompleteReadError", "ResponseStreamingError")
# The status codes of an overloaded Azure store.
_BUSY = (429, 500, 503)
_NOT_IMPLEMENTED = 501
_QUERY = re.compile(r"\?[^\s\"']*=[^\s\"']*")
# The prefix that botocore puts before a store's message.
_OPERATION = re.compile(r"^An error occurred \(\w+\) when calling the \w+ operation(?: \([^)]*\))?: (?=\S)")
# The stack trace after a Java exception's message; some clients print it with its escapes.
_JAVA_STACK = re.compile(r"(?:\n|\\n)(?:\t|\\t)at [a-z].*", re.DOTALL)
# The prefix of the HDFS client's errors: the kind, and for an error of the NameNode its class.
_OF_HDFS = re.compile(r'^[A-Z]\w+\((?:"[\w.$]+", |GssMajorCodes \{[^}]*\}, \d+, )?"')
# Kerberos's general phrases before the actual reason.
_GSS = re.compile(
    r"(?:No credentials were supplied, or the credentials were unavailable or inaccessible"
    r"|Unspecified GSS failure\. +Minor code may provide more information): (?=\S)"
)
# A prefix that repeats the message after it, and internals that a library prints.
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
_INSIDES = re.compile(r": \[DatanodeInfoProto \{.*", re.DOTALL)
_SKEWED = "RequestTimeTooSkewed"
# Clients report several errors as a missing permission; these S3 codes concern a single file.
_DENIED = ("", "AccessDenied", "AllAccessDisabled", "403")


class _Hint(NamedTuple):
    """The hint for an error that contains one of these words, in lower case and without spaces.

    `s3` and `hdfs` are appended to the sentence for users of these stores, `others` for all others.
    """

    words: str
    text: str
    s3: str = ""
    hdfs: str = ""
    others: str = ""


_HINTS = (
    _Hint(
        "expiredtoken tokenrefreshrequired tokenhasexpired ssotoken tokenretrieval",
        "Sign in again",
        s3=" (`aws sso login`), or write new keys to ~/.aws/credentials: the next try finds them. New keys of"
        " options (`s3.access-key`, `s3.secret-key`, `s3.session-token`) or variables need a new start",
        others=", and start anew",
    ),
    _Hint(
        "nosuchfileordirectory notadirectory",
        "A profile or a variable names that file of this machine: correct it",
        s3=" (`credential_process` of ~/.aws/config, AWS_WEB_IDENTITY_TOKEN_FILE, AWS_CA_BUNDLE)",
    ),
    _Hint(
        "jsondecodeerror",
        "What gives the keys answered something else",
        s3=": `credential_process` of ~/.aws/config",
    ),
    _Hint(
        "configparse parseconfigfile source_profile sso-session closingquotation rolearn",
        "Correct the profile in ~/.aws/config, or let AWS_PROFILE name another",
    ),
    _Hint(
        "mfatokenrequired",
        "Get the keys of a session first, as nobody is asked for a code here",
        s3=" (`aws sts get-session-token`), and name them by AWS_PROFILE or the environment",
    ),
    _Hint("specifyaregion", "Give it in the profile of ~/.aws/config, or as AWS_DEFAULT_REGION"),
    _Hint(
        "invalidbucketname", "Write the address as s3://bucket/path, with letters, digits, dots and dashes"
    ),
    _Hint("profilenotfound", "Give AWS_PROFILE the name of a profile of ~/.aws/config, or unset it"),
    _Hint(
        "permanentredirect authorizationheadermalformed illegallocationconstraint",
        "Give the region of the bucket, and its endpoint",
        s3=": `--option s3.region=...`, `s3.endpoint`",
    ),
    _Hint("timetooskewed clockskew", "Set this machine's clock: a store takes no request of another time"),
    # The reactions of a NameNode to a client without Kerberos.
    _Hint(
        "simpleauthenticationisnotenabled rpclistenerdisconnected",
        "Where the cluster takes Kerberos tickets, set HADOOP_CONF_DIR to its configuration, and run `kinit`",
    ),
    _Hint(
        "findkdc contactanykdc", "Look whether krb5.conf (KRB5_CONFIG) names the realm's KDC, and it answers"
    ),
    _Hint(
        "alldatanodesfailed",
        "No DataNode gave it: look whether they run, and whether HADOOP_CONF_DIR has their settings",
    ),
    _Hint(
        "failedtocompletefile",
        "No DataNode took it: look whether they run, and whether HADOOP_CONF_DIR has their settings",
    ),
    _Hint(
        "kerberos gssapi ticketexpired saslerror nosaslmechanism",
        "Run `kinit` for a ticket, as the user that the cluster knows",
        hdfs=", or give `--option security.kerberos.login.principal=...` and the same of `keytab`",
    ),
    _Hint("quota", "Free some space there, or ask for a larger quota"),
    _Hint("storagefull insufficientstorage nospaceleft", "The store is full: free some space there"),
    _Hint("safemode", "The NameNode takes no change until it leaves safe mode: try again later"),
    _Hint(
        "standby",
        "Another NameNode is the active one: write hdfs://SERVICE/path, the name service of HADOOP_CONF_DIR",
    ),
    _Hint(
        "credential accesskey signature token forbidden denied permission",
        "Check the credentials",
        s3=", in the environment or as `--option s3.access-key=...` and `s3.secret-key`",
        hdfs=", and who may read and write there",
    ),
    _Hint(
        "connect timeout resolve endpoint refused unreachable lookup notknown",
        "Check the network and the address",
        s3=", and `--option s3.endpoint=...`",
        hdfs="; a name service is known by the files of HADOOP_CONF_DIR alone",
    ),
    _Hint("slowdown reduce busy", "The store is overloaded: try again later"),
    _Hint(
        "notfound",
        "What answers there is not the store, as a proxy before it: look whether it runs",
        s3=", and check `--option s3.endpoint=...`",
    ),
)


def is_missing(error: BaseException) -> bool:
    """Whether the error means that there is no such file. A directory is not a file."""
    return isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError) or (
        isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.ENAMETOOLONG)
    )


def is_passing(error: BaseException) -> bool:
    """Whether to try again in a moment: the store asks for fewer requests, or a body was truncated."""
    busy = isinstance(error, OSError) and error.errno == errno.EBUSY
    busy = busy or getattr(error, "status_code", None) in _BUSY
    return busy or type(error).__name__ in _BROKEN_OFF


def code_of(error: BaseException) -> str:
    """S3's code for an error that s3fs translated; empty if there is none."""
    code: str = _answer(error).get("Error", {}).get("Code", "")
    return code


def is_of_s3(error: BaseException) -> bool:
    """Whether the answer came from an S3: it has an S3 code, or for a bare status number S3's headers."""
    headers: Mapping[str, str] = _answer(error).get("ResponseMetadata", {}).get("HTTPHeaders", {})
    code = code_of(error)
    return any(name.startswith("x-amz") for name in headers) if code.isdigit() else code != ""


def is_refusal(error: BaseException) -> bool:
    """Whether the store said that a write was not done; after any other error this is unknown.

    A gateway that gave up (502, 504) and an internal error leave it open. So does an overloaded S3 (503,
    SlowDown): Amazon guarantees nothing, and also answers so to two writes of one object; MinIO answers so
    when too few of its disks took a write, and some have it. So does every answer to a request that the
    client repeated: the first request may still be carried out.
    """
    about = _answer(error).get("ResponseMetadata", {})
    if about.get("RetryAttempts"):
        return False
    status: int = about.get("HTTPStatusCode") or getattr(error, "status_code", None) or 0
    return 400 <= status < 500 or status == _NOT_IMPLEMENTED


def unavailable(uri: str, error: BaseException) -> Unavailable:
    """The error for a person. It names the store, never its credentials or a whole request."""
    text = _JAVA_STACK.sub("", str(error))
    kind = ""
    if of_hdfs := _OF_HDFS.match(text):
        kind = of_hdfs[0].replace(" ", "")
        text = text[of_hdfs.end() :].removesuffix('")').replace("\\n", " ").replace('\\"', '"')
    text = _OPERATION.sub("", _INSIDES.sub("", _ERRNO.sub("", text)))
    text = _QUERY.sub("", _GSS.sub("Kerberos: ", " ".join(text.split())))
    reason = "".join(each for each in text if each.isprintable()).rstrip(".: ")
    if not reason:
        reason = "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    reason += _clocks(error)
    is_denied = isinstance(error, PermissionError) and code_of(error) in _DENIED
    is_denied = is_denied or "AccessControlException" in kind
    return (Denied if is_denied else Unavailable)(
        f"{uri} can't be used: {reason}",
        hint_for(uri, f"{type(error).__name__} {code_of(error)} {kind} {reason}"),
    )


def _answer(error: BaseException) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = getattr(error.__cause__, "response", None) or {}
    return answer


def _clocks(error: BaseException) -> str:
    """The offset of this machine's clock, if the store refused a request because of it; else empty."""
    if code_of(error) != _SKEWED:
        return ""
    headers = _answer(error).get("ResponseMetadata", {}).get("HTTPHeaders", {})
    with suppress(ValueError, TypeError):
        away = int(time.time() - parsedate_to_datetime(headers.get("date")).timestamp())
        where = "ahead of" if away > 0 else "behind"
        return f" (this machine's clock is {duration(abs(away) * 1000)} {where} the store's)"
    return ""


def hint_for(uri: str, reason: str) -> str:
    """What to do about an error with these words, on the store at `uri`."""
    plain = reason.lower().replace(" ", "")
    for hint in _HINTS:
        if any(word in plain for word in hint.words.split()):
            is_s3, is_hdfs = uri.startswith("s3"), uri.startswith("hdfs")
            more = hint.s3 if is_s3 else hint.hdfs if is_hdfs else hint.others
            return f"{hint.text}{more}.{_missing_configuration(f'{hint.text}{more}')}"
    return "Try again in a moment."


def _missing_configuration(hint: str) -> str:
    """A sentence if the hint names Hadoop's configuration, and that directory does not exist; else empty."""
    directory = os.environ.get("HADOOP_CONF_DIR", "")
    if "HADOOP_CONF_DIR" not in hint or not directory or os.path.isdir(directory):
        return ""
    return f" HADOOP_CONF_DIR={directory} is no directory."
