"""Find out whether a commit to a root landed, although others have committed and expired snapshots since.

Before a change commits, it registers as a reader of the snapshot that it is about to make. Expiry, by stock
engines or by Paimark, stops at a registered reader; so the snapshot still exists at a recovery. If it is gone
nevertheless, every reference that may hold it is examined. If none does, the answer is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table import commits
from paimark.core.table.commits import Landed
from paimark.core.table.layout import CONSUMER_PREFIX, Root, TablePath
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.names import TOKEN
from paimark.core.table.records import COMMIT_USER, Snapshot

_READER = "paimark-"
_OWN_READER = rf"{CONSUMER_PREFIX}{_READER}(?P<token>{TOKEN})"


def hold_expiry(files: Files, root: Root, token: str, snapshot_id: int) -> None:
    """Keep the snapshot from expiry, even before it exists, until `release_expiry`. Idempotent."""
    files.replace(root.consumer(_READER + token), b'{"nextSnapshot":%d}' % snapshot_id)


def release_expiry(files: Files, root: Root, token: str) -> None:
    """Remove the reader that `hold_expiry` registered. Idempotent."""
    path = root.consumer(_READER + token)
    files.delete(path)
    delete_temporaries(files, root.consumers, {path.rpartition("/")[2]})
    files.prune(root.consumers)


def is_own_reader(name: str) -> bool:
    """Whether a file among a root's consumers was written by `hold_expiry`, for any change."""
    return re.fullmatch(_OWN_READER, name) is not None


def left_readers(files: Files, table: TablePath, tokens: Collection[str]) -> list[str]:
    """The paths of files that `hold_expiry` wrote for ended changes: all except those of these tokens."""
    roots = all_roots(files, table)
    listings = each_of(files.names, [root.consumers for root in roots])
    return [
        f"{root.consumers}/{name}"
        for root, names in zip(roots, listings, strict=True)
        for name in names
        if (own := re.fullmatch(_OWN_READER, name)) and own["token"] not in tokens
    ]


def commit_user(token: str) -> str:
    """The commit user of a change's commit, made from the token of its journal."""
    return f"{COMMIT_USER}{token}"


def find_commit(
    files: Files, root: Root, token: str, after: int, *, may_go_on: bool = False
) -> tuple[Landed, Snapshot | None]:
    """Whether the change with this token committed the snapshot after `after`, and the snapshot.

    It commits no other id, so doubts about later snapshots do not matter; unless it `may_go_on`, on commits
    of others.
    """
    fate = commits.find_commit(files, root, commit_user(token), after)
    if (
        not may_go_on
        and fate.landed is Landed.UNKNOWN
        and after + 1 not in (*fate.expired, *fate.overwritten)
    ):
        return Landed.NO, None
    return fate.landed, fate.snapshot
