"""Insert or remove a field in Paimon's JSON files; every other field stays unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from paimark.core.errors import Corrupt
from paimark.core.table.records import DECODE_ERRORS, json_object

_TIME_TO_LIVE = ("tagCreateTime", "tagTimeRetained")


def formatted(fields: Mapping[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(fields), indent=2)


def without_time_to_live(tag: bytes, source: str) -> bytes:
    """A tag without a time to live; the same bytes if it has none. Raises `Corrupt`."""
    fields = decoded(tag, source)
    if not any(name in fields for name in _TIME_TO_LIVE):
        return tag
    return formatted({name: value for name, value in fields.items() if name not in _TIME_TO_LIVE})


def with_options(schema: bytes, options: Mapping[str, str | None], source: str) -> bytes:
    """A schema with these options (None removes one); the same bytes if nothing changes. Raises `Corrupt`."""
    fields = decoded(schema, source)
    before: Any = fields.get("options") or {}
    if not isinstance(before, dict):
        raise Corrupt(f"The options in {source} are no object", "Restore it from a backup.")
    # An option stays at its place among the others.
    merged = {name: options.get(name, value) for name, value in before.items()} | dict(options)
    after = {name: value for name, value in merged.items() if value is not None}
    return schema if after == before else formatted({**fields, "options": after})


def decoded(data: bytes, source: str) -> dict[str, Any]:
    """Raises `Corrupt` naming `source` when the bytes are not a JSON object."""
    try:
        return json_object(data)
    except DECODE_ERRORS as error:
        raise Corrupt(f"{source} is not a JSON object ({error})", "Restore it from a backup.") from error
