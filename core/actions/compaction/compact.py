"""`compact`: merge a table's files by Paimon's own library, in a commit of its own. The rows stay the same.

It is a commit like a writer's: it takes no lock and no journal. No file goes: older snapshots have them, and
so have plans and savepoints that are being made. A process that dies leaves files that no snapshot names.
"""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from paimark.core.actions import audit
from paimark.core.actions.change.landing import commit_user
from paimark.core.actions.checks import require_allowed, require_unmoved, text_argument
from paimark.core.actions.compaction.candidates import Candidates, find_candidates
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Done, Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.plan_wording import may_be_overwritten, nothing_lost, outrun, stock_writer
from paimark.core.actions.rewrite.spark_rewrite import answer_of, engine_of
from paimark.core.errors import Cancelled, FileMissing, Outrun, Refused, Unavailable
from paimark.core.figures import counted
from paimark.core.figures import size as file_size
from paimark.core.spark.launch.jars import has_library, no_library
from paimark.core.spark.protocol import Analyze, Compact, Repair, TaskResult
from paimark.core.storage.files import Files, Unanswered
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.commits import Landed, find_commit, overwritten
from paimark.core.table.definition import kinds
from paimark.core.table.definition.file_sizes import small_below
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.manifests.files import data_manifests, delta_facts, live_entries
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.manifests.row_ids import lacks_row_ids, without_ids
from paimark.core.table.operations import COMPACTION
from paimark.core.table.records import Snapshot

_PRODUCERS = {"lookup": True, "full-compaction": False}
# A number of files, and their bytes.
_Counted = tuple[int, int]
NO_UNDO = "there is nothing to take back: the rows are the same"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `full`, `partition` (all when None), `branch` (main when None)."""
    is_full = arguments.get("full") is True
    branch, partition = text_argument(arguments, "branch"), text_argument(arguments, "partition")
    found, refusals = None, list[Refusal]()
    try:
        found = find_candidates(context.files, table, branch, partition)
    except FileMissing as error:
        refusals.append(Refusal(f"{table.full_name} is not whole: {error.message}", "Repair it first."))
    except Refused as error:
        refusals.append(Refusal(error.message, error.hint))
    where = f"{branch or 'main'} of {table.full_name}"
    what = where if partition is None else f"{partition} in {where}"
    headline = f"Compact {what}{' fully' if is_full else ''}."
    asked: dict[str, str | int | bool | None] = {"full": is_full, "partition": partition, "branch": branch}
    if found is None:
        return Plan(headline=headline, arguments=asked, refusals=tuple(refusals))
    refusals += _refusals(context, found)
    return Plan(
        headline=f"Compact {what}: there is nothing to do." if _is_empty(found) else headline,
        arguments=asked,
        fingerprint=found.fingerprint,
        steps=tuple(_steps(found)) if not _is_empty(found) else (),
        items=tuple(_items(context, found, is_full=is_full)) if not _is_empty(found) else (),
        cost=_cost(found, is_full=is_full),
        refusals=tuple(refusals),
        empty=_is_empty(found) and not refusals,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Compact. Raises `Refused` if the table differs from the plan, or if others compact it all the time."""
    require_allowed(context, plan)
    started, table = context.clock(), parse_table_name(plan.table)
    if plan.empty:
        return _nothing(plan, plan.summary)
    branch, partition = (text_argument(plan.arguments, each) for each in ("branch", "partition"))
    found = find_candidates(context.files, table, branch, partition)
    require_unmoved(table, plan, found.fingerprint)
    root, before = found.root, found.head.id if found.head else 0
    made = committed(context, root, _order(found, plan), before, progress)
    if made is None:
        return _nothing(plan, f"There was nothing to compact in {root.label} of {plan.table}")
    gone, new = _replaced(context.files, table, made)
    message = (
        f"Compacted {plan.summary.removeprefix('Compact ')}, as snapshot {made.id}: "
        f"{counted(gone[0], 'file')} ({file_size(gone[1])}) became {new[0]:,} ({file_size(new[1])})"
    )
    return finished(context, plan, root, before, made, message, _facts(made, gone, new), started, progress)


def _order(found: Candidates, plan: Plan) -> Compact:
    root, chosen = found.root, found.partitions
    return Compact(
        number=0,
        table=root.table.full_name,
        schema=found.schema.to_json().decode(),
        branch=root.branch,
        follows_main=plan.arguments["branch"] is None,
        commit_user=commit_user(str(uuid.uuid4())),
        is_full=plan.arguments["full"] is True,
        partitions=None if chosen is None else tuple(b64encode(each).decode() for each in chosen),
    )


def finished(
    context: Context,
    plan: Plan,
    root: Root,
    before: int,
    made: Snapshot,
    message: str,
    result: dict[str, str | int | bool | None],
    started: int,
    progress: Progress,
) -> Outcome:
    """The outcome of a commit that was made on the snapshot `before`, with its line in the log."""
    at = f"{root.label} at snapshot"
    done = Done(message, result, f"{at} {before}", f"{at} {made.id}")
    return audit.finished(context, plan, done, started, progress)


