"""The names of tags by which main keeps what a branch stands on, or what the next merge needs."""

from __future__ import annotations


def merge_tag(branch: str, snapshot_id: int) -> str:
    """The tag of main that pins what a merge shares with the branch, or needs to tell main's changes by."""
    return f"paimark.merge.{branch}.{snapshot_id}"


def truncation_tag(branch: str, snapshot_id: int) -> str:
    """The tag of main's newest snapshot that it shares with the branch that has what came later."""
    return f"paimark.truncate.{branch}.{snapshot_id}"
