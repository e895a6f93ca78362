"""`branch/protected`: the branches, tags and savepoints that no action lets go. JSON lines.

Stock engines don't know the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import MAIN, Root, TablePath
from paimark.core.table.lineage.main_branch import main_branch_name
from paimark.core.table.records import Record

ProtectedKind = Literal["branch", "tag", "savepoint"]


class Protected(Record, frozen=True, kw_only=True):
    """A protected thing, by name. `main` is whichever branch is main."""

    newest: ClassVar[int | None] = 1

    version: int = 1  # format
    what: ProtectedKind  # `branch`, `tag` or `savepoint`
    name: str  # its name, `main` for whichever branch is main; a savepoint's number
    branch: str | None = None  # of a tag: its branch, `main` as above
    reason: str  # why, for people
    user: str  # who protected it
    time: int  # when

    @property
    def thing(self) -> tuple[str, str, str | None]:
        """What it is about: one thing is protected once."""
        return self.what, self.name, self.branch

    @property
    def said(self) -> str:
        """`savepoint 3`, `branch fix`, `tag v2 of main`."""
        return f"{self.what} {self.name}" + ("" if self.branch is None else f" of {self.branch}")


def protected(files: Files, table: TablePath) -> list[Protected]:
    """All that are protected, the first first. Raises `Corrupt`."""
    lines = (read_if_there(files, table.protected) or b"").splitlines()
    return [Protected.from_json(line, table.protected) for line in lines if line.strip()]


def reasons(files: Files, root: Root, what: ProtectedKind) -> dict[str, str]:
    """Why things of a kind are protected, by name: the branches or savepoints of a table, a root's tags."""
    known = [each for each in protected(files, root.table) if each.what == what]
    main = (main_branch_name(files, root.table) if known else None) or MAIN
    if what == "branch":
        return {main if each.name == MAIN else each.name: each.reason for each in known}
    labels = {root.label, MAIN} if root.label == main else {root.label}
    return {each.name: each.reason for each in known if what != "tag" or each.branch in labels}


def write(files: Files, table: TablePath, entries: Sequence[Protected]) -> None:
    """The caller holds the table's journal."""
    if not entries:
        files.delete(table.protected)
        return
    lines = [b" ".join(each.to_json().split(b"\n")) for each in entries]
    files.replace(table.protected, b"\n".join([*lines, b""]))
