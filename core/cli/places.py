"""`paimark prod/shop.orders@savepoint.1`: find the warehouse that a word means, and the place in it.

The rules apply in this order, so that paths and URIs keep their meaning:

1. A word with `://` is a URI. Two slashes in its path end the warehouse: `s3://lake/w//shop.orders`.
2. A directory that exists is a warehouse.
3. `NAME/PLACE` if NAME is a context of the config file, else `DIRECTORY/PLACE` if the directory exists.
4. `PLACE` alone is in the warehouse that options, the environment or the default context name.
5. The name of a context. Anything else is a warehouse that does not exist.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from paimark.core.config import Flags, Settings, config_path, read_config
from paimark.core.errors import NotFound, UsageError


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a word; None for a part that the word does not name."""

    warehouse: str | None = None
    context: str | None = None
    start: str | None = None


def go_to(word: str, flags: Flags) -> None:
    """Put the meaning of the word into the flags. Raises `UsageError` if an option contradicts it."""
    meaning = meaning_of(word)
    for name in ("warehouse", "context"):
        from_word, from_flags = getattr(meaning, name), getattr(flags, name)
        if from_word is not None and from_flags not in (None, from_word):
            raise UsageError(f"{word!r} names one {name} and --{name} another", "Name one of the two.")
    if meaning.context is not None and flags.warehouse is not None:
        raise UsageError(f"{word!r} names a context and --warehouse a warehouse", "Name one of the two.")
    flags.warehouse = meaning.warehouse or flags.warehouse
    flags.context = meaning.context or flags.context
    flags.start = meaning.start or flags.start


def meaning_of(word: str) -> Meaning:
    """Raises `UsageError` for a config file that can't be read, and for a blank word."""
    if not word.strip():
        raise UsageError("The warehouse's name is empty", "Is the variable set that it comes from?")
    if "://" in word:
        return _in_uri(word)
    if _is_directory(word) or os.path.isfile(os.path.expanduser(word)):
        # A file is no warehouse, and its name is no table's: `bucket-0/data-1.parquet`.
        return Meaning(word)
    contexts = read_config(config_path()).contexts
    before, slash, last = word.rpartition("/")
    if looks_like_place(last):
        if not slash:
            return Meaning(start=last)
        if before in contexts:
            return Meaning(context=before, start=last)
        if _is_directory(before or "/"):
            return Meaning(before or "/", start=last)
    return Meaning(context=word) if word in contexts else Meaning(word)


def looks_like_place(word: str) -> bool:
    # Imported late: most starts name a directory, and need no parser of versions.
    from paimark.core.travel.place import looks_like_place

    return looks_like_place(word)


def require_warehouse(address: str) -> None:
    """Raises `NotFound` if this machine has no such warehouse; the hint says what the address names."""
    if "://" in address or os.path.isdir(address):
        return
    from paimark.core.table.catalog import address_hint

    hint = "Name a directory or a URI; `paimark --help` lists the commands."
    above, _, last = address.rstrip("/").rpartition("/")
    if os.path.isdir(f"{address.rstrip('/')}.db"):
        hint = f"{last} is a database: its warehouse is {above or '.'}."
    raise NotFound(f"There is no warehouse {address}", address_hint(address) or hint)


def require_place(settings: Settings) -> None:
    """Check that the place exists, if the warehouse is on this machine, where the check is cheap.

    Raises `UsageError` for a word that is not a place, `NotFound` for a place that does not exist."""
    if not settings.start:
        return
    from paimark.core.travel.place import find_place, parse_place

    place = parse_place(settings.start)
    if "://" in settings.warehouse:
        return
    from paimark.core.storage.open import open_files

    try:
        find_place(open_files(settings.warehouse, settings.options), place)
    except NotFound as error:
        raise NotFound(
            error.message, f"{error.hint} The warehouse is {settings.warehouse}.".strip()
        ) from error


def _in_uri(word: str) -> Meaning:
    scheme, _, path = word.partition("://")
    address, slashes, last = path.rpartition("//")
    if slashes and address.strip("/") and looks_like_place(last):
        return Meaning(f"{scheme}://{address}", start=last)
    return Meaning(word)


def _is_directory(word: str) -> bool:
    return os.path.isdir(os.path.expanduser(word))
