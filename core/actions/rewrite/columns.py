"""Whether rows of another version or branch fit main's columns, which may get a lost one back.

Paimon reads a file's columns by their ids. A column that is added by its name is another one, and empty. So a
column that a definition lost comes back in a new one under its id, by which older files have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from paimark.core.actions.plan import Item, Refusal
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase
from paimark.core.table.definition.column_types import (
    FRACTIONS,
    TEXTS,
    WHOLE,
    ColumnType,
    nullable,
    type_text,
)
from paimark.core.table.records import SchemaField, TableSchema


def column_refusals(then: TableSchema, what: str, start: RewriteBase) -> list[Refusal]:
    """Refusals for columns of `then`, the definition of `what`, that main dropped or made narrower."""
    now = {field.id: field for field in start.schema.fields}
    name, refusals = start.root.table.full_name, []
    for field in then.fields:
        kept = now.get(field.id)
        hint = "Make a branch main that has it instead, with the pointer layout."
        if kept is None:
            refusals.append(Refusal(f"{what} of {name} has a column {field.name}, which main dropped", hint))
        elif not holds(kept.type, field.type):
            reason = (
                f"Column {field.name} of {name} was {type_text(field.type)} and is {type_text(kept.type)} now"
            )
            refusals.append(Refusal(f"{reason}, which may not hold what it held", hint))
    return refusals + key_refusals(then, start)


def key_refusals(then: TableSchema, start: RewriteBase) -> list[Refusal]:
    """A refusal if the keys of an earlier definition are not main's."""
    now, name = start.schema, start.root.table.full_name
    if (then.primary_keys, then.partition_keys) == (now.primary_keys, now.partition_keys):
        return []
    return [Refusal(f"The keys of {name} are others now", "Read the version, and write it where you want.")]


def holds_all(now: TableSchema, then: TableSchema) -> bool:
    """Whether every column of the earlier definition is in the present one, with all of its values."""
    types = {field.id: field.type for field in now.fields}
    return all(field.id in types and holds(types[field.id], field.type) for field in then.fields)


def holds(now: object, then: object) -> bool:
    """Whether every value of the earlier type fits the present one."""
    if not isinstance(now, str) or not isinstance(then, str):
        return _without_nullability(now) == _without_nullability(then)
    if now.removesuffix(" NOT NULL") == then.removesuffix(" NOT NULL"):
        return True
    new, old = ColumnType.of(now), ColumnType.of(then)
    for order in (WHOLE, FRACTIONS):
        if new.name in order and old.name in order:
            return order.index(new.name) >= order.index(old.name)
    if new.name in TEXTS and old.name in TEXTS:
        return new.name == "STRING" or (new.first or 1) >= (old.first or 2**31)
    if new.name == old.name == "DECIMAL":
        return new.decimal[1] == old.decimal[1] and new.decimal[0] >= old.decimal[0]
    return False


def _without_nullability(kind: object) -> str:
    return msgspec.json.encode(kind).decode().replace(" NOT NULL", "")


def _column_changes(now: TableSchema, then: TableSchema) -> tuple[list[str], list[str]]:
    """What is lost of the columns of `now` in the definition `then`, and what else differs.

    What else: `column cost is called price`, `column price becomes DOUBLE`, `column note is new`.
    """
    after, before = ({field.id: field for field in each.fields} for each in (then, now))
    lost, others = [], []
    for number, field in before.items():
        kept = after.get(number)
        if kept is None:
            lost.append(f"column {field.name}")
            continue
        if kept.name != field.name:
            others.append(f"column {field.name} is called {kept.name}")
        if not holds(kept.type, field.type):
            lost.append(f"values of column {field.name}, which becomes {type_text(kept.type)}")
        elif kept.type != field.type:
            others.append(f"column {field.name} becomes {type_text(kept.type)}")
    others += [f"column {field.name} is new" for number, field in after.items() if number not in before]
    return lost, others


def columns_lost(start: RewriteBase, then: TableSchema) -> list[Item]:
    """What main's newest rows lose of its columns in the definition `then`."""
    lost = lost_columns(start.schema, then)
    if not lost:
        return []
    until = start.head.snapshot.id
    text = f"{' and '.join(lost)}, from the newest rows: versions up to snapshot {until} have it"
    return [Item("loses", text, "column-hidden", is_grave=True, names=tuple(lost))]


