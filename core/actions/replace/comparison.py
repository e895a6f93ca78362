"""Compare main with the branch that is to replace it: files to copy, clashes, losses. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Refusal
from paimark.core.actions.roots.root_state import RootState, state
from paimark.core.actions.said import Writer
from paimark.core.errors import Corrupt, NotFound, Refused
from paimark.core.figures import counted
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.forks import Fork, Side, find_fork
from paimark.core.table.lineage.lost_newest import lost_newest, tags_beyond
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.manifests.files import missing_of
from paimark.core.table.records import is_same_commit
from paimark.core.table.savepoints import SavepointManager, tagged_savepoints


@dataclass(frozen=True)
class Takeover:
    """Main, the branch, and the parts of main's past that the branch lacks.

    `older` are the ids of main's snapshots directly below the branch's own, without a gap; `tags` and
    `schema_ids` are main's from before the fork. `clashes` are tag names at two different snapshots;
    `has_gap` is true when the branch has expired its own past, so that main's does not continue it.
    `main_warnings` and `branch_warnings` say what makes one look shorter than it may have been.
    """

    main: RootState
    branch: RootState
    fork: Fork
    older: range
    tags: tuple[str, ...]
    schema_ids: tuple[int, ...]
    clashes: tuple[str, ...]
    has_gap: bool
    main_warnings: tuple[str, ...]
    branch_warnings: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.main.fingerprint, self.branch.newest)

    @property
    def lasting(self) -> str:
        """The fingerprint of what stays while jobs commit to the branch."""
        branch = self.branch
        return fingerprint(self.main.fingerprint, branch.root.directory, str(branch.schema_id), branch.schema)

    @property
    def description(self) -> str:
        return f"{self.main.description} and {self.branch.description}"


def survey_takeover(files: Files, main: Root, branch: Root) -> Takeover:
    """Raises `NotFound` and `Corrupt`."""
    left, right = Side(files, main), Side(files, branch)
    fork = find_fork(left, right)
    shared = fork.snapshot_id if fork.is_proven else None
    tags, clashes = _older_tags(left, right, shared)
    # The newest snapshots are read last, so that a concurrent move is noticed.
    schema_ids = _older_schemas(left, right)
    begins = right.snapshot_ids[0] if right.snapshot_ids else 0
    return Takeover(
        main=state(files, main),
        branch=state(files, branch),
        fork=fork,
        older=_older_snapshots(left, right, shared),
        tags=tags,
        schema_ids=schema_ids,
        clashes=clashes,
        has_gap=shared is not None and begins > shared + 1,
        main_warnings=tags_beyond(left),
        branch_warnings=tags_beyond(right),
    )


def unreadable_refusals(context: Context, branch: RootState) -> list[Refusal]:
    """Why the newest state of the branch can't be read; every file of it is looked for."""
    files, name = context.files, f"{branch.root.label} of {branch.root.table.full_name}"
    if branch.head is None:
        return [Refusal(f"{name} has no snapshot: main would be empty", "Commit rows to the branch first.")]
    if (lost := lost_newest(files, branch.root)) is not None:
        return [Refusal(lost.reason, lost.hint)]
    try:
        missing = missing_of(files, branch.root, branch.head.snapshot)
    except (Corrupt, NotFound, Refused) as error:
        return [Refusal(f"{name} can't be read: {error.message}", "Repair the branch first.")]
    if missing:
        more = f" and {counted(len(missing) - 1, 'more file')}" if len(missing) > 1 else ""
        return [Refusal(f"{name} can't be read: {missing[0]}{more} is missing", "Repair the branch first.")]
    return []


def savepoints_held_alone(files: Files, root: Root, besides: Root | None = None) -> list[int]:
    """The ids of the savepoints whose tag exists only in this root, and in `besides`."""
    table = root.table
    own = [each.id for each in SavepointManager(files, table).of_root(root)]
    if not own:
        return []
    others = [each for each in all_roots(files, table) if each not in (root, besides)]
    held = set[int]().union(*each_of(partial(tagged_savepoints, files), others))
    return [each for each in own if each not in held]


def moved(table: TablePath, was: str, now: str, writer: Writer | None = None) -> Refused:
    """The refusal that names both states. `writer` must rest before main can be another."""
    if was == now:
        now = "there still, with another schema or other files"
    rest = f" {writer.job or writer.engine} writes to main: pause it, and" if writer else ""
    return Refused(
        f"{table.full_name} moved since the plan was made: then {was}, now {now}",
        f"Nothing was changed.{rest} make a new plan." if rest else "Nothing was changed: make a new plan.",
    )


def _older_snapshots(main: Side, branch: Side, shared: int | None) -> range:
    """Main's ids directly below the branch's own, down to the first gap."""
    if shared is None or not branch.snapshot_ids or branch.snapshot_ids[0] > shared + 1:
        return range(0)
    there = set(main.snapshot_ids)
    end = branch.snapshot_ids[0]
    start = end
    while start - 1 in there:
        start -= 1
    return range(start, end)


def _older_tags(main: Side, branch: Side, shared: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    copied, clashes = [], []
    for name, tag in main.tags.items():
        if shared is None or tag.id > shared:
            continue
        if name not in branch.tags:
            copied.append(name)
        elif not is_same_commit(tag, branch.tags[name]):
            clashes.append(f"{name} (snapshot {tag.id} of main, {branch.tags[name].id} of the branch)")
    return tuple(copied), tuple(clashes)


def _older_schemas(main: Side, branch: Side) -> tuple[int, ...]:
    """Main's schemas that the branch lacks, below its newest: a newer one would become its newest."""
    ids = branch.lineage.schema_ids()
    newest = ids[-1] if ids else -1
    return tuple(each for each in main.lineage.schema_ids() if each < newest and each not in set(ids))
