"""A version of a table as it is asked for, before anything is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of a branch (None: main), at `version` (None: its head)."""

    branch: str | None = None
    version: str | None = None
