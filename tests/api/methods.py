"""`make methods`: write `paimark/methods.py`, the Python methods of all declared actions."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from paimark.core.actions.declared.declaration import NOTE, Declaration
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import Argument

PATH = Path(__file__).parents[2] / "paimark/methods.py"
_WIDTH = 110 - 8
_HEAD = '''"""Each action as a method, made by `make methods`: see `paimark.core.actions.declared`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from paimark.results import {results}

R = TypeVar("R", bound=Result)


class TableMethods(ABC):
    """The actions on a table that is there."""

    @abstractmethod
    def _do(self, action: str, kind: type[R], **arguments: object) -> R:
        """Plan and apply. `kind` is the type of the action's result."""
'''
_TRASH = '''

class TrashMethods(ABC):
    """The actions on a dropped table, by the name that it had."""

    @abstractmethod
    def _do(self, name: str, action: str, kind: type[R], **arguments: object) -> R:
        """Plan and apply. `kind` is the type of the action's result."""
'''


def source() -> str:
    """The module, as `ruff format` leaves it."""
    parts = [
        _HEAD.format(results=", ".join(sorted({"Result", *(each.result for each in DECLARED.values())})))
    ]
    for of_no_table, head in ((False, ""), (True, _TRASH)):
        parts += [head, *(_method(each) for each in DECLARED.values() if each.of_no_table == of_no_table)]
    ruff = [sys.executable, "-m", "ruff"]
    text = "\n".join(parts)
    for words in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        command = [*ruff, *words, "--stdin-filename", str(PATH), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _method(action: Declaration) -> str:
    before = ["self", *(["name: str"] if action.of_no_table else [])]
    arguments = [*action.arguments, *([] if action.has_no_note else NOTE)]
    head = ", ".join([*before, *(["*"] if arguments else []), *map(_parameter, arguments)])
    named = (["name"] if action.of_no_table else []) + [f'"{action.name}"', action.result]
    given = ", ".join([*named, *(f"{each.name}={each.name}" for each in arguments)])
    name = action.name.replace("-", "_")
    docstring = textwrap.indent('"""' + "\n".join(_docstring(action, arguments)) + '"""', " " * 8)
    return f"    def {name}({head}) -> {action.result}:\n{docstring}\n        return self._do({given})\n"


def _parameter(argument: Argument) -> str:
    kind = argument.takes.__name__
    if argument.required:
        return f"{argument.name}: {kind}"
    default = bool(argument.default) if argument.takes is bool else argument.default
    return f"{argument.name}: {kind if default is not None else f'{kind} | None'} = {default!r}"


def _docstring(action: Declaration, arguments: Sequence[Argument]) -> Iterator[str]:
    yield from textwrap.wrap(f"{action.summary} {action.more}".strip(), _WIDTH - 6)
    if arguments:
        yield ""
        for each in arguments:
            yield from textwrap.wrap(f"{each.name}: {each.help}", _WIDTH, subsequent_indent="    ")
        yield ""


if __name__ == "__main__":
    PATH.write_text(source())
