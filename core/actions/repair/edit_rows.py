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
from paimark.core.actions.merge.sql import BACK, BASE, CHANGED, CONFLICT, GO, NOW
from paimark.core.actions.plan import Outcome, Plan, Refusal, Step
from paimark.core.actions.repair.changes import EDITS, EditedRows
from paimark.core.actions.repair.commit import (
    Looked,
    RowRepair,
    apply_repair,
    conflicts_of,
    makes_older,
    plan_repair,
    writing_repairs,
)
from paimark.core.actions.repair.edits import RowEdit, lines_of, read_edits
from paimark.core.actions.repair.repair_plan import Example, Found, KeyedRepair, Words
from paimark.core.actions.rewrite.spark_rewrite import run_query, start_in, version_of
from paimark.core.actions.rollback.target import version_at
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import Snapshot

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
class _Edits(RowRepair):
    """The edits for a root in its present state, and the snapshot at which their rows were read."""

    read: Snapshot
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
    def rows(self) -> str:
        return counted(len(self.edits), "row")

    @property
    def done(self) -> str:
        return f"edited {self.rows}"

    @property
    def queries(self) -> EditedRows:
        return EditedRows(schema=self.start.schema, edits=self.edits)

    @property
    def since(self) -> str:
        return (
            "since it was read" if self.queries.were else f"since snapshot {self.read.id}, when it was read"
        )

    @property
    def repair(self) -> KeyedRepair:
        root = self.start.root
        versions = {BASE: version_of(root, self.read), NOW: version_of(root, self.start.head.snapshot)}
        # Other edits of the same rows are other conflicts.
        then = replace(self.read, delta_manifest_list=self.digest)
        return KeyedRepair(EDIT, self.start, self.read, then, versions, self.queries, {EDITS: self.lines})

    def nothing(self, found: Found) -> str:
        return f"{self.place} {'stays as it is' if found.counts else 'has these rows already'}."

    def look(self, context: Context) -> Looked:
        if wrong := self._asked(context, self.queries.wrong):
            label = f"at snapshot {self.read.id}"
            return Looked(
                Found(),
                [Refusal(f"{Example(each['k']).label} {label}: {_WRONG[each['w']]}") for each in wrong],
            )
        counts, examples = dict[str, int](), dict[str, Example]()
        changes, conflicts, steps = self._asked(context, self.queries.all_changes), [], []
        for each in changes:
            example = Example.of(each)
            kind = GO if example.then is None else BACK if example.now is None else CHANGED
            if each["is_conflict"]:
                kind = CONFLICT
                conflicts.append(example)
            counts[kind] = counts.get(kind, 0) + 1
            examples.setdefault(kind, example)
            verb = "delete" if example.then is None else "create" if example.now is None else "replace"
            steps.append(Step(verb, example.change if verb == "replace" else example.label))
        found = Found(counts, examples, conflicts[:5], words=_WORDS)
        return Looked(found, makes_older(self.start, found), steps)

    def _asked(self, context: Context, sql: str) -> list[dict[str, Any]]:
        repair = self.repair
        return run_query(context, self.start, repair.versions, sql, context.progress, repair.texts)


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `file` of edits; `read_at`, the version that the rows were read at (the newest when None);
    `branch` (main when None); `on_conflict`: whether a row that changed since stays as it is `now`, or
    becomes what was `edited`; with `fail` nothing is written. Or `resolve`, a file of choices.
    """
    seen = _seen(context.files, table, arguments)
    names = ("file", "read_at", "branch", "on_conflict")
    made: dict[str, str | int | bool | None] = {name: text_argument(arguments, name) for name in names}
    made |= {"digest": seen.digest, "head": seen.start.head.snapshot.id}
    return plan_repair(
        context,
        seen,
        arguments,
        made,
        headline=f"Edit {seen.rows} of {seen.place}.",
        cost="one commit, through Spark",
        refusals=writing_repairs(context, seen.start),
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Raises `Refused` if anything moved since the plan was made, but for later commits to other rows."""
    return apply_repair(context, plan, progress, _seen)


def conflicting(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Between:
    """The edited rows that changed since they were read. Raises as the plan."""
    return conflicts_of(_seen(context.files, table, arguments))


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
    return _Edits(start, read, read_edits(path, start.schema))
