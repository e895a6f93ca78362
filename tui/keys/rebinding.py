"""From `[keys]` of the config file to Textual's keymap, or the sentence that says why not.

Every binding has an id. What an id is given takes the place of all its keys. A key that would do two things
in one place, or is none, is refused by name when the console starts: a key that does something else than one
thinks is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key, key_to_character

from core.errors import UsageError
from tui.keys.bindings import Scope
from tui.widgets.key_bar import written

Keymap = Mapping[str, str]
_MODIFIERS = ("ctrl", "alt", "shift", "super")
_NAMED = {each.value for each in Keys} | set(KEY_NAME_REPLACEMENTS.values())
# Control and these letters are the codes of other keys.
_SENT_AS = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "escape",
    "ctrl+[": "escape",
}
_LIST_THEM = "`paimark keys` lists the ids and their keys."


def keymap_of(asked: Keymap, scopes: Sequence[Scope]) -> Keymap:
    """Keys by id, as `App.set_keymap` takes them. Raises `UsageError` naming the first fault."""
    known = {each.id: each for scope in scopes for each in scope.bindings if each.id is not None}
    chosen = {id_: ",".join(_parsed(id_, keys, known)) for id_, keys in asked.items()}
    for scope in scopes:
        _require_no_clash(scope, chosen)
    return {**_companions(scopes, chosen), **chosen}


def rebound(bindings: Sequence[BindingType], keymap: Keymap) -> list[BindingType]:
    """The bindings with the keys that they have now, for whoever tells of them."""
    return [_rebound(each, keymap) if isinstance(each, Binding) else each for each in bindings]


def shown_keys(bindings: Sequence[BindingType], keymap: Keymap) -> Mapping[str, str]:
    """From a key as it comes to the one that does the same now, both as people write them."""
    changed = [each for each in bindings if isinstance(each, Binding) and each.id in keymap]
    return {written(keys_of(each, {})[0]): written(keys_of(each, keymap)[0]) for each in changed}


def first_keys(keymap: Keymap) -> Mapping[str, str]:
    """The first key of each id, as people write it."""
    return {id_: written(keys.split(",")[0].strip()) for id_, keys in keymap.items()}


def keys_by_id(bindings: Sequence[BindingType], keymap: Keymap) -> Mapping[str, str]:
    """The first key of each, as people write it."""
    named = [each for each in bindings if isinstance(each, Binding)]
    return {each.id: written(keys_of(each, keymap)[0]) for each in named if each.id}


def _rebound(binding: Binding, keymap: Keymap) -> Binding:
    keys = keymap.get(binding.id or "")
    return binding if keys is None else replace(binding, key=keys, key_display=None)


def keys_of(binding: Binding, keymap: Keymap) -> list[str]:
    """Its keys by Textual's names."""
    return [_named(key.strip()) for key in keymap.get(binding.id or "", binding.key).split(",")]


def _parsed(id_: str, keys: str, known: Mapping[str, Binding]) -> Iterator[str]:
    if id_ not in known:
        near = get_close_matches(id_, known, n=1, cutoff=0.5)
        raise UsageError(
            f"[keys] of the config file: no key has the id {id_!r}",
            f"Did you mean {near[0]!r}? {_LIST_THEM}" if near else _LIST_THEM,
        )
    for word in keys.split(","):
        key = _named(word.strip())
        if not _is_key(key):
            raise UsageError(
                f"[keys] of the config file: {word.strip()!r}, for {id_}, is no key",
                "Write x, X, f5, ctrl+x, space, escape or comma, and several with commas between them.",
            )
        if other := _sent_as(key):
            raise UsageError(
                f"[keys] of the config file: {word.strip()!r}, for {id_}, reaches the console as {other!r}",
                "Terminals send the same for both: take another key.",
            )
        if known[id_].priority and key_to_character(key) is not None:
            raise UsageError(
                f"[keys] of the config file: {id_} can't be {word.strip()!r}, which is typed into texts",
                "It works everywhere: give it a key like ctrl+x or f5.",
            )
        yield key


def _named(key: str) -> str:
    return _character_to_key(key) if len(key) == 1 else key


def _is_key(key: str) -> bool:
    *modifiers, base = key.split("+") if not key.endswith("+") else [key]
    if any(each not in _MODIFIERS for each in modifiers) or not base:
        return False
    return key in _NAMED or base in _NAMED or key_to_character(base) is not None


def _sent_as(key: str) -> str:
    """The key that comes in the place of one that terminals don't send; empty where it comes itself."""
    if key in _SENT_AS:
        return _SENT_AS[key]
    held, plus, base = key.rpartition("+")
    if plus and held == "shift" and len(base) == 1 and base.upper() != base:
        return base.upper()
    return f"{held}+{base.lower()}" if "ctrl" in held and len(base) == 1 and base.isupper() else ""


def _require_no_clash(scope: Scope, chosen: Keymap) -> None:
    """Raises `UsageError` where a key that was chosen does something else there, too."""
    taken: dict[str, Binding] = {}
    for binding in scope.bindings:
        for key in keys_of(binding, chosen):
            other = taken.setdefault(key, binding)
            if other.action == binding.action or not {other.id, binding.id} & chosen.keys():
                continue
            if set(keys_of(other, {})) & set(keys_of(binding, {})):
                # They share keys as they come: one is possible where the other is not.
                continue
            new, old = (binding, other) if binding.id in chosen else (other, binding)
            raise UsageError(
                f"[keys] of the config file: {key}, for {new.id}, is the key of {old.id} ({scope.title})",
                f"Give {old.id} another key as well, or take another one here. {_LIST_THEM}",
            )


def _companions(scopes: Sequence[Scope], chosen: Keymap) -> Keymap:
    """The keys of those that share one with what was chosen: Textual would take it from all of them."""
    freed = {
        key for scope in scopes for each in scope.bindings if each.id in chosen for key in keys_of(each, {})
    }
    return {
        each.id: ",".join(keys_of(each, {}))
        for scope in scopes
        for each in scope.bindings
        if each.id is not None and freed & set(keys_of(each, {}))
    }
