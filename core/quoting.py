"""Names and texts in the form that Spark SQL accepts, whatever they contain."""

from __future__ import annotations

import re

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def quoted_if_needed(name: str) -> str:
    """An identifier, without backticks if Spark accepts it so."""
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
