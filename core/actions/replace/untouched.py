"""Whether an archive has exactly the files that were copied to it, whatever happened to main since.

Between the crash and the recovery another engine may roll main back, or delete tags that it made by itself.
The archive then has more than main, although nobody has worked on it.
"""

from __future__ import annotations

from paimark.core.actions.checks import fingerprint
from paimark.core.actions.replace.pointer import Replacement
from paimark.core.actions.roots.root_files import has_more
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import Root


def nothing_came(files: Files, archive: Root, main: Root, replacement: Replacement) -> bool:
    """Whether it has no later commit than main had, and no tag that main neither had nor has."""
    return not has_more(files, archive, replacement.main_head, main, replacement.main_tags)


def is_whole_copy(files: Files, archive: Root, replacement: Replacement) -> bool:
    """Whether its newest commit is exactly main's: the earlier ones were copied before it.

    False if that commit was not copied yet: a job may have made a commit with that id.
    """
    head = read_if_there(files, archive.snapshot(replacement.main_head))
    return head is not None and fingerprint(head) == replacement.main_head_digest
