"""How large the product is: `make check` prints it, and nothing fails by it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from paimark.core.actions.declared.declarations import DECLARED

_CHECKOUT = Path(__file__).parents[2]


def _texts(*patterns: str) -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=_CHECKOUT, capture_output=True, check=False
    )
    names = [name for name in listed.stdout.decode().split("\0") if name and (_CHECKOUT / name).is_file()]
    return {name: (_CHECKOUT / name).read_text() for name in names}


def _lines(texts: Iterable[str]) -> int:
    return sum(text.count("\n") for text in texts)


def measures() -> str:
    """One line; empty outside of git, where nobody can tell the product's files."""
    product = _texts("core/**.py", "tui/**.py", "paimark/**.py")
    if not product:
        return ""
    java, tests = _texts("core/**.java"), _texts("tests/**.py", "tests/**.java")
    # Names of one word stand for other things, too.
    named = [
        sum(
            re.search(rf"\b(?:{name}|{name.replace('-', '_')})\b", text) is not None
            for text in product.values()
        )
        for name in DECLARED
        if "-" in name
    ]
    return (
        f"Product: {_lines(product.values()):,} lines of Python in {len(product)} modules, "
        f"{_lines(java.values()):,} of Java in {len(java)}. Tests: {_lines(tests.values()):,} lines. "
        f"The name of an action stands in {median(named):.0f} modules, of half of them in fewer."
    )


if __name__ == "__main__":
    print(measures())
