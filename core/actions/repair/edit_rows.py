"""`edit-rows`: cells that a person changed, and rows that were added or taken away, as one commit.

A row that somebody changed since it was read is a conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from paimark.core.actions.checks import fingerprint, integer_argument, required_text, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.conflict_lines import EDIT
from paimark.core.actions.merge.resolution import Between
from paimark.core.actions.plan import UNTIL_NEW_COMMIT, Outcome, Plan, Refusal, Step
from paimark.core.actions.repair.changes import BACK, BASE, CHANGED, CONFLICT, GO, NOW
from paimark.core.actions.repair.commit import (
    apply_repair,
    kept_history,
    makes_older,
    order_of,
    writing_repairs,
)
from paimark.core.actions.repair.deciding import KeyedRepair, decision
from paimark.core.actions.repair.edited import EDITS, EditedRows
from paimark.core.actions.repair.edits import RowEdit, lines_of, read_edits
from paimark.core.actions.repair.found import TAKE_THEN, Example, Found, Words
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, run_query, start_in, version_of
from paimark.core.actions.rollback.target import version_at
from paimark.core.actions.said import may_be_overwritten
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.spark.protocol import Repair
from paimark.core.storage.files import Files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import Snapshot

EDITED = "edited"
_WRONG = {
    "add": "there is a row of that key already: change its cells",
    "set": "there was no row of that key",
    "delete": "there was no row of that key",
}

_WORDS = Words(
    ("gets other cells", "get other cells"),
    ("is new", "are new"),
    "Say which with --on-conflict: now keeps the current rows, edited takes the edits; or choose for each, "
    "with `v` in the console, or in the file of --conflicts-out.",
)


@dataclass(frozen=True)
class _Edits:
    """The edits for a root in its present state, and the snapshot at which their rows were read."""

    start: RewriteBase
    read: Snapshot
    path: str
    edits: Sequence[RowEdit]

    @property
    def lines(self) -> tuple[str, ...]:
        return lines_of(self.start.schema, self.edits)

    @property
    def digest(self) -> str:
        return fingerprint(*self.lines)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.start.fingerprint, self.read.to_json(), self.digest)

    @property
    def queries(self) -> EditedRows:
        return EditedRows.of(self.start.schema, self.edits)

    @property
    def repair(self) -> KeyedRepair:
        root = self.start.root
        versions = {BASE: version_of(root, self.read), NOW: version_of(root, self.start.head.snapshot)}
        # Other edits of the same rows are other conflicts.
        then = replace(self.read, delta_manifest_list=self.digest)
        return KeyedRepair(EDIT, self.start, self.read, then, versions, self.queries, {EDITS: self.lines})


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `file` of edits; `read_at`, the version that the rows were read at (the newest when None);
    `branch` (main when None); `on_conflict`: whether a row that changed since stays as it is `now`, or
    becomes what was `edited`; with `fail` nothing is written. Or `resolve`, a file of choices.
    """
    seen, given = _seen(context.files, table, arguments), _in_words_of_repairs(arguments)
    start = seen.start
    place = f"{start.root.label} of {table.full_name}"
    made: dict[str, str | int | bool | None] = {
        **{name: text_argument(arguments, name) for name in ("file", "read_at", "branch")},
        "digest": seen.digest,
        "head": start.head.snapshot.id,
    }
    refusals = writing_repairs(context, start)
    found, changes = Found(), list[dict[str, Any]]()
    if is_known := not refusals and not context.read_only:
        refusals += _wrong(context, seen)
        if not refusals:
            found, changes = _found(context, seen)
    refusals += makes_older(start, found)
    decided = decision(context, {} if refusals else given, seen.repair)
    made |= decided.arguments | {"conflicts": found.number(CONFLICT) > 0}
    made["on_conflict"] = text_argument(arguments, "on_conflict")
    since = "since it was read" if seen.queries.were else f"since snapshot {seen.read.id}, when it was read"
    refusals += [*decided.refusals, *decided.refused(found, since)]
    if is_known and not refusals and not decided.changes(found):
        said = f"{place} has these rows already" if not changes else f"{place} stays as it is"
        return Plan(headline=f"{said}.", arguments=made, fingerprint=seen.fingerprint, empty=True)
    rows = counted(len(seen.edits), "row")
    return Plan(
        headline=f"Edit {rows} of {place}.",
        arguments=made,
        fingerprint=decided.fingerprint(seen.fingerprint),
        items=(
            *decided.items(found, since),
            *may_be_overwritten(context.files, start.root, context.clock()),
            kept_history(start),
        ),
        steps=(
            *(Step("change", Example.of(each).change) for each in changes),
            Step("create", start.root.snapshot(start.head.snapshot.id + 1), "one commit of rows"),
        ),
        cost="one commit, through Spark",
        refusals=tuple(refusals),
        undo=table.undo,
        until=UNTIL_NEW_COMMIT,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Raises `Refused` if anything moved since the plan was made, but for later commits to other rows."""
    seen = _seen(context.files, parse_table_name(plan.table), plan.arguments)
    decided = decision(context, {} if plan.empty else _in_words_of_repairs(plan.arguments), seen.repair)

    def order(start: RewriteBase) -> Repair:
        made = order_of(start, plan, dict(seen.repair.versions), f"edited {counted(len(seen.edits), 'row')}")
        return decided.ordered(made, seen.repair)

    return apply_repair(
        context, plan, progress, lambda: (seen.start, decided.fingerprint(seen.fingerprint)), order
    )


def conflicting(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Between:
    """The edited rows that changed since they were read. Raises as the plan."""
    return _seen(context.files, table, arguments).repair.between


def _seen(files: Files, table: TablePath, arguments: Mapping[str, object]) -> _Edits:
    path, branch = required_text(arguments, "file"), text_argument(arguments, "branch")
    root = branch_root(files, table, branch)
    start = start_in(files, root, is_main=branch is None, at=integer_argument(arguments, "head"))
    if not start.schema.primary_keys:
        raise Refused(
            f"{table.full_name} has no primary key: nothing names a single row", "Use UPDATE and DELETE."
        )
    read_at = text_argument(arguments, "read_at")
    read = start.head.snapshot
    if read_at is not None:
        version = version_at(files, root, read_at.strip())
        if version.root != root:
            raise Refused(f"{read_at} is not of {start.place}", "Name a version of it.")
        read = version.snapshot
    return _Edits(start, read, path, read_edits(path, start.schema))


def _in_words_of_repairs(arguments: Mapping[str, object]) -> dict[str, object]:
    is_edited = arguments.get("on_conflict") == EDITED
    return {**arguments, "on_conflict": TAKE_THEN} if is_edited else dict(arguments)


def _wrong(context: Context, seen: _Edits) -> list[Refusal]:
    repair = seen.repair
    wrong = run_query(
        context, seen.start, repair.versions, seen.queries.wrong, context.progress, repair.texts
    )
    return [
        Refusal(f"{Example(each['k']).label} at snapshot {seen.read.id}: {_WRONG[each['w']]}")
        for each in wrong
    ]


def _found(context: Context, seen: _Edits) -> tuple[Found, list[dict[str, Any]]]:
    repair, counts, examples = seen.repair, dict[str, int](), dict[str, Example]()
    changes = run_query(
        context, seen.start, repair.versions, seen.queries.all_changes, context.progress, repair.texts
    )
    conflicts = []
    for each in changes:
        example = Example.of(each)
        kind = GO if example.then is None else BACK if example.now is None else CHANGED
        if each["is_conflict"]:
            kind = CONFLICT
            conflicts.append(example)
        counts[kind] = counts.get(kind, 0) + 1
        examples.setdefault(kind, example)
    return Found(counts, examples, conflicts[:5], words=_WORDS), changes
