"""Switch the mouse on and off while the console runs. If it is off, the terminal's selection works."""

from __future__ import annotations

from textual.driver import Driver


def toggle(driver: Driver) -> bool:
    """Switch the mouse; return whether it is on now. By private parts of Textual, which has no API for it."""
    if driver._mouse:
        _call(driver, "_disable_mouse_support")
        driver._mouse = False
    else:
        driver._mouse = True
        _call(driver, "_enable_mouse_support")
    return driver._mouse


def _call(driver: Driver, name: str) -> None:
    # A driver without a terminal has no such methods.
    getattr(driver, name, lambda: None)()
