"""Python collects garbage while nobody types: a collection takes longer than a repaint."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping
from pathlib import Path

import pytest

from paimark.tui.work import collector
from tests.tui.driving import at_orders


class _Knot:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


async def test_a_rest_frees_what_is_old(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        knot = _Knot()
        # Whatever survives a collection is old, and seldom scanned again.
        gc.collect()
        old = weakref.ref(knot)
        del knot
        await console.press("j")
        await console.until(lambda: old() is None, "free what is old")


async def test_keys_without_a_pause_wait_for_no_collection_of_old_objects(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "_PAUSE", 1000.0)
    monkeypatch.setattr(collector, "_REST", 1000.0)
    generations: list[int] = []

    def note(phase: str, facts: Mapping[str, int]) -> None:
        generations.append(facts["generation"])

    async with at_orders(warehouse) as console:
        gc.collect()
        gc.callbacks.append(note)
        try:
            await console.press(*"jk" * 40)
        finally:
            gc.callbacks.remove(note)
    assert not any(generations)
