"""Write rows as JSON: one list of objects, batch by batch."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, TextIO

import msgspec

from paimark.core.text import clean_json, distinct, plain_text

_encode = msgspec.json.Encoder().encode


class JsonRows:
    """Writes a JSON list with an object for each row. Writes nothing before the first row or `close`."""

    def __init__(self, out: TextIO, names: Sequence[str]) -> None:
        self._out = out
        self._names = distinct(names)
        self._rows = 0

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        for row in rows:
            fields = zip(self._names, map(plain, row), strict=True)
            text = json_text(dict(fields))
            self._out.write(("[\n  " if not self._rows else ",\n  ") + text)
            self._rows += 1

    def close(self) -> None:
        self._out.write("\n]\n" if self._rows else "[]\n")


def json_text(value: object, *, indent: int = 0) -> str:
    """JSON that is safe to print: `indent` 0 is one line. Structs become objects."""
    try:
        encoded = _encode(value)
    except UnicodeEncodeError:
        # UTF-8 can't hold lone surrogates; a JSON escape can.
        return json.dumps(msgspec.to_builtins(value), indent=indent or None)
    return clean_json((msgspec.json.format(encoded, indent=indent) if indent else encoded).decode())


def plain(value: Any) -> Any:
    """A cell as JSON holds it. `msgspec.Raw` is JSON already.

    Decimals, dates and times are strings, bytes base64, durations seconds, numbers that JSON lacks `"NaN"`,
    `"Infinity"` and `"-Infinity"`; a map whose keys are no strings is a list of `{"key", "value"}`.
    """
    if value is None or isinstance(value, str | bool | int | msgspec.Raw):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _named(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        if _is_map(value):
            return [{"key": plain(key), "value": plain(each)} for key, each in value]
        return [plain(each) for each in value]
    return plain_text(value)


def as_text(value: object) -> str:
    """A cell as one text: JSON for lists, structs and maps, base64 for bytes, otherwise as in SQL."""
    if isinstance(value, list | tuple | dict | bytes | bytearray):
        value = plain(value)
        return value if isinstance(value, str) else json_text(value)
    return plain_text(value)


def _is_map(value: Sequence[object]) -> bool:
    # `paimark.core.arrow_values` makes this of a map whose keys are no text; other lists hold no tuples.
    return bool(value) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value)


def _named(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
