"""Tags by which main keeps what a branch stands on, or what the next merge needs, and when they may go."""

from __future__ import annotations

import re
from collections.abc import Collection

from core.actions.change.journal import Hold
from core.actions.context import Context, Progress
from core.actions.references import Leaving
from core.actions.removal import Removed, remove
from core.storage.files import Files
from core.table.forks import Side, find_fork, is_same_commit
from core.table.layout import Root
from core.table.main_branch import all_roots, main_root
from core.table.records import Tag

_RETIRED = re.compile(r"retired-(?P<name>.+)-\d{8}T\d{6}", re.DOTALL)


def merge_tag(branch: str, snapshot_id: int) -> str:
    """The tag of main that pins what a merge shares with the branch, or needs to tell main's changes by."""
    return f"paimark.merge.{branch}.{snapshot_id}"


def truncation_tag(branch: str, snapshot_id: int) -> str:
    """The tag of main's newest snapshot that it shares with the branch that has what came later."""
    return f"paimark.truncate.{branch}.{snapshot_id}"


def released(files: Files, main: Root, branch: str) -> dict[str, Tag]:
    """Main's tags that stood there for a branch and that nobody needs once it is gone, by name.

    Not while it is only retired, and may come back; nor where another branch parts from main right there, or
    nobody knows where, and no other tag of main holds that commit. Raises `Corrupt`.
    """
    side, name = Side(files, main), _first_name(branch)
    own = re.compile(rf"paimark\.(merge|truncate)\.{re.escape(name)}\.\d+")
    found = {each: tag for each, tag in side.tags.items() if own.fullmatch(each)}
    others = [root for root in all_roots(files, main.table) if root not in (main, main.table.root(branch))]
    if not found or name in {_first_name(root.label) for root in others}:
        return {}
    forks = {find_fork(side, Side(files, root)).snapshot_id for root in others}
    return {
        each: tag
        for each, tag in found.items()
        if forks.isdisjoint({tag.id, None}) or _is_held_besides(side, tag, found)
    }


def _first_name(branch: str) -> str:
    """What a branch was called before it was retired."""
    retired = _RETIRED.fullmatch(branch)
    return retired["name"] if retired else branch


def _is_held_besides(main: Side, tag: Tag, found: Collection[str]) -> bool:
    return any(is_same_commit(tag, other) for name, other in main.tags.items() if name not in found)


def leaving_of_pin(main: Root, name: str, tag: Tag) -> Leaving:
    """A pin while its file, and the copy that guards it, are still there."""
    roots = (main,) if main.branch is None else (main, main.table.root())
    return Leaving(roots, tag.schema_id, (tag,), frozenset(root.tag(name) for root in roots))


def release(context: Context, hold: Hold, branch: str, progress: Progress) -> Removed:
    """Once the branch is gone: its pins go, with the files that only they kept. It can be done twice."""
    files, main, removed = context.files, main_root(context.files, hold.table), Removed()
    for name, tag in released(files, main, branch).items():
        leaving = leaving_of_pin(main, name, tag)
        removed += remove(context, hold, leaving, progress, part=f"{name}: ")
        for path in sorted(leaving.paths):
            files.delete(path)
        progress(f"released tag {name}")
    return removed
