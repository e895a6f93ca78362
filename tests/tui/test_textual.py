"""What the console uses of Textual that Textual keeps private, and what it is for."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import pytest

import paimark.tui

# By module: the private names, and what each is for. A new version of Textual that lacks one fails here.
USED = {
    "console": {
        "_exception": "the error that ended the console, without the values of its variables",
        "_fatal_error": "Textual's own shows the local variables of every call, and so options with secrets",
    },
    "keys.bindings": {"_character_to_key": "a Cyrillic letter is the Latin key at its place"},
    "messages": {"_sender": "a pane's message reaches the application while a handler of its screen runs"},
    "theme": {
        "_disable_notifications": "no screen has a widget that it never shows (P1)",
        "_disable_tooltips": "no screen has a widget that it never shows (P1)",
    },
    "terminal.escape_key": {
        "_xterm_parser": "esc and a key right after it are two keys on a slow line",
        "_sequence_to_key_events": "esc and a key right after it are two keys on a slow line",
        "_mouse": "the mouse is switched on and off while the console runs",
    },
    "terminal.key_order": {
        "_bindings": "programs of one's own have keys with ids; the keys of a pane that has not the focus",
        "_binding_chain": "the key that quits, over a dialog",
        "_check_bindings": "a key has had its effect before the next is handled (P11)",
        "_keymap": "the keys of `[keys]` in help and messages",
        "_modal_binding_chain": "a key that is off here says where it is on",
    },
    "terminal.sent_cells": {
        "_batch_count": "nothing is sent where nothing changed (P11)",
        "_closed": "nothing is sent where nothing changed (P11)",
        "_color_system": "styles become the codes of this terminal",
        "_compositor": "only cells that differ are sent (P11)",
        "_display": "only cells that differ are sent (P11)",
        "_driver": "bytes for the clipboard go past the screen, and the mouse is switched on and off",
        "_previous_cursor_position": "nothing is sent where nothing changed (P11)",
        "_running": "nothing is sent where nothing changed (P11)",
    },
    "widgets.clean_input": {
        "_on_paste": "pasted lines are joined, where Textual drops all but the first",
        "_value": "no control character of a name from a table reaches the terminal",
    },
    "widgets.sql_editor": {"_lines": "a quoted text with a form feed stays one line"},
}


def test_one_module_uses_it() -> None:
    assert len({name for names in USED.values() for name in names}) == sum(map(len, USED.values()))


@pytest.mark.parametrize(("module", "names"), [(module, {*names}) for module, names in USED.items()])
def test_textual_still_has_it(module: str, names: set[str]) -> None:
    lacking = names - _of_textual()
    assert lacking == set(), f"Textual has changed what tui.{module} needs: {USED[module]}"


def test_nothing_else_of_textual_is_private() -> None:
    """Whoever needs more says here what for."""
    found = {
        module.__name__.removeprefix("paimark.tui."): names
        for module in _modules()
        if (names := {*_private_names(module)})
    }
    assert found == {module: {*names} for module, names in USED.items()}


@cache
def _of_textual() -> frozenset[str]:
    """All private names of Textual and Rich: modules, methods, attributes."""
    names: set[str] = set()
    for package in ("textual", "rich"):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            names.add(module.name)
    for place in ("app", "screen", "dom", "driver", "keys", "message", "message_pump", "_xterm_parser"):
        names |= _private(inspect.getsource(importlib.import_module(f"textual.{place}")))
    for place in ("widgets._input", "document._document"):
        names |= _private(inspect.getsource(importlib.import_module(f"textual.{place}")))
    names |= _private(inspect.getsource(importlib.import_module("rich.console")))
    # A named tuple's.
    return frozenset(names - {"_replace"})


def _private(source: str) -> set[str]:
    return set(re.findall(r"(?:\bdef |\.)(_[a-z]\w*)", source))


def _modules() -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(paimark.tui.__path__, "paimark.tui."):
        yield importlib.import_module(each.name)


def _private_names(module: ModuleType) -> Iterator[str]:
    """What a module imports, takes from other objects, or overrides."""
    tree = ast.parse(inspect.getsource(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("textual", "rich"):
            parts = [*(node.module or "").split("."), *(each.name for each in node.names)]
            yield from (part for part in parts if part.startswith("_"))
        elif isinstance(node, ast.Attribute) and _is_private(node.attr):
            is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os", "sys")
            if not is_own and node.attr in _of_textual():
                yield node.attr
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            theirs = _inherited(getattr(module, node.name))
            for each in ast.walk(node):
                name = each.attr if isinstance(each, ast.Attribute) else getattr(each, "name", None) or ""
                if name in theirs:
                    yield name


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@cache
def _inherited(kind: type) -> frozenset[str]:
    """The private names of Textual's classes that a class extends."""
    names: set[str] = set()
    for each in kind.__mro__:
        if each.__module__.partition(".")[0] in ("textual", "rich"):
            names |= {*filter(_is_private, vars(each))} | _attributes(each.__module__)
    return frozenset(names)


@cache
def _attributes(module: str) -> frozenset[str]:
    """Of a whole module: to find where a class begins and ends takes long."""
    return frozenset(re.findall(r"\bself\.(_[a-z]\w*)", inspect.getsource(importlib.import_module(module))))
