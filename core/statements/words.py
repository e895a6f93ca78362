"""Translate messages of actions, which mention command-line options, to the words of SQL or Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from core.actions.registry import ACTIONS
from core.quoting import literal
from core.travel.statements.calls import SCHEMA

# The arguments of all actions, by their command-line options.
_ARGUMENTS = {
    argument.name.replace("_", "-"): argument for action in ACTIONS.values() for argument in action.arguments
}
_FLAGS = "|".join(name for name, argument in _ARGUMENTS.items() if argument.kind == "flag")
# An option in a sentence, where only some words after it can be its value; below, the patterns of a command.
_OPTION = re.compile(
    r"--([a-z][a-z-]*)(?: ((?:main|branch|(?:not-)?committed|[A-Z]+|[0-9]+|[a-z]+\.[0-9]+)\b))?"
)
_SHELL_WORD = r"""(?:"[^"]*"|'[^']*'|[^\s`'",.;:]|[.;:](?=[^\s`'",]))+"""
_GIVEN = rf" --(?:(?:{_FLAGS})\b|[a-z][a-z-]*(?: (?!-){_SHELL_WORD})?)"
_COMMAND = re.compile(
    rf"paimark ({'|'.join(sorted(ACTIONS, reverse=True))})((?: (?!-){_SHELL_WORD})?)((?:{_GIVEN})*)"
)
_LEFT_OUT = re.compile(r"\b([Ll]eave|[Ww]ithout) --([a-z][a-z-]*)")


@dataclass(frozen=True)
class Words:
    """The words of one surface. `call` takes an action, its table (empty if it has none) and arguments."""

    call: Callable[[str, str, list[str]], str]
    given: str
    true: str
    text: Callable[[str], str]

    def said(self, sentence: str) -> str:
        """Translate a sentence: `Give it as --id.` to `Give it as id => ...`; whole commands to calls.

        Words that are not an action or its argument (`--yes`, `paimark doctor`) stay unchanged.
        """
        sentence = _COMMAND.sub(self._called, sentence)
        return _OPTION.sub(self._named, _LEFT_OUT.sub(_left_out, sentence))

    def _called(self, match: re.Match[str]) -> str:
        given = [each.strip().partition(" ") for each in re.findall(_GIVEN, match[3])]
        assigned = [self._assigned(name.removeprefix("--"), _plain(value)) for name, _, value in given]
        return self.call(_parameter(match[1]), _plain(match[2]), assigned)

    def _named(self, match: re.Match[str]) -> str:
        return self._assigned(match[1], match[2] or "") if match[1] in _ARGUMENTS else match[0]

    def _assigned(self, name: str, value: str) -> str:
        """An argument with its value; `value` is empty if the sentence has none."""
        known, head = _ARGUMENTS.get(name), f"{_parameter(name)}{self.given}"
        if known is not None and known.kind == "flag":
            return f"{head}{self.true}" + (f" {value}" if value else "")
        if not value:
            return f"{head}..."
        return head + (value if value.isdecimal() else self.text(value))


def _call(action: str, table: str, given: list[str]) -> str:
    head = [f"table => {literal(table)}"] if table else []
    return f"CALL {SCHEMA}.{action}({', '.join([*head, *given])})"


def _method(action: str, table: str, given: list[str]) -> str:
    head = f"table({table!r})." if table else ""
    return f"{head}{action}({', '.join(given)})"


def _left_out(match: re.Match[str]) -> str:
    return f"{match[1]} {_parameter(match[2])}" if match[2] in _ARGUMENTS else match[0]


def _plain(word: str) -> str:
    """A word without the shell's quotes."""
    return "".join(shlex.split(word))


def _parameter(name: str) -> str:
    return name.replace("-", "_")


IN_SQL = Words(_call, " => ", "true", literal)
IN_PYTHON = Words(_method, "=", "True", repr)
