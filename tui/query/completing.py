"""Tab in the editor: read names in a thread, and insert the completion; again: the next of several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from textual.app import App

from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.storage.files import Denied, Files
from paimark.core.table.catalog import databases, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, branch_root
from paimark.core.table.names import parse_table_name, split_system_name
from paimark.core.table.system_tables import SYSTEM_TABLES
from paimark.core.text import clean_text, cut
from paimark.tui.named_keys import key
from paimark.tui.query.completion import Completion, Known, TableNames, complete, tables_named
from paimark.tui.session import Session
from paimark.tui.theme import Line
from paimark.tui.widgets.sql_editor import WORDS, SqlEditor
from paimark.tui.work.background import Slot

_MOST_SHOWN = 12
_WIDEST = 28


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
        line: list[tuple[str, str]] = [(f"{key('editor.tab', 'tab')} ", "quiet")]
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
