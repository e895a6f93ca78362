"""`alter-branch-schema`: change a table's definition on one of its branches. The rows stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self, get_args

import msgspec

from paimark.core.actions.change.change import Change, Done, Landed, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import fingerprint, require_unmoved, text_argument
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.plan_wording import NEVER, final, job_that_writes
from paimark.core.actions.roots.root_state import schema_state
from paimark.core.actions.schema.changes import Changed, changed
from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.errors import PaimarkError, Refused, StatementFailed, UsageError, shortened
from paimark.core.figures import listed
from paimark.core.redaction import keep_secrets
from paimark.core.spark.library.schema_check import schema_refusal
from paimark.core.storage.files import read_if_there
from paimark.core.table.layout import SCHEMA_PREFIX, Root, TablePath
from paimark.core.table.lineage.edits import Edits, SchemaEdit
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.records import TableSchema
from paimark.core.travel.statements.alters import AlterKind, SchemaChange, read_changes

ACTION = "alter-branch-schema"
KINDS: tuple[AlterKind, ...] = get_args(AlterKind)
_READ_BRANCHES = ("scan.fallback-branch", "scan.primary-branch")
# What an option may be depends on keys, columns and other options, which Paimon's library knows.
_ASKED = frozenset({"set", "unset"})


@dataclass(frozen=True)
class _NextDefinition:
    """The present definition and the next one."""

    root: Root
    now: TableSchema
    change: Changed

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.root.directory, self.now.to_json())


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `branch` (main when None), and changes by their kind, applied in this order.

    `add` (`c INT, d INT`), `drop` (`a, b`), `rename` (`a TO b`), `widen` (`c BIGINT`), `nullable` (`c`),
    `set` (`'option' = 'value'`), `unset` (`'option'`).
    """
    texts = {str(kind): text for kind in KINDS if (text := text_argument(arguments, kind)) is not None}
    branch = text_argument(arguments, "branch")
    if not texts:
        raise UsageError(
            "No change of the schema is given", f"Give at least one of {', '.join(map(str, KINDS))}."
        )
    changes = _changes(texts)
    root, now = _definition(context, table, branch)
    change, refusals = Changed(None, (), ()), list[Refusal]()
    try:
        change = _change(context, root, now, changes)
    except UsageError as error:
        refusals.append(Refusal(error.message, error.hint))
    if refusal := _paimons_refusal(context, table, now, change.schema, changes):
        refusals.append(refusal)
    refusals += _missing_branches(context, table, changes)
    what = f"{root.label} of {table.full_name}"
    described = "; ".join(change.clauses) or "leave it as it is"
    return Plan(
        headline=f"Alter {what}: {described}.",
        arguments={"branch": branch, "schema_id": now.id + 1, **texts},
        fingerprint=_NextDefinition(root, now, change).fingerprint,
        steps=(Step("create", root.schema(now.id + 1), described),) if change.schema else (),
        items=tuple(_items(context, root, changes, is_final=change.undo is None)) if change.schema else (),
        phrase=_phrase(changes),
        cost="1 small file",
        refusals=tuple(refusals),
        undo=table.undo if change.undo else "",
        empty=change.schema is None and not refusals,
    )


class AlterState(msgspec.Struct, frozen=True):
    """The definition to write, and what takes it back."""

    root: str | None  # the branch
    schema: str  # the whole text of the new `schema-<id>`
    description: str  # what changes, for people
    # the changes that take it back, by their kind; null: not all can be taken back
    undo: dict[str, str] | None = None


class AlterSchema(Change[AlterState]):
    """Write the next definition. It is one file, which contains either all of it or another engine's."""

    State = AlterState

    @classmethod
    def begin(cls, work: Work) -> Self:
        definition = _as_planned(work.context, work.table, work.plan)
        assert definition.change.schema is not None
        change, written = definition.change, definition.change.schema.to_json().decode()
        description = "; ".join(change.clauses)
        return cls(work, AlterState(definition.root.branch, written, description, _undo(change)))

    @classmethod
    def nothing(cls, plan: Plan) -> dict[str, str | int | bool | None]:
        return {"schema_id": None}

    @property
    def _root(self) -> Root:
        return self.work.table.root(self.state.root)

    @property
    def _schema(self) -> TableSchema:
        return TableSchema.from_json(self.state.schema.encode(), self.work.table.journal)

    def check(self, hold: Hold) -> None:
        definition = _as_planned(self.work.context, self.work.table, self.work.plan)
        if definition.now.id + 1 != self._schema.id:
            raise self._moved()

    def commit(self, hold: Hold) -> None:
        path = self._root.schema(self._schema.id)
        self.work.files.create(path, self.state.schema.encode())
        # Check also after creating it: another engine may have replaced it by its own.
        if not self._is_written():
            raise self._moved()
        self.work.progress(f"wrote {path}")

    def landed(self, hold: Hold) -> Landed:
        return Landed.YES if self._is_written() else Landed.NO

    def finish(self, hold: Hold) -> None:
        """Nothing follows: the file is the change."""

    def clean(self) -> None:
        delete_temporaries(self.work.files, self._root.schemas, {f"{SCHEMA_PREFIX}{self._schema.id}"})

    def edits(self) -> Edits | None:
        if not self.state.undo:
            return None
        branch = text_argument(self.work.plan.arguments, "branch")
        state = schema_state(self._root, self._schema)
        return Edits(schema=SchemaEdit(branch=branch, back=self.state.undo, state=state))

    def no_way_back(self) -> str:
        if self.state.undo:
            return ""
        return "a dropped column's values, a narrower type and a column that is never null do not come back"

    def done(self) -> Done:
        number, root, plan = self._schema.id, self._root, self.work.plan
        no_way = "" if plan.undo else ". It can't be taken back"
        return Done(
            message=f"Altered {root.label} of {plan.table}: {self.state.description}{no_way}",
            result={"schema_id": number, "branch": root.label},
            before=f"schema {number - 1}",
            after=f"schema {number}",
        )

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        path = self._root.schema(self._schema.id)
        if self._is_written():
            return [Step("check", path, "the definition was written")]
        return [Step("check", self._root.label, "nothing was written: the definition is as it was")]

    def _is_written(self) -> bool:
        data = read_if_there(self.work.files, self._root.schema(self._schema.id))
        return data == self.state.schema.encode()

    def _moved(self) -> Refused:
        return Refused(
            f"Another engine gave {self._root.label} of {self.work.table.full_name} "
            f"definition {self._schema.id} since the plan",
            "Nothing was written: make a new plan.",
        )


