"""Whether rows of another version or branch fit main's columns without losing a value."""

from __future__ import annotations

import re

import msgspec

from paimark.core.actions.plan import Refusal
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.records import TableSchema

_BASE = re.compile(r"(\w+)(?:\((\d+)(?:, *(\d+))?\))?(?: WITH LOCAL TIME ZONE)?(?: NOT NULL)?")
_ORDERS = (("TINYINT", "SMALLINT", "INT", "BIGINT"), ("FLOAT", "DOUBLE"))
_TEXTS = ("CHAR", "VARCHAR", "STRING")


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
    new, old = _BASE.fullmatch(now), _BASE.fullmatch(then)
    if new is None or old is None:
        return False
    for order in _ORDERS:
        if new[1] in order and old[1] in order:
            return order.index(new[1]) >= order.index(old[1])
    if new[1] in _TEXTS and old[1] in _TEXTS:
        return new[1] == "STRING" or int(new[2] or 1) >= int(old[2] or 2**31)
    if new[1] == old[1] == "DECIMAL":
        return new[3] == old[3] and int(new[2]) >= int(old[2])
    return False


def _without_nullability(kind: object) -> str:
    return msgspec.json.encode(kind).decode().replace(" NOT NULL", "")
