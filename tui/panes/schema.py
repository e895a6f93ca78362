"""Tab 5: the columns, keys and options of a branch, in any of its versions."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.figures import counted, exact_time
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.layout import Root
from paimark.core.table.records import TableSchema
from paimark.tui.messages import StatusShown
from paimark.tui.panes.pane import Desk, PaneRows
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.records.sources import GridColumn, RecordKey, Records, values_by
from paimark.tui.session import Opened, Session, Target
from paimark.tui.widgets.detail_strip import Detail, Fact, described
from paimark.tui.work.background import ThreadReport


@dataclass(frozen=True, slots=True)
class SchemaLine:
    """A column or an option. `since` is the version of the schema that gave it its present form."""

    what: str
    name: str
    value: str
    role: str | None
    since: int | None
    comment: str | None
    field_id: int | None = None

    def key(self, root: Root) -> RecordKey:
        return RecordKey(root, "column" if self.what == "column" else "option", self.name, self.field_id)


class SchemaRows(Records[SchemaLine]):
    """The lines of one version of the schema."""

    def __init__(
        self, root: Root, schema: TableSchema | None, versions: Sequence[int], lines: Sequence[SchemaLine]
    ) -> None:
        super().__init__(lines, values_by(SchemaPane.COLUMNS), lambda line: line.key(root))
        self.schema = schema
        self.versions = versions


class SchemaPane(RecordPane[SchemaRows]):
    """Shows the newest version, until a person chooses another by `<` or `>`."""

    TITLE = "Schema"
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = (
        GridColumn("name", style="accent", of=lambda line: line.name),
        GridColumn("what", style="quiet", of=lambda line: line.what),
        GridColumn("type / value", most=48, of=lambda line: line.value),
        GridColumn("role", style="warn", of=lambda line: line.role),
        GridColumn("since", "id", "quiet", of=lambda line: line.since),
        GridColumn("comment", style="quiet", most=60, of=lambda line: line.comment),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("<", "version(-1)", "older schema", id="schema.older"),
        Binding(">", "version(1)", "newer schema", id="schema.newer"),
    ]

    def empty_note(self) -> str:
        return "No schema: engines can't open it. `paimark doctor` looks into it."

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(session, desk)
        self._wanted: int | None = None

    def aim(self, target: Target) -> None:
        self._wanted = None
        super().aim(target)

    def read(self, opened: Opened, report: ThreadReport[PaneRows[SchemaRows]]) -> None:
        fingerprint, ids = self.fingerprint(opened), opened.lineage.schema_ids()
        chosen = self._wanted if self._wanted in ids else (ids[-1] if ids else None)
        history = [opened.lineage.schema(each) for each in ids if chosen is not None and each <= chosen]
        lines = _lines(history)
        schema = history[-1] if history else None
        report(PaneRows(opened, SchemaRows(opened.root, schema, ids, lines), fingerprint))

    def fingerprint(self, opened: Opened) -> Hashable:
        """A value that differs when a version is added, and when the table was dropped and made again.

        Raises `NotFound` when the table is gone.
        """
        files = frozenset(opened.lineage.files.entries(opened.root.schemas))
        return opened.root, files or tuple(opened.lineage.schema_ids())

    def detail(self, index: int) -> Detail:
        rows = self.rows
        schema, line = rows.schema, rows.records[index]
        if schema is None:
            return Detail()
        facts = [
            Fact("primary key", ", ".join(schema.primary_keys)),
            Fact("partitioned by", ", ".join(schema.partition_keys)),
            Fact.id("columns", len(schema.fields)),
            Fact.id("options", len(schema.options)),
            Fact(line.what, line.name),
            Fact("type" if line.what == "column" else "value", line.value),
            Fact.id("field id", line.field_id),
            Fact("comment", line.comment or ""),
            Fact("table comment", schema.comment or ""),
        ]
        if schema.time_millis is not None:
            facts.insert(0, Fact("made", exact_time(schema.time_millis, int(time.time() * 1000))))
        first, last = rows.versions[0], rows.versions[-1]
        title = f"schema {schema.id}, " + (f"of {first} to {last}" if first < last else "the only one")
        return described(title, facts)

    @property
    def count_text(self) -> str:
        """The number of versions."""
        return "" if self.loaded is None else counted(len(self.loaded.rows.versions), "version")

    def version(self, index: int) -> RowVersion | None:
        return RowVersion()

    def action_version(self, step: int) -> None:
        loaded = self.loaded
        if loaded is None or loaded.rows.schema is None:
            return
        versions = loaded.rows.versions
        index = versions.index(loaded.rows.schema.id) + step
        if 0 <= index < len(versions):
            self._wanted = versions[index]
            self.load()
        else:
            self.post_message(StatusShown(f"There is no {'older' if step < 0 else 'newer'} schema"))


def _lines(history: Sequence[TableSchema]) -> list[SchemaLine]:
    if not history:
        return []
    schema = history[-1]
    fields: list[Mapping[object, object]] = [_fields_by_id(each) for each in history]
    options: list[Mapping[object, object]] = [dict(each.options.items()) for each in history]
    ids = [each.id for each in history]
    lines = [
        SchemaLine(
            "column",
            field.name,
            type_text(field.type),
            _role(schema, field.name),
            _since(field.id, fields, ids),
            field.description,
            field.id,
        )
        for field in schema.fields
    ]
    lines += [
        SchemaLine("option", name, value, None, _since(name, options, ids), None)
        for name, value in sorted(schema.options.items())
    ]
    return lines


def _fields_by_id(schema: TableSchema) -> dict[object, object]:
    return {field.id: (field.name, field.type) for field in schema.fields}


def _since(key: object, versions: Sequence[Mapping[object, object]], ids: Sequence[int]) -> int:
    """The oldest version since which `key` has had its value of the last version."""
    now, index = versions[-1][key], len(ids) - 1
    while index > 0 and versions[index - 1].get(key) == now:
        index -= 1
    return ids[index]


def _role(schema: TableSchema, column: str) -> str | None:
    roles = []
    if column in schema.primary_keys:
        roles.append("key")
    if column in schema.partition_keys:
        roles.append("partition")
    return ", ".join(roles) or None
