"""A requested version of a table, before anything is read."""

from __future__ import annotations

import msgspec


class RequestedVersion(msgspec.Struct, frozen=True):
    """`branch` None is main; `version` None is the head of that branch."""

    branch: str | None = None
    version: str | None = None


def as_snapshot(text: str) -> str:
    """The version that `scan.snapshot-id` names: a number is a snapshot id, even if a tag has that name."""
    return f"snapshot.{text}" if text.isdecimal() else text
