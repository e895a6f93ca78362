"""`savepoint/CLAIM-<id>`: a savepoint that is being made. It is the creation's journal, and is removed last.

Every step is idempotent, so that a recovery goes on where the owner died.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import ClassVar, Literal

import msgspec

from paimark.core.actions.change import journal
from paimark.core.actions.change.fence import Fence
from paimark.core.actions.change.journal import new_token
from paimark.core.actions.change.owner import Owner, running, this_process
from paimark.core.actions.change.taking_back import undone_on_failure
from paimark.core.actions.checks import not_undone
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Plan
from paimark.core.actions.roots import guard_tags
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, prune_gone, require_whole
from paimark.core.actions.roots.shared_snapshots import hold_with_main
from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.cancelling import to_the_end
from paimark.core.errors import Corrupt, PaimarkError, Refused, Unavailable, hint_before
from paimark.core.figures import size
from paimark.core.storage.files import Files, read_if_there
from paimark.core.storage.parallel import each_of
from paimark.core.table.definition.retention import schemas_digest
from paimark.core.table.layout import (
    CLAIM_PREFIX,
    SAVEPOINT_PREFIX,
    TAG_PREFIX,
    Root,
    TablePath,
    numbered,
    savepoint_tag,
)
from paimark.core.table.lineage.main_branch import all_roots, main_root, named_roots, root_exists
from paimark.core.table.manifests.files import NeededNames, has_lists, manifest_list_paths, snapshot_facts
from paimark.core.table.manifests.manifests import write_manifest_list
from paimark.core.table.operations import Group
from paimark.core.table.records import ListName, Record, Savepoint, Tag, is_same_commit
from paimark.core.table.savepoints import tagged_savepoints
from paimark.core.text import whole_number

_EXPIRY = "expire-snapshots"

CreatedBy = Literal["manual", "interval", "safety"]


class Claim(Record, frozen=True, kw_only=True):
    """A savepoint that is being made, and its owner."""

    numbered: ClassVar[tuple[str, ...]] = (CLAIM_PREFIX,)
    newest: ClassVar[int | None] = 1

    version: int = 1  # format
    id: int  # the id that is claimed
    token: str  # of the creation
    root: str | None = None  # the root that gets the tag
    snapshot_id: int  # the snapshot
    tag_digest: str  # SHA-256 of the tag's bytes, in hexadecimal
    full_manifest_list: ListName  # file name of the list to be written
    save_time: int  # as in the savepoint
    comment: str | None = None  # as in the savepoint
    created_by: str  # as in the savepoint
    owner: Owner  # the process that makes it
    group: Group | None = None  # which part of a change of many it is: a [group](#operation-log)
    redoes: str | None = None  # as in an [operation](#operation-log)
    message: str | None = None  # likewise
    author: str | None = None  # likewise
    # 32 random hex digits of the recovery that goes on with it: the owner, if it is alive after all, must not
    recovery: str | None = None


class ClaimTakenOver(Refused):
    """Another process took this one for dead and goes on with its claim: this one must not write any more."""


# Called after a savepoint is written and before its claim goes, so that a recovery calls it too.
Made = Callable[[Context, TablePath, Claim], None]


def claimed_ids(context: Context, table: TablePath) -> list[int]:
    """The claimed ids, ascending."""
    return numbered(context.files.names(table.savepoints), CLAIM_PREFIX)


def read_claim(context: Context, table: TablePath, savepoint_id: int) -> Claim | None:
    """One claim; None if it does not exist. Raises `Corrupt`."""
    path = table.savepoint_claim(savepoint_id)
    data = read_if_there(context.files, path)
    return None if data is None else Claim.from_json(data, path)


def next_id(files: Files, table: TablePath) -> int:
    """The lowest id above every savepoint, claim and tag in any root, and above the hint."""
    return max([_hinted(files, table), *_taken(files, table)], default=0) + 1


def claim_and_tag(
    context: Context,
    chosen: ChosenSnapshot,
    token: str,
    comment: str | None,
    created_by: CreatedBy,
    plan: Plan | None,
) -> tuple[Claim, Context]:
    """Claim the next id and write its tag. Concurrent processes get different ids.

    Also return the context for what follows: its writes fail once another process has taken the claim over.
    """
    files, table = context.files, chosen.root.table
    while True:
        claim = Claim(
            id=next_id(files, table),
            token=token,
            root=chosen.root.branch,
            snapshot_id=chosen.snapshot.id,
            tag_digest=_digest(chosen.data),
            full_manifest_list=f"manifest-list-{uuid.uuid4()}",
            save_time=context.clock(),
            comment=comment,
            created_by=created_by,
            owner=this_process(context),
            group=None if plan is None else plan.group,
            redoes=None if plan is None else plan.redoes,
            message=context.note.message or None,
            author=context.note.author or None,
        )
        fenced = _fenced(context, table, claim)
        if _claimed_and_tagged(context, fenced, chosen, claim):
            return claim, fenced


def _fenced(context: Context, table: TablePath, claim: Claim) -> Context:
    def require() -> None:
        _require_ours(context, table, claim)
        fence.looked()

    fence = Fence(context, require)
    return fence.context


def _claimed_and_tagged(unclaimed: Context, context: Context, chosen: ChosenSnapshot, claim: Claim) -> bool:
    files, table = context.files, chosen.root.table
    # Before this process may have written the tag, it owns only the claim: others may tag the snapshot.
    with undone_on_failure(context, table, lambda _: _drop(context, table, claim)):
        if not unclaimed.files.create(table.savepoint_claim(claim.id), claim.to_json()):
            return False
        # Between the check and the claim another process may have made this savepoint, and even deleted it.
        if _hinted(files, table) >= claim.id or claim.id in _taken(files, table, claims=False):
            _drop(context, table, claim)
            return False
    with undone_on_failure(context, table, lambda _: undo(context, table, claim)):
        if files.create(chosen.root.tag(savepoint_tag(claim.id)), chosen.data):
            return True
    _drop(context, table, claim)
    return False


def save(
    context: Context,
    chosen: ChosenSnapshot,
    comment: str | None,
    created_by: CreatedBy,
    progress: Progress,
    tagged: Callable[[Claim], None] = lambda claim: None,
    made: Made = lambda context, table, claim: None,
    plan: Plan | None = None,
) -> Savepoint:
    """Make a savepoint of the snapshot. Any error takes it back, also one of `tagged`, called after the tag.
    `plan` is that of an operation of its own.

    If only its tag keeps the snapshot by then, the claim stays for `recover`. Raises `SnapshotLost`, and
    `Refused`.
    """
    table, token = chosen.root.table, new_token()
    needed = require_whole(context, chosen, progress)
    with running(context, table, token):
        claim, context = claim_and_tag(context, chosen, token, comment, created_by, plan)
        leaves = _left_if_needed(context, chosen, claim)
        with undone_on_failure(context, table, lambda _: undo(context, table, claim), leaves):
            tagged(claim)
            return complete(context, chosen, claim, needed, progress, made)


def complete(
    context: Context,
    chosen: ChosenSnapshot,
    claim: Claim,
    needed: NeededNames | None,
    progress: Progress,
    made: Made,
) -> Savepoint:
    """Make the savepoint from its claim and tag. Raises `SnapshotLost`, and leaves undoing to the caller."""
    files, table = context.files, chosen.root.table
    hold_with_main(context, chosen, savepoint_tag(claim.id), needed, progress, [])
    verified_at = context.clock()
    full_list = write_manifest_list(files, manifest_list_paths(table, chosen.snapshot))
    files.create(table.savepoint_file(claim.full_manifest_list), full_list)
    progress(f"wrote the full manifest list ({size(len(full_list))})")
    savepoint = Savepoint(
        id=claim.id,
        saved_snapshot_id=chosen.snapshot.id,
        schema_id=chosen.snapshot.schema_id,
        full_manifest_list=claim.full_manifest_list,
        record_count=_record_count(files, chosen),
        save_time=claim.save_time,
        snapshot_time=chosen.snapshot.time_millis,
        branch=chosen.root.label,
        verified_at=verified_at,
        comment=claim.comment,
        created_by=claim.created_by,
        snapshot=chosen.snapshot.as_written(),
        schema_digest=schemas_digest(files, chosen.root, chosen.snapshot.schema_id),
    )
    _require_ours(context, table, claim)
    files.create(table.savepoint(claim.id), savepoint.to_json())
    made(context, table, claim)
    close(context, table, claim)
    progress(f"wrote savepoint {claim.id}")
    return savepoint


def take_over(context: Context, table: TablePath, claim: Claim) -> Claim:
    """Go on with a claim in its owner's place, which may only stand still, and fails once it wakes."""
    taken = msgspec.structs.replace(claim, recovery=new_token())
    context.files.replace(table.savepoint_claim(claim.id), taken.to_json())
    return taken


