"""Colours: one calm palette in three renderings. What a colour says, a word or a sign says too.

Under NO_COLOR the sixteen colours' rendering is used, and Textual sends none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from rich.style import Style
from textual.theme import Theme

# A piece of a line: its text and the name of its ink.
Piece = tuple[str, str]
Line = Sequence[Piece]

DARK = "paimark-dark"
LIGHT = "paimark-light"
SIXTEEN = "paimark-16"
# As Rich calls what a terminal can show.
_SIXTEEN_COLOURS = ("standard", "windows", None)


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by what they mean. For sixteen colours they are the terminal's own, by Textual's names."""

    ground: str
    raised: str
    line: str
    cursor: str
    cursor_away: str
    text: str
    quiet: str
    accent: str
    second: str
    good: str
    warn: str
    bad: str
    dark: bool = True
    sixteen: bool = False


_DARK = Palette(
    ground="#15171a",
    raised="#1d2024",
    line="#383d45",
    cursor="#343a42",
    cursor_away="#282c31",
    text="#d4dae3",
    quiet="#8b929c",
    accent="#6fc3b5",
    second="#8db4e2",
    good="#93c47d",
    warn="#e3b565",
    bad="#ec7f86",
)
_LIGHT = Palette(
    ground="#fbfbf9",
    raised="#f1f1ed",
    line="#cfd2d6",
    cursor="#cfe3ea",
    cursor_away="#e6eaec",
    text="#23282f",
    quiet="#6a7380",
    accent="#0f766a",
    second="#2a5ea8",
    good="#3c7a1f",
    warn="#93620a",
    bad="#b3303d",
    dark=False,
)
_SIXTEEN = Palette(
    ground="ansi_default",
    raised="ansi_default",
    line="ansi_bright_black",
    cursor="ansi_default",
    cursor_away="ansi_default",
    text="ansi_default",
    quiet="ansi_default",
    accent="ansi_cyan",
    second="ansi_blue",
    good="ansi_green",
    warn="ansi_yellow",
    bad="ansi_red",
    sixteen=True,
)
_SCROLLBAR_GROUND = ("-background", "-background-hover", "-background-active", "-corner-color")
PALETTES: Mapping[str, Palette] = MappingProxyType({DARK: _DARK, LIGHT: _LIGHT, SIXTEEN: _SIXTEEN})


def wants_no_colors(environ: Mapping[str, str]) -> bool:
    """Whether NO_COLOR is set; set to nothing it does not count (no-color.org)."""
    return bool(environ.get("NO_COLOR"))


def best_theme(color_system: str | None, *, no_colors: bool) -> str:
    """The rendering for what Rich says of the terminal; None is one that shows no colours."""
    return SIXTEEN if no_colors or color_system in _SIXTEEN_COLOURS else DARK


def make_theme(name: str) -> Theme:
    """The palette as Textual wants it, for what Textual itself draws."""
    palette = PALETTES[name]
    return Theme(
        name=name,
        primary=palette.accent,
        secondary=palette.second,
        accent=palette.accent,
        success=palette.good,
        warning=palette.warn,
        error=palette.bad,
        foreground=palette.text,
        background=palette.ground,
        surface=palette.raised,
        panel=palette.line,
        dark=palette.dark,
        ansi=palette.sixteen,
        variables={
            "quiet": palette.quiet,
            "line": palette.line,
            "raised": palette.raised,
            **{f"scrollbar{part}": palette.line for part in ("", "-hover", "-active")},
            **{f"scrollbar{part}": palette.raised for part in _SCROLLBAR_GROUND},
            # Asked for by Textual's own style sheets under an "ansi" theme.
            "ansi-background": "ansi_default",
            "ansi-foreground": "ansi_default",
        },
    )


@lru_cache(maxsize=4)
def inks(theme: str) -> Mapping[str, Style]:
    """The styles that widgets lay over their own; a theme that is not ours gets the dark ones."""
    palette = PALETTES.get(theme, _DARK)
    if palette.sixteen:
        # Reverse and bold survive NO_COLOR; the terminal's "dim" and "bright black" are too faint to trust.
        cursor, away = Style(reverse=True), Style(bold=True)
    else:
        cursor, away = Style(bgcolor=palette.cursor), Style(bgcolor=palette.cursor_away)
    colours = {
        "quiet": palette.quiet,
        "accent": palette.accent,
        "second": palette.second,
        "good": palette.good,
        "warn": palette.warn,
        "bad": palette.bad,
        "line": palette.line,
    }
    plain = {name: Style(color=_rich(colour)) for name, colour in colours.items()}
    return MappingProxyType(
        {
            "": Style.null(),
            **plain,
            "strong": Style(bold=True),
            "title": plain["accent"] + Style(bold=True),
            "choice": Style(bold=True, reverse=True),
            "alarm": plain["bad"] + Style(bold=True),
            "head": plain["quiet"] + Style(underline=palette.sixteen),
            "cursor": cursor,
            "cursor-away": away,
        }
    )


def _rich(colour: str) -> str:
    return colour.removeprefix("ansi_")
