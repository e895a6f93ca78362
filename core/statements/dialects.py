"""Translate messages of actions, which mention command-line options, to SQL or Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.quoting import literal
from paimark.core.travel.statements.calls import SCHEMA

# The arguments of all actions, by their command-line options.
_ARGUMENTS = {
    argument.name.replace("_", "-"): argument for action in DECLARED.values() for argument in action.arguments
}
_FLAGS = "|".join(name for name, argument in _ARGUMENTS.items() if argument.takes is bool)
# An option in a sentence, where only some words after it can be its value; below, the patterns of a command.
# Or a command that is none of an action's, which is left as it is.
_OPTION = re.compile(
    r"`paimark [^`]*`|"
    r"--([a-z][a-z-]*)(?: ((?:main|branch|(?:not-)?committed|[A-Z]+|[0-9]+|[a-z]+\.[0-9]+)\b))?"
)
_SHELL_WORD = r"""(?:"[^"]*"|'[^']*'|[^\s`'",.;:]|[.;:](?=[^\s`'",]))+"""
_ARGUMENT = rf" --(?:(?:{_FLAGS})\b|[a-z][a-z-]*(?: (?!-){_SHELL_WORD})?)"
_COMMAND = re.compile(
    rf"paimark ({'|'.join(sorted(DECLARED, reverse=True))})((?: (?!-){_SHELL_WORD})?)((?:{_ARGUMENT})*)"
)
_LEFT_OUT = re.compile(r"\b([Ll]eave|[Ww]ithout) --([a-z][a-z-]*)")


@dataclass(frozen=True)
class Dialect:
    """How SQL or Python writes a call. `call` takes an action, a table (empty if it has none), arguments."""

    call: Callable[[str, str, list[str]], str]
    assign: str
    true: str
    text: Callable[[str], str]

    def translate(self, sentence: str) -> str:
        """Translate a sentence: `Give it as --id.` to `Give it as id => ...`; whole commands to calls.

        Words that are not an action or its argument (`--yes`, `paimark check ...`) stay unchanged.
        """
        sentence = _COMMAND.sub(self._command, sentence)
        return _OPTION.sub(self._option, _LEFT_OUT.sub(_left_out, sentence))

    def _command(self, match: re.Match[str]) -> str:
        options = [each.strip().partition(" ") for each in re.findall(_ARGUMENT, match[3])]
        arguments = [self._argument(name.removeprefix("--"), _plain(value)) for name, _, value in options]
        return self.call(_parameter(match[1]), _plain(match[2]), arguments)

    def _option(self, match: re.Match[str]) -> str:
        is_known = match[1] is not None and match[1] in _ARGUMENTS
        return self._argument(match[1], match[2] or "") if is_known else match[0]

    def _argument(self, name: str, value: str) -> str:
        """An argument with its value; `value` is empty if the sentence has none."""
        argument, head = _ARGUMENTS.get(name), f"{_parameter(name)}{self.assign}"
        if argument is not None and argument.takes is bool:
            return f"{head}{self.true}" + (f" {value}" if value else "")
        if not value:
            return f"{head}..."
        return head + (value if value.isdecimal() else self.text(value))


def _call(action: str, table: str, arguments: list[str]) -> str:
    head = [f"table => {literal(table)}"] if table else []
    return f"CALL {SCHEMA}.{action}({', '.join([*head, *arguments])})"


def _method(action: str, table: str, arguments: list[str]) -> str:
    head = f"table({table!r})." if table else ""
    return f"{head}{action}({', '.join(arguments)})"


def _left_out(match: re.Match[str]) -> str:
    return f"{match[1]} {_parameter(match[2])}" if match[2] in _ARGUMENTS else match[0]


def _plain(word: str) -> str:
    """A word without the shell's quotes."""
    return "".join(shlex.split(word))


def _parameter(name: str) -> str:
    return name.replace("-", "_")


IN_SQL = Dialect(_call, " => ", "true", literal)
IN_PYTHON = Dialect(_method, "=", "True", repr)
