"""A line to type on that shows nothing hostile: names from a table come onto it, and whatever is pasted."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Input

from core.text import clean_text


class CleanInput(Input):
    """What is shown is clean, character for character; the value is what was given or typed."""

    @property
    def _value(self) -> Text:
        return Text(clean_text(self.value), no_wrap=True, overflow="ignore", end="")

    def validate_placeholder(self, placeholder: str) -> str:
        return clean_text(placeholder)
