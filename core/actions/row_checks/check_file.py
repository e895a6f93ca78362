"""A file of checks: SELECTs that must return no row, and a few words that stand for one.

    -- name: no negative prices
    SELECT * FROM {this} WHERE price < 0;
    -- warn
    KEEPS KEYS order_id;

`{this}` is the version under check, `{main}` is main. A `-- name:` or `-- warn` stands before its check.
These are the words, of a branch against main; without columns, the keys are the table's primary key:

    UNIQUE order_id
    KEEPS KEYS order_id
    NO NEW KEYS order_id
    CHANGES ONLY price, status BY order_id
    TOTAL amount WITHIN 5 PERCENT
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from paimark.core.config import config_path
from paimark.core.errors import PaimarkError, UsageError
from paimark.core.quoting import quoted
from paimark.core.table.layout import TablePath
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.sql import read_statement, statements_of
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.parse.tokens import Token
from paimark.core.travel.statements.refused import require_supported
from paimark.core.working_directory import absolute, as_text, read_named

THIS, MAIN = "__paimark_this", "__paimark_main"
_NOTE = re.compile(
    r"^[ \t]*--[ \t]*(?:name[ \t]*:[ \t]*(?P<name>.*?)|warn)[ \t]*$", re.MULTILINE | re.IGNORECASE
)
_JAVA_CALLS = ("java_method", "reflect", "try_reflect")
_ONLY_SELECTS = (
    "A check is a SELECT that must return no row, or begins with UNIQUE, KEEPS KEYS, NO NEW KEYS, CHANGES "
    "ONLY or TOTAL."
)
Kind = Literal["unique", "keeps", "new", "only", "total"]
_HEADS: dict[tuple[str, ...], Kind] = {
    ("UNIQUE",): "unique",
    ("KEEPS", "KEYS"): "keeps",
    ("NO", "NEW", "KEYS"): "new",
    ("CHANGES", "ONLY"): "only",
    ("TOTAL",): "total",
}


class Check(NamedTuple):
    """One check. `query` is SQL over the views `THIS` and `MAIN`, or a rule that gives it for a table."""

    name: str
    query: str | Rule
    warns: bool = False

    def sql(self, schema: TableSchema) -> str:
        """Raises `UsageError` for a rule on columns that the table does not have."""
        return self.query if isinstance(self.query, str) else self.query.sql(schema, THIS, MAIN)


@dataclass(frozen=True)
class CheckFile:
    """`digest` is of its bytes: a plan holds on to it."""

    path: str
    digest: str
    checks: tuple[Check, ...]


def file_of_table(table: TablePath) -> str | None:
    """The checks that the table always has, `checks/<database>.<table>.sql` beside the configuration."""
    path = config_path().parent / "checks" / f"{table.full_name}.sql"
    return str(path) if path.exists() else None


def read_check_file(path: str, digest: str | None = None) -> CheckFile:
    """Raises `NotFound`, and `UsageError` for an invalid file, or is not the one of that digest any more.

    All of it is read before the first check runs.
    """
    data = read_named(path)
    found = hashlib.sha256(data).hexdigest()
    if digest is not None and found != digest:
        raise UsageError(f"{path} changed since the plan was made", "Nothing was written: make a new plan.")
    text = as_text(data, path)
    try:
        checks = read_checks(text)
    except PaimarkError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from error
    return CheckFile(absolute(os.path.expanduser(path)), found, checks)


def called(name: str) -> str:
    """`check 2` of one without a name, else `check no negative prices`."""
    return name if name.startswith("check ") else f"check {name}"


def read_checks(text: str) -> tuple[Check, ...]:
    """The checks of a text. Raises `UsageError` for one that is no query."""
    checks: list[Check] = []
    notes = list(_NOTE.finditer(text))
    end = 0
    for number, piece in enumerate(statements_of(text), start=1):
        try:
            statement = read_statement(piece.text)
        except PaimarkError as error:
            raise UsageError(f"check {number}: {error.message}", error.hint) from error
        if not statement.tokens:
            continue
        start = statement.tokens[0].start + piece.base
        own = [each for each in notes if end <= each.start() and each.end() <= start]
        notes = [each for each in notes if each not in own]
        names = [each["name"] for each in own if each["name"] is not None]
        if len(names) > 1 or "" in names:
            raise UsageError(f"check {number} has {len(names)} names" if names[1:] else "A name is empty")
        name = names[0] if names else ""
        checks.append(_check(statement, number, name, warns=len(own) > len(names)))
        end = statement.tokens[-1].end + piece.base
    if notes:
        line = text.count("\n", 0, notes[0].start()) + 1
        raise UsageError(f"line {line} belongs to no check", "Write it before the statement.")
    if not checks:
        raise UsageError("There is no check", _ONLY_SELECTS)
    seen = [each.name for each in checks]
    if twice := next((name for name in seen if seen.count(name) > 1), None):
        raise UsageError(f"Two checks are called {twice}", "Give each a name: -- name: no negative prices.")
    return tuple(checks)


def _check(statement: Statement, number: int, name: str, *, warns: bool) -> Check:
    rule = read_rule(statement)
    label = name or (statement.without_comments if rule is not None else f"check {number}")
    try:
        return Check(label, rule or _query(statement), warns)
    except PaimarkError as error:
        raise UsageError(f"{label}: {error.message}", error.hint) from error


def _query(statement: Statement) -> str:
    if statement.kind != "query" or statement.writes:
        raise UsageError("only a SELECT is a check", _ONLY_SELECTS)
    _require_no_effect(statement.tokens)
    sql = placed(statement.sql[: statement.tokens[-1].end], statement.tokens, THIS, MAIN)
    require_supported(read_statement(sql))
    return sql.strip()


def placed(sql: str, tokens: Sequence[Token], this: str, main: str) -> str:
    """The text with these names for `{this}` and `{main}`. Raises `UsageError` for another word in braces."""
    names = {"this": this, "main": main}
    for first, word, last in reversed([*zip(tokens, tokens[1:], tokens[2:], strict=False)]):
        if (first.text, last.text) != ("{", "}"):
            continue
        if word.text not in names:
            raise UsageError(f"{{{word.text}}} is unknown", "There are {this} and {main}.")
        sql = sql[: first.start] + names[word.text] + sql[last.end :]
    return sql


def _require_no_effect(tokens: Sequence[Token]) -> None:
    """Refuse what calls into Java or runs a program: a check only reads."""
    for token, follower in pairwise(tokens):
        is_java = follower.text == "(" and token.is_name and token.value.lower() in _JAVA_CALLS
        if is_java or (token.upper == "USING" and follower.kind == "string"):
            raise UsageError(f"{token.text} may have an effect, and a check only reads", "Leave it out.")


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
