"""Find the line in YARN's report of a failed application that says why it failed.

The first line of such a report only names an attempt and an exit code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_FAILED = re.compile(r"Application \S+ failed \d+ times.*? due to (?P<reason>.*)", re.DOTALL)
# What precedes YARN's own words.
_PREFIX = re.compile(
    r"^(?:Failing this attempt\.)?\s*(?:Diagnostics:)?\s*(?:\[\d{4}-\d\d-\d\d [\d:.]+\])?\s*"
)
_ERROR = r"((?:[\w$]+\.)+[\w$]*(?:Exception|Error)\b.*)"
# The lines that say why, the best first: an exception's cause, an exception, Java's own messages.
_BEST = (
    re.compile(f"^Caused by: {_ERROR}"),
    re.compile(f'^(?:Exception in thread "[^"]*" )?{_ERROR}'),
    re.compile(r"^(?:Error: )?((?:Could not|Unrecognized|Invalid) .+)"),
)
_SURROUNDINGS = re.compile(
    r"AM Container for |For more detailed output|\. Failing the application|at "
    r"|Exception from container-launch|Container id:|Exit code:|Exception message:|Shell output:"
    r"|Last \d+ bytes|Container exited|WARNING:"
)
_PACKAGE = re.compile(r"\b(?:[a-z]\w*\.)+(?=[A-Z][\w$]*(?:Exception|Error)\b)")
_EXIT = re.compile(r"exited with\s+exitCode: (-?\d+)")
_LONGEST = 300


def reason_of(report: str) -> str:
    """The line that says most, without Java's packages; the first line if the report says nothing more."""
    failed = _FAILED.match(report)
    if failed is None:
        return report.splitlines()[0]
    lines = [_PREFIX.sub("", line.strip()) for line in failed["reason"].splitlines()]
    return _PACKAGE.sub("", _best(lines) or _exit(report))[:_LONGEST]


def _best(lines: Sequence[str]) -> str:
    for pattern in _BEST:
        if match := next(filter(None, map(pattern.match, lines)), None):
            return match[1]
    return next((line for line in lines if line and not _SURROUNDINGS.match(line)), "")


def _exit(report: str) -> str:
    code = _EXIT.search(report)
    return f"its ApplicationMaster ended with exit code {code[1]}" if code else report.splitlines()[0]
