"""What a console shows. Without a terminal it is painted when a test reads it, if anything is new by then."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from textual._compositor import Compositor
from textual._context import active_app
from textual.app import App

_TEXTS: WeakKeyDictionary[Compositor, str] = WeakKeyDictionary()
_paint = Compositor.render_update


def painted_later(compositor: Compositor, *arguments: Any, **more: Any) -> Any:
    """In place of what paints: for a terminal it does, else it only notes that there is something new."""
    _TEXTS.pop(compositor, None)
    return (
        compositor._dirty_regions.clear()
        if active_app.get().is_headless
        else _paint(compositor, *arguments, **more)
    )


def text_of(app: App[Any]) -> str:
    """A line a row. Textual has no public way to ask for the composed screen."""
    compositor = app.screen._compositor
    known = _TEXTS.get(compositor)
    if known is None:
        known = "\n".join(strip.text for strip in compositor.render_strips(app.size))
        if Compositor.render_update is painted_later:
            _TEXTS[compositor] = known
    return known
