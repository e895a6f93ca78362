"""Checks in a few words, of a branch against main: which SELECT each stands for.

    UNIQUE order_id
    KEEPS KEYS order_id
    NO NEW KEYS order_id
    CHANGES ONLY price, status BY order_id
    TOTAL amount WITHIN 5 PERCENT

Without columns, the keys are the table's primary key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from paimark.core.errors import UsageError
from paimark.core.quoting import quoted
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.parse.tokens import Token

Kind = Literal["unique", "keeps", "new", "only", "total"]
_HEADS: dict[tuple[str, ...], Kind] = {
    ("UNIQUE",): "unique",
    ("KEEPS", "KEYS"): "keeps",
    ("NO", "NEW", "KEYS"): "new",
    ("CHANGES", "ONLY"): "only",
    ("TOTAL",): "total",
}


class Rule(NamedTuple):
    """`columns` are those of its words, `keys` those behind BY."""

    kind: Kind
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    percent: str = ""

    def sql(self, schema: TableSchema, this: str, main: str) -> str:
        """The SELECT, over the views `this` and `main`. Raises `UsageError` for unknown columns."""
        columns = [_field(schema, each) for each in self.columns]
        if self.kind == "total":
            return _total(quoted(columns[0]), self.percent, this, main)
        given = columns if self.kind != "only" else [_field(schema, each) for each in self.keys]
        keys = given or schema.primary_keys
        if not keys:
            raise UsageError("The table has no primary key", "Name the columns that identify a row.")
        named = ", ".join(map(quoted, keys))
        match self.kind:
            case "unique":
                return f"SELECT {named}, count(*) AS `rows` FROM {this} GROUP BY {named} HAVING count(*) > 1"
            case "keeps":
                return f"SELECT {named} FROM {main} EXCEPT SELECT {named} FROM {this}"
            case "new":
                return f"SELECT {named} FROM {this} EXCEPT SELECT {named} FROM {main}"
        stay = [field.name for field in schema.fields if field.name not in {*columns, *keys}]
        same = " AND ".join(f"m.{quoted(each)} <=> t.{quoted(each)}" for each in keys)
        moved = " OR ".join(f"NOT (m.{quoted(each)} <=> t.{quoted(each)})" for each in stay) or "false"
        shown = ", ".join(f"t.{quoted(each)}" for each in keys)
        changes = (
            f", concat_ws(', ', {', '.join(_if_moved(each) for each in stay)}) AS changed" if stay else ""
        )
        return f"SELECT {shown}{changes} FROM {this} t JOIN {main} m ON {same} WHERE {moved}"


def read_rule(statement: Statement) -> Rule | None:
    """The rule that a statement is; None for one that begins otherwise. Raises `UsageError`."""
    tokens = statement.tokens
    for head, kind in _HEADS.items():
        if tuple(token.upper for token in tokens[: len(head)]) == head:
            return _rule(kind, statement, tokens[len(head) :])
    return None


def _rule(kind: Kind, statement: Statement, tokens: Sequence[Token]) -> Rule:
    word = {"only": "BY", "total": "WITHIN"}.get(kind, "")
    at = next((index for index, token in enumerate(tokens) if word and token.upper == word), len(tokens))
    columns, behind = _names(statement, tokens[:at]), tokens[at + 1 :]
    if kind == "total":
        is_share = [token.kind for token in behind[:1]] == ["number"] and len(behind) == 2
        if len(columns) != 1 or not is_share or (behind[1].upper or behind[1].text) not in ("PERCENT", "%"):
            raise _misspelt(statement, "TOTAL amount WITHIN 5 PERCENT")
        return Rule(kind, columns, percent=behind[0].text)
    if kind == "only" and not columns:
        raise _misspelt(statement, "CHANGES ONLY price, status BY order_id")
    return Rule(kind, columns, _names(statement, behind))


def _names(statement: Statement, tokens: Sequence[Token]) -> tuple[str, ...]:
    """`a, b`, or `(a, b)`."""
    inner = tokens[1:-1] if tokens and tokens[0].text == "(" and tokens[-1].text == ")" else tokens
    names, commas = inner[::2], inner[1::2]
    is_list = all(each.is_name for each in names) and all(each.text == "," for each in commas)
    if not is_list or (inner and len(inner) % 2 == 0):
        raise _misspelt(statement, "UNIQUE a, b")
    return tuple(each.value for each in names)


def _misspelt(statement: Statement, example: str) -> UsageError:
    return UsageError(f"{statement.without_comments} is no check", f"Write it like {example}.")


def _field(schema: TableSchema, name: str) -> str:
    found = next((each.name for each in schema.fields if each.name.lower() == name.lower()), None)
    if found is None:
        known = ", ".join(each.name for each in schema.fields)
        raise UsageError(f"There is no column {name}", f"There are {known}.")
    return found


def _total(column: str, percent: str, this: str, main: str) -> str:
    """A row if the total moved by more than that share of main's, or only one of both is there."""
    sums = (
        f"SELECT (SELECT sum({column}) FROM {main}) AS main_total, "
        f"(SELECT sum({column}) FROM {this}) AS this_total"
    )
    moved = f"abs(this_total - main_total) > abs(main_total) * {percent} / 100"
    one = "(main_total IS NULL) <> (this_total IS NULL)"
    return f"SELECT * FROM ({sums}) WHERE {one} OR {moved}"


def _if_moved(column: str) -> str:
    text = "'" + column.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"IF(m.{quoted(column)} <=> t.{quoted(column)}, NULL, {text})"
