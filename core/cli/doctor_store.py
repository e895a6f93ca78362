"""What `doctor` tells of a store: whether it keeps the conditions of writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from core.config import Settings
from core.errors import Refused, Unavailable
from core.storage.conditions import THOROUGH
from core.storage.open import open_files


class Told(NamedTuple):
    """`state` is ok, warning or broken."""

    state: str
    detail: str
    hint: str = ""


def conditions(settings: Settings) -> Iterator[Told]:
    """Race for scratch files in the warehouse; nothing where its store needs no proof."""
    if "://" not in settings.warehouse:
        return
    from core.storage.remote import RemoteFiles

    files = open_files(settings.warehouse, settings.options)
    if not isinstance(files, RemoteFiles) or not files.must_prove:
        return
    if settings.read_only:
        yield Told("ok", "not tried in read-only mode", "Without it doctor races for scratch files there.")
        return
    try:
        found = files.race(THOROUGH)
        found.require(files.uri)
    except Refused as error:
        yield Told("broken", error.message, error.hint)
    except Unavailable as error:
        yield Told(
            "warning", f"Whether the store keeps conditional writes is unknown: {error.message}", error.hint
        )
    else:
        race = found.race
        yield Told("ok", f"kept in {race.rounds} races of {race.writers} writers each: changes are safe")
