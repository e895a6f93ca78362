"""Which root is "main", and which roots a table has.

The main-branch file holds the name of the branch that is main. If it is absent or blank, main is the table
directory. Read it once per operation and pass the root on: reading it for every path would be slow.
"""

from __future__ import annotations

from paimark.core.errors import Corrupt, NotFound
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import (
    BRANCH_PREFIX,
    MAIN,
    SCHEMA_PREFIX,
    SNAPSHOT_PREFIX,
    Root,
    TablePath,
    number_in,
)
from paimark.core.table.names import checked_name, is_safe_name, near_or_all_names
from paimark.core.text import spelled

# No store allows longer file names.
_LONGEST_NAME = 1024


def main_root(files: Files, table: TablePath) -> Root:
    """The root to which the table's name refers. Raises `Corrupt` if the main-branch file names none."""
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
    """The branch that the main-branch file names; None if the table directory is main's root."""
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
    """The root of a branch; None and `main` mean main's. Raises `NotFound` if the branch is missing."""
    if branch is None or branch == MAIN:
        return main_root(files, table)
    root = table.root(checked_name(branch, "branch"))
    if not root_exists(files, root):
        known = branch_names(files, table)
        hint = near_or_all_names(branch, known, "only main")
        if branch in known:
            import shlex

            words = f"{table.word} --name {shlex.quote(branch)}"
            hint = f"Only a part of its files is there: `paimark delete-branch {words}` removes it."
        raise NotFound(f"{table.full_name} has no branch {branch}", hint)
    return root


def branch_names(files: Files, table: TablePath) -> list[str]:
    """The branches, sorted, including the one that is main, if any."""
    return [name for name in _directory_names(files, table) if is_safe_name(name)]


def named_roots(files: Files, table: TablePath) -> list[Root]:
    """The table directory, and each branch with a readable name: the roots that may have copies of our files.

    Unlike `all_roots` it skips a branch whose name can't be read: no action writes into one.
    """
    return [table.root(), *(table.root(name) for name in branch_names(files, table))]


def all_roots(files: Files, table: TablePath) -> list[Root]:
    """Every root with snapshots or schemas: the table directory if it is one, then the branches by name.

    While a branch is main, the table directory counts only if it has snapshots: its `schema/` then holds a
    notice to other engines. Raises `Corrupt` if the main-branch file names no root, or if a branch's name
    can't be read: the caller may be about to delete what no root needs, so none may be missing.
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
                f"{table.branches} has a branch with the name {spelled(name)}, which can't be read",
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


def has_schema(files: Files, root: Root) -> bool:
    """Whether an engine can open the root."""
    return any(number_in(name, SCHEMA_PREFIX) is not None for name in files.names(root.schemas))


def root_exists(files: Files, root: Root) -> bool:
    """Whether the root has a schema or a snapshot."""
    return bool(files.names(root.schemas) or files.names(root.snapshots))
