"""Plant faults again that were fixed: the simulation must find each, or it proves nothing.

`python -m tests.simulation --plant NAME --seeds 0-999` runs with one of them until it is found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import msgspec

from paimark.core.actions.branches.removal import Agreed, Late, Stays, came_since, keep_if_late
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.garbage.release_pins import Dependent
from paimark.core.actions.replace.pointer import drop_copies
from paimark.core.actions.replace.table_directory import drop_guards
from paimark.core.actions.undo.replacement import UndoState
from paimark.core.storage.files import Files
from paimark.core.table.commits import Fate, Landed
from paimark.core.table.definition.retention import RETENTION_OFF
from paimark.core.table.layout import BARRIER_ID, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.records import Snapshot, Tag, json_object


def _only_the_next(files: Files, root: Root, user: str, after: int) -> Fate:
    """Planted for `find_commit`: it looks at the next snapshot only."""
    path = root.snapshot(after + 1)
    [data] = files.read_many([path])
    if data is None or Snapshot.from_json(data, path).commit_user != user:
        return Fate(Landed.NO)
    return Fate(Landed.YES, Snapshot.from_json(data, path))


def _by_first_snapshots(files: Files, table: TablePath, tag: Tag, going: Collection[str]) -> list[Dependent]:
    """Planted for `dependents`: only branches whose first snapshot is the tag's depend on it."""
    main = main_root(files, table)
    firsts = {
        root.label: (Lineage(files, root).snapshot_ids() or [0])[0]
        for root in all_roots(files, table)
        if root != main
    }
    return [Dependent(label, "was made from") for label, first in firsts.items() if first == tag.id]


def _no_late_files(files: Files, source: Root, target: Root, swap: object) -> None:
    """Planted for `move_rest`: the old root is removed with the commits that were made there meanwhile."""
    from paimark.core.actions.roots.root_files import remove_root

    remove_root(files, source)


def _nothing_late(*arguments: object) -> Late:
    """Planted for `came_since`: a deletion takes what came to the branch after its plan."""
    return Late()


def _mark_without_hint(files: Files, root: Root, becomes: str) -> None:
    """Planted for `put_before_removal`: a branch's earliest snapshot stays readable during its deletion."""
    files.create(root.snapshot(BARRIER_ID), becomes.encode())


def _nothing(*arguments: object, **named: object) -> None:
    """Planted for a step that is left out."""


def _dropped_again(hold: Hold, archive: Root, agreed: Agreed, progress: Progress) -> Stays | None:
    """Planted for `keep_if_late`: each recovery takes main's past out of the branch."""
    edit = msgspec.convert(hold.journal.state, UndoState).operation.turned.main
    assert edit is not None
    copied = range(edit.first_copied, edit.last_copied + 1)
    previous, branch = hold.table.root(edit.before), hold.table.root(edit.after)
    drop_copies(hold.context.files, previous, branch, copied, edit.copied_tags)
    return keep_if_late(hold, archive, agreed, progress)


def _without_closing(
    context: Context, root: Root, agreed: Agreed, progress: Progress, origin: Root | None = None
) -> Late:
    """Planted for `last_look`: jobs can go on to commit to a branch that goes."""
    return came_since(context.files, root, agreed, origin)


def _beside_main(files: Files, root: Root, agreed: Agreed, origin: Root | None = None) -> Late:
    """Planted for `came_since`: it compares with the tags that main has now."""
    tags = Lineage(files, root.table.root()).tag_names()
    return came_since(files, root, Agreed(agreed.head, tuple(tags)), origin)


def _drop_all_guards(
    files: Files, table: TablePath, archive: Root, tags: Collection[str], earliest: bytes | None
) -> None:
    """Planted for `drop_guards`: main keeps not the tags that the archive had, but those that it has now."""
    drop_guards(files, table, archive, Lineage(files, archive).tag_names(), earliest)


def _empty(*arguments: object, **named: object) -> list[object]:
    """Planted for a search: it finds nothing."""
    return []


def _yes(*arguments: object, **named: object) -> bool:
    """Planted for a check that always holds."""
    return True


def _no(*arguments: object, **named: object) -> bool:
    """Planted for a check that never holds."""
    return False


def _only_expiry_off(schema: bytes, source: str) -> bytes:
    """Engines go on making tags of the branch."""
    fields = json_object(schema)
    expiry = {name: value for name, value in RETENTION_OFF.items() if name.startswith("snapshot.")}
    after = {**fields["options"], **expiry}
    return schema if after == fields["options"] else msgspec.json.encode({**fields, "options": after})


