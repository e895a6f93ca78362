"""A plan in a file: one person makes it, and another applies it later."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from paimark.core.actions.plan import Plan
from paimark.core.errors import Corrupt, NotFound, Refused

VERSION = 1
# A plan of a million steps is far smaller.
_LARGEST = 1 << 28


class SavedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with the warehouse that it was made on. It holds no credentials."""

    version: int = VERSION
    warehouse: str
    plan: Plan


def save_plan(path: Path, warehouse: str, plan: Plan) -> None:
    """Write the plan to a new file. Raises `Refused` if the file exists, or can't be written."""
    data = msgspec.json.format(msgspec.json.encode(SavedPlan(warehouse=warehouse, plan=plan)))
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise Refused(f"{path} exists already", "Choose another file for the plan.") from error
    except OSError as error:
        raise _not_written(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data + b"\n")
    except OSError as error:
        # Half a plan is useless, and would block the next attempt.
        path.unlink(missing_ok=True)
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> Refused:
    return Refused(
        f"The plan can't be written to {path}: {error.strerror or error}", "Choose another file for the plan."
    )


def load_plan(path: Path) -> SavedPlan:
    """Raises `NotFound`, and `Corrupt` for a file that is no plan of this version."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise NotFound(f"{path} is no saved plan", "`--plan-out FILE` writes one.")
        saved = msgspec.json.decode(path.read_bytes(), type=SavedPlan)
    except OSError as error:
        raise NotFound(f"{path} can't be read: {error.strerror or error}", "") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Corrupt(f"{path} is no saved plan ({error})", "Make a new one with --plan-out.") from error
    if saved.version != VERSION:
        raise Corrupt(f"{path} has format {saved.version}, and this version knows {VERSION}", "Plan again.")
    return saved
