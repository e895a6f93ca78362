"""A branch whose fork from main is unknown: what to do with its rows instead of a merge."""

from __future__ import annotations

from contextlib import suppress

from paimark.core.errors import Corrupt, FileMissing, Refused
from paimark.core.quoting import quoted, quoted_if_needed, shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.manifests.chain import comes_from
from paimark.core.table.manifests.manifests import read_manifest_list
from paimark.core.table.records import Snapshot


def no_common_past(files: Files, branch: Side) -> Refused:
    """The refusal of a merge of such a branch, for example rescued commits: it may hold only a few rows."""
    table, name = branch.root.table, branch.root.label
    hint = (
        "Their common past has expired, or one was rolled back past it. See `paimark "
        f"{shell_line(['diff', table.full_name, 'main', name])}`: write the rows yourself, or replace main "
        "with the branch if it has all rows that you want to keep."
    )
    with suppress(Corrupt, FileMissing):
        hint = _advice(files, branch) or hint
    return Refused(f"Branch {name} of {table.full_name} has no known fork from main", hint)


def _advice(files: Files, branch: Side) -> str | None:
    table, root = branch.root.table, branch.root
    # Another process may move it away meanwhile.
    first = branch.record(branch.snapshot_ids[0]) if branch.snapshot_ids else None
    if first is None:
        return None
    if not read_manifest_list(files, table.manifest(first.base_manifest_list)):
        source = f"{quoted_if_needed(table.database)}.{quoted(f'{table.name}$branch_{root.label}')}"
        return (
            f"It holds only what was committed to it. Add that: INSERT INTO {table.full_name} SELECT * FROM "
            f"{source}. Replacing main with the branch would leave main those rows alone."
        )
    if (origin := _origin(files, root, first)) is not None:
        words = shell_line(["diff", table.full_name, origin.label, root.label])
        return (
            f"It goes on from snapshot {first.id - 1} of {origin.label}: `paimark {words}` shows what it "
            "changed. Write those rows yourself."
        )
    return None


def _origin(files: Files, branch: Root, first: Snapshot) -> Root | None:
    """The root with the snapshot on which the branch's first snapshot was committed."""
    for root in all_roots(files, branch.table):
        before = Side(files, root).record(first.id - 1) if root != branch else None
        if before is not None and comes_from(files, branch.table, first, before):
            return root
    return None
