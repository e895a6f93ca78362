"""The credentials that the client of S3 finds for itself, for clients that look in fewer places."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from botocore.credentials import Credentials as Found

# Asked of the machine that reads, which each client does.
OF_THE_MACHINE = frozenset({"container-role", "iam-role"})


def without_questions(session: Any) -> Any:
    """A session of botocore's, or of aiobotocore's, that asks nobody at the terminal for a code."""
    make_resolver = session._create_credential_resolver

    def resolver() -> Any:
        made = make_resolver()
        made.get_provider("assume-role")._prompter = _refuse
        return made

    session.lazy_register_component("credential_provider", resolver)
    return session


def _refuse(question: str) -> NoReturn:
    from botocore.exceptions import RefreshWithMFAUnsupportedError

    raise RefreshWithMFAUnsupportedError


class Credentials:
    """Of one warehouse. What ends, as keys of a program or of a role, is asked for again in time."""

    def __init__(self) -> None:
        self._found: Found | None = None

    def keys(self, but_of: Collection[str]) -> dict[str, str]:
        """`key`, `secret` and, where there is one, `token` of the environment, a profile or a program.

        `but_of` are botocore's names of places that the reader looks in as well. Empty for credentials of
        these, and where there are none. Nothing is asked of a store. Raises what botocore does, and `OSError`
        for a file that is not there.
        """
        from botocore.session import Session

        self._found = self._found or without_questions(Session()).get_credentials()
        if self._found is None or self._found.method in but_of:
            return {}
        frozen = self._found.get_frozen_credentials()
        named = {"key": frozen.access_key, "secret": frozen.secret_key, "token": frozen.token}
        return {part: value for part, value in named.items() if value}
