"""Names, texts and words as Spark SQL and a shell accept them, whatever they contain."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def quoted_if_needed(name: str) -> str:
    """An identifier, without backticks if Spark accepts it so."""
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def shell_line(words: Iterable[str]) -> str:
    """The words of a command, quoted if a shell needs it."""
    return " ".join(map(shell_word, words))


def shell_word(word: str) -> str:
    """A word, quoted if needed. One with single quotes, as in SQL, gets double ones, to stay readable."""
    if "'" not in word or "!" in word:
        return shlex.quote(word)
    escaped = re.sub(r'(["$`\\])', r"\\\1", word)
    return f'"{escaped}"'
