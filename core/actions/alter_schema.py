"""`alter-branch-schema`: another definition of a table on one of its branches. Its rows stay as they are."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from core.actions import audit, journal
from core.actions.alter_schema_changes import Changed, changed
from core.actions.checks import (
    fingerprint,
    read_only_refusals,
    require_allowed,
    require_unmoved,
    text_argument,
    undone_on_failure,
)
from core.actions.context import Context, Progress
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.actions.temporaries import delete_temporaries
from core.errors import FileMissing, NotFound, Refused, StatementFailed, UsageError
from core.table.catalog import parse_table_name
from core.table.layout import SCHEMA_PREFIX, Root, TablePath
from core.table.lineage import Lineage
from core.table.main_branch import branch_root
from core.table.records import TableSchema
from core.travel.alters import AlterKind, Change, read_changes

ACTION = "alter-branch-schema"
KINDS: tuple[AlterKind, ...] = get_args(AlterKind)


@dataclass(frozen=True)
class _Way:
    """From the definition as it is to the next."""

    root: Root
    now: TableSchema
    made: Changed

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.root.directory, self.now.to_json())


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `branch` (main when None), and changes by their kind, made in this order.

    `add` (`c INT, d INT`), `drop` (`a, b`), `rename` (`a TO b`), `widen` (`c BIGINT`), `nullable` (`c`),
    `set` (`'option' = 'value'`), `unset` (`'option'`).
    """
    texts = {str(kind): text for kind in KINDS if (text := text_argument(arguments, kind)) is not None}
    branch = text_argument(arguments, "branch")
    if not texts:
        raise UsageError("Nothing is said of what to alter", "Give one of --add, --drop, --rename, --widen.")
    changes = _changes(texts)
    refusals = read_only_refusals(context)
    if held := journal.refusal(context, table):
        refusals.append(held)
    root, now = _definition(context, table, branch)
    made = Changed(None, (), ())
    try:
        made = _made(context, root, now, changes)
    except UsageError as error:
        refusals.append(Refusal(error.message, error.hint))
    what = f"{root.label} of {table.full_name}"
    said = "; ".join(made.said) or "leave it as it is"
    is_dropping = any(each.kind == "drop" for each in changes)
    return Plan(
        action=ACTION,
        table=table.full_name,
        summary=f"Alter {what}: {said}",
        arguments={"branch": branch, "schema_id": now.id + 1, **texts},
        fingerprint=_Way(root, now, made).fingerprint,
        steps=(Step("create", root.schema(now.id + 1), said),) if made.schema else (),
        kept=(f"Every row and file, and definition {now.id}, by which what was saved until now is read",),
        warnings=tuple(_warnings(context, root, changes)) if made.schema else (),
        refusals=tuple(refusals),
        undo=_undo(table, branch, made),
        empty=made.schema is None and not refusals,
        removes=is_dropping,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Write the definition. Raises `Refused` when it is no longer the one that the plan saw."""
    require_allowed(context, plan)
    started, token = context.clock(), journal.new_token()
    table = parse_table_name(plan.table)
    if plan.empty:
        return Outcome(action=ACTION, table=plan.table, message=plan.summary, result={"schema_id": None})
    with running(token):
        way = _as_planned(context, table, plan)
        assert way.made.schema is not None
        data = way.made.schema.to_json()
        hold = journal.take(context, table, plan, token, {"schema": data.decode(), "root": way.root.branch})
        with undone_on_failure(table, lambda: _give_up(context, hold)):
            if _as_planned(context, table, plan).now != way.now:
                raise _moved(way.root, way.now.id + 1)
            journal.require_hold(context, hold)
            # The one write that counts: it is there whole, or another engine's is.
            if not context.files.create(way.root.schema(way.now.id + 1), data):
                raise _moved(way.root, way.now.id + 1)
            progress(f"wrote {way.root.schema(way.now.id + 1)}")
            journal.release(context, hold)
    number = way.now.id + 1
    outcome = Outcome(
        action=ACTION,
        table=plan.table,
        message=f"{way.root.label} of {plan.table} has definition {number}: {'; '.join(way.made.said)}",
        result={"schema_id": number, "branch": way.root.label},
        undo=plan.undo,
    )
    before, after = f"schema {way.now.id}", f"schema {number}"
    audit.record(context, plan, outcome, started, progress, before=before, after=after)
    return outcome


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted alteration does: its one file is there or not."""
    root, number = _written_to(table, begun)
    if _landed(context, table, begun):
        return [Step("check", root.schema(number), "the definition was written")]
    return [Step("check", root.label, "nothing was written: the definition is as it was")]


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Say whether the definition was written. The caller ends it."""
    root, number = _written_to(hold.table, hold.journal)
    delete_temporaries(context.files, root.schemas, {f"{SCHEMA_PREFIX}{number}"})
    if _landed(context, hold.table, hold.journal):
        progress(f"definition {number} of {root.label} was written")
    else:
        progress(f"no definition of {root.label} was written")


def _give_up(context: Context, hold: journal.Hold) -> None:
    try:
        journal.require_hold(context, hold)
    except journal.TakenOver:
        return
    journal.release(context, hold)


def _landed(context: Context, table: TablePath, begun: journal.Journal) -> bool:
    root, number = _written_to(table, begun)
    try:
        return context.files.read(root.schema(number)).decode() == (begun.leaving or {}).get("schema")
    except FileMissing:
        return False


def _written_to(table: TablePath, begun: journal.Journal) -> tuple[Root, int]:
    leaving = begun.leaving or {}
    schema = TableSchema.from_json(str(leaving.get("schema", "")).encode(), table.journal)
    branch = leaving.get("root")
    return table.root(None if branch is None else str(branch)), schema.id


def _definition(context: Context, table: TablePath, branch: str | None) -> tuple[Root, TableSchema]:
    root = branch_root(context.files, table, branch)
    schema = Lineage(context.files, root).latest_schema()
    if schema is None:
        raise NotFound(f"{root.label} of {table.full_name} has no schema", "`paimark doctor` looks into it.")
    return root, schema


def _made(context: Context, root: Root, now: TableSchema, changes: tuple[Change, ...]) -> Changed:
    return changed(
        now,
        changes,
        name=root.table.full_name,
        is_branch=root.branch is not None,
        now_ms=context.clock(),
    )


def _changes(texts: Mapping[str, str]) -> tuple[Change, ...]:
    found: list[Change] = []
    for kind in KINDS:
        if (text := texts.get(kind)) is None:
            continue
        try:
            found += read_changes(kind, text)
        except StatementFailed as error:
            raise UsageError(f"--{kind}: {error.message}", error.hint) from error
    return tuple(found)


def _as_planned(context: Context, table: TablePath, plan: Plan) -> _Way:
    branch = plan.arguments["branch"]
    texts = {str(kind): str(plan.arguments[kind]) for kind in KINDS if kind in plan.arguments}
    root, now = _definition(context, table, None if branch is None else str(branch))
    way = _Way(root, now, Changed(None, (), ()))
    require_unmoved(table, plan, way.fingerprint)
    return _Way(root, now, _made(context, root, now, _changes(texts)))


def _moved(root: Root, number: int) -> Refused:
    return Refused(
        f"Another engine gave {root.label} of {root.table.full_name} definition {number} since the plan",
        "Nothing was written: make a new plan.",
    )


def _warnings(context: Context, root: Root, changes: tuple[Change, ...]) -> list[str]:
    found = []
    if any(each.kind in ("drop", "rename", "widen") for each in changes):
        found.append(
            "Jobs that are running go on with the definition they began with until they are restarted"
        )
    dropped = [each.name for each in changes if each.kind == "drop"]
    if dropped:
        found.append(
            f"The values of {', '.join(dropped)} can be read in the past only: "
            "a column of that name added later is empty, and main is not rolled back to what has it"
        )
    options = {each.name for each in changes if each.kind in ("set", "unset")}
    if root.branch is None and any(name.startswith("snapshot.num-retained") for name in options):
        found.append("Stock engines expire main's snapshots by it at their next commit")
    return found


def _undo(table: TablePath, branch: str | None, made: Changed) -> str:
    if not made.undo:
        return ""
    by_kind: dict[str, list[str]] = {}
    for kind, text in made.undo:
        by_kind.setdefault(kind, []).append(text)
    words = ["paimark", ACTION, table.full_name]
    words += [] if branch is None else ["--branch", branch]
    for kind, texts in by_kind.items():
        words += [f"--{kind}", ", ".join(texts)]
    return shlex.join(words)
