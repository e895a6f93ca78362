"""Commands as a person types them into a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable


def shell_line(words: Iterable[str]) -> str:
    """The words of a command, quoted if a shell needs it."""
    return " ".join(map(shell_word, words))


def shell_word(word: str) -> str:
    """A word, quoted if needed. One with single quotes, as in SQL, gets double ones, to stay readable."""
    if "'" not in word or "!" in word:
        return shlex.quote(word)
    escaped = re.sub(r'(["$`\\])', r"\\\1", word)
    return f'"{escaped}"'
