"""Complete at the caret: tables, columns, versions, branches, keywords. The caller passes the names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from paimark.core.quoting import literal, quoted_if_needed
from paimark.core.travel.parse.tokens import Token, keywords, tokenize

_BEFORE_TABLE = keywords("FROM JOIN INTO TABLE UPDATE DESCRIBE OVERWRITE")
_ENDS_ALIAS = keywords(
    """WHERE ON USING JOIN LEFT RIGHT FULL INNER CROSS ORDER GROUP LIMIT VERSION TIMESTAMP FOR AS UNION SET
    VALUES"""
)
_WORD = re.compile(r"[\w$.`]*\Z")


@dataclass(frozen=True, slots=True)
class TableNames:
    """The names in one table. `versions` are those of `VERSION AS OF`, without quotes."""

    columns: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """`all_tables` are (database, table); `tables` maps a table's name in the statement to its names."""

    all_tables: tuple[tuple[str, str], ...] = ()
    tables: Mapping[str, TableNames] = field(default_factory=dict)
    system_tables: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """One of `choices` is to replace `text[start:caret]`."""

    start: int
    choices: tuple[str, ...]

    @property
    def common(self) -> str:
        first, last = min(self.choices), max(self.choices)
        differing = (index for index, letter in enumerate(first) if letter != last[index])
        return first[: next(differing, len(first))]


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table that the statement reads: its name as written (without quotes), and its alias."""

    name: str
    alias: str


def tables_named(sql: str) -> list[NamedTable]:
    """The tables after FROM, JOIN and the like, also in an unfinished statement."""
    tokens = tokenize(sql)
    named = []
    for index, token in enumerate(tokens[:-1]):
        if token.upper not in _BEFORE_TABLE or not tokens[index + 1].is_name:
            continue
        parts, end = [tokens[index + 1].value], index + 2
        while end + 1 < len(tokens) and tokens[end].text == "." and tokens[end + 1].is_name:
            parts.append(tokens[end + 1].value)
            end += 2
        named.append(NamedTable(".".join(parts), _alias(tokens, end) or parts[-1]))
    return named


def complete(sql: str, caret: int, known: Known) -> Completion:
    """Completions at `caret`, best first; no choices if no word has begun."""
    tokens = tokenize(sql[:caret])
    last = tokens[-1] if tokens else None
    if last is not None and last.kind == "string" and last.end == caret and not _is_closed(last):
        start, before = last.start + 1, tokens[:-1]
        if not _asks_version(before):
            return Completion(caret, ())
        return _matching(sql[start:caret], start, _versions(sql, before, known))
    typed = _WORD.search(sql[:caret])
    start = caret if typed is None else typed.start()
    written = sql[start:caret]
    before = [token for token in tokens if token.end <= start]
    if _asks_version(before):
        return _matching(written, start, [literal(each) for each in _versions(sql, before, known)])
    if before and before[-1].upper in _BEFORE_TABLE:
        here = _matching(written, start, _table_choices(written, known))
        return Completion(start, tuple(dict.fromkeys((*here.choices, *_elsewhere(written, known)))))
    if not written:
        return Completion(caret, ())
    return _matching(written, start, _others(sql, written, known))


def _others(sql: str, written: str, known: Known) -> Iterable[str]:
    owner, dot, _ = written.rpartition(".")
    for named in tables_named(sql):
        columns = known.tables.get(named.name, TableNames()).columns
        if not dot:
            yield from map(quoted_if_needed, columns)
        elif owner in (named.alias, named.name):
            yield from (f"{owner}.{quoted_if_needed(column)}" for column in columns)
    if not dot:
        yield from known.words


def _table_choices(written: str, known: Known) -> Iterable[str]:
    plain = written.replace("`", "")
    if "$" in plain:
        name = plain.partition("$")[0]
        branches = known.tables.get(name, TableNames()).branches
        yield from (_system(name, f"branch_{branch}") for branch in branches)
        yield from (_system(name, system) for system in known.system_tables)
        return
    for database, table in known.all_tables:
        if database == known.database and "." not in plain:
            yield quoted_if_needed(table)
        yield f"{quoted_if_needed(database)}.{quoted_if_needed(table)}"


def _elsewhere(written: str, known: Known) -> Iterable[str]:
    """Tables with their databases: those of other databases that begin with the text, for a person who does
    not know the database, and the one of this database that is written in full.
    """
    plain = written.replace("`", "").lower()
    for database, table in known.all_tables:
        name = table.lower()
        is_meant = name == plain if database == known.database else name.startswith(plain)
        if plain and "." not in plain and is_meant:
            yield f"{quoted_if_needed(database)}.{quoted_if_needed(table)}"


def _system(name: str, suffix: str) -> str:
    *database, table = name.split(".")
    return ".".join([*map(quoted_if_needed, database), quoted_if_needed(f"{table}${suffix}")])


def _versions(sql: str, before: Sequence[Token], known: Known) -> Sequence[str]:
    """The versions of the table before the clause."""
    index = len(before) - 1
    while index >= 0 and before[index].upper in keywords("VERSION SYSTEM_VERSION AS OF FOR"):
        index -= 1
    end = before[index].end if index >= 0 else 0
    named = tables_named(sql[:end] + " ")
    return known.tables.get(named[-1].name, TableNames()).versions if named else ()


def _asks_version(tokens: Sequence[Token]) -> bool:
    words = [token.upper for token in tokens[-3:]]
    return words in (["VERSION", "AS", "OF"], ["SYSTEM_VERSION", "AS", "OF"])


def _matching(written: str, start: int, choices: Iterable[str]) -> Completion:
    """Choices that begin with the written text, ignoring case and quotes."""
    prefix = written.replace("`", "").lower()
    matching = (each for each in choices if each.replace("`", "").lstrip("'").lower().startswith(prefix))
    return Completion(start, tuple(dict.fromkeys(each for each in matching if each != written)))


def _is_closed(token: Token) -> bool:
    return len(token.text) > 1 and token.text[-1] == token.text[0]


def _alias(tokens: Sequence[Token], index: int) -> str | None:
    if index < len(tokens) and tokens[index].upper == "AS":
        index += 1
    if index < len(tokens) and tokens[index].is_name and tokens[index].upper not in _ENDS_ALIAS:
        return tokens[index].value
    return None
