"""The command line of a benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def parser_of(docstring: str | None, numbers: Sequence[str] = ()) -> argparse.ArgumentParser:
    """A parser, with `--only` for a module that measures more than one of the goals in `numbers`."""
    words = argparse.ArgumentParser(
        description=docstring, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if numbers:
        words.add_argument(
            "--only", nargs="+", choices=numbers, default=list(numbers), help="all of them unless told"
        )
    return words
