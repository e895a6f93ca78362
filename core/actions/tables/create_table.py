"""CREATE TABLE: one schema file. Paimon's library says which schema the statement defines, or why none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from paimark.core.actions import audit
from paimark.core.actions.checks import fingerprint, read_only_refusals, require_allowed
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.names import unseen_reason
from paimark.core.actions.plan import Done, Outcome, Plan, Refusal, Step, raise_first
from paimark.core.actions.registry import Action, with_note
from paimark.core.actions.roots.unlocked_changes import log
from paimark.core.actions.tables.places import holds_anything
from paimark.core.errors import Refused
from paimark.core.figures import counted, listed
from paimark.core.spark.library.schema_check import defined_by
from paimark.core.storage.open import require_conditions
from paimark.core.table.catalog import (
    find_table,
    first_file,
    parse_table_name,
    require_database,
    table_exists,
)
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import TableSchema

ACTION = "create-table"


@dataclass(frozen=True)
class CreateTable:
    """A CREATE TABLE. `like` is the table, with its branch, whose definition it takes."""

    sql: str
    like: tuple[TablePath, str | None] | None

    def action(self) -> Action:
        made = Action(ACTION, "Make a table without rows.", (), self.plan, self.apply, of_no_table=True)
        return with_note(made)

    def plan(self, context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
        """`arguments` is ignored: the statement has all of them. Raises `StatementFailed`, `NotFound`."""
        schema = self._schema(context)
        columns = ", ".join(f"{each.name} {type_text(each.type)}" for each in schema.fields)
        return Plan(
            action=ACTION,
            table=table.full_name,
            headline=f"Create {table.full_name}: {_described(schema)}.",
            arguments={"statement": self.sql, "schema": schema.to_json().decode()},
            fingerprint=fingerprint(table.directory),
            steps=(Step("create", table.root().schema(0), columns),),
            cost="one file",
            refusals=tuple([*read_only_refusals(context), *_refusals(context, table)]),
            undo=f"paimark drop-table {table.word}",
            request={"statement": self.sql},
        )

    def apply(self, context: Context, plan: Plan, progress: Progress) -> Outcome:
        """Make it. Raises `Refused` if somebody else was faster."""
        require_allowed(context, plan)
        started, table = context.clock(), parse_table_name(plan.table)
        raise_first(_refusals(context, table))
        require_conditions(context.files)
        data = str(plan.arguments["schema"]).encode()
        if not context.files.create(table.root().schema(0), data):
            raise Refused(f"There is a table {plan.table} by now", "Nothing was changed.")
        done = Done(f"Created {plan.table}", {"table_name": plan.table}, "no such table", plan.table)
        way = f"`{plan.undo}` drops it"
        log(context, table, plan, done.message, before=done.before, after=done.after, no_way_back=way)
        return audit.finished(context, plan, done, started, progress)

    def _schema(self, context: Context) -> TableSchema:
        if self.like is None:
            return defined_by(self.sql, context.options)
        table, branch = self.like
        find_table(context.files, table.full_name)
        schema = Lineage(context.files, branch_root(context.files, table, branch)).require_schema()
        options = {name: value for name, value in schema.options.items() if name != "path"}
        return msgspec.structs.replace(schema, id=0, options=options, time_millis=context.clock())


def _described(schema: TableSchema) -> str:
    """`3 columns, primary key id, partitioned by day`."""
    parts = [counted(len(schema.fields), "column")]
    if schema.primary_keys:
        parts.append(f"primary key {listed(schema.primary_keys)}")
    if schema.partition_keys:
        parts.append(f"partitioned by {listed(schema.partition_keys)}")
    return ", ".join(parts)


def _refusals(context: Context, table: TablePath) -> list[Refusal]:
    files = context.files
    require_database(files, table.database)
    if table_exists(files, table):
        return [
            Refusal(f"There is a table {table.full_name} already", "Choose another name.", "table-exists")
        ]
    if reason := unseen_reason(table.name, "a table"):
        return [Refusal(reason, "Choose another name.")]
    if holds_anything(files, table):
        return [
            Refusal(
                f"{table.directory} is not empty: the new table would have "
                f"{first_file(files, table.directory) or 'what lies there'}",
                "Move it away, or choose another name.",
                "name-is-taken",
            )
        ]
    return []
