"""What an argument may be, where that is the name of something: told while its field is empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from core.storage.files import Files
from core.table.layout import SAVEPOINT_TAG_PREFIX, TablePath, number_in
from core.table.lineage.lineage import Lineage
from core.table.lineage.main_branch import branch_names, main_root
from core.text import clean_text
from tui.theme import Line

# A line tells so many; a table may have thousands.
_MOST = 12

Names = Callable[[Files, TablePath], Sequence[str]]


def _tags(files: Files, table: TablePath) -> Sequence[str]:
    """Of main; a savepoint is one. Savepoints first, the newest of them in front."""
    names = Lineage(files, main_root(files, table)).tag_names()
    saved = [name for name in names if name.startswith(SAVEPOINT_TAG_PREFIX)]
    saved.sort(key=lambda name: number_in(name, SAVEPOINT_TAG_PREFIX) or 0, reverse=True)
    return [*saved, *(name for name in names if name not in set(saved))]


def _given_tags(files: Files, table: TablePath) -> Sequence[str]:
    return [name for name in _tags(files, table) if not name.startswith(SAVEPOINT_TAG_PREFIX)]


def _savepoints(files: Files, table: TablePath) -> Sequence[str]:
    names = (name for name in _tags(files, table) if name.startswith(SAVEPOINT_TAG_PREFIX))
    return [name.removeprefix(SAVEPOINT_TAG_PREFIX) for name in names]


_NAMES: Mapping[tuple[str, str], Names] = {
    ("create-branch", "tag"): _tags,
    ("rollback", "to"): _tags,
    ("delete-savepoint", "id"): _savepoints,
    **{(action, "name"): _given_tags for action in ("delete-tag", "rename-tag")},
    **{(action, "name"): branch_names for action in ("merge-branch", "replace-main-branch", "delete-branch")},
}


def known_lines(files: Files, table: TablePath, action: str) -> Mapping[str, Line]:
    """For a thread: a line for each argument that is the name of something. Raises as reading does."""
    asked = {argument: names for (of, argument), names in _NAMES.items() if of == action}
    return {argument: _line(argument, names(files, table)) for argument, names in asked.items()}


def _line(argument: str, names: Sequence[str]) -> Line:
    more = f", and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    told = ", ".join(map(clean_text, names[:_MOST])) + more if names else "none is there yet"
    return [(f"{argument} is one of: " if names else f"{argument}: ", "quiet"), (told, "")]
