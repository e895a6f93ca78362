"""The statements of one text, which run in order up to the first that fails.

What can be known of each is checked before the first one runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from paimark.core.errors import PaimarkError, StatementFailed
from paimark.core.statements.call import ActionCall
from paimark.core.statements.run import action_call, is_action, require_runnable
from paimark.core.travel.parse.sql import read_statement, statements_of
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.views import Views, require_no_view, views_after

# Stands for a database that an earlier statement chooses.
_CHOSEN = "chosen"
_NOTHING_CHANGED, _IT_CHANGED_NOTHING = "Nothing was changed.", "It changed nothing."

# Raises an error for a statement that may not run, or for its action.
RequireAllowed = Callable[[Statement, ActionCall | None], None]


@dataclass(frozen=True, slots=True)
class Numbered:
    """The place of a statement in a text of `count`. `base` plus its position is one in the whole text."""

    base: int = 0
    number: int = 1
    count: int = 1

    @property
    def label(self) -> str:
        """`statement 2 of 3`; empty if it is the only one."""
        return f"statement {self.number} of {self.count}" if self.count > 1 else ""

    def rest(self, done: str = "run") -> str:
        """A sentence on the others, if this one was the first to fail; empty if there are none."""
        return run_and_left(self.number - 1, self.number + 1, self.count, done)


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """One statement of a text."""

    statement: Statement
    place: Numbered


def read_script(text: str) -> list[ScriptStatement]:
    """Parse the statements of a text. Raises an error with a position in the whole text."""
    pieces = statements_of(text)
    script = []
    for number, piece in enumerate(pieces, start=1):
        place = Numbered(piece.base, number, len(pieces))
        with naming(place, _nothing_ran(place)):
            script.append(ScriptStatement(read_statement(piece.text), place))
    return script


def require_allowed(script: Sequence[ScriptStatement], database: str | None, require: RequireAllowed) -> None:
    """Refuse the script if it has a statement that can't run, whatever those before it do.

    `database` is the current one. If there is only one statement, its own run checks what `require` does not.
    """
    views: Views = {}
    for each in script:
        statement, called = each.statement, None
        with naming(each.place, _nothing_ran(each.place)):
            if each.place.count > 1:
                require_runnable(statement)
                require_no_view(statement, views)
                called = action_call(statement, database)[0] if is_action(statement) else None
            require(statement, called)
        views = views_after(views, statement)
        if statement.tokens and statement.tokens[0].upper == "USE":
            database = _CHOSEN


@contextmanager
def naming(place: Numbered, rest: str) -> Iterator[None]:
    """Let errors of the code inside name the statement, with their position in the whole text.

    `rest` is a sentence on the other statements.
    """
    try:
        yield
    except PaimarkError as error:
        if isinstance(error, StatementFailed) and error.position is not None:
            error.position += place.base
        if place.count > 1:
            error.message = f"{_sentence(place.label)}: {error.message}"
            error.hint = hint_with(error.hint, rest)
            error.args = (error.message,)
        raise


def hint_with(hint: str, rest: str) -> str:
    """The hint of a statement that failed, and the sentence on the others."""
    return f"{hint.replace(_NOTHING_CHANGED, _IT_CHANGED_NOTHING)} {rest}".strip()


def run_and_left(last_run: int, first_left: int, count: int, done: str = "run") -> str:
    """`Statements 1 and 2 were run; statements 4 to 9 were not run.`; empty if there are none."""
    before, behind = _numbers(1, last_run), _numbers(first_left, count)
    parts = [f"{before} {done}"] * bool(before) + [f"{behind} not {done}"] * bool(behind)
    return _sentence("; ".join(parts)) + "." * bool(parts)


def _nothing_ran(place: Numbered) -> str:
    return "No statement was run." if place.count > 1 else ""


def _numbers(first: int, last: int) -> str:
    """`statement 2 was`, `statements 2 and 3 were`, `statements 2 to 5 were`; empty for none."""
    if last <= first:
        return f"statement {first} was" * (first == last)
    return f"statements {first} {'and' if last == first + 1 else 'to'} {last} were"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
