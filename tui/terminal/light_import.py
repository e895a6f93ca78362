"""Import Textual without the parts that no first frame needs: a sixth of the time to that frame.

`textual.app` imports its command palette, and that imports five widgets. This console has a palette of its
own. While `textual.app` is imported, empty classes stand in for those of the palette. For other modules
there is one that loads them when somebody uses them. Later imports of these modules give the real ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any


class _NotShown:
    """Stands in for a class of the palette."""


class _Never(ModuleType):
    """Has empty classes only."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        vars(self).update(dict.fromkeys(_NEVER[name], _NotShown))


class _Later(ModuleType):
    """Has functions of a module, and loads the module when one is called, or for any other name."""

    def __init__(self, name: str, functions: Sequence[str]) -> None:
        super().__init__(name)
        vars(self).update({each: _function(name, each) for each in functions})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Asked by an import, as `__path__`.
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def _function(module: str, name: str) -> Callable[..., Any]:
    """Stands in for a function, and imports its module when it is called."""

    def call(*values: Any, **named: Any) -> Any:
        return getattr(import_module(module), name)(*values, **named)

    return call


# The classes that Textual takes from modules of which this console shows nothing.
_NEVER: Mapping[str, Sequence[str]] = {
    "textual.command": (
        "CommandListItem",
        "CommandPalette",
        "DiscoveryHit",
        "Hit",
        "Hits",
        "Provider",
        "SimpleProvider",
    ),
    # For a picture of the colours.
    "rich.table": ("Table",),
}
# The functions that Textual and its libraries take by name from modules that no first frame needs.
_LATER: Mapping[str, Sequence[str]] = {
    # For TLS in asyncio: it loads OpenSSL.
    "ssl": (),
    "asyncio.sslproto": (),
    # For styles with data.
    "pickle": ("dumps", "loads"),
    # For hints in errors of style sheets.
    "difflib": ("get_close_matches",),
    # For files that are delivered to a browser.
    "mimetypes": (),
    # For text with markup in square brackets, and for lines between widgets.
    "textual.markup": ("parse_style",),
    "textual.canvas": ("Canvas", "Rectangle"),
    # For the place of a screenshot.
    "platformdirs": ("user_downloads_path",),
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
    modules = [*map(_Never, _NEVER), *(_Later(name, functions) for name, functions in _LATER.items())]
    added = {each.__name__: each for each in modules if each.__name__ not in sys.modules}
    sys.modules.update(added)
    try:
        yield
    finally:
        for name, module in added.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        if "asyncio" in sys.modules:
            # The import of a part sets it in its package, where others look for it.
            vars(sys.modules["asyncio"]).setdefault("sslproto", added.get("asyncio.sslproto"))
