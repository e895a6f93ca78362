"""`create-branch`: a branch root from a tag of main, also when the tag's snapshot expired long ago."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from core.actions import audit, claims, journal
from core.actions.branch_files import (
    BranchSource,
    branch_source,
    clean_unfinished,
    highest_schema_id,
    remove_unfinished,
    take_back,
    write_branch,
)
from core.actions.checks import (
    read_only_refusals,
    require_allowed,
    require_unmoved,
    required_text,
    undone_on_failure,
)
from core.actions.context import Context, Progress
from core.actions.names import name_refusal
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.errors import Corrupt, FileMissing, NotFound, Refused
from core.table.catalog import parse_table_name
from core.table.layout import SAVEPOINT_TAG_PREFIX, Root, TablePath
from core.table.lineage import Lineage
from core.table.main_branch import all_roots, main_root
from core.table.records import Tag

ACTION = "create-branch"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, and `tag`, one of main (`savepoint.3` is one)."""
    files = context.files
    name, tag_name = required_text(arguments, "name"), required_text(arguments, "tag")
    root = main_root(files, table)
    tag = _tag_of_main(context, root, tag_name)
    refusals = read_only_refusals(context)
    refusals += _name_refusals(context, table, name) or _tag_refusals(context, table, tag_name, tag)
    if held := journal.refusal(context, table):
        refusals.append(held)
    source = None
    try:
        source = branch_source(files, root, tag_name, highest_schema_id(files, table, tag))
    except FileMissing as error:
        refusals.append(
            Refusal(f"Tag {tag_name} can't be branched from: {error.message}", "Choose one that is whole.")
        )
    return Plan(
        action=ACTION,
        table=table.full_name,
        summary=f"Create branch {name} of {table.full_name} from tag {tag_name} (snapshot {tag.id})",
        arguments={
            "name": name,
            "tag": tag_name,
            "snapshot": tag.id,
            "highest_schema": source.highest_schema if source else None,
        },
        fingerprint=source.fingerprint if source else "",
        steps=_steps(source, table.root(name)) if source else (),
        kept=("main is not touched; the branch shares the tag's data files with it",),
        warnings=tuple(_warnings(tag_name, tag)),
        refusals=tuple(refusals),
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Make the branch. Raises `Refused` when tag or schemas are no longer as planned."""
    require_allowed(context, plan)
    started = context.clock()
    table, token = parse_table_name(plan.table), journal.new_token()
    branch = _branch(table, plan)
    with running(token):
        source = _source_as_planned(context, table, plan)
        hold = journal.take(context, table, plan, token)
        written: list[str] = []
        with undone_on_failure(table, lambda: _undo(context, hold, branch, written)):
            for refusal in _name_refusals(context, table, branch.label):
                raise Refused(refusal.reason, refusal.hint)
            _write(context, hold, source, branch, written, progress)
            journal.release(context, hold)
    outcome = Outcome(
        action=ACTION,
        table=plan.table,
        message=f"Branch {branch.label} of {plan.table} holds snapshot {source.snapshot_id}",
        result={"branch_name": branch.label, "tag_name": source.tag_name, "snapshot_id": source.snapshot_id},
    )
    after = f"branch {branch.label} from tag {source.tag_name}"
    audit.record(context, plan, outcome, started, progress, before="no such branch", after=after)
    return outcome


def can_finish(context: Context, table: TablePath, plan: Plan) -> bool:
    """Whether an interrupted creation is whole, or main still holds what it needs."""
    if _is_whole(context, plan, _branch(table, plan)):
        return True
    try:
        _source_as_planned(context, table, plan)
    except (Refused, Corrupt):
        return False
    return True


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted creation, or undo it when main lost what it needs. The caller ends it."""
    plan = hold.journal.planned()
    branch = _branch(hold.table, plan)
    try:
        if not _is_whole(context, plan, branch):
            source = _source_as_planned(context, hold.table, plan)
            _write(context, hold, source, branch, None, progress)
    except journal.TakenOver:
        raise
    except (Refused, Corrupt) as error:
        progress(f"{error.message}: undoing")
        strangers = remove_unfinished(context.files, _paths(plan, branch), branch)
        if strangers:
            progress(f"branch {branch.label} stays, for others wrote to it: {', '.join(strangers)}")
        else:
            progress(f"removed the unfinished branch {branch.label}")
    else:
        clean_unfinished(context.files, branch, _paths(plan, branch))
        progress(f"finished branch {branch.label}")


def _write(
    context: Context,
    hold: journal.Hold,
    source: BranchSource,
    branch: Root,
    written: list[str] | None,
    progress: Progress,
) -> None:
    for sentence in write_branch(context.files, source, branch, written):
        hold = journal.note(context, hold, sentence)
        progress(sentence)
    # The branch stands on main's tag: had it gone meanwhile, nothing would keep the files.
    _source_as_planned(context, hold.table, hold.journal.planned())


def _undo(context: Context, hold: journal.Hold, branch: Root, written: list[str]) -> None:
    journal.give_up(context, hold, lambda: take_back(context.files, branch, written))


def _source_as_planned(context: Context, table: TablePath, plan: Plan) -> BranchSource:
    try:
        root = main_root(context.files, table)
        highest = int(plan.arguments["highest_schema"] or 0)
        source = branch_source(context.files, root, str(plan.arguments["tag"]), highest)
    except FileMissing as error:
        raise Refused(
            f"{error.path} has gone since the plan was made", "Nothing is left of it: make a new plan."
        ) from error
    require_unmoved(table, plan, source.fingerprint)
    return source


def _is_whole(context: Context, plan: Plan, branch: Root) -> bool:
    return all(context.files.exists(path) for path in _paths(plan, branch))


def _branch(table: TablePath, plan: Plan) -> Root:
    return table.root(str(plan.arguments["name"]))


def _paths(plan: Plan, branch: Root) -> list[str]:
    """Every path that the creation writes, in its order."""
    arguments = plan.arguments
    schemas = range(int(arguments["highest_schema"] or 0) + 1)
    return [
        *(branch.schema(number) for number in schemas),
        branch.tag(str(arguments["tag"])),
        branch.snapshot(int(arguments["snapshot"] or 0)),
        branch.earliest_hint,
        branch.latest_hint,
    ]


def _steps(source: BranchSource, branch: Root) -> tuple[Step, ...]:
    schemas, *others = source.groups(branch)
    size = sum(len(data) for _, data in schemas[1])
    detail = "the newest with retention off: stock expiry on a branch would destroy savepoints"
    up_to = f" to schema-{source.highest_schema}" if source.highest_schema else ""
    copied = [Step("copy", f"{branch.schema(0)}{up_to}", detail, size)]
    copied += [Step("create", path, size=len(data)) for _, group in others for path, data in group]
    return tuple(copied)


def _tag_of_main(context: Context, root: Root, tag_name: str) -> Tag:
    try:
        return Lineage(context.files, root).tag(tag_name)
    except NotFound as error:
        for other in all_roots(context.files, root.table):
            if other != root and Lineage(context.files, other).has_tag(tag_name):
                hint = f"Branch {other.label} has one of this name, and branches are made from tags of main."
                raise NotFound(error.message, hint) from error
        raise


def _name_refusals(context: Context, table: TablePath, name: str) -> list[Refusal]:
    if refusal := name_refusal(name, "branch"):
        return [refusal]
    if context.files.entries(table.root(name).directory):
        return [Refusal(f"{table.full_name} has a branch {name} already", "Choose another name.")]
    return []


def _tag_refusals(context: Context, table: TablePath, tag_name: str, tag: Tag) -> list[Refusal]:
    number = tag_name.removeprefix(SAVEPOINT_TAG_PREFIX)
    if number != tag_name and number.isdecimal() and claims.read_claim(context, table, int(number)):
        return [Refusal(f"Savepoint {number} is still being made", "Wait for it, or run `paimark recover`.")]
    until = _kept_until(tag)
    if until and until <= datetime.fromtimestamp(context.clock() / 1000):
        return [Refusal(f"Tag {tag_name} had its time: it is deleted any moment", "Choose another tag.")]
    return []


def _kept_until(tag: Tag) -> datetime | None:
    """When the tag's time to live ends, in the local time that Paimon writes."""
    if tag.tag_create_time is None or tag.tag_time_retained is None:
        return None
    year, month, day, hour, minute, second, nanos = (*tag.tag_create_time, 0, 0)[:7]
    created = datetime(year, month, day, hour, minute, second, nanos // 1000)
    return created + timedelta(seconds=tag.tag_time_retained)


def _warnings(tag_name: str, tag: Tag) -> list[str]:
    found = []
    if until := _kept_until(tag):
        found.append(
            f"Tag {tag_name} lives until {until:%Y-%m-%d %H:%M}: "
            "stock engines then delete it, and with it files that the branch needs"
        )
    found.append(
        f"Keep tag {tag_name} while the branch lives: stock engines allow deleting it, and the branch breaks"
    )
    return found
