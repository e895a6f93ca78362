"""Where a commit of a streaming query can be killed, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paimark.core.spark.library import writes
from paimark.core.spark.streaming import commit_attempts
from paimark.core.storage.local import LocalFiles

POINTS = ("before the attempt", "before the snapshot", "before the mark", "before the checkpoint")


def die_at(point: str, replace: Callable[[object, str, object], None], die: Callable[[], None]) -> None:
    """Let the next commit die there. `replace` sets an attribute."""
    begin, landed, create = commit_attempts.begin, commit_attempts.mark_landed, LocalFiles.create

    def begun(*args: Any) -> None:
        if point == "before the attempt":
            die()
        begin(*args)

    def created(files: LocalFiles, path: str, data: bytes) -> bool:
        if point == "before the snapshot" and "/snapshot-" in path:
            die()
        return create(files, path, data)

    def marked(*args: Any) -> None:
        if point == "before the mark":
            die()
        landed(*args)

    def followed(*args: Any) -> None:
        if point == "before the checkpoint":
            die()

    replace(commit_attempts, "begin", begun)
    replace(LocalFiles, "create", created)
    replace(commit_attempts, "mark_landed", marked)
    replace(writes, "after_commit", followed)
