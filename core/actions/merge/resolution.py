"""A person's choices for the keys in conflict, read and checked against what is in conflict now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from paimark.core.actions.merge.conflict_lines import (
    BASE,
    MERGE,
    At,
    ConflictFile,
    Header,
    KeyLine,
    key_text,
    plain_json,
)
from paimark.core.actions.merge.sql import Choices
from paimark.core.actions.plan import Refusal
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.spark.protocol import Version

# All choices go to Spark in one message.
MOST_KEYS = 1_000_000
BY_CELL = "column by column"
# The words of a merge for its sides: the queries know them alone.
_PLAIN: Final = ("main", "branch", BASE)
_ANEW = (
    "`v` in the console finds them anew, and keeps what was chosen where the rows are the same; "
    "on the command line add --conflicts-out NEW."
)


@dataclass(frozen=True)
class Resolution:
    """A file of choices. `texts` has a JSON object per decided key, for Spark; `undecided` counts others.

    `digest` is of the file's bytes. `counts` is the number of keys by their choice: one of the words of its
    header, or `BY_CELL`.
    """

    path: str
    digest: str
    header: Header
    texts: tuple[str, ...] = field(repr=False)
    counts: Mapping[str, int]
    undecided: int
    first_undecided: str

    @property
    def keys(self) -> int:
        return len(self.texts) + self.undecided

    @property
    def description(self) -> str:
        """The number of keys by choice: `2 as in main, 1 as in branch fix, 3 column by column`."""
        names = {word: self.header.as_in(word) for word in self.header.words}
        if self.header.action == MERGE:
            names["branch"] = f"as in branch {self.header.branch}"
        if self.header.into:
            names["main"] = f"as in branch {self.header.into}"
        parts = [f"{count:,} {names.get(word, word)}" for word, count in self.counts.items() if count]
        return ", ".join(parts)


@dataclass(frozen=True)
class Between:
    """What can have keys in conflict: a merge, or a repair of rows. `start` is read with its schema.

    `compare` gives the versions to compare and the queries; None if there can be none, as `why_none` says.
    `same_as_main` are earlier states with the rows of `main`. `texts` are views beside the versions.
    """

    header: Header
    start: RewriteBase
    compare: Callable[[], tuple[Mapping[str, Version], Choices] | None]
    why_none: str = ""
    same_as_main: Callable[[], Sequence[At]] = tuple
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.header.table}: {self.header.states}"


def read_resolution(path: str) -> Resolution:
    """Read a file of choices. Raises `NotFound` if there is none, `Refused` if it is no valid one."""
    file = ConflictFile(path)
    header = file.header
    seen, texts = set[bytes](), list[str]()
    counts: Counter[str] = Counter(dict.fromkeys((*header.words, BY_CELL), 0))
    undecided, first = 0, ""
    for _, line in file.lines():
        key = key_text(line, header)
        if key in seen:
            raise Refused(f"{path} has the key {key.decode()} twice", "Leave one of its lines out.")
        seen.add(key)
        if len(seen) > MOST_KEYS:
            raise Refused(f"{path} has more than {MOST_KEYS:,} keys", "Decide all of them by --on-conflict.")
        _require_words(path, header, line)
        if line.undecided:
            undecided, first = undecided + 1, first or key.decode()
            continue
        counts[line.choose if isinstance(line.choose, str) else BY_CELL] += 1
        texts.append(_text_of(header, line))
    return Resolution(path, file.digest, header, tuple(texts), counts, undecided, first)


def resolved(between: Between, path: str, digest: str | None) -> Resolution:
    """A person's choices. `digest` is the file's earlier one, None for the first time.

    Raises `NotFound`, and `Refused` for a file of something else, or one that changed since. Does not check
    whether anything has `moved` since.
    """
    resolution = read_resolution(path)
    if digest not in (None, resolution.digest):
        raise Refused(
            f"{path} changed since its choices were planned", "Nothing was written: make a new plan."
        )
    require_same(between, path, resolution.header)
    return resolution


def undecided(resolution: Resolution | None) -> list[Refusal]:
    """That keys are undecided."""
    if resolution is None or not resolution.undecided:
        return []
    keys = f"{resolution.undecided:,} of {counted(resolution.keys, 'key')}"
    reason = f"{keys} in conflict are undecided: first {resolution.first_undecided}, in {resolution.path}"
    *others, last = (f'"{word}"' for word in resolution.header.words)
    words = f"{', '.join(others)} or {last}"
    return [Refusal(reason, f'Choose with `v` in the console, or set "choose" in their lines to {words}.')]


def require_same(between: Between, path: str, header: Header) -> None:
    """Raises `Refused` for a file of another table, branch, target or action."""
    now = between.header
    pairs = {"": (header.table, now.table), "for ": (header.action, now.action)}
    pairs |= {"of branch ": (header.branch, now.branch)}
    pairs |= {"for a merge into ": (header.into or "main", now.into or "main")}
    for of, (then, wanted) in pairs.items():
        if then != wanted:
            raise Refused(f"{path} is {of or 'of '}{then}, and this is {wanted}", "Name another file.")


def moved(between: Between, path: str, header: Header) -> list[Refusal]:
    """Why the conflicts may differ from those when the file was written; empty if they don't."""
    now = between.header
    then_and_now = {
        header.sides[1]: (header.head, now.head),
        "the base": (header.base, now.base),
        header.sides[0]: (header.main, now.main, *between.same_as_main()),
    }
    for side, (then, *states) in then_and_now.items():
        if then not in states:
            ids = [0 if each is None else each.id for each in (then, states[0])]
            reason = f"{side} moved since {path} was written, from snapshot {ids[0]} to {ids[1]}"
            return [Refusal(f"{reason}: the conflicts may be others now", _ANEW)]
    if [*header.columns] != [*now.columns] or header.keys != now.keys:
        return [Refusal(f"The columns of {now.table} changed since {path} was written", _ANEW)]
    return []


