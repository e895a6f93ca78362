"""The plan of a replacement of main for a person. It says first of all what changes for whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from paimark.core.actions.change import journal
from paimark.core.actions.checks import changelog_refusals, feature_refusals, newest_options, read_along
from paimark.core.actions.context import Context
from paimark.core.actions.follow_ups import ids_given_again
from paimark.core.actions.garbage.deletion import freed_steps, iceberg_keeps
from paimark.core.actions.garbage.release_pins import root_to_delete
from paimark.core.actions.garbage.unreferenced import FileCount, Freed
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Refusal, Step
from paimark.core.actions.plan_wording import (
    Commits,
    commits_between,
    consumers_of,
    final,
    go,
    nothing_lost,
    savepoints_said,
    stock_writer,
    tags_said,
    unit_in,
)
from paimark.core.actions.protection_guard import leaving
from paimark.core.actions.replace.comparison import Takeover, clash_refusals, loss_refusals
from paimark.core.actions.roots.branch_files import is_protected
from paimark.core.actions.roots.root_files import part_of, root_files
from paimark.core.actions.roots.root_state import moving_refusals, unreadable_refusals
from paimark.core.actions.roots.waiting import cleanings_to_stop
from paimark.core.errors import Refused
from paimark.core.figures import counted, listed, size
from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import makes_tags
from paimark.core.table.layout import SAVEPOINT_TAG_PREFIX, TAG_PREFIX, savepoint_tag
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import lost_newest
from paimark.core.table.records import TableSchema, point_of
from paimark.core.table.savepoints import SavepointManager
from paimark.core.text import lowered


def describe(context: Context, takeover: Takeover, archive: str | None, *, drops_previous: bool) -> Plan:
    """The plan. `archive` is the branch that keeps the table directory's main; None when main is a branch."""
    main, branch = takeover.main, takeover.branch
    table, name = main.root.table, branch.root.label
    refusals = unreadable_refusals(context, branch)
    refusals += clash_refusals(takeover)
    refusals += moving_refusals(context, main.root)
    if branch.head is not None:
        ended = branch.head.snapshot.id
        refusals += ids_given_again(context.files, main.root.table, ended, "Use --layout overwrite")
    freed = Freed()
    if drops_previous:
        freed, more = _freed(context, takeover, archive)
        refusals += more
    undo = "" if drops_previous else table.undo
    steps = tuple(_steps(context, takeover, archive, freed, drops_previous=drops_previous))
    also = ", and delete the current main" if drops_previous else ""
    staying = {*takeover.tags, *Lineage(context.files, branch.root).tag_names()}
    return Plan(
        headline=f"Make branch {name} main of {table.full_name}{also}.",
        arguments={
            "name": name,
            "layout": "pointer",
            "drop_previous": drops_previous,
            "archive": archive,
            "seen": takeover.description,
        },
        fingerprint=takeover.fingerprint,
        lasting=takeover.lasting,
        main_at=None if branch.head is None else point_of(branch.head.snapshot),
        items=(
            *cleanings_to_stop(context.files, main.root),
            *_lost(context, takeover, freed, drops_previous=drops_previous),
            *([final("Without --drop-previous it can")] if drops_previous else []),
            *iceberg_keeps(freed),
            *_unknown(context.files, takeover),
            *_affected(context, takeover, drops_previous=drops_previous),
            *_kept(takeover, archive or main.root.label, drops_previous=drops_previous),
        ),
        phrase=name,
        steps=steps,
        cost=f"{size(sum(each.size for each in steps if each.verb != 'delete'))} of metadata"
        + ("" if freed.data else ", no data file"),
        refusals=tuple(refusals),
        freed_files=len(freed.files),
        freed_bytes=freed.size,
        undo=undo,
        takes=leaving(context.files, main.root, staying),
    )


def _freed(context: Context, takeover: Takeover, archive: str | None) -> tuple[Freed, list[Refusal]]:
    files, main = context.files, takeover.main.root
    if archive is None:
        reason = f"The previous main is branch {main.label}, which stays under its name"
        return Freed(), [Refusal(reason, "Leave --drop-previous out, and delete that branch afterwards.")]
    refusals = [
        *feature_refusals(files, main),
        *changelog_refusals(files, main),
        *loss_refusals(files, takeover),
    ]
    if journal.refusals(context, main.table):
        # Every plan is refused then, and to count takes long.
        return Freed(), refusals
    # The files that the branch gets copies of are not lost with main.
    kept = [main.snapshot(each) for each in takeover.older] + [main.tag(each) for each in takeover.tags]
    try:
        to_delete = root_to_delete(files, main, frozenset(kept))
        freed = FileCount(files, main.table, to_delete, context.progress).freed()
    except Refused as error:
        return Freed(), [*refusals, Refusal(error.message, error.hint)]
    return freed, refusals