def close(context: Context, table: TablePath, claim: Claim) -> None:
    """After the savepoint is written: guard its tag, raise the hint and remove the claim."""
    guard_tags.guard(context.files, table.root(claim.root), savepoint_tag(claim.id))
    raise_hint(context.files, table, claim.id)
    context.files.delete(table.savepoint_claim(claim.id))


def undo(context: Context, table: TablePath, claim: Claim) -> None:
    """Delete the files that the claim names, unless they belong to another creation.

    Does nothing if the savepoint exists already, or another process has the claim: the tag may be theirs.
    """
    files = context.files
    if not _is_ours(context, table, claim) or files.exists(table.savepoint(claim.id)):
        return
    with suppress(ClaimTakenOver):
        # A concurrent change of main may have copied the tag. No other creation ever gets this id.
        for root in named_roots(files, table):
            if tag_is_of(files, root, claim):
                files.delete(root.tag(savepoint_tag(claim.id)))
                prune_gone(files, root)
        files.delete(table.savepoint_file(claim.full_manifest_list))
        _drop(context, table, claim)


def _left_if_needed(
    context: Context, chosen: ChosenSnapshot, claim: Claim
) -> Callable[[BaseException], PaimarkError | None]:
    """A claim stays with its tag, for `recover`, if only that keeps the snapshot."""
    table = chosen.root.table

    def leaves(error: BaseException) -> PaimarkError | None:
        if isinstance(error, (Refused, Corrupt)):
            # The proof failed: `recover` could not finish it.
            return None
        why = str(error) or "Interrupted"
        try:
            with to_the_end():
                if not is_only_keeper(context, chosen):
                    return None
        except PaimarkError as failed:
            return not_undone(table, why, failed)
        return Unavailable(
            f"{why}. Savepoint {claim.id} of {table.full_name} is half made, and stays: snapshot "
            f"{chosen.snapshot.id} expires meanwhile, and nothing else may keep its files",
            hint_before(error, f"Run `paimark recover {table.word}`, which finishes it."),
        )

    return leaves


