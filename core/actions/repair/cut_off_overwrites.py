"""Overwrites of a chain table's delta branch whose writer died before the second commit.

That one takes the same partitions out of the snapshot branch; until then readers see the old rows there. Like
any writer's commit it takes no lock and no journal. An undo of the overwrite takes it back as well.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from paimark.core.actions.change.operations import replayed
from paimark.core.actions.compaction.compact import committed
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Step
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, start_in, writing_refusals
from paimark.core.errors import Corrupt, NotFound, Refused
from paimark.core.figures import some_of
from paimark.core.quoting import quoted_if_needed
from paimark.core.spark.protocol import Repair
from paimark.core.storage.files import Files
from paimark.core.table.definition.kind_signs import chain_branches
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.manifests.files import delta_facts, snapshot_facts
from paimark.core.table.manifests.partitions import PartitionNames
from paimark.core.table.operations import AFTER_IT, Operation, Owed, read_operations
from paimark.core.table.records import COMMIT_USER, Point

# Between its two commits a writer needs seconds (milliseconds).
_AT_WORK = 60 * 1000
_NAMED = 5


@dataclass(frozen=True)
class CutOff:
    """`partitions` of the snapshot branch, `start`, hide the rows of the overwrite.

    `doubt` is why nobody may take them out without a look; empty if `recover` does.
    """

    operation: Operation
    owed: Owed
    start: RewriteBase
    partitions: tuple[bytes, ...]
    doubt: str

    @property
    def fingerprint(self) -> str:
        return f"{self.operation.token} {self.start.fingerprint} {self.doubt}"

    @property
    def named(self) -> str:
        names = PartitionNames(self.start.schema)
        return some_of([names.path(each) for each in self.partitions], _NAMED)

    @property
    def description(self) -> str:
        """`insert-overwrite of snapshot 6 of branch delta has no effect: branch full has day=3`."""
        root = self.operation.turned.rows and self.operation.turned.rows.root
        return (
            f"{self.operation.description} of branch {root} has no effect for readers: its writer died "
            f"before branch {self.owed.branch} lost {self.named}, and they take that from there"
        )

    @property
    def step(self) -> Step:
        path = self.start.root.snapshot(self.start.head.snapshot.id + 1)
        return Step("create", path, f"takes {self.named} out, as {self.operation.description} meant it")


def cut_off(context: Context, table: TablePath) -> list[CutOff]:
    """Those that have landed and still hide behind the snapshot branch. Raises `Corrupt`."""
    files, schema = context.files, None
    # What is broken there is told by others.
    with suppress(NotFound, Corrupt):
        schema = Lineage(files, main_root(files, table)).latest_schema()
    if schema is None or not chain_branches(schema.options)[0]:
        return []
    log = read_operations(files, table)
    landed = {each.token for each in log if each.landed}
    stands = {token for each in replayed(log).in_effect for token in (each.token, each.redoes)}
    owing = [each for each in log if each.owes is not None and each.token in landed & stands]
    found = list[CutOff]()
    for each in owing:
        if f"{each.token}{AFTER_IT}" not in landed and each.owes is not None:
            with suppress(NotFound):
                found += _looked_at(context, table, each, each.owes)
    return found


def _looked_at(context: Context, table: TablePath, operation: Operation, owed: Owed) -> Iterator[CutOff]:
    files, root = context.files, branch_root(context.files, table, owed.branch)
    if not (there := _still_owed(files, table, owed)):
        return
    start = start_in(files, root, is_main=False)
    doubt = _doubt(files, start, operation, owed, there)
    if context.clock() - operation.time <= _AT_WORK:
        doubt = "it began a minute ago or less, and may still be at work: wait"
    elif not doubt and (refusals := writing_refusals(table, start.schema, context.options)):
        doubt = f"{refusals[0].reason}: {refusals[0].hint}"
    yield CutOff(operation, owed, start, tuple(sorted(there)), doubt)


def _doubt(files: Files, start: RewriteBase, operation: Operation, owed: Owed, there: set[bytes]) -> str:
    rows, table = operation.turned.rows, start.root.table
    if rows is None or _may_have_changed(
        files, table.root(rows.root), rows.after, there, ("APPEND", "COMPACT")
    ):
        changed = f"branch {rows and rows.root}"
    elif _may_have_changed(files, start.root, owed.head, there, ("COMPACT",)):
        changed = f"branch {owed.branch}"
    else:
        return ""
    branch = f"{table.name}$branch_{owed.branch}"
    name = f"{quoted_if_needed(table.database)}.{quoted_if_needed(branch)}"
    return (
        f"{changed} may have got other rows since. If those of branch {owed.branch} are the older ones, run "
        f"DELETE FROM {name} for these partitions; else undo the overwrite"
    )


def _still_owed(files: Files, table: TablePath, owed: Owed) -> set[bytes]:
    """Those of its partitions that the snapshot branch still has. Raises `NotFound`."""
    if (head := Lineage(files, branch_root(files, table, owed.branch)).latest()) is None:
        return set()
    partitions = {b64decode(each) for each in owed.partitions}
    return partitions & {each.key.partition for each in snapshot_facts(files, table, head)}


def _may_have_changed(
    files: Files, root: Root, since: Point, partitions: Collection[bytes], harmless: Collection[str]
) -> bool:
    """Whether a commit after that one may have changed these partitions, but for the harmless kinds.

    True also if a snapshot is gone, so that nobody knows.
    """
    lineage = Lineage(files, root)
    newest = lineage.latest_id() or 0
    try:
        if not since.is_of(lineage.snapshot(since.id)):
            return True
        for number in range(since.id + 1, newest + 1):
            snapshot = lineage.snapshot(number)
            if snapshot.commit_kind in harmless:
                continue
            if any(each.key.partition in partitions for each in delta_facts(files, root.table, snapshot)):
                return True
    except NotFound:
        return True
    return False


def finish(context: Context, found: Sequence[CutOff], progress: Progress) -> None:
    """Make the second commits. Raises the engine's error, and `Refused`."""
    for each in found:
        root, head = each.start.root, each.start.head.snapshot
        order = Repair(
            number=0,
            table=root.table.full_name,
            schema=each.start.schema_text,
            versions={},
            branch=root.branch,
            follows_main=False,
            head=head.to_json().decode(),
            commit_user=_user_of(each.operation),
            operation="delete-from",
            done=f"partitions out: {each.named}",
            partitions=tuple(b64encode(partition).decode() for partition in each.partitions),
        )
        made = committed(context, root, order, head.id, progress)
        if made is None:
            raise Refused(f"Branch {each.owed.branch} has kept {each.named}", "Run recover again.")
        progress(Remark(f"snapshot {made.id} of branch {root.branch} takes {each.named} out"))


def _user_of(overwrite: Operation) -> str:
    """The user by which the second commit has its token in the log."""
    return f"{COMMIT_USER}{overwrite.token.removeprefix(COMMIT_USER.rstrip('-'))}-{AFTER_IT}"
