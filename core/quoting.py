"""Names and texts as Spark SQL takes them, whatever they hold."""

from __future__ import annotations

import re

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def quoted_if_needed(name: str) -> str:
    """An identifier, plain where Spark takes it plain."""
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
