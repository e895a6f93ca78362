"""Widgets with methods that a subclass must have."""

from __future__ import annotations

from abc import ABCMeta

from textual.message_pump import _MessagePumpMeta


class AbstractWidget(_MessagePumpMeta, ABCMeta):
    """The metaclass of a widget with abstract methods: Textual's own, and the standard library's."""
