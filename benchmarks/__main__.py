"""Measure one goal (`python -m benchmarks P8 --rounds 3`), or every goal in turn (`--all`, or `make bench`).

The words after the number go to the goal's module; `--help` lists them. benchmarks/README.md has the goals
and the results.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence

from benchmarks.goals import GOALS, Command


def listing() -> str:
    lines = [f"  {number:5}{goal.what}" for number, goal in GOALS.items()]
    return "\n".join([(__doc__ or "").rstrip(), "", *lines])


def failed(commands: Iterable[Command]) -> list[Command]:
    """Run the commands, and return those that failed."""
    # A process each: the imports of one must not count in the memory figures of another.
    return [each for each in commands if subprocess.call([sys.executable, "-m", *each])]


def main(words: Sequence[str]) -> int:
    if list(words) == ["--all"]:
        wrong = failed(command for goal in GOALS.values() for command in goal.commands)
    elif words and (goal := GOALS.get(words[0].removesuffix("b"))):
        # P8b is another column of P8.
        wrong = failed((*command, *words[1:]) for command in goal.commands)
    else:
        is_help = list(words) in (["--help"], ["-h"])
        print(listing(), file=sys.stdout if is_help else sys.stderr)
        return 0 if is_help else 2
    for command in wrong:
        print(f"failed: python -m {' '.join(command)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
