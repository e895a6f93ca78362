"""Colours: one calm palette in three themes. Colour is never the only sign: a word or a mark tells the same.

With NO_COLOR the theme of sixteen colours is used, and Textual sends none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from rich.style import Style
from textual.app import App
from textual.theme import Theme

# A piece of a line: its text and the name of its ink.
Piece = tuple[str, str]
Line = Sequence[Piece]

DARK = "paimark-dark"
LIGHT = "paimark-light"
SIXTEEN = "paimark-16"
# Rich's names of terminals with at most sixteen colours.
_SIXTEEN_COLOURS = ("standard", "windows", None)


THEMES = (DARK, LIGHT, SIXTEEN)
# By meaning, one for each theme. The sixteen colours are the terminal's own, by Textual's names.
_COLOURS: Mapping[str, tuple[str, str, str]] = {
    "ground": ("#15171a", "#fbfbf9", "ansi_default"),
    "raised": ("#1d2024", "#f1f1ed", "ansi_default"),
    "line": ("#383d45", "#cfd2d6", "ansi_bright_black"),
    "cursor": ("#343a42", "#cfe3ea", "ansi_default"),
    "cursor-away": ("#282c31", "#e6eaec", "ansi_default"),
    "text": ("#d4dae3", "#23282f", "ansi_default"),
    "quiet": ("#8b929c", "#6a7380", "ansi_default"),
    "accent": ("#6fc3b5", "#0f766a", "ansi_cyan"),
    "second": ("#8db4e2", "#2a5ea8", "ansi_blue"),
    "good": ("#93c47d", "#3c7a1f", "ansi_green"),
    "warn": ("#e3b565", "#93620a", "ansi_yellow"),
    "bad": ("#ec7f86", "#b3303d", "ansi_red"),
}
_FOREGROUNDS = ("quiet", "accent", "second", "good", "warn", "bad", "line")
_SCROLLBAR_GROUND = ("-background", "-background-hover", "-background-active", "-corner-color")


def wants_no_colors(environ: Mapping[str, str]) -> bool:
    """Whether NO_COLOR is set and not empty (no-color.org)."""
    return bool(environ.get("NO_COLOR"))


def best_theme(color_system: str | None, *, no_colors: bool) -> str:
    """The theme for Rich's colour system of the terminal; None is a terminal without colours."""
    return SIXTEEN if no_colors or color_system in _SIXTEEN_COLOURS else DARK


def make_theme(name: str) -> Theme:
    """The palette as a theme of Textual, for the parts that Textual draws."""
    colours = _colours_of(name)
    return Theme(
        name=name,
        primary=colours["accent"],
        secondary=colours["second"],
        accent=colours["accent"],
        success=colours["good"],
        warning=colours["warn"],
        error=colours["bad"],
        foreground=colours["text"],
        background=colours["ground"],
        surface=colours["raised"],
        panel=colours["line"],
        dark=name != LIGHT,
        ansi=name == SIXTEEN,
        variables={
            **{name: colours[name] for name in ("quiet", "line", "raised")},
            **{f"scrollbar{part}": colours["line"] for part in ("", "-hover", "-active")},
            **{f"scrollbar{part}": colours["raised"] for part in _SCROLLBAR_GROUND},
            # Textual's own style sheets need these in an "ansi" theme.
            "ansi-background": "ansi_default",
            "ansi-foreground": "ansi_default",
        },
    )


@lru_cache(maxsize=4)
def inks(theme: str) -> Mapping[str, Style]:
    """The styles that widgets lay over their own; an unknown theme gets the dark ones."""
    colours, is_sixteen = _colours_of(theme), theme == SIXTEEN
    if is_sixteen:
        # Reverse and bold work with NO_COLOR; the terminal's "dim" and "bright black" may be too faint.
        cursor, away = Style(reverse=True), Style(bold=True)
    else:
        cursor, away = Style(bgcolor=colours["cursor"]), Style(bgcolor=colours["cursor-away"])
    plain = {name: Style(color=colours[name].removeprefix("ansi_")) for name in _FOREGROUNDS}
    return MappingProxyType(
        {
            "": Style.null(),
            **plain,
            "strong": Style(bold=True),
            "title": plain["accent"] + Style(bold=True),
            "choice": Style(bold=True, reverse=True),
            "alarm": plain["bad"] + Style(bold=True),
            "head": plain["quiet"] + Style(underline=is_sixteen),
            "cursor": cursor,
            "cursor-away": away,
            # The cell under the cursor: not reversed if its row is, else reversed.
            "cell": Style(reverse=not is_sixteen, bold=True),
        }
    )


@lru_cache(maxsize=16)
def inks_over(base: Style, theme: str) -> Mapping[str, Style]:
    """The inks laid over a style, which itself is the ink "". Equal styles are the same object."""
    known: dict[Style, Style] = {}
    over = {name: base + ink for name, ink in inks(theme).items()}
    return MappingProxyType({name: known.setdefault(style, style) for name, style in over.items()})


def _colours_of(theme: str) -> dict[str, str]:
    index = THEMES.index(theme) if theme in THEMES else 0
    return {name: colours[index] for name, colours in _COLOURS.items()}


class StyledApp(App[None]):
    """It styles only what it shows, and parses its style sheet once until its first frame."""

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