def _require_words(path: str, header: Header, line: KeyLine) -> None:
    if isinstance(line.choose, str):
        chosen: Mapping[str, str] = {"": line.choose} if line.choose else {}
    else:
        chosen = line.choose
    for column, word in chosen.items():
        key = key_text(line, header).decode()
        if word not in header.words:
            where = f" for {column}" if column else ""
            words = ", ".join(f'"{each}"' for each in header.words)
            hint = f'It is {words}, "" for not yet, or an object of columns to one of them.'
            raise Refused(f"{path} chooses {word!r}{where} of key {key}", hint)
        if column and (column not in header.columns or column in header.keys):
            raise Refused(f"{path} chooses a column {column} of key {key}", "There is none to choose.")
        if column and line.columns and column not in line.columns:
            reason = f"{path} chooses {column} of key {key}, in which both sides are the same"
            raise Refused(reason, "Leave it out.")
    if not isinstance(line.choose, str) and line.is_whole:
        reason = (
            f"{path} chooses columns of key {key_text(line, header).decode()}, which a side has no row of"
        )
        raise Refused(reason, "Choose a side for the whole row.")


def _text_of(header: Header, line: KeyLine) -> str:
    """The choice as JSON for Spark, in the words of a merge, and with columns by their places, because a name
    may be any text."""
    places = {name: f"c{place}" for place, name in enumerate(header.columns)}
    plain = {"": "", **dict(zip((*header.sides, BASE), _PLAIN, strict=True))}
    key = {places[name]: msgspec.Raw(plain_json(line.key[name])) for name in header.keys}
    if isinstance(line.choose, str):
        return msgspec.json.encode({"k": key, "s": plain[line.choose]}).decode()
    cells = {places[name]: plain[word] for name, word in line.choose.items()}
    return msgspec.json.encode({"k": key, "m": cells}).decode()