def _steps(
    context: Context, takeover: Takeover, archive: str | None, freed: Freed, *, drops_previous: bool
) -> list[Step]:
    files, table = context.files, takeover.main.root.table
    main, branch = takeover.main.root, takeover.branch.root
    of_main = root_files(files, main)
    steps = _copy_steps(takeover, of_main)
    schema = branch.schema(takeover.branch.schema_id)
    if not is_protected(takeover.branch.schema, schema):
        steps.append(Step("replace", schema, "stock retention off: it would destroy savepoints"))
    if archive is not None:
        detail = f"into branch {archive}: {_counted(of_main)}; {NO_DATA_FILE}"
        steps.append(Step("move", "the previous main", detail, sum(of_main.values())))
    steps.append(
        Step("replace", table.main_branch_file, f"{main.label} -> {branch.label}: from here on it is main")
    )
    guards = len(
        {*part_of(root_files(files, branch), "tag"), *(f"tag/{TAG_PREFIX}{e}" for e in takeover.tags)}
    )
    steps.append(Step("replace", table.root().tags, f"{counted(guards, 'tag')} of {branch.label}, as guards"))
    steps.append(
        Step("replace", table.root().schema(0), f"a notice to stock engines that {branch.label} is main")
    )
    if drops_previous and archive is not None:
        steps += [Step("delete", f"branch {archive}", "the previous main"), *freed_steps(freed)]
    return steps


def _copy_steps(takeover: Takeover, of_main: dict[str, int]) -> list[Step]:
    target = f"branch {takeover.branch.root.label}"
    steps = []
    if takeover.older:
        names = [f"snapshot/snapshot-{each}" for each in takeover.older]
        detail = (
            f"snapshots {takeover.older.start} to {takeover.older.stop - 1} of main, from before the fork"
        )
        steps.append(Step("copy", target, detail, sum(of_main.get(name, 0) for name in names)))
    if takeover.tags:
        detail = f"{tags_said(takeover.tags)} of main, from before the fork"
        names = [f"tag/{TAG_PREFIX}{each}" for each in takeover.tags]
        steps.append(Step("copy", target, detail, sum(of_main.get(name, 0) for name in names)))
    if takeover.schema_ids:
        detail = f"{counted(len(takeover.schema_ids), 'schema')} of main"
        steps.append(Step("copy", target, detail))
    return steps


def _lost(context: Context, takeover: Takeover, freed: Freed, *, drops_previous: bool) -> Iterator[Item]:
    """What readers of the plain name see now, and do not see in the branch."""
    files, main, branch = context.files, takeover.main.root, takeover.branch.root
    name, head = branch.label, takeover.main.head
    unit = unit_in(files, main)
    goes = ""
    if drops_previous:
        count = len(freed.files)
        goes = f". {counted(count, 'file')} {go(count)}, {size(freed.size)}"
    commits = _commits_since(context, takeover)
    if head is not None and commits is None:
        text = (
            f"main's history: main and {name} share no snapshot any more, and nothing of it is copied{goes}"
        )
        yield Item("loses", text, "commits-leave-main", is_grave=True, newest=head.snapshot.time_millis)
    elif commits is not None and commits.number > 0:
        said = commits.said("main's", unit, context.clock())
        them = "it" if commits.number == 1 else "them"
        text = f"{said}: {name} does not have {them}{goes or '. merge-branch brings both together'}"
        yield commits.item(text, "commits-leave-main", unit)
    else:
        yield nothing_lost(f"{name} has all of main's commits")
    if takeover.has_gap:
        text = f"main's versions from before the fork, but for tags: {name} has expired its own past"
        yield Item("loses", text, "version-gone", is_grave=True)
    if columns := _lost_columns(takeover):
        lacks = f"{listed(columns, 'column')}: {name} does not have {'them' if len(columns) > 1 else 'it'}"
        yield Item("loses", lacks, "column-hidden", is_grave=True, names=tuple(columns))
    if staying := _staying_savepoints(files, takeover):
        it = "it stays" if len(staying) == 1 else "they stay"
        where = "" if drops_previous else f": {it} with the current main, under its other name"
        text = f"{savepoints_said(staying)} of main, made after the fork{where}"
        yield Item("loses", text, "savepoints-leave-main", is_grave=True, names=tuple(staying))
    for consumer in consumers_of(files, main):
        text = f"the position of consumer {consumer}: its next snapshot means nothing on {name}"
        yield Item("loses", text, "consumer-gone", is_grave=True, names=(consumer,))


