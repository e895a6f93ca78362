"""The plan of a replacement of main for a person. It says first of all what changes for whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from paimark.core.actions.context import Context
from paimark.core.actions.features import changelog_refusals, feature_refusals, newest_options, read_along
from paimark.core.actions.garbage.deletion import freed_steps
from paimark.core.actions.garbage.drop_root import root_to_delete
from paimark.core.actions.garbage.unreferenced import FileCount, Freed
from paimark.core.actions.plan import NO_DATA_FILE, Plan, Refusal, Step
from paimark.core.actions.replace.checks import claim_refusals, clash_refusals, loss_refusals
from paimark.core.actions.replace.takeover import Takeover, unreadable_refusals
from paimark.core.actions.roots.branch_files import is_protected
from paimark.core.actions.roots.pause import cleanings_to_stop
from paimark.core.actions.roots.root_files import part_of, root_files
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.table.definition.retention import makes_tags
from paimark.core.table.layout import SAVEPOINT_TAG_PREFIX, TAG_PREFIX, savepoint_tag
from paimark.core.table.lineage.lost_newest import lost_newest
from paimark.core.table.records import TableSchema
from paimark.core.table.savepoints import SavepointManager

# The commit users of Paimark's writers begin with it.
_OURS = "paimark"
_SHOWN = 5


def describe(context: Context, takeover: Takeover, archive: str | None, *, drops_previous: bool) -> Plan:
    """The plan. `archive` is the branch that keeps the table directory's main; None when main is a branch."""
    main, branch = takeover.main, takeover.branch
    table, name = main.root.table, branch.root.label
    refusals = unreadable_refusals(context, branch)
    refusals += clash_refusals(takeover)
    refusals += claim_refusals(context, main.root)
    freed = Freed()
    if drops_previous:
        freed, more = _freed(context, takeover, archive)
        refusals += more
    undo = "" if drops_previous else f"paimark undo {table.word}"
    return Plan(
        summary=f"Make branch {name} main of {table.full_name}: {main.description} -> {branch.description}",
        arguments={
            "name": name,
            "layout": "pointer",
            "drop_previous": drops_previous,
            "archive": archive,
            "seen": takeover.description,
        },
        fingerprint=takeover.fingerprint,
        steps=tuple(_steps(context, takeover, archive, freed, drops_previous=drops_previous)),
        kept=tuple(_kept(takeover, archive or main.root.label, drops_previous=drops_previous)),
        warnings=tuple(_warnings(context, takeover)),
        refusals=tuple(refusals),
        freed_files=len(freed.files),
        freed_bytes=sum(each.size or 0 for each in freed.files),
        undo=undo,
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
        detail = f"tags of main from before the fork: {_listed(takeover.tags)}"
        names = [f"tag/{TAG_PREFIX}{each}" for each in takeover.tags]
        steps.append(Step("copy", target, detail, sum(of_main.get(name, 0) for name in names)))
    if takeover.schema_ids:
        detail = f"schemas of main: {_listed([str(each) for each in takeover.schema_ids])}"
        steps.append(Step("copy", target, detail))
    return steps


def _kept(takeover: Takeover, previous: str, *, drops_previous: bool) -> list[str]:
    moving = _savepoints(takeover.tags)
    lines = [f"Files of branch {takeover.branch.root.label} stay where they are: its jobs notice nothing"]
    if not drops_previous:
        lines.append(f"The previous main, whole, as branch {previous}")
    if moving:
        move = "move" if len(moving) > 1 else "moves"
        lines.append(f"{_savepoint_words(moving)} from before the fork {move} along")
    fork = takeover.fork
    if fork.snapshot_id is not None and fork.is_proven:
        went = f"{counted(fork.ahead or 0, 'commit')} of the branch and {fork.behind or 0} of main since"
        lines.append(f"Both hold snapshot {fork.snapshot_id}, where they part: {went}")
    return lines


def _warnings(context: Context, takeover: Takeover) -> list[str]:
    files, main, branch = context.files, takeover.main.root, takeover.branch.root
    name, head = main.table.full_name, takeover.main.head
    then = f"{name}$branch_{branch.label}"
    warnings = []
    if main.branch is None:
        warnings.append(f"Stock engines fail on {name} from here on: they read and write `{then}` instead")
        if head is not None and not head.snapshot.commit_user.startswith(_OURS):
            user, version = head.snapshot.commit_user, (head.snapshot.writer_version or "another engine")[:20]
            warnings.append(
                f"A stock engine made main's newest commit ({version}, user {user}): its job will fail"
            )
        warnings.append(
            f"Jobs that only read {name} leave no trace in it: find them first, because they will fail, too"
        )
        warnings.append(
            "Stock orphan cleaning of a whole database stops with an error while a branch is main"
        )
    else:
        warnings.append(
            f"Stock engines that use `{name}$branch_{main.label}` do not follow: main is `{then}`"
        )
    warnings.append(
        f"A stock `CALL expire_snapshots` with arguments on `{then}` takes files of the previous main's "
        "past: tag what you need of it, or expire with Paimark"
    )
    if not (takeover.fork.snapshot_id and takeover.fork.is_proven):
        warnings.append("Main and the branch share no snapshot any more: nothing of main's past is copied")
    elif takeover.has_gap:
        warnings.append("The branch has expired its own past: of main's history only tags are copied")
    warnings += cleanings_to_stop(files, main)
    if consumers := sorted(name for name in files.names(main.consumers) if name.startswith("consumer-")):
        plain = [each.removeprefix("consumer-") for each in consumers]
        warnings.append(f"Consumer {_listed(plain)} of main: its next snapshot means nothing on the branch")
    if makes_tags(newest_options(files, main)):
        warnings.append(f"Stock engines make no tags by themselves on branch {branch.label}: make them here")
    along, then_along = read_along(files, main), read_along(files, branch)
    if left := [f"{each} ({name})" for name, each in along.items() if then_along.get(name) != each]:
        warnings.append(f"Main is read with the rows of branch {_listed(left)}, and {branch.label} is not")
    if columns := _lost_columns(takeover):
        warnings.append(f"Main has columns that the branch lacks: {_listed(columns)}")
    staying = [
        str(each.id)
        for each in SavepointManager(files, main.table).of_root(main)
        if savepoint_tag(each.id) not in takeover.tags
        and not files.exists(branch.tag(savepoint_tag(each.id)))
    ]
    if staying:
        stay = "stay" if len(staying) > 1 else "stays"
        warnings.append(f"{_savepoint_words(staying)} from after the fork {stay} with the previous main")
    # Main may be replaced because it is damaged.
    lost = lost_newest(files, main)
    return [
        *warnings,
        *(takeover.main_warnings if lost is None else [lost.reason]),
        *takeover.branch_warnings,
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


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _savepoint_words(savepoints: Sequence[str]) -> str:
    return f"Savepoint{'s' * (len(savepoints) > 1)} {_listed(savepoints)}"


def _savepoints(tag_names: Iterable[str]) -> list[str]:
    return [e.removeprefix(SAVEPOINT_TAG_PREFIX) for e in tag_names if e.startswith(SAVEPOINT_TAG_PREFIX)]
