"""A person's choices for the keys in conflict: a file of JSON lines, read and checked against a merge.

The first line describes the file. Each further line is a key in conflict, with its rows and the choice for
it. The last line counts the keys, so that a truncated file is detected.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import msgspec

from paimark.core.actions.merge.history import events
from paimark.core.actions.merge.survey import Survey
from paimark.core.actions.plan import Refusal
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted
from paimark.core.regular_files import open_regular
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.records import DECODE_ERRORS, Snapshot

VERSION = 1
# All choices go to Spark in one message.
MOST_KEYS = 1_000_000
# The side whose row, or cell, main gets. An empty choice means undecided.
WORDS: Final = ("main", "branch", "base")
BY_CELL = "column by column"
_NO_ROW, _LEFT_OUT = b"null", msgspec.Raw(b"")
_BOM = b"\xef\xbb\xbf"

_WRITES = "`paimark merge-branch --conflicts-out FILE` writes one."
_ANEW = (
    "`v` in the console finds them anew, and keeps what was chosen where the rows are the same; "
    "on the command line add --conflicts-out NEW."
)

Choose = str | dict[str, str]


class At(msgspec.Struct, frozen=True):
    """A snapshot: its id, and its delta manifest list, which tells it from a later one with this id."""

    id: int
    commit: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> At:
        return cls(snapshot.id, snapshot.delta_manifest_list)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line. `columns` maps names to types, as in the schema."""

    paimark: Literal["conflicts"] = "conflicts"
    version: int = VERSION
    table: str
    branch: str
    base: At
    main: At
    head: At
    keys: tuple[str, ...]
    columns: dict[str, str]


class KeyLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key in conflict. Main's and the branch's row differ in `columns`; both sides changed those in `both`.

    A missing row is null. A script may leave out all fields but `key` and `choose`.
    """

    key: dict[str, msgspec.Raw]
    choose: Choose
    both: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    base: msgspec.Raw = _LEFT_OUT
    main: msgspec.Raw = _LEFT_OUT
    branch: msgspec.Raw = _LEFT_OUT

    @property
    def is_whole(self) -> bool:
        """Whether one side has no row, so that no single cell can be chosen."""
        return any(bytes(row) == _NO_ROW for row in (self.main, self.branch))

    @property
    def undecided(self) -> bool:
        """Whether there is no choice, or none for some cell that both sides changed."""
        if isinstance(self.choose, str):
            return not self.choose
        return not self.choose.keys() >= {*self.both}


class EndLine(msgspec.Struct, frozen=True):
    """The last line: the number of keys."""

    end: int


@dataclass(frozen=True)
class Resolution:
    """A file of choices. `texts` has a JSON object per decided key, for Spark; `undecided` counts others.

    `digest` is of the file's bytes. `counts` is the number of keys by their choice: one of `WORDS`, or
    `BY_CELL`.
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
        names = {"main": "as in main", "branch": f"as in branch {self.header.branch}", "base": "as in base"}
        parts = [f"{count:,} {names.get(word, word)}" for word, count in self.counts.items() if count]
        return ", ".join(parts)


_lines: Final = msgspec.json.Decoder(KeyLine)
_ends: Final = msgspec.json.Decoder(EndLine)


class ConflictFile:
    """A file of conflicts, read line by line. Raises `NotFound`, and `Refused` for another kind of file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.header = _header_of(path, next((line for _, line in _read(path)), b""))
        self._digest = hashlib.sha256()

    def lines(self) -> Iterator[tuple[int, KeyLine]]:
        """Each key with the offset of its line. Raises `Refused` for an incomplete file."""
        path, end, count = self.path, None, 0
        self._digest = hashlib.sha256()
        for number, (at, line) in enumerate(_read(path), 1):
            self._digest.update(line)
            if number == 1 or not line.strip():
                continue
            if end is not None:
                raise Refused(f"{path} goes on after its end, in line {number}", _WRITES)
            if (end := _end_of(line)) is None:
                count += 1
                yield at, _key_of(path, number, line, self.header)
        if end is None:
            raise Refused(f"{path} was cut off: its last line, which counts the keys, is missing", _WRITES)
        if end != count:
            reason = f"{path} was written with {counted(end, 'key')} and has {count:,}"
            raise Refused(f"{reason}: lines are missing, or were added", _WRITES)

    @property
    def digest(self) -> str:
        """The digest of the bytes that `lines` has read to the end."""
        return self._digest.hexdigest()


def read_resolution(path: str) -> Resolution:
    """Read a file of choices. Raises `NotFound` if there is none, `Refused` if it is no valid one."""
    file = ConflictFile(path)
    header = file.header
    seen, texts = set[bytes](), list[str]()
    counts: Counter[str] = Counter(dict.fromkeys((*WORDS, BY_CELL), 0))
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


def resolved(survey: Survey, path: str, digest: str | None) -> tuple[Survey, Resolution]:
    """A merge with a person's choices for it. `digest` is the file's earlier one, None for the first time.

    Raises `NotFound`, and `Refused` for a file of another table or branch, or one that changed since. Does
    not check whether the merge has `moved` since.
    """
    if survey.kind != "keyed":
        branch = survey.branch.root.label
        raise Refused(f"A merge of branch {branch} has no keys in conflict now", "Leave the choices out.")
    resolution = read_resolution(path)
    if digest not in (None, resolution.digest):
        raise Refused(
            f"{path} changed since its choices were planned", "Nothing was written: make a new plan."
        )
    require_same(survey, path, resolution.header)
    return replace(survey, choices=resolution.digest), resolution


def key_text(line: KeyLine, header: Header) -> bytes:
    """The key as JSON in one canonical form."""
    values = (b"%s:%s" % (msgspec.json.encode(name), _plain(line.key[name])) for name in header.keys)
    return b"{%s}" % b",".join(values)


def require_same(survey: Survey, path: str, header: Header) -> None:
    """Raises `Refused` for a file of another table or branch."""
    table, branch = survey.start.root.table.full_name, survey.branch.root.label
    if header.table != table:
        raise Refused(f"{path} is of {header.table}, and this is {table}", "Name another file.")
    if header.branch != branch:
        raise Refused(f"{path} is of branch {header.branch}, and this is {branch}", "Name another file.")


def moved(files: Files, survey: Survey, path: str, header: Header) -> list[Refusal]:
    """Why the conflicts may differ from those when the file was written; empty if they don't."""
    table, schema = survey.start.root.table, survey.target.schema
    then_and_now = {
        f"branch {header.branch}": (header.head, At.of(survey.branch.snapshot)),
        "the base": (header.base, At.of(survey.base)),
        "main": (header.main, *_states(files, survey.start.root, survey.start.head.snapshot)),
    }
    for side, (then, now, *others) in then_and_now.items():
        if then not in (now, *others):
            reason = f"{side} moved since {path} was written, from snapshot {then.id} to {now.id}"
            return [Refusal(f"{reason}: the conflicts may be others now", _ANEW)]
    if [*header.columns] != [each.name for each in schema.fields] or [*header.keys] != schema.primary_keys:
        reason = f"The columns of {table.full_name} changed since {path} was written"
        return [Refusal(reason, _ANEW)]
    return []


