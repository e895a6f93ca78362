"""The keys of the dialog of an action."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from paimark.tui.keymap import hidden

PLAN_KEYS: list[BindingType] = [
    Binding("escape", "close", "cancel", key_display="esc", id="dialog.close"),
    Binding("escape", "finish", "close", key_display="esc", id="dialog.finish"),
    Binding("escape", "leave", "to the background", key_display="esc", id="dialog.leave"),
    Binding("a", "apply", "apply", id="dialog.apply"),
    Binding("c", "confirm", "confirm", id="dialog.confirm"),
    Binding("i", "steps", "steps", tooltip="each step, and what it costs", id="dialog.steps"),
    Binding("v", "conflicts", "conflicts", tooltip="keys that both sides changed", id="dialog.conflicts"),
    Binding("e", "edit", "edit the arguments", id="dialog.edit"),
    Binding("r", "plan", "plan again", id="dialog.plan"),
    Binding("j,down", "scroll(1)", "scroll", key_display="j k", id="dialog.down"),
    hidden("dialog.up", "k,up", "scroll(-1)", "scroll back"),
    hidden("dialog.page_down", "pagedown", "scroll(10)", "page down"),
    hidden("dialog.page_up", "pageup", "scroll(-10)", "page up"),
]
