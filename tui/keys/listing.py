"""`paimark keys`: the id of every binding, its keys, and its effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paimark.tui.keys.bindings import Scope
from paimark.tui.keys.rebinding import Keymap, keymap_of, keys_of
from paimark.tui.widgets.key_bar import written


def key_rows(configured: Keymap, all_scopes: Sequence[Scope]) -> Iterator[tuple[str, str, str]]:
    """(id, keys, effect) in the order of ids. Raises `UsageError` like `keymap_of`."""
    keymap = keymap_of(configured, all_scopes)
    known = {each.id: each for scope in all_scopes for each in scope.bindings if each.id is not None}
    for id_, binding in sorted(known.items()):
        keys = " ".join(written(key) for key in keys_of(binding, keymap))
        yield id_, keys, binding.tooltip or binding.description
