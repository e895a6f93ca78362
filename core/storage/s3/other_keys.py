"""Other credentials in the place of those that a store refuses, or of a profile that was rewritten.

botocore renews by itself what it knows to expire. But it reads the keys of a profile only once, as those of a
program that names no time of expiry.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from paimark.core.storage.remote_errors import code_of, is_refusal

if TYPE_CHECKING:
    from botocore.credentials import Credentials as BotocoreCredentials


# The codes of S3, of stores that speak like it, and of the service that gives keys to a role.
_REFUSALS = frozenset(
    {
        *("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidTokenId"),
        *("InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException"),
    }
)
# botocore's errors if it finds no keys: nothing was sent. It finds none later either, as it reads files once.
_LACKS = frozenset({"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "ConfigParseError"})
_PROFILE_FILES = {
    "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials",
    "AWS_CONFIG_FILE": "~/.aws/config",
}
# For each file its time of change, size and number; None for a missing one.
FileStates = tuple[tuple[int, int, int] | None, ...]


def refuses_keys(error: BaseException) -> bool:
    """Whether the store did nothing, because of the credentials: with others it may."""
    return code_of(error) in _REFUSALS and is_refusal(error)


def lacks_keys(error: BaseException) -> bool:
    """Whether the client found no keys: with some the request may be sent."""
    return type(error).__name__ in _LACKS


def profile_files() -> FileStates:
    """The states of the files with profiles: another value after one of them was rewritten."""
    return tuple(_state(os.environ.get(name) or default) for name, default in _PROFILE_FILES.items())


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).expanduser().stat()
    except (OSError, RuntimeError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def is_of_keys(error: BaseException) -> bool:
    """Whether other keys may help."""
    return refuses_keys(error) or lacks_keys(error)


async def session_with_other_keys(session: Any, *, has_none: bool) -> Any:
    """A new session of aiobotocore with other keys than `session`; None if there are no others now.

    `has_none`: the client of `session` has no keys. Asked now, the session might find those of the new one.
    """
    from aiobotocore.session import AioSession

    other = without_questions(AioSession())
    keys = await _keys(other)
    return other if keys is not None and (has_none or keys != await _keys(session)) else None


async def _keys(session: Any) -> Any:
    """The access key, secret key and token; None if there are none, or they can't be had."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        credentials = await session.get_credentials()
        return credentials and await credentials.get_frozen_credentials()
    except (BotoCoreError, ClientError, OSError):
        return None


# Credentials of the machine, which each client asks for itself.
OF_THE_MACHINE = frozenset({"container-role", "iam-role"})


def without_questions(session: Any) -> Any:
    """Make a session of botocore or aiobotocore ask nobody at the terminal for a code."""
    make_resolver = session._create_credential_resolver

    def resolver() -> Any:
        chain = make_resolver()
        chain.get_provider("assume-role")._prompter = _refuse
        return chain

    session.lazy_register_component("credential_provider", resolver)
    return session


def _refuse(question: str) -> NoReturn:
    from botocore.exceptions import RefreshWithMFAUnsupportedError

    raise RefreshWithMFAUnsupportedError


class Credentials:
    """The credentials of one warehouse. Those that expire, from a program or a role, are renewed in time."""

    def __init__(self) -> None:
        self._credentials: BotocoreCredentials | None = None

    def keys(self, but_of: Collection[str]) -> dict[str, str]:
        """`key`, `secret` and optionally `token` from the environment, a profile or a program.

        `but_of` are botocore's names of places in which the reader looks as well. Empty for credentials from
        these, and if there are none. Sends no request to a store. Raises botocore's errors, and `OSError` for
        a missing file.
        """
        from botocore.session import Session

        self._credentials = self._credentials or without_questions(Session()).get_credentials()
        if self._credentials is None or self._credentials.method in but_of:
            return {}
        frozen = self._credentials.get_frozen_credentials()
        keys = {"key": frozen.access_key, "secret": frozen.secret_key, "token": frozen.token}
        return {part: value for part, value in keys.items() if value}
