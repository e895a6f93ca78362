"""Complete at the caret, by tab in the editor: tables, columns, versions, branches, keywords.

Names are read in a thread. A second tab inserts the next of several completions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from textual.app import App

from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.quoting import literal, quoted_if_needed
from paimark.core.storage.files import Denied, Files
from paimark.core.table.catalog import databases, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, branch_root
from paimark.core.table.names import parse_table_name, split_system_name
from paimark.core.table.system_tables import SYSTEM_TABLES
from paimark.core.text import clean_text, cut
from paimark.core.travel.parse.tokens import Token, keywords, tokenize
from paimark.tui.named_keys import key
from paimark.tui.session import Session
from paimark.tui.theme import Line
from paimark.tui.widgets.sql_editor import WORDS, SqlEditor
from paimark.tui.work.background import Slot

_BEFORE_TABLE = keywords("FROM JOIN INTO TABLE UPDATE DESCRIBE OVERWRITE")
_ENDS_ALIAS = keywords(
    """WHERE ON USING JOIN LEFT RIGHT FULL INNER CROSS ORDER GROUP LIMIT VERSION TIMESTAMP FOR AS UNION SET
    VALUES"""
)
_WORD = re.compile(r"[\w$.`]*\Z")
_MOST_SHOWN = 12
_WIDEST = 28


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


class Completing:
    """`say` shows a line under the editor, or removes it (None); `nothing` handles Tab before any word."""

    def __init__(
        self,
        app: App[Any],
        session: Session,
        editor: SqlEditor,
        say: Callable[[Line | None], None],
        nothing: Callable[[], None],
    ) -> None:
        self._session = session
        self._editor = editor
        self._say = say
        self._nothing = nothing
        self._state_at_request = ("", 0)
        self._completion = Completion(0, ())
        self._chosen = -1
        # The text after the last completion: while it is unchanged, Tab inserts the next name.
        self._completed_text: str | None = None
        self._slot: Slot[Known] = Slot(app, "complete", self._read, self._failed)

    def press(self, database: str | None) -> None:
        editor = self._editor
        if editor.text == self._completed_text and len(self._completion.choices) > 1:
            self._put(self._chosen + 1)
            return
        text, base = editor.statement
        caret = editor.caret
        if not text[: caret - base].rsplit("\n", 1)[-1].strip() or editor.selected_text:
            self._nothing()
            return
        self._state_at_request = (editor.text, caret)
        session = self._session
        self._slot.ask(lambda report: report(read_known(session.files, text, database)))

    def changed(self) -> None:
        if self._editor.text != self._completed_text:
            self._completed_text = None
            self._say(None)

    def _read(self, known: Known) -> None:
        editor = self._editor
        if (editor.text, editor.caret) != self._state_at_request:
            return
        text, base = editor.statement
        completion = complete(text, editor.caret - base, known)
        self._completion = Completion(base + completion.start, completion.choices)
        self._chosen = -1
        if not completion.choices:
            self._say([("nothing begins like that", "quiet")])
        elif len(completion.choices) == 1:
            self._put(0)
        else:
            written = editor.text[self._completion.start : editor.caret]
            if len(completion.common) > len(written):
                editor.put(self._completion.start, completion.common)
            self._completed_text = editor.text
            self._show()

    def _put(self, number: int) -> None:
        choices = self._completion.choices
        self._chosen = number % len(choices)
        self._editor.put(self._completion.start, choices[self._chosen])
        self._completed_text = self._editor.text
        self._show()

    def _show(self) -> None:
        choices = self._completion.choices
        if len(choices) < 2:
            self._say(None)
            return
        first = max(0, min(self._chosen, len(choices) - _MOST_SHOWN))
        line: list[tuple[str, str]] = [(f"{key('editor.tab')} ", "quiet")]
        for number, choice in enumerate(choices[first : first + _MOST_SHOWN], start=first):
            is_chosen = number == self._chosen
            text = cut(clean_text(choice), _WIDEST)
            line += [(f"[{text}]" if is_chosen else text, "title" if is_chosen else ""), ("  ", "")]
        left = len(choices) - first - _MOST_SHOWN
        self._say([*line, (f"and {left} more" if left > 0 else "", "quiet")])

    def _failed(self, error: PaimarkError) -> None:
        self._say([(f"! {clean_text(error.message)}", "warn")])


# The number of newest snapshots to offer: an older one is faster to type than to find in a list.
_NEWEST = 30


def read_known(files: Files, sql: str, database: str | None) -> Known:
    """Read the names. For a thread: one listing per database, and a few reads per table of the statement."""
    named = {each.name: _names(files, each.name, database) for each in tables_named(sql)}
    every = tuple((each, table.name) for each in databases(files) for table in _tables(files, each))
    return Known(every, named, tuple(SYSTEM_TABLES), tuple(sorted(WORDS)), database)


def _tables(files: Files, database: str) -> Iterator[TablePath]:
    try:
        yield from tables(files, database)
    except Denied:
        return
    except Unavailable:
        raise
    except PaimarkError:
        # The database is gone since the listing: it must not hide the others.
        return


def _names(files: Files, name: str, database: str | None) -> TableNames:
    """The names in a table; none if there is no such table, because its name may be half typed."""
    try:
        system = split_system_name(name.rpartition(".")[2])
        database_name = name.rpartition(".")[0] or database or ""
        table = parse_table_name(f"{database_name}.{system.table}")
        root = branch_root(files, table, system.branch)
        lineage = Lineage(files, root)
        schema = lineage.latest_schema()
        columns = [field.name for field in schema.fields] if schema is not None else []
        latest = lineage.latest_id() or 0
        snapshots = [f"snapshot.{each}" for each in range(latest, max(0, latest - _NEWEST), -1)]
        versions = (*lineage.tag_names(), *snapshots)
        return TableNames(tuple(columns), versions, tuple(branch_names(files, table)))
    except Unavailable:
        raise
    except PaimarkError:
        return TableNames()
