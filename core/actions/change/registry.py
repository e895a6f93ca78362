"""The kinds of change by the names that plans and journals contain. Importing it imports none of them."""

from __future__ import annotations

import importlib
from typing import Any, cast

from paimark.core.actions.change.change import Change
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.errors import Refused

# The name in a journal, and the module below `paimark.core.actions` with the class.
CHANGES = {name: where for declared in DECLARED.values() for name, where in declared.changes.items()}


def change_named(name: str) -> type[Change[Any]]:
    """The class of a change. Raises `Refused` for a name that this version does not know."""
    if name not in CHANGES:
        raise Refused(
            f"This version can't recover {name}", "Recover it with the version of Paimark that began it."
        )
    module, _, kind = CHANGES[name].partition(":")
    return cast(type[Change[Any]], getattr(importlib.import_module(f"paimark.core.actions.{module}"), kind))