def _definition(context: Context, table: TablePath, branch: str | None) -> tuple[Root, TableSchema]:
    root = branch_root(context.files, table, branch)
    return root, Lineage(context.files, root).require_schema()


def _change(context: Context, root: Root, now: TableSchema, changes: tuple[SchemaChange, ...]) -> Changed:
    # A table option may be a store's password: it goes into schemas, but never into logs.
    keep_secrets("", now.options, {each.name: each.value for each in changes if each.kind == "set"})
    return changed(
        now,
        changes,
        name=root.table.full_name,
        is_branch=root.branch is not None,
        now_ms=context.clock(),
    )


def _paimons_refusal(
    context: Context,
    table: TablePath,
    now: TableSchema,
    new: TableSchema | None,
    changes: tuple[SchemaChange, ...],
) -> Refusal | None:
    """Paimon's own refusal of the new schema, with which it would not open the table any more."""
    if new is None or {each.kind for each in changes}.isdisjoint(_ASKED):
        return None
    why = schema_refusal(now, new, context.options)
    if not why:
        return None
    return Refusal(f"Paimon refuses {table.full_name} with that: {shortened(' '.join(why.split()))}", "")


def _missing_branches(
    context: Context, table: TablePath, changes: tuple[SchemaChange, ...]
) -> Iterator[Refusal]:
    """Of options that name a branch from which rows are read: stock opens no table without it."""
    for each in changes:
        if each.kind == "set" and each.name in _READ_BRANCHES:
            try:
                branch_root(context.files, table, each.value)
            except PaimarkError as error:
                yield Refusal(f"{each.name} names a branch that is not there: {error.message}", error.hint)


def _changes(texts: Mapping[str, str]) -> tuple[SchemaChange, ...]:
    changes: list[SchemaChange] = []
    for kind in KINDS:
        if (text := texts.get(kind)) is None:
            continue
        try:
            changes += read_changes(kind, text)
        except StatementFailed as error:
            raise UsageError(f"--{kind}: {error.message}", error.hint) from error
    return tuple(changes)


def _as_planned(context: Context, table: TablePath, plan: Plan) -> _NextDefinition:
    texts = {str(kind): str(plan.arguments[kind]) for kind in KINDS if kind in plan.arguments}
    root, now = _definition(context, table, text_argument(plan.arguments, "branch"))
    definition = _NextDefinition(root, now, Changed(None, (), ()))
    require_unmoved(table, plan, definition.fingerprint)
    return _NextDefinition(root, now, _change(context, root, now, _changes(texts)))


def _phrase(changes: tuple[SchemaChange, ...]) -> str:
    """The dropped column, if there is one and no other."""
    dropped = [each.name for each in changes if each.kind == "drop"]
    return dropped[0] if len(dropped) == 1 else ""


def _items(
    context: Context, root: Root, changes: tuple[SchemaChange, ...], *, is_final: bool
) -> Iterator[Item]:
    files = context.files
    dropped = [each.name for each in changes if each.kind == "drop"]
    if dropped:
        newest = Lineage(files, root).latest_id()
        until = "past versions" if newest is None else f"versions up to snapshot {newest}"
        text = f"{listed(dropped, 'column')}, from the newest rows: only {until} have "
        if len(dropped) > 1:
            text += "them. Columns of these names added later are empty"
        else:
            text += "it. A column of that name added later is empty"
        yield Item("loses", text, "column-hidden", is_grave=True, names=tuple(dropped))
        is_main = root == main_root(files, root.table)
        back = "A rollback to such a version brings columns back, with their values at that time"
        yield final(back if is_main else "")
    elif is_final:
        # Nobody loses anything by it, so nobody is asked.
        yield Item("final", NEVER, "final")
    if any(each.kind in ("drop", "rename", "widen") for each in changes):
        text = "jobs that run keep the old columns until they are restarted"
        if (writer := job_that_writes(files, root)) is not None:
            text += f": {writer.said(root.table.full_name, context.clock())}"
        yield Item("affects", text, "jobs-restart")
    options = {each.name for each in changes if each.kind in ("set", "unset")}
    if root.branch is None and any(name.startswith("snapshot.num-retained") for name in options):
        yield Item(
            "affects", "stock engines expire main's snapshots by it at their next commit", "stock-expiry"
        )
    yield Item("keeps", "every row and file, and the columns of what was saved until now")


def _undo(change: Changed) -> dict[str, str] | None:
    """The arguments of this action that take the changes back, by their kind."""
    if not change.undo:
        return None
    by_kind: dict[str, list[str]] = {}
    for kind, text in change.undo:
        by_kind.setdefault(kind, []).append(text)
    return {kind: ", ".join(texts) for kind, texts in by_kind.items()}
