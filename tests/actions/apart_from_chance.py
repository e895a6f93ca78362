"""The files of a table, apart from the names and times that chance decides.

Two runs of a change give the same.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping

import fastavro

_CHANCE = re.compile(
    r"-20\d{6}T\d{6}(?:-[0-9a-f]{6})?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}"
    r"|\"(?:timeMillis|token|time|since|saveTime|savedAt|verifiedAt|tagCreateTime)\" ?: ?[^,}]*"
    r"|\"(?:pid|processStart)\" ?: ?[^,}]*"
)


def apart_from_chance(files: Mapping[str, bytes]) -> Counter[tuple[str, str]]:
    """Each path with what the file says, as often as there are such files."""
    return Counter(
        (_CHANCE.sub("", path), _CHANCE.sub("", _stable_text(data))) for path, data in files.items()
    )


def difference(state: Counter[tuple[str, str]], right: Counter[tuple[str, str]]) -> list[str]:
    """The paths of what is too much or missing."""
    return [f"+ {path}" for path, _ in state - right] + [f"- {path}" for path, _ in right - state]


def _stable_text(data: bytes) -> str:
    # The marker between the blocks of an Avro file is another each time.
    if data.startswith(b"Obj\x01"):
        return str(list(fastavro.reader(io.BytesIO(data))))
    return data.decode("latin-1")
