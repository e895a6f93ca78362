"""A file of keys in conflict, in which a person chooses: JSON lines.

The first line describes the file. Each further line is a key in conflict, with its rows and the choice for
it. The last line counts the keys, so that a truncated file is detected.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from paimark.core.actions.rewrite.spark_rewrite import RewriteBase
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted
from paimark.core.regular_files import open_regular
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.records import DECODE_ERRORS, Snapshot

VERSION = 1
BASE: Final = "base"
MERGE: Final = "merge-branch"
EDIT: Final = "edit-rows"
_SIDES: Final = {MERGE: ("main", "branch"), EDIT: ("now", "edited")}
RENAMED: Final = {word: {"main": "now", "branch": word} for word in ("then", "edited")}
_NO_ROW, _LEFT_OUT = b"null", msgspec.Raw(b"")
_BOM = b"\xef\xbb\xbf"
_WRITES = "--conflicts-out FILE writes one."

Choose = str | dict[str, str]


class At(msgspec.Struct, frozen=True):
    """A snapshot: its id, and its delta manifest list, which tells it from a later one with this id."""

    id: int
    commit: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> At:
        return cls(snapshot.id, snapshot.delta_manifest_list)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line. `columns` maps names to types, as in the schema.

    A merge of `branch` brings `head` into `main`, and both come from `base`; `into` names another branch that
    is in main's place. Another `action` gives rows of
    `branch`, whose newest state is `main`, what they are in `head`; without a base nobody knows a row that
    both come from.
    """

    paimark: Literal["conflicts"] = "conflicts"
    version: int = VERSION
    table: str
    action: str = MERGE
    branch: str
    base: At | None
    main: At
    head: At
    keys: tuple[str, ...]
    columns: dict[str, str]
    into: str = ""

    @property
    def sides(self) -> tuple[str, str]:
        """The words for what is there, and for what comes."""
        return _SIDES.get(self.action, ("now", "then"))

    @property
    def words(self) -> tuple[str, ...]:
        """What can be chosen: the side whose row, or cell, is taken. An empty choice means undecided."""
        return self.sides if self.base is None else (*self.sides, BASE)

    def as_in(self, word: str) -> str:
        """`as in main`, `as then`. The word `main` is also said of a branch in its place."""
        return f"as in {word}" if word == BASE or self.action == MERGE else f"as {word}"

    @property
    def states(self) -> str:
        """The versions that are compared."""
        if self.action == MERGE:
            both = f"{self.branch} at snapshot {self.head.id}, {self.into or 'main'} at {self.main.id}"
        elif self.action == EDIT:
            return f"{self.branch} at snapshot {self.main.id}, read at {self.head.id}"
        else:
            both = f"{self.branch} at snapshot {self.main.id}, then at {self.head.id}"
        return both if self.base is None else f"{both}, base {self.base.id}"


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


class RepairLine(KeyLine, frozen=True, kw_only=True, omit_defaults=True, rename=RENAMED["then"]):
    """As `KeyLine`, of a repair."""

    # Only fields of its own get the other names.
    main: msgspec.Raw = _LEFT_OUT
    branch: msgspec.Raw = _LEFT_OUT


class EditLine(KeyLine, frozen=True, kw_only=True, omit_defaults=True, rename=RENAMED["edited"]):
    """As `KeyLine`, of rows that a person edited."""

    main: msgspec.Raw = _LEFT_OUT
    branch: msgspec.Raw = _LEFT_OUT


LINES: Final[Mapping[str, type[KeyLine]]] = {"branch": KeyLine, "then": RepairLine, "edited": EditLine}


class EndLine(msgspec.Struct, frozen=True):
    """The last line: the number of keys."""

    end: int


_lines: Final = {word: msgspec.json.Decoder(line) for word, line in LINES.items()}
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


def header_of(
    start: RewriteBase,
    action: str,
    branch: str,
    base: Snapshot | None,
    main: Snapshot,
    head: Snapshot,
    *,
    into: str = "",
) -> Header:
    """The first line of a file of conflicts; `start` has the schema."""
    return Header(
        table=start.root.table.full_name,
        action=action,
        branch=branch,
        base=None if base is None else At.of(base),
        main=At.of(main),
        head=At.of(head),
        keys=tuple(start.schema.primary_keys),
        columns={field.name: type_text(field.type) for field in start.schema.fields},
        into=into,
    )


def line_of(header: Header, line: bytes) -> KeyLine:
    """Raises `DECODE_ERRORS`."""
    return _lines[header.sides[1]].decode(line)


def key_text(line: KeyLine, header: Header) -> bytes:
    """The key as JSON in one canonical form."""
    values = (b"%s:%s" % (msgspec.json.encode(name), plain_json(line.key[name])) for name in header.keys)
    return b"{%s}" % b",".join(values)


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
        key = line_of(header, line)
    except DECODE_ERRORS as error:
        hint = "A line is one JSON object, with its key and what is chosen."
        raise Refused(f"Line {number} of {path} is no conflict ({error})", hint) from error
    if key.key.keys() != {*header.keys}:
        named = ", ".join(header.keys)
        raise Refused(f"The key in line {number} of {path} is not of {named}", "Leave keys as they are.")
    return key


def plain_json(value: msgspec.Raw) -> bytes:
    """The JSON of a text without needless escapes; all else unchanged."""
    raw = bytes(value)
    return msgspec.json.encode(msgspec.json.decode(raw)) if raw.startswith(b'"') else raw
