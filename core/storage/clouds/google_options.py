"""Catalog options of Google's storage, as gcsfs names them."""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.errors import UsageError

ENDPOINT = "fs.gs.storage.root.url"
KEYFILE = "fs.gs.auth.service.account.json.keyfile"
PROJECTS = ("gcs.project-id", "fs.gs.project.id")
TOKEN = "gcs.access-token"
TYPE = "fs.gs.auth.type"
# The values that both clients know.
DEFAULT, BY_FILE, UNSIGNED = "APPLICATION_DEFAULT", "SERVICE_ACCOUNT_JSON_KEYFILE", "UNAUTHENTICATED"
_TOKENS = {DEFAULT: "google_default", UNSIGNED: "anon"}


def google_arguments(options: Mapping[str, str]) -> dict[str, object]:
    """The arguments for gcsfs. Raises `UsageError` for a sign-in that gcsfs lacks, or that lacks its file."""
    arguments: dict[str, object] = {}
    for name in PROJECTS:
        if name in options:
            arguments["project"] = options[name]
    if ENDPOINT in options:
        arguments["endpoint_url"] = options[ENDPOINT].rstrip("/")
    if token := _token(options):
        arguments["token"] = token
    return arguments


def sign_in(options: Mapping[str, str]) -> str:
    """Which of the three ways to sign in the options name; empty for none. Raises `UsageError`."""
    keyfile, token = options.get(KEYFILE, ""), options.get(TOKEN, "")
    kind = options.get(TYPE, BY_FILE if keyfile else "").upper()
    if kind and kind not in (*_TOKENS, BY_FILE):
        known = ", ".join((*_TOKENS, BY_FILE))
        raise UsageError(f"{TYPE} is {kind}, which only Hadoop's client knows", f"Here: {known}.")
    if keyfile and kind != BY_FILE:
        raise UsageError(f"{KEYFILE} is given, and {TYPE} is {kind}", "Leave one of them out.")
    if kind == BY_FILE and not keyfile:
        raise UsageError(f"{TYPE} is {kind}, and {KEYFILE} is not given")
    if kind and token:
        raise UsageError(f"{TOKEN} is given, and another way to sign in as well", "Leave one of them out.")
    return kind


def _token(options: Mapping[str, str]) -> str:
    """A token, a key file, or a word of gcsfs; empty if gcsfs searches by itself."""
    kind = sign_in(options)
    return options.get(TOKEN, "") or options.get(KEYFILE, "") or _TOKENS.get(kind, "")