def _commits_since(context: Context, takeover: Takeover) -> Commits | None:
    """Main's commits since the fork; None if no fork is proven."""
    fork, head = takeover.fork, takeover.main.head
    if fork.snapshot_id is None or not fork.is_proven or head is None:
        return None
    shared = Side(context.files, takeover.main.root).record(fork.snapshot_id)
    return None if shared is None else commits_between(shared, head.snapshot)


def _unknown(files: Files, takeover: Takeover) -> Iterator[Item]:
    """What may be missing of either side. Main may be replaced because it is damaged."""
    lost = lost_newest(files, takeover.main.root)
    said = (*(takeover.main_warnings if lost is None else [lost.reason]), *takeover.branch_warnings)
    for each in said:
        yield Item("unknown", lowered(each), "history-unclear")


def _affected(context: Context, takeover: Takeover, *, drops_previous: bool) -> Iterator[Item]:
    """Who else uses main: other engines, of which one was seen or none, and what they do not find."""
    files, main, branch = context.files, takeover.main.root, takeover.branch.root
    table, now = main.table.full_name, context.clock()
    then = f"{table}$branch_{branch.label}"
    writer = stock_writer(files, main)
    expiry = "" if drops_previous else "; their `CALL expire_snapshots` there takes files of the current main"
    if main.branch is not None:
        text = f"stock engines that use `{table}$branch_{main.label}` do not follow: main is `{then}`{expiry}"
        yield Item("affects", text, "stock-stays")
    elif writer is not None:
        text = (
            f"{writer.said(table, now)}. Stock engines, readers too, fail on this name then and must use "
            f"`{then}`{expiry}"
        )
        yield Item("affects", text, "stock-seen", newest=writer.time)
    else:
        text = (
            "stock engines, which left no trace here (readers leave none): they fail on this name then and "
            f"must use `{then}`{expiry}"
        )
        yield Item("affects", text, "stock-unseen")
    if makes_tags(newest_options(files, main)):
        yield Item("affects", f"stock engines make no tags by themselves on {branch.label}", "automatic-tags")
    along, then_along = read_along(files, main), read_along(files, branch)
    if left := [f"{each} ({option})" for option, each in along.items() if then_along.get(option) != each]:
        text = f"readers of main also get the rows of branch {listed(left, 'branch')}; of {branch.label} not"
        yield Item("affects", text, "read-along")


def _kept(takeover: Takeover, previous: str, *, drops_previous: bool) -> Iterator[Item]:
    name = takeover.branch.root.label
    parts = [] if drops_previous else [f"the current main, as branch {previous}"]
    savepoints = _savepoints(takeover.tags)
    tags = [each for each in takeover.tags if not each.startswith(SAVEPOINT_TAG_PREFIX)]
    if savepoints:
        parts.append(savepoints_said(savepoints))
    if tags:
        parts.append(tags_said(tags))
    parts.append(f"jobs on {name} go on")
    yield Item("keeps", "; ".join(parts))


def _staying_savepoints(files: Files, takeover: Takeover) -> list[str]:
    """The savepoints of main that the branch does not have, nor gets."""
    main, branch = takeover.main.root, takeover.branch.root
    return [
        str(each.id)
        for each in SavepointManager(files, main.table).of_root(main)
        if savepoint_tag(each.id) not in takeover.tags
        and not files.exists(branch.tag(savepoint_tag(each.id)))
    ]


def _lost_columns(takeover: Takeover) -> list[str]:
    main, branch = (
        TableSchema.from_json(state.schema, state.root.schema(state.schema_id))
        for state in (takeover.main, takeover.branch)
    )
    there = {field.name for field in branch.fields}
    return [field.name for field in main.fields if field.name not in there]


def _counted(names: Mapping[str, int]) -> str:
    counts = {
        "snapshot": sum("/snapshot-" in name for name in names),
        "tag": sum(name.startswith(f"tag/{TAG_PREFIX}") for name in names),
        "schema": sum(name.startswith("schema/") for name in names),
        "changelog": sum("/changelog-" in name for name in names),
        "consumer": sum(name.startswith("consumer/") for name in names),
    }
    return ", ".join(counted(count, noun) for noun, count in counts.items() if count)


def _savepoints(tag_names: Iterable[str]) -> list[str]:
    return [e.removeprefix(SAVEPOINT_TAG_PREFIX) for e in tag_names if e.startswith(SAVEPOINT_TAG_PREFIX)]
