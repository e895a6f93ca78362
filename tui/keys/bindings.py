"""All bindings of the console, read from its classes, grouped by those that are active together."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import Key
from textual.keys import _character_to_key
from textual.screen import ModalScreen, Screen

import paimark.tui

# Bindings that apply a plan, or agree to a deletion: their keys must never open a dialog as well.
CONSENTS = ("dialog.apply", "dialog.confirm", "confirm.agree")


@dataclass(frozen=True, slots=True)
class Scope:
    """Bindings that are active at one time, in the place `title`. A dialog hides the bindings below it."""

    title: str
    bindings: tuple[Binding, ...]
    is_dialog: bool = False


def scopes(app: type[App[Any]], main: type[Screen[Any]]) -> list[Scope]:
    """The scopes of the main screen, of each pane, and of each dialog. Imports all of them."""
    parts = list(_parts())
    everywhere = _bindings_of(app)
    # Of the application's keys only these work over a dialog.
    above_dialogs = [each for each in everywhere if each.priority]
    of_widgets = [each for part in parts if _is_widget(part) for each in _bindings_of(part)]
    browsing = _bindings_of(main)
    consents = [each for part in parts for each in _bindings_of(part) if each.id in CONSENTS]
    result = [Scope("everywhere", (*browsing, *everywhere, *of_widgets, *consents))]
    for part in parts:
        if issubclass(part, ModalScreen):
            result.append(Scope(_title(part), (*_bindings_of(part), *above_dialogs, *of_widgets), True))
        elif not _is_widget(part) and part not in (app, main):
            result.append(Scope(_title(part), (*_bindings_of(part), *browsing, *everywhere, *of_widgets)))
    return result


def _parts() -> Iterator[type[DOMNode]]:
    for module in pkgutil.walk_packages(paimark.tui.__path__, "paimark.tui."):
        importlib.import_module(module.name)
    parts = sorted(set(_below(DOMNode)), key=lambda part: (part.__module__, part.__name__))
    return (part for part in parts if part.__module__.startswith("paimark.tui.") and "BINDINGS" in vars(part))


def _below(part: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for each in part.__subclasses__():
        yield each
        yield from _below(each)


def _bindings_of(part: type[DOMNode]) -> list[Binding]:
    """The bindings of a class, and those that it inherits from other classes of the console."""
    own = [each for each in part.__mro__ if each.__module__.startswith("paimark.tui.")]
    listed = [binding for each in own for binding in vars(each).get("BINDINGS", ())]
    return [binding for binding in listed if isinstance(binding, Binding)]


def _is_widget(part: type[DOMNode]) -> bool:
    """Whether it is used in panes and in dialogs."""
    return part.__module__.startswith("paimark.tui.widgets")


def _title(part: type[DOMNode]) -> str:
    name = part.__name__
    for end in ("Screen", "Pane", "Dialog"):
        name = name.removesuffix(end)
    return name.lower()


_LATIN = "`qwertyuiop[]asdfghjkl;'zxcvbnm,./" + '~QWERTYUIOP{}ASDFGHJKL:"ZXCVBNM<>?'
# The same keys of the Russian layout, and those on which the Ukrainian and the Belarusian differ.
_RUSSIAN = "ёйцукенгшщзхъфывапролджэячсмитьбю." + "ЁЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮ,"
_OTHERS = {"і": "s", "І": "S", "ї": "]", "Ї": "}", "є": "'", "Є": '"', "ў": "o", "Ў": "O"}
_LETTERS = {
    letter: key for letter, key in zip(_RUSSIAN, _LATIN, strict=True) if not letter.isascii()
} | _OTHERS


def latin(event: Key) -> Key:
    """The key at the same place of a Latin layout; the event itself if it is no Cyrillic letter."""
    character = _LETTERS.get(event.character or "")
    return event if character is None else Key(key_name(character), character)


def key_name(character: str) -> str:
    """Textual's name of the key that types this character."""
    return _character_to_key(character)
