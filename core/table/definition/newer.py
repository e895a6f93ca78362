"""What tables of a later Paimon have that Paimon 1.4 does not know: `newer.txt` lists it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from paimark.core.errors import Refused
from paimark.core.table.definition.column_types import ATOMS, ColumnType
from paimark.core.table.records import TableSchema

_LIST = Path(__file__).with_name("newer.txt")
_SAME_ENGINE = "Read it with the engine that wrote it."
# Options that name formats of data files. Paimon's library opens no table with an unknown one of these; the
# others are of files that it would write.
_READ_FORMATS = ("file.format", "vector.file.format")
_OTHER_FORMATS = ("changelog-file.format", "file.format.per.level")


class Newer(NamedTuple):
    """The Paimon that something came with. `jar` is the one of Paimon's that has it, empty for the bundle."""

    since: str
    jar: str = ""

    @property
    def hint(self) -> str:
        if self.jar:
            return f"Read it with an engine that has the jar {self.jar}."
        return "Let the option paimon.jar name a newer one, or read it with an engine of that version."


class FoundType(NamedTuple):
    """A type of a column that is not known. `told` is its name, and the Paimon that it came with."""

    column: str
    told: str
    hint: str


def newer_options() -> dict[str, Newer]:
    """Those by which a reader sees other rows; a star in a name stands for a column."""
    return {name: newer for (kind, name), newer in _listed().items() if kind == "option"}


def of_option(name: str) -> str:
    """`, of Paimon 2.0`; empty for an option that Paimon 1.4 knows, too."""
    found = (
        newer
        for (kind, pattern), newer in _listed().items()
        if kind.endswith("option") and fnmatchcase(name, pattern)
    )
    return _told(next(found, None))


def of_format(name: str) -> str:
    """So of a format of data files; also empty if nothing is known of it."""
    return _told(_listed().get(("format", name)))


def format_hint(name: str) -> str:
    """What to do if nobody here reads files of the format."""
    newer = _listed().get(("format", name))
    return newer.hint if newer else _SAME_ENGINE


def formats(options: Mapping[str, str], *, read: bool = False) -> Iterator[tuple[str, str]]:
    """The options that name formats of data files, each with a format.

    `read`: only those without which a table is not opened.
    """
    for name in _READ_FORMATS if read else (*_READ_FORMATS, *_OTHER_FORMATS):
        for part in options.get(name, "").lower().split(","):
            if form := part.rpartition(":")[2].strip():
                yield name, form


def unknown_type(schema: TableSchema) -> FoundType | None:
    """The first column whose type, or a part of it, is not known."""
    for field in schema.fields:
        for name in _names(field.type):
            if name not in ATOMS:
                newer = _listed().get(("type", name))
                hint = "Read it with an engine of that version." if newer else _SAME_ENGINE
                return FoundType(field.name, f"{name}{_told(newer)}", hint)
    return None


def require_known_types(table: str, schema: TableSchema) -> None:
    """Raises `Refused` naming a column whose type is not known."""
    if found := unknown_type(schema):
        message = f"Column {found.column} of {table} has the type {found.told}, which is not known here"
        raise Refused(message, f"Versions from before the change are read. {found.hint}")


def _told(newer: Newer | None) -> str:
    if newer is None:
        return ""
    return f", of Paimon {newer.since}" + (f" ({newer.jar})" if newer.jar else "")


def _names(kind: object) -> Iterator[str]:
    """The names of the types in a type, which is a schema's value."""
    if not isinstance(kind, Mapping):
        yield ColumnType.of(str(kind)).name
        return
    name = str(kind.get("type", "")).split(" ")[0]
    parts = [kind[part] for part in ("element", "key", "value") if part in kind]
    fields = kind.get("fields", ())
    if name not in ("ARRAY", "MAP", "MULTISET", "ROW", "VECTOR"):
        yield name
    for part in (*parts, *(each["type"] for each in fields)):
        yield from _names(part)


@cache
def _listed() -> dict[tuple[str, str], Newer]:
    text = _LIST.read_text(encoding="utf-8")
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {(kind, name): Newer(*rest) for kind, name, *rest in lines}
