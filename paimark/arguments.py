"""Check the arguments of methods, and those of actions by the same rules as the command line."""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions.declared.kinds import Argument
from paimark.core.actions.registry import Action
from paimark.core.errors import UsageError
from paimark.core.table.names import near_names

_OPTIONS = "Write {'s3.path.style.access': 'true'}: names and values are texts."


def text(name: str, value: object, hint: str) -> str:
    """Raises `UsageError` if the value is not a text."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is a text, not {type(value).__name__}", hint)
    return value


def branch_name(value: object) -> str | None:
    """Raises `UsageError` if the value is neither a text nor None."""
    return None if value is None else text("branch", value, "It is the name of a branch, or None for main.")


def number(name: str, value: object, least: int) -> int:
    """Raises `UsageError` if the value is not a whole number, or is less than `least`."""
    # In Python, `True` is an `int` too.
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{name} is a whole number from {least} on, not {value!r}", "None is for all.")
    return value


def texts(name: str, value: object) -> dict[str, str]:
    """Options by name. Raises `UsageError` unless all names and values are texts."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} maps texts to texts, and is no {type(value).__name__}", _OPTIONS)
    for each, said in value.items():
        if not isinstance(each, str) or not isinstance(said, str):
            kinds = f"{type(each).__name__} to {type(said).__name__}"
            raise UsageError(f"{name} maps texts to texts, and not {kinds}", _OPTIONS)
    return dict(value)


def checked_arguments(action: Action, given: Mapping[str, object]) -> dict[str, object]:
    """Every argument of the action by name, or its default if it is not given.

    Raises `UsageError` for an argument that the action does not take, that is missing, or has a wrong type.
    """
    known = {each.name: each for each in action.arguments}
    for name in given:
        if name not in known:
            hint = near_names(name, known) or f"It takes {', '.join(known) or 'none'}."
            raise UsageError(f"{action.name} has no argument {name}", hint)
    return {name: _checked(action, each, given.get(name)) for name, each in known.items()}


def _checked(action: Action, argument: Argument, value: object) -> object:
    if value is None:
        if argument.required:
            raise UsageError(f"{action.name} needs {argument.name}", argument.help)
        return argument.default
    if argument.many and isinstance(value, list | tuple):
        return [_checked(action, argument, each) for each in value]
    if problem := argument.problem(value):
        raise UsageError(f"{argument.name} of {action.name} {problem}", argument.hint(value))
    return value