def is_only_keeper(context: Context, chosen: ChosenSnapshot) -> bool:
    """Whether a snapshot has expired since its tag was written, or is expiring, and the tag saved its files.

    Without the tag they may belong to nobody. False in a root that is deleted or moved, with all its files.
    """
    files, root, snapshot = context.files, chosen.root, chosen.snapshot
    main, holder = main_root(files, root.table), journal.current(context, root.table)
    if root != main and (root.branch is None or holder is not None or not root_exists(files, root)):
        return False
    if holder is not None and holder.journal.change == _EXPIRY:
        # It counted what the tag needs, and deletes the snapshot at its end.
        expired = holder.journal.state
        if expired.get("branch") == root.branch and snapshot.id < int(expired.get("end") or 0):
            return True
    if read_if_there(files, root.snapshot(snapshot.id)) == chosen.data:
        return False
    return has_lists(files, root.table, snapshot)


def forget_savepoint(context: Context, root: Root, savepoint_id: int, progress: Progress) -> None:
    """Take back a savepoint of an existing snapshot, which keeps the files itself.

    If the snapshot has expired, the savepoint stays, because only it keeps the files. It also stays if
    somebody made a branch of its tag: once the snapshot expires, only main's tag keeps the branch's files.
    Else a tag without a record is deleted: an earlier run died between the two, and no list shows the
    savepoint. Idempotent.
    """
    files, table = context.files, root.table
    name = savepoint_tag(savepoint_id)
    path, tag_path = table.savepoint(savepoint_id), root.tag(name)
    data, [record] = read_if_there(files, tag_path), files.read_many([path])
    tag = None if data is None else Tag.from_json(data, tag_path)
    is_live = tag is not None and read_if_there(files, root.snapshot(tag.id)) == data
    if (record is None and tag is None) or (record is not None and not is_live):
        return
    what = f"savepoint {savepoint_id}" if record is not None else f"tag {name}"
    if tag is not None and (branch := _branch_of(files, root, name, tag)):
        progress(Remark(f"{what} of {table.full_name} stays: branch {branch} was made of it"))
        return
    files.delete(path)
    files.delete(tag_path)
    if tag is not None and data is not None and (branch := _branch_of(files, root, name, tag)):
        # Made in between: while the snapshot is there, no expiry has gone by what the tag keeps.
        files.create(tag_path, data)
        if record is not None:
            files.create(path, record)
        progress(Remark(f"{what} of {table.full_name} stays: branch {branch} was made of it"))
        return
    guard_tags.repair_held(files, table)
    # Without the record the list's name is unknown; `verify` lists it and files of the tag as orphans.
    if record is not None:
        files.delete(table.savepoint_file(Savepoint.from_json(record, path).full_manifest_list))
    progress(f"took back savepoint {savepoint_id}, which nothing needs now")


