"""`create-tag`: a stock tag, which every Paimon engine respects, with the proof that it came in time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from paimark.core.actions import audit
from paimark.core.actions import follow_ups as left_out
from paimark.core.actions.change import journal
from paimark.core.actions.change.taking_back import undone_on_failure
from paimark.core.actions.checks import (
    integer_argument,
    newest_options,
    require_allowed,
    required_text,
    text_argument,
)
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.garbage.release_pins import dependents
from paimark.core.actions.names import ID_IN_NAME, name_refusal, was_moved
from paimark.core.actions.plan import Done, Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.plan_wording import end_unknown
from paimark.core.actions.roots import guard_tags
from paimark.core.actions.roots.pin_snapshot import (
    ChosenSnapshot,
    choose,
    choose_as_planned,
    cost_of_proof,
    expiry_items,
    keep,
    prune_gone,
    require_whole,
)
from paimark.core.actions.roots.savepoint_claim import is_only_keeper
from paimark.core.actions.roots.shared_snapshots import hold_with_main
from paimark.core.actions.roots.unlocked_changes import log, made
from paimark.core.durations import parse_duration
from paimark.core.errors import Corrupt, Refused, Unavailable, hint_before
from paimark.core.figures import minute
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files, Unanswered, read_if_there
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition.retention import without_time_to_live
from paimark.core.table.layout import TAG_PREFIX, Root, TablePath, merge_tag
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_root, main_root, named_roots
from paimark.core.table.read_tags import with_time_to_live
from paimark.core.table.records import Tag

ACTION = "create-tag"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, in which `{id}` is the snapshot's id; `snapshot` (the newest when None), `branch`
    (main when None), `retain`.
    """
    files = context.files
    given_name = required_text(arguments, "name")
    wanted = integer_argument(arguments, "snapshot")
    retain, branch = text_argument(arguments, "retain"), text_argument(arguments, "branch")
    retain_ms = None if retain is None else parse_duration(retain)
    root = branch_root(files, table, branch)
    chosen = choose(files, root, wanted)
    name = given_name if chosen is None else given_name.replace(ID_IN_NAME, str(chosen.snapshot.id))
    refusals = _name_refusals(context, root, name, chosen)
    if chosen is None:
        refusals.append(
            Refusal(f"{root.label} of {table.full_name} has no snapshot to tag", "Commit some rows first.")
        )
    elif retain_ms == 0:
        refusals.append(Refusal("A tag kept for no time would be deleted at once", "Leave --retain out."))
    number = "the newest snapshot" if chosen is None else f"snapshot {chosen.snapshot.id}"
    return Plan(
        headline=f"Tag {number} of {root.label} of {table.full_name} as {name}.",
        arguments={
            "name": name,
            "snapshot": chosen.snapshot.id if chosen else None,
            "newest": wanted is None,
            "branch": branch,
            "retain_ms": retain_ms,
        },
        fingerprint=chosen.fingerprint if chosen else "",
        steps=(
            Step("copy", root.tag(name), f"of {number}", len(chosen.data) if chosen else 0),
            Step("check", number, "nothing of it was lost before the tag held it"),
            *left_out.step(newest_options(files, root), root, name),
        ),
        items=tuple(_items(context, root, chosen, retain_ms)),
        cost=cost_of_proof(context, chosen) if chosen else "",
        refusals=tuple(refusals),
        undo=table.undo,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Make the tag. Raises `Refused` when the snapshot differs from the plan, or can no longer be kept."""
    require_allowed(context, plan)
    started = context.clock()
    table = parse_table_name(plan.table)
    name = str(plan.arguments["name"])
    guard_tags.repair(context.files, table)
    planned = choose_as_planned(context, table, plan)
    chosen = keep(context, planned, plan, progress, lambda each: _tag(context, each, plan, progress))
    left_out.write(context, chosen.root, name, progress)
    done = Done(
        message=f"Tagged snapshot {chosen.snapshot.id} of {plan.table} as {name}",
        result={"tag_name": name, "snapshot_id": chosen.snapshot.id, "branch": chosen.root.label},
        before="no such tag",
        after=f"tag {name} of snapshot {chosen.snapshot.id}",
    )
    branch = text_argument(plan.arguments, "branch")
    edit = partial(made, context.files, table, "tag", name, branch=branch)
    log(context, table, plan, done.message, edit=edit, snapshot=chosen.snapshot.id)
    return audit.finished(context, plan, done, started, progress)


def _tag(context: Context, chosen: ChosenSnapshot, plan: Plan, progress: Progress) -> ChosenSnapshot:
    files, name = context.files, str(plan.arguments["name"])
    path, retain_ms = chosen.root.tag(name), plan.arguments["retain_ms"]
    needed = require_whole(context, chosen, progress)
    data = chosen.data
    if retain_ms is not None:
        data = with_time_to_live(data, context.clock(), int(retain_ms))
    known = set(named_roots(files, chosen.root.table))
    elsewhere = set(_paths(files, known, name))
    try:
        is_new = files.create(path, data)
    except Unanswered as error:
        raise _left(plan, error.message, error) from error
    if not is_new:
        raise Refused(f"{plan.table} has a tag {name} already", "Choose another name.")
    made = [path]

    def take_back(error: BaseException) -> None:
        is_refused = isinstance(error, (Refused, Corrupt))
        kept, why = _delete_unneeded(context, chosen, made, is_refused=is_refused)
        if path in kept:
            guard_tags.guard(files, chosen.root, name)
        else:
            _delete(files, _copies_since(files, chosen.root.table, known, name, data, elsewhere))
            prune_gone(files, chosen.root)
            guard_tags.unguard(files, chosen.root, name, data)
        for pin in made[1:]:
            # The pin's guard, if a branch is main: the pin is a tag of main.
            if pin not in kept:
                guard_tags.unguard(files, main_root(files, chosen.root.table), _name_of(pin), chosen.data)
        for each in kept:
            progress(
                Remark(
                    f"tag {_name_of(each)} of {plan.table} stays, and is not proven to keep all of snapshot "
                    f"{chosen.snapshot.id}: {why}"
                )
            )

    with undone_on_failure(context, chosen.root.table, take_back, left=partial(_left, plan)):
        # The pin's name contains the branch: main may have a tag of the given name.
        pin_name = merge_tag(chosen.root.label, chosen.snapshot.id)
        progress(f"tagged snapshot {chosen.snapshot.id} as {name}")
        hold_with_main(context, chosen, pin_name, needed, progress, made)
        guard_tags.guard(files, chosen.root, name)
        _require_there(context, chosen.root, name)
    return chosen


def _left(plan: Plan, why: str, error: BaseException | None = None) -> Unavailable:
    """The error when the tag may be there, and may keep nothing.

    A claim would tell nobody more: the tag is one write, and what follows only proves and protects it.
    """
    name = str(plan.arguments["name"])
    words = ["paimark", "delete-tag", plan.table, "--name", name]
    if (branch := text_argument(plan.arguments, "branch")) is not None:
        words += ["--branch", branch]
    then = f"If the table has it later, run `{shell_line(words)}`, and make it again."
    return Unavailable(
        f"{why}. Tag {name} of {plan.table} may be there, and is not known to keep its snapshot",
        then if error is None else hint_before(error, then),
    )


def _delete_unneeded(
    context: Context, chosen: ChosenSnapshot, made: Sequence[str], *, is_refused: bool
) -> tuple[list[str], str]:
    """Delete new tags, except those that somebody may count on by now; return these paths, and why.

    If the tag was refused, all go: it came too late, its root is going, or the table can't be read.
    """
    files = context.files
    if is_refused:
        _delete(files, made)
        return [], ""
    held = {each: data for each, data in zip(made, files.read_many(made), strict=True) if data is not None}
    needed, why = _needed(context, chosen, held)
    _delete(files, [each for each in made if each not in needed])
    if not needed:
        # A change that began in between may count on them. One that begins later does not see them.
        needed, why = _needed(context, chosen, held)
        for each in needed:
            files.create(each, held[each])
    return needed, why


def _needed(context: Context, chosen: ChosenSnapshot, made: Collection[str]) -> tuple[list[str], str]:
    """Which of these new tags can't be taken back, and why: a tag counts from its first moment on."""
    main = main_root(context.files, chosen.root.table)
    of_main = [each for each in made if each.startswith(f"{main.tags}/")]
    if of_main and (holder := journal.current(context, main.table)) is not None:
        return of_main, f"{holder.journal.action} may count on it"
    tag = Tag.from_json(chosen.data, chosen.root.snapshot(chosen.snapshot.id))
    if of_main and (needing := dependents(context.files, main.table, tag, made)):
        return of_main, needing[0].said("it")
    if made and is_only_keeper(context, chosen):
        return list(made), "the snapshot expires meanwhile, and nothing else may keep its files"
    return [], ""


def _name_of(path: str) -> str:
    return path.rpartition(f"/{TAG_PREFIX}")[2]


def _copies_since(
    files: Files, table: TablePath, known: Collection[Root], name: str, data: bytes, before: Collection[str]
) -> list[str]:
    """Unwanted copies that a concurrent replacement of main made of a tag that is taken back.

    They are in `known` roots, or in one that was moved. A branch that was made of the tag keeps its copy.
    """
    roots = [each for each in named_roots(files, table) if each in known or was_moved(each.label)]
    paths = [path for path in _paths(files, roots, name) if path not in before]
    copies = (data, without_time_to_live(data, name))
    return [path for path, there in zip(paths, files.read_many(paths), strict=True) if there in copies]


def _paths(files: Files, roots: Collection[Root], name: str) -> list[str]:
    """The paths of the tag in these roots."""
    paths = [root.tag(name) for root in roots]
    return [path for path, there in zip(paths, files.read_many(paths), strict=True) if there is not None]


def _require_there(context: Context, root: Root, name: str) -> None:
    """Raises `Refused` when another process has deleted the tag; its root may have been moved meanwhile."""
    roots = [root, *all_roots(context.files, root.table)]
    if not any(context.files.exists(each.tag(name)) for each in roots):
        raise Refused(
            f"Somebody deleted tag {name} of {root.table.full_name} while it was being made", "Look again."
        )


def _delete(files: Files, paths: Sequence[str]) -> None:
    for path in paths:
        files.delete(path)


def _name_refusals(context: Context, root: Root, name: str, chosen: ChosenSnapshot | None) -> list[Refusal]:
    if refusal := name_refusal(name, "tag"):
        return [refusal]
    path = root.tag(name)
    data = read_if_there(context.files, path)
    if data is None:
        return []
    kept = Tag.from_json(data, path).id
    same = " of this very snapshot" if chosen and kept == chosen.snapshot.id else f", of snapshot {kept}"
    return [
        Refusal(
            f"{root.label} of {root.table.full_name} has a tag {name} already{same}", "Choose another name."
        )
    ]


def _items(
    context: Context, root: Root, chosen: ChosenSnapshot | None, retain_ms: int | None
) -> Iterator[Item]:
    if chosen is not None:
        yield from expiry_items(context.files, chosen)
        yield from end_unknown(context.files, chosen.root)
    if retain_ms:
        until = minute(context.clock() + retain_ms)
        yield Item("keeps", f"these rows until {until}: then stock engines may delete the tag")
        return
    yield Item("keeps", "these rows, until the tag is deleted")
    schema = Lineage(context.files, root).latest_schema()
    if schema and (default := schema.options.get("tag.default-time-retained")):
        text = f"the tag for good: the table's tag.default-time-retained ({default}) is not applied"
        yield Item("keeps", text)
