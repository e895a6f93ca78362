"""The state of a merge in the journal, by which it is finished or taken back."""

from __future__ import annotations

from typing import Any

import msgspec

from core.actions.merge.survey import Kind, Survey
from core.actions.rewrite.rewrite_main import snapshot_of
from core.actions.rewrite.spark_rewrite import RewriteBase
from core.actions.roots.pin_snapshot import ChosenSnapshot
from core.storage.files import Files
from core.table.layout import TablePath
from core.table.records import Snapshot, TableSchema


class MergeState(msgspec.Struct, frozen=True):
    """Snapshots as written. `schema` is main's newest, `schemas` are those that it follows to, by id."""

    kind: Kind
    branch: str
    root: str | None
    main: dict[str, Any]
    head: dict[str, Any]
    base: dict[str, Any]
    main_base: dict[str, Any]
    schema: str
    schemas: tuple[tuple[int, str], ...] = ()

    @property
    def schema_texts(self) -> list[str]:
        """Main's newest schema before, and the one that it follows to."""
        return [self.schema, *(text for _, text in self.schemas[-1:])]

    @property
    def new_schemas(self) -> list[tuple[int, bytes]]:
        return [(number, text.encode()) for number, text in self.schemas]


def state_of(survey: Survey) -> MergeState:
    """The state for the journal."""
    return MergeState(
        kind=survey.kind,
        branch=survey.branch.root.label,
        root=survey.start.root.branch,
        main=survey.start.head.snapshot.as_written(),
        head=survey.branch.snapshot.as_written(),
        base=survey.base.as_written(),
        main_base=survey.main_base.as_written(),
        schema=survey.start.schema_text,
        schemas=tuple((number, data.decode()) for number, data in survey.new_schemas),
    )


def survey_of(files: Files, table: TablePath, state: MergeState, main: Snapshot) -> Survey:
    """The survey that the merge started from, on this snapshot of main, though either has expired since."""
    root, branch = table.root(state.root), table.root(state.branch)
    head, base = snapshot_of(state.head), snapshot_of(state.base)
    schema = TableSchema.from_json(files.read(root.schema(main.schema_id)), root.schemas)
    return Survey(
        start=RewriteBase(ChosenSnapshot(root, main, main.to_json()), schema),
        branch=ChosenSnapshot(branch, head, _as_stored(files, branch.snapshot(head.id), head)),
        base=base,
        main_base=snapshot_of(state.main_base),
        base_root=branch,
        kind=state.kind,
        new_schemas=tuple(state.new_schemas),
        schema_refusals=(),
    )


def _as_stored(files: Files, path: str, snapshot: Snapshot) -> bytes:
    [data] = files.read_many([path])
    return snapshot.to_json() if data is None else data
