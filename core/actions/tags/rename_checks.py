"""The tag that `rename-tag` renames, the reasons against it, and the warnings of its plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from paimark.core.actions.checks import fingerprint, newest_options
from paimark.core.actions.context import Context
from paimark.core.actions.names import name_refusal
from paimark.core.actions.plan import Item, Refusal
from paimark.core.actions.roots.json_edit import without_time_to_live
from paimark.core.actions.said import final
from paimark.core.figures import minute
from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import makes_tags
from paimark.core.table.layout import SAVEPOINT_TAG_PREFIX, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.read_tags import automatic_of, has_automatic_name, is_of_read, kept_until_ms
from paimark.core.table.records import Tag

_OURS = "paimark."
_BESIDE = "Make a tag of your own beside it."
_ANOTHER = "Choose another name."


class TagToRename(NamedTuple):
    """The tag to rename, with the bytes of its file."""

    root: Root
    name: str
    to: str
    tag: Tag
    data: bytes

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.root.directory, self.data)


def find_tag(files: Files, table: TablePath, name: str, to: str, branch: str | None) -> TagToRename:
    """Raises `NotFound` and `Corrupt`."""
    root = branch_root(files, table, branch)
    tag = Lineage(files, root).tag(name)
    return TagToRename(root, name, to, tag, files.read(root.tag(name)))


def refusals(context: Context, renaming: TagToRename) -> list[Refusal]:
    """Why the tag can't be renamed, because of the old name or the new one. Raises `Corrupt`."""
    return [*_of_the_old_name(context, renaming), *_of_the_new_name(context.files, renaming)]


def items(files: Files, renaming: TagToRename) -> Iterator[Item]:
    """What a person should know first. Raises `Corrupt`."""
    name, to = renaming.name, renaming.to
    text = f"the name {name}: statements and jobs that use it fail"
    yield Item("loses", text, "name-gone", is_grave=True, names=(name,))
    if (refusal := name_refusal(name, "tag")) is not None:
        yield final(refusal.reason)
    if has_automatic_name(name):
        text = (
            f"stock engines give the name {name} to tags of their own (tag.automatic-creation): one may make "
            f"it again, and {to} is no longer deleted when there are too many"
        )
        yield Item("affects", text, "automatic-tags")
    if has_automatic_name(to) and makes_tags(newest_options(files, renaming.root)):
        text = f"stock engines take {to} for one of their own tags, and may delete it in its turn"
        yield Item("affects", text, "automatic-tags")
    kept = f"the rows of snapshot {renaming.tag.id} all the time, and every branch made from them"
    yield Item("keeps", kept)
    if (until := kept_until_ms(renaming.tag)) is not None:
        yield Item("keeps", f"its end: from {minute(until)} on stock engines may delete it, as before")


def _of_the_old_name(context: Context, renaming: TagToRename) -> list[Refusal]:
    name = renaming.name
    if name.startswith(SAVEPOINT_TAG_PREFIX):
        return [Refusal(f"Tag {name} protects a savepoint", "It goes by the savepoint's number.")]
    if is_of_read(name):
        return [Refusal(f"Tag {name} protects what a statement reads", _BESIDE)]
    if name.startswith(_OURS):
        return [Refusal(f"Tag {name} is kept by the program for a merge", _BESIDE)]
    until = kept_until_ms(renaming.tag)
    if until is not None and until <= context.clock():
        # Its deletion may have listed the tags already, and would delete the files that the new tag needs.
        return [Refusal(f"Tag {name} had its time: it is deleted any moment", "Choose another tag.")]
    return []


def _of_the_new_name(files: Files, renaming: TagToRename) -> list[Refusal]:
    if refusal := name_refusal(renaming.to, "tag"):
        return [refusal]
    if _is_taken(files, renaming):
        where = f"{renaming.root.label} of {renaming.root.table.full_name}"
        return [Refusal(f"{where} has a tag {renaming.to} already", _ANOTHER)]
    if has_automatic_name(renaming.to) and makes_tags(newest_options(files, renaming.root)):
        twin = automatic_of(renaming.tag.id, Lineage(files, renaming.root).tags())
        if twin is not None:
            reason = f"Snapshot {renaming.tag.id} has tag {twin}, and stock engines fail on two such names"
            return [Refusal(reason, "They give names of times in this table: choose another.")]
    return []


def _is_taken(files: Files, renaming: TagToRename) -> bool:
    """Whether the root has the new name, or the table directory does where main's guard would be."""
    root, table = renaming.root, renaming.root.table
    if files.exists(root.tag(renaming.to)):
        return True
    if root.branch is None or root != main_root(files, table):
        return False
    [there] = files.read_many([table.root().tag(renaming.to)])
    return there not in (None, without_time_to_live(renaming.data, root.tag(renaming.name)))
