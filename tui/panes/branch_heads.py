"""Notice commits to a table's branches, with one small read a branch."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import Root
from paimark.core.table.lineage.main_branch import branch_names
from paimark.tui.session import Opened


class BranchHeads:
    """The newest snapshot of each branch of a table, by its hint and by the content of its file.

    The content matters because a table or branch that was dropped and made again may have the same ids. All
    hints are read each time, but few snapshots: where the hint is another one, that of main, because a table
    that was made again has another one, and that of one branch in turn.
    """

    def __init__(self) -> None:
        # The hint and the content of each root.
        self._known: Mapping[Root, tuple[bytes | None, int]] = {}
        self._turn = 0

    def fingerprint(self, files: Files, main: Opened) -> Hashable:
        """A value that differs from the last one if there are other branches or newest snapshots.

        It costs one listing, one small read a branch, and two more.
        """
        hints = _hints(files, main)
        roots = list(hints)
        self._turn += 1
        known = {root: hint for root, (hint, _) in self._known.items()}
        others = {root for root in roots if root not in known or known[root] != hints[root]}
        contents = _contents(files, hints, others | {roots[0], roots[self._turn % len(roots)]})
        self._known = {
            root: (hint, contents[root] if root in contents else self._known[root][1])
            for root, hint in hints.items()
        }
        return tuple(self._known.items())


def _hints(files: Files, main: Opened) -> Mapping[Root, bytes | None]:
    """The hint of each root, main's first."""
    table = main.target.table
    roots = list(dict.fromkeys((main.root, *map(table.root, branch_names(files, table)))))
    return dict(zip(roots, files.read_many([root.latest_hint for root in roots]), strict=True))


def _contents(files: Files, hints: Mapping[Root, bytes | None], roots: Collection[Root]) -> dict[Root, int]:
    """A hash of the newest snapshot of each of these roots.

    Without a hint, as before the first commit to a branch: of the listing, which has the times of the files.
    """
    paths = {root: root.snapshot(int(hint)) for root in roots if _is_id(hint := hints[root] or b"")}
    unhinted = [root for root in roots if root not in paths]
    listings = each_of(lambda root: frozenset(files.entries(root.snapshots)), unhinted)
    contents = [
        *zip(paths, files.read_many(paths.values()), strict=True),
        *zip(unhinted, listings, strict=True),
    ]
    return {root: hash(content) for root, content in contents}


def _is_id(hint: bytes) -> bool:
    # `int` refuses a number with very many digits.
    return hint.isdigit() and len(hint) < 20
