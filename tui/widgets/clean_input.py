"""An input that shows no control characters: its text may be a name from a table, or pasted."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.strip import Strip
from textual.widgets import Input

from paimark.core.cells import cut
from paimark.core.text import clean_text


class CleanInput(Input):
    """It shows each character cleaned; `value` keeps the text as it was set or typed."""

    @property
    def _value(self) -> Text:
        return Text(clean_text(self.value), no_wrap=True, overflow="ignore", end="")

    def _on_paste(self, event: events.Paste) -> None:
        """Join pasted lines: Textual's own method drops all but the first."""
        lines = [line.strip() for line in event.text.splitlines()]
        if len(lines) > 1:
            # Its own method is called next.
            event.text = " ".join(line for line in lines if line)

    def validate_placeholder(self, placeholder: str) -> str:
        return clean_text(placeholder)

    def render_line(self, y: int) -> Strip:
        """Mark a placeholder as cut: Textual's own method wraps it, and shows the first line."""
        whole = self.placeholder
        self.set_reactive(Input.placeholder, cut(whole, self.scrollable_content_region.width))
        try:
            return super().render_line(y)
        finally:
            self.set_reactive(Input.placeholder, whole)
