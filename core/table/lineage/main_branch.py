"""Which root is "main", and which roots a table has.

The main-branch file holds the name of the branch that is main. Absent or blank, it is the table directory.
Read it once an operation and carry the root: every path lookup asking again would pay for it.
"""

from __future__ import annotations

from core.errors import Corrupt, NotFound
from core.storage.files import Files, read_if_there
from core.table.layout import BRANCH_PREFIX, MAIN, SNAPSHOT_PREFIX, Root, TablePath, number_in
from core.table.names import checked_name, is_safe_name, near_or_there

# No store has longer names of files.
_LONGEST_NAME = 1024


def main_root(files: Files, table: TablePath) -> Root:
    """The root that the table's plain name means. Raises `Corrupt` when the main-branch file names none."""
    name = main_branch_name(files, table)
    if name is None:
        return table.root()
    root = table.root(name)
    if not root_exists(files, root):
        raise Corrupt(
            f"{table.main_branch_file} says that {name} is main, and {root.directory} is missing",
            f"Make another branch main: paimark recover {table.word} --main NAME.",
        )
    return root


def main_branch_name(files: Files, table: TablePath) -> str | None:
    """The branch that the main-branch file names; None when the table directory is main's root."""
    data = read_if_there(files, table.main_branch_file)
    if data is None:
        return None
    try:
        name = data.decode().strip()
    except UnicodeDecodeError:
        name = "\0"
    if name and not (is_safe_name(name) and len(name) <= _LONGEST_NAME):
        raise Corrupt(
            f"{table.main_branch_file} does not hold the name of a branch",
            "Write the name of the branch that is main there.",
        )
    return name or None


def branch_root(files: Files, table: TablePath, branch: str | None) -> Root:
    """The root of a branch; None and `main` mean main's. Raises `NotFound` when the branch is missing."""
    if branch is None or branch == MAIN:
        return main_root(files, table)
    root = table.root(checked_name(branch, "branch"))
    if not root_exists(files, root):
        known = branch_names(files, table)
        hint = near_or_there(branch, known, "only main")
        raise NotFound(f"{table.full_name} has no branch {branch}", hint)
    return root


def branch_names(files: Files, table: TablePath) -> list[str]:
    """The branches, sorted, the one that is main included when it is one."""
    return [name for name in _directory_names(files, table) if is_safe_name(name)]


def named_roots(files: Files, table: TablePath) -> list[Root]:
    """The table directory, and every branch that has a name: wherever something of ours may have been copied.

    Unlike `all_roots` it passes over a branch that can't be read for its name: no action writes into one.
    """
    return [table.root(), *(table.root(name) for name in branch_names(files, table))]


def all_roots(files: Files, table: TablePath) -> list[Root]:
    """Every root with snapshots or schemas: the table directory where it is one, then the branches by name.

    While a branch is main the table directory counts only when it has snapshots: what lies in its `schema/`
    then is a notice to other engines. Raises `Corrupt` when the main-branch file names no root, and when a
    branch can't be read for its name: who asks for all may be about to delete what none of them needs.
    """
    own = table.root()
    is_root = root_exists(files, own) if main_root(files, table) == own else _has_snapshots(files, own)
    return [*([own] if is_root else []), *branch_roots(files, table)]


def branch_roots(files: Files, table: TablePath) -> list[Root]:
    """The roots of all branches by name, from one listing. Raises `Corrupt` as `all_roots`."""
    names = _directory_names(files, table)
    for name in names:
        if not is_safe_name(name):
            raise Corrupt(
                f"{table.branches} has a branch with the name {name!r}, which can't be read",
                "Rename or remove that directory.",
            )
    return [table.root(name) for name in names]


def _has_snapshots(files: Files, root: Root) -> bool:
    return any(number_in(name, SNAPSHOT_PREFIX) is not None for name in files.names(root.snapshots))


def _directory_names(files: Files, table: TablePath) -> list[str]:
    return sorted(
        entry.name.removeprefix(BRANCH_PREFIX)
        for entry in files.entries(table.branches)
        if entry.is_directory and entry.name.startswith(BRANCH_PREFIX) and entry.name != BRANCH_PREFIX
    )


def root_exists(files: Files, root: Root) -> bool:
    """Whether there is a schema or a snapshot in the root."""
    return bool(files.names(root.schemas) or files.names(root.snapshots))
