"""Answer SQL in a peer's own environment. Imports only the standard library, which every environment has."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any


def answer_lines(query: Callable[[str], Sequence[Sequence[Any]]]) -> None:
    """Until stdin ends: for each line with a statement, write its rows as a line of JSON, or its error."""
    # Output of a library must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            told: Any = [list(row) for row in query(json.loads(line))]
        except Exception as error:  # the process that asked reports it
            told = f"{type(error).__name__}: {error}"[:2000]
        print(json.dumps(told, default=str), file=answers, flush=True)
