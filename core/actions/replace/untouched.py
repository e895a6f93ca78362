"""Whether an archive holds what was copied to it and nothing else, whatever became of main since.

Another engine may roll main back between the crash and the recovery, or delete tags that it made by itself:
the archive has more than main then, and is nobody's work for all that.
"""

from __future__ import annotations

from core.actions.checks import fingerprint
from core.actions.replace.pointer import Replacement
from core.actions.roots.root_files import has_more
from core.storage.files import Files, read_if_there
from core.table.layout import Root


def nothing_came(files: Files, archive: Root, main: Root, replacement: Replacement) -> bool:
    """Whether it has no later commit than main had, and no tag that neither had nor has."""
    return not has_more(files, archive, replacement.main_head, main, replacement.main_tags)


def is_whole_copy(files: Files, archive: Root, replacement: Replacement) -> bool:
    """Whether its newest commit is the very one that main had: those before it were copied earlier.

    False where that was not copied yet: a job may have made a commit of such an id.
    """
    head = read_if_there(files, archive.snapshot(replacement.main_head))
    return head is not None and fingerprint(head) == replacement.main_head_digest
