"""Import Textual without the parts that this console never shows: a tenth of the time to the first frame.

`textual.app` imports its command palette, and that imports five widgets. This console has a palette of its
own. While `textual.app` is imported, empty classes stand in for those of the palette. Later imports of these
modules give the real ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType


class _NotShown:
    """Stands in for a class of the palette."""


def _downloads() -> Path:
    """Where Textual saves a screenshot, as `platformdirs` finds it."""
    from platformdirs import user_downloads_path

    return user_downloads_path()


# What `textual.app` and `textual.theme` take from each module.
_STAND_INS: Mapping[str, Mapping[str, object]] = {
    "textual.command": dict.fromkeys(
        (
            "CommandListItem",
            "CommandPalette",
            "DiscoveryHit",
            "Hit",
            "Hits",
            "Provider",
            "SimpleProvider",
        ),
        _NotShown,
    ),
    # For a picture of the colours.
    "rich.table": {"Table": _NotShown},
    "platformdirs": {"user_downloads_path": _downloads},
}


def import_textual() -> None:
    """Import `textual.app` without its palette.

    Does nothing if another version of Textual takes more from the palette: the next import is a whole one.
    """
    if "textual.app" not in sys.modules:
        with _standing_in(), suppress(ImportError):
            import textual.app  # noqa: F401


@contextmanager
def _standing_in() -> Iterator[None]:
    added = [name for name in _STAND_INS if name not in sys.modules]
    for name in added:
        module = ModuleType(name)
        module.__dict__.update(_STAND_INS[name])
        sys.modules[name] = module
    try:
        yield
    finally:
        for name in added:
            del sys.modules[name]
