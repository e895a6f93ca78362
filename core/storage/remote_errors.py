"""What a store's client raised, as one sentence and a hint."""

from __future__ import annotations

import errno
import re

from core.errors import Unavailable

_LONGEST_REASON = 200
_QUERY = re.compile(r"\?[^\s\"']*=[^\s\"']*")
_HINTS = {
    "libjvm libhdfs hadoop classpath": (
        "Install a Hadoop client, and set JAVA_HOME, HADOOP_HOME and CLASSPATH=$(hadoop classpath --glob)."
    ),
    "credential accesskey signature token forbidden denied permission": (
        "Check the credentials, in the environment or as `--option s3.access-key=...` and `s3.secret-key`."
    ),
    "connect timeout resolve endpoint refused unreachable": (
        "Check the network and the endpoint: `--option s3.endpoint=...`."
    ),
    "slowdown reduce busy": "The store is overloaded: try again later.",
}


def is_missing(error: BaseException) -> bool:
    """Whether the error means that there is no such file. A directory is none."""
    return isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError) or (
        isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.ENAMETOOLONG)
    )


def unavailable(uri: str, error: BaseException) -> Unavailable:
    """`error` as what a person reads. Names the store, never its credentials or a whole request."""
    text = _QUERY.sub("", " ".join(str(error).split()) or type(error).__name__)
    reason = "".join(each for each in text if each.isprintable()).rstrip(".")
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    told = f"{type(error).__name__} {reason}".lower().replace(" ", "")
    hint = next((hint for words, hint in _HINTS.items() if any(word in told for word in words.split())), "")
    return Unavailable(f"{uri} did not answer: {reason}", hint or "Try again in a moment.")
