"""Whether main's next stock expiry would delete a branch's fork, and whether stock expiry is off on main."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import retention_off, retention_options
from paimark.core.table.layout import Root
from paimark.core.table.lineage.branches import branch_health
from paimark.core.table.lineage.forks import Side, Unheld, find_fork, unheld_fork
from paimark.core.table.lineage.main_branch import main_root

Verdict = tuple[str, str, str]


def fork_verdicts(files: Files, root: Root) -> Iterator[Verdict]:
    """State, detail and hint of each finding. Raises `Corrupt` and `NotFound`."""
    main = main_root(files, root.table)
    if root == main:
        yield from _endless(files, root)
        return
    sides = Side(files, main), Side(files, root)
    if unheld := unheld_fork(*sides, find_fork(*sides)):
        yield "warning", unheld.danger("it"), _mend(root, unheld)


def _endless(files: Files, main: Root) -> Iterator[Verdict]:
    if branch_health(files, main) == "endless":
        command = shell_line(
            ["paimark", "alter-branch-schema", main.table.full_name, "--unset", retention_options()]
        )
        yield (
            "warning",
            f"Stock engines expire nothing of it: {retention_off()} came from a branch, as by a fast-forward",
            "First tag the snapshots that branches share with it, if a finding names them. Then run: "
            f"{command}",
        )


def _mend(root: Root, unheld: Unheld) -> str:
    if not unheld.in_main:
        return "Main has lost that snapshot, too: expire main with `paimark expire-snapshots` alone."
    name, number = unheld.tag_name, str(unheld.snapshot.id)
    words = shell_line([root.table.full_name, "--name", name, "--snapshot", number])
    return f"Run: paimark create-tag {words}"