def committed(
    context: Context, root: Root, order: Compact | Analyze | Repair, after: int, progress: Progress
) -> Snapshot | None:
    """As the engine commits it: the commit after that snapshot, None if there was nothing to do.

    Raises the engine's error if it did not commit, `Unanswered` if its snapshot may have expired since, and
    `Overwritten`.
    """
    answer, user = TaskResult(), order.commit_user
    order = replace(order, note=context.note)
    try:
        with engine_of(context) as engine:
            answer = answer_of(engine, order, progress)
    except (Cancelled, Refused, Unavailable) as error:
        fate = find_commit(context.files, root, user, after)
        if fate.snapshot is not None:
            return fate.snapshot
        if isinstance(error, Outrun):
            raise outrun(context.files, root, error.message) from error
        if fate.landed is Landed.UNKNOWN and not isinstance(error, Refused):
            text = f"{error.message}. Whether it was committed is not known: snapshots have expired since"
            raise Unanswered(text, "Look at the rows before you do it again.") from error
        raise
    fate = find_commit(context.files, root, user, after)
    if fate.landed is Landed.NO and answer.snapshot is not None:
        raise overwritten(root, answer.snapshot)
    if fate.snapshot is None and answer.snapshot is not None:
        text = f"It is done, in snapshot {answer.snapshot} of {root.label}, which has expired since"
        raise Unanswered(text, "There is nothing more to do.")
    if answer.remark:
        progress(Remark(f"It is committed; what Paimon does after a commit failed: {answer.remark}"))
    return fate.snapshot


def _nothing(plan: Plan, message: str) -> Outcome:
    return Outcome(action=COMPACTION, table=plan.table, message=message, result=_facts())


def _facts(
    made: Snapshot | None = None, gone: _Counted = (0, 0), new: _Counted = (0, 0)
) -> dict[str, str | int | bool | None]:
    return {
        "snapshot_id": None if made is None else made.id,
        "files_before": gone[0],
        "bytes_before": gone[1],
        "files_after": new[0],
        "bytes_after": new[1],
        "changelog_records": (made and made.changelog_record_count) or 0,
    }


def _replaced(files: Files, table: TablePath, made: Snapshot) -> tuple[_Counted, _Counted]:
    """The number and bytes of the files that the commit replaced, and of those in their place."""
    gone, new = list[int](), list[int]()
    for each in delta_facts(files, table, made):
        (new if each.is_added else gone).append(each.size)
    return (len(gone), sum(gone)), (len(new), sum(new))


def _refusals(context: Context, found: Candidates) -> Iterator[Refusal]:
    name = found.root.table.full_name
    if not has_library(context.options):
        yield Refusal(*no_library())
    if is_on(found.schema.options, "clustering.incremental"):
        yield Refusal(f"{name} is clustered as it grows, and files joined here would lose that", kinds.HINT)
    is_tracked = is_on(found.schema.options, "row-tracking.enabled")
    if is_tracked and not _is_empty(found) and lacks_row_ids(found.schema, _joined(context.files, found)):
        yield Refusal(*without_ids(name))
    for each in kinds.compaction_refusals(found.schema):
        yield Refusal(f"{name} {each.reason}", each.hint)


def _joined(files: Files, found: Candidates) -> Iterator[ManifestEntry]:
    """The files that may be joined, of a table without buckets."""
    assert found.head is not None, "it has files"
    table, small = found.root.table, small_below(found.schema)
    for each in live_entries(files, table, data_manifests(files, table, found.head)):
        is_chosen = found.partitions is None or each.facts.key.partition in found.partitions
        if is_chosen and each.facts.size < small:
            yield each


def _touched(found: Candidates) -> _Counted:
    """At most so many files are replaced, and their bytes."""
    return found.joined if found.joins_files else (found.files, found.size)


def _cost(found: Candidates, *, is_full: bool) -> str:
    files, size = _touched(found)
    left = found.left(is_full=is_full)
    after = "Paimon's rules choose which" if left is None else f"about {counted(left, 'file')} will be left"
    return f"Spark merges up to {files:,} of {counted(found.files, 'file')} ({file_size(size)}); {after}"


def _steps(found: Candidates) -> Iterator[Step]:
    files, size = _touched(found)
    where = "partition" if found.joins_files else "bucket"
    yield Step("replace", f"up to {counted(files, 'file')}", f"in {counted(len(found.buckets), where)}", size)
    yield Step("create", _next(found.root, found.head), "one COMPACT commit")


def _is_empty(found: Candidates) -> bool:
    """Whether it is certain that there is nothing to do."""
    return not found.files or (found.joins_files and not found.has_vectors and not found.joined[0])


def _next(root: Root, head: Snapshot | None) -> str:
    return root.snapshot(1 if head is None else head.id + 1)


def _items(context: Context, found: Candidates, *, is_full: bool) -> Iterator[Item]:
    files, root, options = context.files, found.root, found.schema.options
    name = root.table.full_name
    if expiry := options.get("record-level.expire-time"):
        text = f"rows that have expired, among those that it merges (record-level.expire-time = {expiry})"
        yield Item("loses", text, "rows-expire")
    else:
        yield nothing_lost("the rows are the same")
    yield from may_be_overwritten(files, root, context.clock())
    if (writer := stock_writer(files, root)) is not None:
        text = (
            f"{writer.said(name, context.clock())}. If it compacts too, the one that commits later "
            "begins anew: that job restarts, or this tries again"
        )
        yield Item("affects", text, "compacts-too", newest=writer.time)
    yield from _changelogs(found, is_full=is_full)
    if found.hides_new_rows and found.level_0:
        text = f"readers see the rows of {counted(found.level_0, 'file')} that they leave out until now"
        yield Item("affects", text, "rows-appear")
    yield Item("keeps", "every row; the files from before, until the snapshots that need them expire")
    yield Item("undo", NO_UNDO)


def _changelogs(found: Candidates, *, is_full: bool) -> Iterator[Item]:
    producer = found.schema.options.get("changelog-producer", "").strip().lower()
    by_any = _PRODUCERS.get(producer)
    if by_any is None:
        return
    if is_full or by_any:
        text = "readers of the changelog get the changes that no compaction has told yet"
        yield Item("affects", text, "changelog-made")
    else:
        text = f"no changelog is made: changelog-producer = {producer} makes it with --full only"
        yield Item("affects", text, "changelog-not-made")