def columns_change(start: RewriteBase, then: TableSchema) -> list[Item]:
    """How else main's columns differ in the definition `then`."""
    _, others = _column_changes(start.schema, then)
    text = f"readers of {start.place}'s columns: {', '.join(others)}"
    return [Item("affects", text, "columns")] if others else []


def lost_columns(now: TableSchema, then: TableSchema) -> list[str]:
    """`column status`, `values of column price, which becomes INT`."""
    return _column_changes(now, then)[0]


def made_now(definition: TableSchema | None, time_ms: int) -> tuple[tuple[int, str], ...]:
    """The id and the text of a definition that is made now; nothing for none."""
    if definition is None:
        return ()
    new = msgspec.structs.replace(definition, time_millis=time_ms)
    return ((new.id, new.to_json().decode()),)


def with_columns_of(
    start: RewriteBase, then: TableSchema, renamed: TableSchema | None = None
) -> tuple[TableSchema | None, list[Refusal]]:
    """The definition of main that can hold every value of `then`; None if the present one does.

    It has main's columns, wider ones of `then` for those that were made narrower, and those of `then` that
    main lacks, nullable, because rows written meanwhile lack them. Columns that `renamed` names otherwise
    than `then`, and main as `renamed`, get their names back. With it the reasons why some can't come back.
    """
    now = start.schema
    refusals = [*key_refusals(then, start), *_misfits(start, then)]
    earlier = {field.id: field for field in then.fields}
    fields = [_holding(field, earlier.get(field.id)) for field in now.fields]
    for index, field in enumerate(then.fields):
        if field.id not in {each.id for each in now.fields}:
            back = msgspec.structs.replace(field, type=nullable(field.type))
            fields.insert(_place(fields, then.fields[:index]), back)
    fields = _named_as(then, renamed, fields, now.options)
    if refusals or fields == now.fields:
        return None, refusals
    highest = max(now.highest_field_id, then.highest_field_id)
    new = msgspec.structs.replace(now, id=now.id + 1, fields=fields, highest_field_id=highest)
    return new, []


def _holding(field: SchemaField, then: SchemaField | None) -> SchemaField:
    if then is None or holds(field.type, then.type):
        return field
    return msgspec.structs.replace(field, type=nullable(then.type))


def _named_as(
    then: TableSchema, renamed: TableSchema | None, fields: list[SchemaField], options: Mapping[str, str]
) -> list[SchemaField]:
    """The columns by their names in `then`; as they are if an option names one, or two had the same name."""
    old = {field.id: field.name for field in then.fields}
    new = {} if renamed is None else {field.id: field.name for field in renamed.fields}
    named = [
        msgspec.structs.replace(field, name=old[field.id])
        if field.id in old and new.get(field.id) == field.name
        else field
        for field in fields
    ]
    changed = [field.name for field, other in zip(fields, named, strict=True) if field != other]
    texts = " ".join(f"{name} {value}" for name, value in options.items())
    is_safe = len({field.name.lower() for field in named}) == len(named)
    return named if is_safe and not any(name in texts for name in changed) else fields


def _place(fields: Sequence[SchemaField], before: Sequence[SchemaField]) -> int:
    """Behind the last of the columns that were before it."""
    places = {field.id: place for place, field in enumerate(fields, 1)}
    return next((places[each.id] for each in reversed(before) if each.id in places), 0)


def _misfits(start: RewriteBase, then: TableSchema) -> Iterator[Refusal]:
    now = {field.id: field for field in start.schema.fields}
    names = {field.name.lower(): field.id for field in start.schema.fields}
    table = start.root.table.full_name
    for field in then.fields:
        kept = now.get(field.id)
        if kept is None and names.get(field.name.lower()) is not None:
            yield Refusal(
                f"{start.place} of {table} dropped column {field.name}, and has another of that name now",
                "Rename that column first.",
            )
        elif kept is not None and not (holds(kept.type, field.type) or holds(field.type, kept.type)):
            yield Refusal(
                f"Column {field.name} of {table} was {type_text(field.type)} and is {type_text(kept.type)} "
                "now, and neither can hold the other's values",
                "Make a branch main that has it instead, with the pointer layout.",
            )