_Change = tuple[str, object]
# By the name of each fault: the functions that are replaced, with their replacements.
PLANTS: dict[str, tuple[_Change, ...]] = {
    "a-commit-is-looked-for-in-the-next-snapshot-alone": (
        ("paimark.core.table.commits.find_commit", _only_the_next),
    ),
    "expiry-passes-a-commit-that-is-being-made": (
        ("paimark.core.actions.rewrite.rewrite_main.hold_expiry", _nothing),
        ("paimark.core.actions.merge.changes.hold_expiry", _nothing),
        ("paimark.core.table.commits.find_commit", _only_the_next),
    ),
    "a-branch-stands-on-its-first-snapshot": (
        ("paimark.core.actions.garbage.deletion.dependents", _by_first_snapshots),
    ),
    "a-moved-root-loses-what-came-late": (
        ("paimark.core.actions.branches.rename_root.move_rest", _no_late_files),
    ),
    "a-deletion-takes-what-its-plan-did-not-see": (
        ("paimark.core.actions.branches.delete_branch.require_unmoved", _nothing),
    ),
    "a-deletion-takes-what-came-after-its-decision": (
        ("paimark.core.actions.branches.delete_branch.came_since", _nothing_late),
        ("paimark.core.actions.branches.delete_branch.last_look", _nothing_late),
    ),
    "no-barrier-for-open-sessions": (
        ("paimark.core.actions.replace.replace_main_branch.put_barrier", _nothing),
        ("paimark.core.actions.replace.table_directory.put_barrier", _nothing),
        ("paimark.core.actions.roots.guard_tags.put_barrier", _nothing),
    ),
    "main-does-not-know-what-a-branch-keeps": (
        ("paimark.core.actions.roots.shared_snapshots._tag_in_main", _nothing),
    ),
    "a-savepoint-without-its-tag-stays-so": (("paimark.core.actions.recover.unprotected", _empty),),
    "a-rollback-counts-that-was-taken-back": (("paimark.core.actions.merge.history._is_given_up", _no),),
    "engines-make-tags-of-branches": (
        ("paimark.core.actions.roots.branch_files.with_retention", _only_expiry_off),
    ),
    "a-rollback-makes-an-archive-somebodys": (
        ("paimark.core.actions.replace.replace_main_branch.is_whole_copy", _no),
    ),
    "a-tag-that-main-lost-makes-an-archive-somebodys": (
        ("paimark.core.actions.branches.removal.came_since", _beside_main),
    ),
    "a-recovery-takes-another-branch-for-the-one-that-goes": (
        ("paimark.core.actions.branches.delete_branch.still_goes", _yes),
        ("paimark.core.actions.branches.delete_branch.came_since", _nothing_late),
        ("paimark.core.actions.branches.delete_branch.last_look", _nothing_late),
    ),
    "a-recovery-moves-another-branch-of-the-name": (
        ("paimark.core.actions.branches.rename_root.still_goes", _yes),
        ("paimark.core.actions.branches.rename_root.RootMove._is_copied", _yes),
    ),
    "a-recovery-writes-into-a-branch-of-another-engine": (
        ("paimark.core.actions.branches.create_branch.CreateBranch._is_anothers", _no),
    ),
    "a-stock-engine-moves-main-to-a-branch-that-goes": (
        ("paimark.core.actions.branches.removal.put_before_removal", _mark_without_hint),
    ),
    "an-expiry-goes-on-in-a-branch-that-is-gone": (
        ("paimark.core.actions.garbage.expire_snapshots.ExpireSnapshots._is_another", _no),
    ),
    "an-undo-takes-a-snapshot-out-of-another-branch": (
        ("paimark.core.actions.undo.replacement.keep_if_late", _dropped_again),
    ),
    "main-loses-its-tags-with-those-of-its-copy": (
        ("paimark.core.actions.undo.replacement.drop_guards", _drop_all_guards),
    ),
    "jobs-can-not-tell-that-an-archive-goes": (
        ("paimark.core.actions.branches.removal.mark", _nothing),
        ("paimark.core.actions.branches.removal.last_look", _without_closing),
    ),
    "a-recovery-deletes-a-tag-that-was-made-again": (
        ("paimark.core.actions.garbage.deletion.written_by_others", _empty),
        ("paimark.core.actions.garbage.deletion._is_still", _yes),
    ),
    "a-schema-goes-that-a-job-may-use": (("paimark.core.actions.merge.journal.holds_all", _no),),
    "a-branch-without-a-schema-is-not-named": (
        ("paimark.core.verify.report.Problems.add_missing_schemas", _nothing),
    ),
    "nothing-stands-against-an-undo": (("paimark.core.actions.protection_guard.against", _empty),),
    "an-undo-tells-of-a-branch-that-is-gone": (("paimark.core.actions.undo.replacement.root_exists", _yes),),
    "a-merge-copies-tags-of-a-branch-that-is-gone": (
        ("paimark.core.actions.merge.changes.root_exists", _yes),
    ),
    "a-branch-stands-on-a-tag-of-engines": (
        ("paimark.core.actions.branches.branch_origin.is_permanent", _yes),
    ),
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Plant a fault within the context."""
    patches = [patch(target, change) for target, change in PLANTS[name]]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()
