"""Turn an error of a store's client into one sentence and a hint."""

from __future__ import annotations

import errno
import re

from core.errors import Unavailable

_LONGEST_REASON = 200
# A body that ends early, as aiohttp and botocore name it. The clients try requests again, and not bodies.
_BROKEN_OFF = ("ClientPayloadError", "IncompleteRead", "IncompleteReadError", "ResponseStreamingError")
_QUERY = re.compile(r"\?[^\s\"']*=[^\s\"']*")
# Where a Java exception's message ends; some clients print it with its escapes.
_JAVA_STACK = re.compile(r"(?:\n|\\n)(?:\t|\\t)at [a-z].*", re.DOTALL)
_RPC_ERROR = re.compile(r'RPCError\("[\w.$]+", "')
# Words of an error, the hint, and what S3 users are told besides.
_HINTS = {
    "credential accesskey signature token forbidden denied permission": (
        "Check the credentials",
        ", in the environment or as `--option s3.access-key=...` and `s3.secret-key`",
    ),
    "connect timeout resolve endpoint refused unreachable lookup": (
        "Check the network and the address",
        ", and `--option s3.endpoint=...`",
    ),
    "slowdown reduce busy": ("The store is overloaded: try again later", ""),
}


def is_missing(error: BaseException) -> bool:
    """Whether the error means that there is no such file. A directory is none."""
    return isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError) or (
        isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.ENAMETOOLONG)
    )


def is_passing(error: BaseException) -> bool:
    """Whether to ask again in a moment: the store wants to be asked less often, or a body broke off."""
    busy = isinstance(error, OSError) and error.errno == errno.EBUSY
    return busy or type(error).__name__ in _BROKEN_OFF


def unavailable(uri: str, error: BaseException) -> Unavailable:
    """`error` as what a person reads. Names the store, never its credentials or a whole request."""
    said = _RPC_ERROR.sub("", _JAVA_STACK.sub("", str(error)))
    text = _QUERY.sub("", " ".join(said.split()))
    reason = "".join(each for each in text if each.isprintable()).rstrip(".")
    if not reason:
        reason = "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON]}…"
    return Unavailable(f"{uri} can't be used: {reason}", _hint(uri, f"{type(error).__name__} {reason}"))


def _hint(uri: str, reason: str) -> str:
    plain = reason.lower().replace(" ", "")
    for words, (hint, for_s3) in _HINTS.items():
        if any(word in plain for word in words.split()):
            return f"{hint}{for_s3 if uri.startswith('s3') else ''}."
    return "Try again in a moment."
