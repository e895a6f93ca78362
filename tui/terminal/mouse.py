"""The mouse, on and off while the console runs. Off, the terminal's own selection works."""

from __future__ import annotations

from textual.driver import Driver


def toggle(driver: Driver) -> bool:
    """Switch it; whether it is on now. Textual only asks once, when it starts: these are its own parts."""
    if driver._mouse:
        _call(driver, "_disable_mouse_support")
        driver._mouse = False
    else:
        driver._mouse = True
        _call(driver, "_enable_mouse_support")
    return driver._mouse


def _call(driver: Driver, name: str) -> None:
    # One without a terminal has none of them.
    getattr(driver, name, lambda: None)()
