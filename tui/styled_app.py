"""An app that styles only what it shows, and parses its style sheet once until its first frame."""

from __future__ import annotations

from textual.app import App

from paimark.tui.theme import THEMES


class StyledApp(App[None]):
    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        # Each screen would have a widget for each, and this console says all on its bottom line.
        self._disable_notifications = self._disable_tooltips = True

    def get_css_variables(self) -> dict[str, str]:
        # The first to ask is `App.__init__`, about a theme of Textual's own that is never shown.
        return super().get_css_variables() if self.theme in THEMES else {}

    def refresh_css(self, animate: bool = True) -> None:
        if self.children:
            super().refresh_css(animate)
        else:
            # The first theme: the style sheet is parsed with it when the first screen is mounted.
            self.stylesheet.set_variables(self.get_css_variables())
