"""Rows that no reader sees: an INSERT died before it compacted them, or the compaction job rests."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.figures import counted
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import unseen_files


def unseen_rows(files: Files, root: Root) -> Iterator[tuple[str, str, str]]:
    """State, detail and hint, if there are such rows. It reads the manifests of tables that may have some."""
    lineage = Lineage(files, root)
    schema, newest = lineage.latest_schema(), lineage.latest()
    if schema is None or newest is None:
        return
    if count := sum(1 for _ in unseen_files(files, root.table, schema, newest)):
        branch = [] if root.branch is None else ["--branch", root.label]
        words = shell_line(["paimark", "compact", root.table.full_name, *branch])
        detail = f"No reader sees the rows of {counted(count, 'file')} before they are compacted"
        yield "warning", detail, f"Run: {words}, unless a compaction job does it"