def _states(files: Files, main: Root, snapshot: Snapshot) -> list[At]:
    """The snapshot, and main's earlier snapshots whose rows an undo restored in it."""
    states = [At.of(snapshot)]
    for event in reversed(events(files, main.table)):
        made = At(event.main.id, event.main.delta_manifest_list)
        if event.kind == "rollback" and event.root == main.branch and made == states[-1] and event.then:
            states.append(At(event.then.id, event.then.delta_manifest_list))
    return states


def _read(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, each with its offset."""
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            at = 0
            for line in file:
                yield at, line
                at += len(line)
    except OSError as error:
        raise NotFound(f"{path} can't be read: {error.strerror or error}", _WRITES) from error


def _header_of(path: str, line: bytes) -> Header:
    try:
        header = msgspec.json.decode(line.removeprefix(_BOM), type=Header)
    except DECODE_ERRORS as error:
        raise Refused(f"{path} is no file of conflicts ({error})", _WRITES) from error
    if header.version != VERSION:
        raise Refused(f"{path} has format {header.version}, and this version knows {VERSION}", _WRITES)
    return header


def _end_of(line: bytes) -> int | None:
    try:
        return _ends.decode(line).end
    except DECODE_ERRORS:
        return None


def _key_of(path: str, number: int, line: bytes, header: Header) -> KeyLine:
    try:
        key = _lines.decode(line)
    except DECODE_ERRORS as error:
        hint = "A line is one JSON object, with its key and what is chosen."
        raise Refused(f"Line {number} of {path} is no conflict ({error})", hint) from error
    if key.key.keys() != {*header.keys}:
        named = ", ".join(header.keys)
        raise Refused(f"The key in line {number} of {path} is not of {named}", "Leave keys as they are.")
    return key


def _require_words(path: str, header: Header, line: KeyLine) -> None:
    if isinstance(line.choose, str):
        chosen: Mapping[str, str] = {"": line.choose} if line.choose else {}
    else:
        chosen = line.choose
    for column, word in chosen.items():
        key = key_text(line, header).decode()
        if word not in WORDS:
            where = f" for {column}" if column else ""
            hint = 'It is "main", "branch", "base", "" for not yet, or an object of columns to one of them.'
            raise Refused(f"{path} chooses {word!r}{where} of key {key}", hint)
        if column and (column not in header.columns or column in header.keys):
            raise Refused(f"{path} chooses a column {column} of key {key}", "There is none to choose.")
        if column and line.columns and column not in line.columns:
            reason = f"{path} chooses {column} of key {key}, in which main and the branch do not differ"
            raise Refused(reason, "Leave it out.")
    if not isinstance(line.choose, str) and line.is_whole:
        reason = (
            f"{path} chooses columns of key {key_text(line, header).decode()}, which a side has no row of"
        )
        raise Refused(reason, 'Choose "main", "branch" or "base" for the whole row.')


def _text_of(header: Header, line: KeyLine) -> str:
    """The choice as JSON for Spark, with columns by their places, because a name may be any text."""
    places = {name: f"c{place}" for place, name in enumerate(header.columns)}
    key = {places[name]: msgspec.Raw(_plain(line.key[name])) for name in header.keys}
    if isinstance(line.choose, str):
        return msgspec.json.encode({"k": key, "s": line.choose}).decode()
    cells = {places[name]: word for name, word in line.choose.items()}
    return msgspec.json.encode({"k": key, "m": cells}).decode()


def _plain(value: msgspec.Raw) -> bytes:
    """The JSON of a text without needless escapes; all else unchanged."""
    raw = bytes(value)
    return msgspec.json.encode(msgspec.json.decode(raw)) if raw.startswith(b'"') else raw
