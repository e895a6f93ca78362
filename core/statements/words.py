"""Sentences of the actions, which speak of the command line, in the words of a CALL."""

from __future__ import annotations

import re

from core.actions.registry import ACTIONS
from core.quoting import literal
from core.travel.statements.calls import SCHEMA

# By their command-line options.
_ARGUMENTS = {
    argument.name.replace("_", "-"): argument for action in ACTIONS.values() for argument in action.arguments
}
_OPTION = re.compile(r"--([a-z][a-z-]*)(?: ((?:main|branch|[A-Z]+|[0-9]+|[a-z]+\.[0-9]+)\b))?")
_COMMAND = re.compile(
    rf"paimark ({'|'.join(sorted(ACTIONS, reverse=True))})((?: (?!-)[^\s`]+)?)((?: {_OPTION.pattern})*)"
)
_LEFT_OUT = re.compile(r"\b([Ll]eave|[Ww]ithout) --([a-z][a-z-]*)")


def in_call_words(text: str) -> str:
    """`Give it as --id.` becomes `Give it as id => ...`; whole commands become a CALL.

    What is no argument of an action (`--yes`, `paimark doctor`) stays as it is.
    """
    return _OPTION.sub(_named, _LEFT_OUT.sub(_left_out, _COMMAND.sub(_called, text)))


def _called(found: re.Match[str]) -> str:
    action, table, options = found[1], found[2].strip(), found[3]
    given = [f"table => {literal(table)}"] if table else []
    given += [_assigned(name, value) for name, value in _OPTION.findall(options)]
    return f"CALL {SCHEMA}.{_parameter(action)}({', '.join(given)})"


def _left_out(found: re.Match[str]) -> str:
    return f"{found[1]} {_parameter(found[2])}" if found[2] in _ARGUMENTS else found[0]


def _named(found: re.Match[str]) -> str:
    name, value = found[1], found[2] or ""
    return _assigned(name, value) if name in _ARGUMENTS else found[0]


def _assigned(name: str, value: str) -> str:
    """`value` is empty where the sentence has none."""
    known = _ARGUMENTS.get(name)
    if known is not None and known.kind == "flag":
        return f"{_parameter(name)} => true" + (f" {value}" if value else "")
    if not value:
        return f"{_parameter(name)} => ..."
    return f"{_parameter(name)} => {value if value.isdecimal() else literal(value)}"


def _parameter(name: str) -> str:
    return name.replace("-", "_")
