"""The names that a tag or branch may get. Stock engines accept more, and then lose some of them."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from typing import Literal

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Refusal
from paimark.core.table.layout import MAIN, SAVEPOINT_TAG_PREFIX
from paimark.core.table.read_tags import STOCK_READ_TAG_PREFIX
from paimark.core.text import unseen_in

# A placeholder in the name of a new tag, for the id of the snapshot.
ID_IN_NAME = "{id}"
_MAX_BYTES = 200
_FORBIDDEN = frozenset("/\\$")
# Reserved: programs delete tags with such names, and a person's tag would lose its snapshot.
_RESERVED_TAGS = (SAVEPOINT_TAG_PREFIX, "snapshot.", "paimark.", STOCK_READ_TAG_PREFIX)

_ARCHIVE = re.compile(rf"{MAIN}-\d{{8}}T\d{{6}}-[0-9a-f]{{6}}")
_RETIRED = re.compile(r"retired-(?P<name>.+)-\d{8}T\d{6}", re.DOTALL)
# `orders@savepoint.3` is a savepoint of main, and a person would read a branch of that name as one.
_A_VERSION = re.compile(r"(savepoint|snapshot)\.\d+$", re.IGNORECASE)


def name_refusal(name: str, kind: Literal["tag", "branch"]) -> Refusal | None:
    """Why a new tag or branch can't have this name; None when it can."""
    hint = f"Choose another name for the {kind}."
    if not name.strip():
        return Refusal(f"The name of a {kind} can't be blank", hint)
    if reason := unseen_reason(name, f"a {kind}"):
        return Refusal(reason, hint)
    if name != name.strip():
        return Refusal(f"The name of a {kind} can't begin or end with a blank", hint)
    if name == MAIN:
        return Refusal(f"A {kind} can't be called {MAIN}", hint)
    if name.isdigit():
        return Refusal(f"A {kind} called {name} would hide snapshot {name}", "Put a letter in front.")
    if forbidden := _FORBIDDEN.intersection(name):
        return Refusal(f"The name of a {kind} can't hold {' or '.join(sorted(forbidden))}", hint)
    if name.startswith("."):
        return Refusal(f"The name of a {kind} can't begin with a dot", hint)
    if len(name.encode()) > _MAX_BYTES:
        return Refusal(f"The name of a {kind} can't be longer than {_MAX_BYTES} bytes", hint)
    if kind == "branch" and _A_VERSION.match(name):
        return Refusal(f"A branch called {name} would read like a version of the table", hint)
    if kind == "tag":
        for prefix in _RESERVED_TAGS:
            if name.startswith(prefix):
                return Refusal(f"Tag names beginning with {prefix} are given by programs", hint)
    return None


def unseen_reason(name: str, what: str) -> str | None:
    """Why no new thing may get this name: it has an invisible character. None if it has none."""
    unseen = unseen_in(name)
    return f"The name of {what} can't hold U+{ord(unseen):04X}, which nobody sees" if unseen else None


def archive_name(context: Context) -> str:
    """The branch that keeps the previous main: `main-20260501T120000-1f2e3d`."""
    return f"{MAIN}-{_now(context)}-{secrets.token_hex(3)}"


def retired_name(context: Context, name: str) -> str:
    """The branch that keeps a deleted one with all its files: `retired-fix-20260501T120000`."""
    return f"retired-{name}-{_now(context)}"


def first_name(branch: str) -> str:
    """The name of a branch before it was retired."""
    retired = _RETIRED.fullmatch(branch)
    return retired["name"] if retired else branch


def is_archive(branch: str) -> bool:
    """Whether its name is that of a root which was main, or has what was cut off main."""
    return _ARCHIVE.fullmatch(branch) is not None


def was_moved(branch: str) -> bool:
    """Whether its name is that of a root which has all files of another: of main before, or a retired one."""
    return bool(is_archive(branch) or _RETIRED.fullmatch(branch))


def _now(context: Context) -> str:
    return f"{datetime.fromtimestamp(context.clock() / 1000, UTC):%Y%m%dT%H%M%S}"
