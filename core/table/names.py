"""Names as people and SQL write them, and the check whether a name may become part of a path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from paimark.core.errors import UsageError, failing_at
from paimark.core.figures import some_of
from paimark.core.table.layout import HEARTBEAT_PREFIX, MAIN, STEP_PREFIX, TablePath
from paimark.core.text import has_halves, spelled

_HOSTILE = re.compile(r"[\x00-\x1f\x7f/\\]")
_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")
BRANCH_PART = "branch_"
# The patterns of a change's token, and of the names of its files. A name that only begins so is not of one.
TOKEN = "[0-9a-f]{32}"
OF_A_CHANGE = rf"(?:{STEP_PREFIX}|{HEARTBEAT_PREFIX})(?P<token>{TOKEN})(?:-[0-9]+)?"
# The characters between a table and its branch or version, in places and in SQL.
_BEHIND = str.maketrans(":$", "@@")
_ARCHIVE = re.compile(rf"{MAIN}-\d{{8}}T\d{{6}}-[0-9a-f]{{6}}")
# The number of names in a hint.
_FEW = 10
# The names of system tables: `t$snapshots`.
SYSTEM_NAMES = ("snapshots", "savepoints", "tags", "branches", "schemas", "operations", "options", "files")
SAFE_NAMES = "A name is not blank, is UTF-8 and holds no '/', '\\' or control characters"
CHOOSE_DATABASE = (
    "USE db; before it chooses one, and so does `paimark sql --database db`; "
    "in the console, a table of it at the left."
)


def is_archive(branch: str) -> bool:
    """Whether its name is that of a root which was main, or has what was cut off main."""
    return _ARCHIVE.fullmatch(branch) is not None


class SystemName(NamedTuple):
    """The parts of `t$branch_b$snapshots`. `branch` and `system` are None if they are not written."""

    table: str
    branch: str | None
    system: str | None

    @property
    def suffix(self) -> str:
        """The text after the table's own name."""
        parts = (None if self.branch is None else f"{BRANCH_PART}{self.branch}", self.system)
        return "".join(f"${part}" for part in parts if part is not None)


def is_safe_name(name: str) -> bool:
    """Whether a name is exactly one part of a path."""
    return bool(name.strip()) and name not in (".", "..") and not (_HOSTILE.search(name) or has_halves(name))


def unsafe_said(names: Iterable[str]) -> str:
    """`left out: 'a\\x1b' and 2 more`, of the names that are no part of a path; empty if all are."""
    unsafe = sorted(name for name in names if not is_safe_name(name))
    if not unsafe:
        return ""
    return f"left out: {some_of([*map(spelled, unsafe)], 1)}"


def checked_name(name: str, kind: str) -> str:
    """The name of a `kind` (branch, tag, ...). Raises `UsageError` if it could leave its directory."""
    if not is_safe_name(name):
        raise UsageError(
            f"{spelled(name)} can't be the name of a {kind}",
            f"{SAFE_NAMES}.",
        )
    return name


def parse_table_name(text: str) -> TablePath:
    """Parse `db.t`, each part plain or in backticks. Raises `UsageError`, also for system tables."""
    parts = split_name(text)
    if len(parts) != 2:
        plain = text.translate(_BEHIND).partition("@")[0]
        is_more = plain != text and plain.count(".") == 1
        hint = alone(plain) if is_more else "Write it as database.table."
        raise UsageError(f"{text!r} is not a table name", hint)
    for part in parts:
        checked_name(part, "table")
        if "$" in part or part.startswith("."):
            hint = "Write it as database.table."
            if part.find("$") > 0:
                hint = alone(f"{parts[0]}.{part.partition('$')[0]}")
            raise UsageError(f"{part!r} can't be the name of a table", hint)
    return TablePath(parts[0], parts[1])


def split_name(text: str) -> list[str]:
    """The parts of a dotted name, without backticks. Raises `UsageError` if the text is no such name."""
    parts: list[str] = []
    position = 0
    text = text.strip()
    while match := _PART.match(text, position):
        quoted, plain = match.groups()
        parts.append(plain.strip() if quoted is None else quoted.replace("``", "`"))
        position = match.end()
        if position == len(text):
            return parts
        if text[position] != ".":
            break
        position += 1
    raise UsageError(f"{text!r} is not a name", "Write it as database.table, or in `backticks`.")


def split_system_name(name: str) -> SystemName:
    """A table's name with the parts that Paimon writes after `$`. Raises `UsageError` for further parts."""
    table, *rest = name.split("$")
    branch: str | None = None
    if rest and rest[0].startswith(BRANCH_PART):
        branch = rest.pop(0).removeprefix(BRANCH_PART)
        checked_name(branch, "branch")
    if len(rest) > 1 or "" in (table, *rest):
        raise UsageError(
            f"{name!r} is not the name of a table or system table",
            "Write t$snapshots or t$branch_b$snapshots.",
        )
    return SystemName(table, None if branch == MAIN else branch, rest[0] if rest else None)


def named_table(parts: tuple[str, ...], database: str | None) -> tuple[TablePath, str | None]:
    """The table to which a statement writes, and its branch (None: main). Raises `UsageError`."""
    if len(parts) == 1 and database is not None:
        parts = (database, *parts)
    if len(parts) != 2:
        raise UsageError(f"{'.'.join(parts)} is not a table's name", "Write it as database.table.")
    name = split_system_name(parts[1])
    if name.system is not None:
        raise UsageError(f"{parts[1]} is a system table, which nobody writes", "Write the table's own name.")
    return TablePath(checked_name(parts[0], "database"), checked_name(name.table, "table")), name.branch


def require_chosen(parts: Sequence[str], database: str | None) -> None:
    """Raises `UsageError` for a table in a statement that is named without a database, if none is chosen."""
    if len(parts) == 1 and database is None:
        hint = f"Write it as database.table. {CHOOSE_DATABASE}"
        raise UsageError(f"No database is chosen to have {parts[0]}", hint)


def chosen_table(parts: tuple[str, ...], database: str | None, position: int) -> tuple[TablePath, str | None]:
    """As `named_table`, of a name at this offset in a statement. Raises `StatementFailed` there."""
    with failing_at(position):
        require_chosen(parts, database)
        return named_table(parts, database)


def system_hint(name: str) -> str:
    """A hint for a system table's name without its table, as Paimon's classes are called; else empty.

    `SavepointsTable`, `savepoints`: ``The savepoints of a table t are rows of `t$savepoints`.``
    """
    kind = name.lower().removesuffix("table").rstrip("_$")
    if kind not in SYSTEM_NAMES:
        return ""
    return f"The {kind} of a table t are rows of `t${kind}`."


def alone(table: str) -> str:
    """The hint for a table's name with a branch or version after it, in a place that takes neither."""
    return f"Write {table} alone: a branch is given apart (--branch), and so is a version."


def near_names(name: str, names: Iterable[str], before: str = "") -> str:
    """A hint with the names spelled nearly like `name`, each with `before` it; empty if there is none."""
    known = {each.lower(): each for each in names}
    # Imported here, as the console's first frame waits for none of it.
    import difflib

    near = [before + known[each] for each in difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.6)]
    return f"Did you mean {' or '.join(near)}?" if near else ""


def near_or_all_names(name: str, names: Iterable[str], nothing: str = "none") -> str:
    """The same hint. If no name is similar: the first few names, or `nothing` if there is no name."""
    known = list(names)
    return near_names(name, known) or f"It has {some_of(known, _FEW) or nothing}."
