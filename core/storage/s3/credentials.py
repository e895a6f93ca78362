"""The credentials that the S3 client finds by itself, for clients that look in fewer places."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from botocore.credentials import Credentials as BotocoreCredentials

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
