"""What the journal of a merge keeps, and what it tells whoever finds it interrupted."""

from __future__ import annotations

from typing import Any

import msgspec

from core.actions.fast_forward import remove_schemas
from core.actions.holding import ChosenSnapshot
from core.actions.journal import Hold, Journal
from core.actions.merge_survey import Kind, Survey
from core.actions.overwriting import Start, landed
from core.actions.pins import merge_tag
from core.errors import FileMissing
from core.storage.files import Files
from core.table.forks import is_same_commit
from core.table.layout import Root, TablePath
from core.table.records import Snapshot, TableSchema


class Begun(msgspec.Struct, frozen=True):
    """What the journal keeps, for whoever finishes a merge or takes it back."""

    kind: Kind
    branch: str
    root: str | None
    main: dict[str, Any]
    head: dict[str, Any]
    base: dict[str, Any]
    main_base: dict[str, Any]
    schemas: tuple[tuple[int, str], ...] = ()


def begun_of(found: Survey) -> Begun:
    """What the journal is to keep of it."""
    return Begun(
        kind=found.kind,
        branch=found.branch.root.label,
        root=found.start.root.branch,
        main=found.start.head.snapshot.as_written(),
        head=found.branch.snapshot.as_written(),
        base=found.base.as_written(),
        main_base=found.main_base.as_written(),
        schemas=tuple((number, data.decode()) for number, data in found.new_schemas),
    )


def kept_of(begun: Journal) -> Begun:
    return msgspec.convert(begun.leaving or {}, Begun)


def found_again(files: Files, hold: Hold) -> Survey:
    """What the merge started from, as its journal has it."""
    kept = kept_of(hold.journal)
    root, branch = hold.table.root(kept.root), hold.table.root(kept.branch)
    main, head, base = _snapshot(kept.main), _snapshot(kept.head), _snapshot(kept.base)
    schema = TableSchema.from_json(files.read(root.schema(main.schema_id)), root.schemas)
    return Survey(
        start=Start(ChosenSnapshot(root, main, files.read(root.snapshot(main.id))), schema),
        branch=ChosenSnapshot(branch, head, files.read(branch.snapshot(head.id))),
        base=base,
        main_base=_snapshot(kept.main_base),
        base_root=branch,
        kind=kept.kind,
        new_schemas=tuple((number, text.encode()) for number, text in kept.schemas),
        schema_refusals=(),
    )


def made_of(files: Files, table: TablePath, begun: Journal) -> Snapshot | None:
    """What of an interrupted merge main has: its commit, or the first of the branch's snapshots."""
    kept = kept_of(begun)
    root, main = table.root(kept.root), _snapshot(kept.main)
    if kept.kind != "fast-forward":
        return landed(files, main.id, root, begun.token)
    first = _read(files, root, main.id + 1)
    own = _read(files, table.root(kept.branch), main.id + 1)
    return first if first is not None and own is not None and is_same_commit(first, own) else None


def _read(files: Files, root: Root, number: int) -> Snapshot | None:
    try:
        return Snapshot.from_json(files.read(root.snapshot(number)), root.snapshot(number))
    except FileMissing:
        return None


def _snapshot(written: dict[str, Any]) -> Snapshot:
    return Snapshot.from_json(msgspec.json.encode(written), "the journal")


def take_back(files: Files, hold: Hold) -> None:
    """Remove what was prepared for a merge that never came."""
    kept = kept_of(hold.journal)
    root, head, main = hold.table.root(kept.root), _snapshot(kept.head), _snapshot(kept.main)
    remove_schemas(files, root, [(number, text.encode()) for number, text in kept.schemas], main.id)
    pin = root.tag(merge_tag(kept.branch, head.id))
    if kept.kind == "fast-forward" and not files.exists(root.snapshot(head.id)):
        files.delete(pin)
