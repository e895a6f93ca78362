"""Make Textual's keymap from `[keys]` of the config file, or an error that gives the reason.

Every binding has an id. The given keys replace all keys of the id. An invalid key, or one that would have two
effects in one place, is refused when the console starts, because a key with an unexpected effect is worse
than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from paimark.core.errors import UsageError
from paimark.tui.keys.bindings import Scope, key_name
from paimark.tui.widgets.key_bar import written

Keymap = Mapping[str, str]
_MODIFIERS = ("ctrl", "alt", "shift", "super")
_NAMED = {each.value for each in Keys} | set(KEY_NAME_REPLACEMENTS.values())
# Terminals send these keys as the codes of other keys.
_SENT_AS = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "escape",
    "ctrl+[": "escape",
}
_LIST_THEM = "`paimark keys` lists the ids and their keys."


def keymap_of(configured: Keymap, scopes: Sequence[Scope]) -> Keymap:
    """Keys by id, for `App.set_keymap`. Raises `UsageError`, which names the first error."""
    known = {each.id: each for scope in scopes for each in scope.bindings if each.id is not None}
    chosen = {id_: ",".join(_parsed(id_, keys, known)) for id_, keys in configured.items()}
    for scope in scopes:
        _require_no_clash(scope, chosen)
    return {**_companions(scopes, chosen), **chosen}


def rebound(bindings: Sequence[BindingType], keymap: Keymap) -> list[BindingType]:
    """The bindings with their present keys, for display."""
    return [_rebound(each, keymap) if isinstance(each, Binding) else each for each in bindings]


def shown_keys(bindings: Sequence[BindingType], keymap: Keymap) -> Mapping[str, str]:
    """A map from default keys to the keys that replace them, both formatted for people."""
    changed = [each for each in bindings if isinstance(each, Binding) and each.id in keymap]
    return {written(keys_of(each, {})[0]): written(keys_of(each, keymap)[0]) for each in changed}


def first_keys(keymap: Keymap) -> Mapping[str, str]:
    """The first key of each id of a keymap, formatted for people."""
    return {id_: written(keys.split(",")[0].strip()) for id_, keys in keymap.items()}


def _rebound(binding: Binding, keymap: Keymap) -> Binding:
    keys = keymap.get(binding.id or "")
    return binding if keys is None else replace(binding, key=keys, key_display=None)


def keys_of(binding: Binding, keymap: Keymap) -> list[str]:
    """The present keys of a binding, by Textual's names."""
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
    return key_name(key) if len(key) == 1 else key


def _is_key(key: str) -> bool:
    *modifiers, base = key.split("+") if not key.endswith("+") else [key]
    if any(each not in _MODIFIERS for each in modifiers) or not base:
        return False
    return key in _NAMED or base in _NAMED or key_to_character(base) is not None


def _sent_as(key: str) -> str:
    """The key that terminals send instead of this one; empty if they send this one."""
    if key in _SENT_AS:
        return _SENT_AS[key]
    modifiers, plus, base = key.rpartition("+")
    if plus and modifiers == "shift" and len(base) == 1 and base.upper() != base:
        return base.upper()
    return f"{modifiers}+{base.lower()}" if "ctrl" in modifiers and len(base) == 1 and base.isupper() else ""


def _require_no_clash(scope: Scope, chosen: Keymap) -> None:
    """Raises `UsageError` if a chosen key already has another effect in the scope."""
    taken: dict[str, Binding] = {}
    for binding in scope.bindings:
        for key in keys_of(binding, chosen):
            other = taken.setdefault(key, binding)
            if other.action == binding.action or not {other.id, binding.id} & chosen.keys():
                continue
            if set(keys_of(other, {})) & set(keys_of(binding, {})):
                # They share default keys: never are both enabled.
                continue
            new, old = (binding, other) if binding.id in chosen else (other, binding)
            raise UsageError(
                f"[keys] of the config file: {key}, for {new.id}, is the key of {old.id} ({scope.title})",
                f"Give {old.id} another key as well, or take another one here. {_LIST_THEM}",
            )


def _companions(scopes: Sequence[Scope], chosen: Keymap) -> Keymap:
    """The keys of bindings that share a key with a rebound one: Textual would remove it from all of them."""
    freed = {
        key for scope in scopes for each in scope.bindings if each.id in chosen for key in keys_of(each, {})
    }
    return {
        each.id: ",".join(keys_of(each, {}))
        for scope in scopes
        for each in scope.bindings
        if each.id is not None and freed & set(keys_of(each, {}))
    }


def key_rows(configured: Keymap, all_scopes: Sequence[Scope]) -> Iterator[tuple[str, str, str]]:
    """(id, keys, effect) in the order of ids. Raises `UsageError` like `keymap_of`."""
    keymap = keymap_of(configured, all_scopes)
    known = {each.id: each for scope in all_scopes for each in scope.bindings if each.id is not None}
    for id_, binding in sorted(known.items()):
        keys = " ".join(written(key) for key in keys_of(binding, keymap))
        yield id_, keys, binding.tooltip or binding.description