def _branch_of(files: Files, main: Root, name: str, tag: Tag) -> str:
    """The branch that was made of main's tag, which every engine copies into it; empty for none."""
    roots = [root for root in named_roots(files, main.table) if root not in (main, main.table.root())]
    paths = [root.tag(name) for root in roots]
    for root, path, data in zip(roots, paths, files.read_many(paths), strict=True):
        if data is not None and is_same_commit(Tag.from_json(data, path), tag):
            return root.label
    return ""


def clean(context: Context, table: TablePath, claim: Claim) -> None:
    """Remove the half-written files of a killed owner under names that only it writes."""
    names = {f"{SAVEPOINT_PREFIX}{claim.id}", claim.full_manifest_list}
    delete_temporaries(context.files, table.savepoints, names)
    for root in _tagged_roots(context.files, table, claim):
        delete_temporaries(context.files, root.tags, {TAG_PREFIX + savepoint_tag(claim.id)})


def _tagged_roots(files: Files, table: TablePath, claim: Claim) -> set[Root]:
    """The roots that may have the tag of a claim: its own, main, and the table directory."""
    return {table.root(claim.root), main_root(files, table), table.root()}


def tag_is_of(files: Files, root: Root, claim: Claim) -> bool:
    """Whether the claim's tag exists and has the bytes that the claim records."""
    data = read_if_there(files, root.tag(savepoint_tag(claim.id)))
    return data is not None and _digest(data) == claim.tag_digest


def _is_ours(context: Context, table: TablePath, claim: Claim) -> bool:
    now = read_claim(context, table, claim.id)
    return now is not None and (now.token, now.recovery) == (claim.token, claim.recovery)


def _require_ours(context: Context, table: TablePath, claim: Claim) -> None:
    if not _is_ours(context, table, claim):
        raise ClaimTakenOver(
            f"Another process took over the making of savepoint {claim.id} of {table.full_name}",
            "Look at the table before you try again.",
        )


def _drop(context: Context, table: TablePath, claim: Claim) -> None:
    if _is_ours(context, table, claim):
        context.files.delete(table.heartbeat(claim.token))
        context.files.delete(table.savepoint_claim(claim.id))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hinted(files: Files, table: TablePath) -> int:
    return whole_number(read_if_there(files, table.latest_savepoint_hint) or b"") or 0


def _taken(files: Files, table: TablePath, *, claims: bool = True) -> set[int]:
    names = files.names(table.savepoints)
    taken = set(numbered(names, SAVEPOINT_PREFIX))
    if claims:
        taken.update(numbered(names, CLAIM_PREFIX))
    roots = dict.fromkeys([table.root(), *all_roots(files, table)])
    return taken.union(*each_of(partial(tagged_savepoints, files), roots))


def raise_hint(files: Files, table: TablePath, savepoint_id: int) -> None:
    """Raise the hint, which never falls: each of several writers checks it again after writing."""
    while True:
        names = files.names(table.savepoints)
        highest = max([savepoint_id, *numbered(names, SAVEPOINT_PREFIX)])
        if _hinted(files, table) >= highest:
            return
        files.replace(table.latest_savepoint_hint, str(highest).encode())


def _record_count(files: Files, chosen: ChosenSnapshot) -> int:
    counted = chosen.snapshot.total_record_count
    if counted is not None:
        return counted
    # The snapshot is older than Paimon's count, so count its rows now.
    table = chosen.root.table
    return sum(each.rows for each in snapshot_facts(files, table, chosen.snapshot))
