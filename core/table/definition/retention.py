"""What stops stock engines from deleting anything when they write to a branch root.

Stock expiry on any branch looks only at the tags of the table directory, and deletes files that only other
tags hold. An engine that makes tags by itself stores a branch's tags among main's. When it deletes the
oldest of them, it spares only the files of the tags with neighbouring ids: main, or the branch, can lose
files that it still reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from paimark.core.errors import Corrupt, UsageError
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.records import DECODE_ERRORS, TableSchema, json_object

NEVER = "2147483647"
_AUTOMATIC_TAGS, _NONE = "tag.automatic-creation", "none"
# The options for the fewest and the most snapshots or changelogs that stay; those of snapshots are also the
# defaults of those of changelogs.
_SNAPSHOTS = ("snapshot.num-retained.min", "snapshot.num-retained.max")
_CHANGELOGS = ("changelog.num-retained.min", "changelog.num-retained.max")
FEWEST, MOST = 10, int(NEVER)
_NOT_OPENED = "Stock engines could not open the table with it."
RETENTION_OFF: Mapping[str, str] = {
    "snapshot.num-retained.min": NEVER,
    "snapshot.num-retained.max": NEVER,
    _AUTOMATIC_TAGS: _NONE,
}
_TIME_TO_LIVE = ("tagCreateTime", "tagTimeRetained")


def makes_tags(options: Mapping[str, str]) -> bool:
    """Whether the options of a table let engines make tags by themselves."""
    return options.get(_AUTOMATIC_TAGS, _NONE).strip().lower() != _NONE


def is_retention_off(options: Mapping[str, str]) -> bool:
    """Whether these options of a branch stop stock retention; one that is off by default may be missing."""
    return RETENTION_OFF.items() <= {_AUTOMATIC_TAGS: _NONE, **options}.items()


def retention_off() -> str:
    """The options in the form that an alteration of a schema sets."""
    return ", ".join(f"'{option}' = '{value}'" for option, value in RETENTION_OFF.items())


def retention_options() -> str:
    """The names of the options in the form that an alteration of a schema resets to the defaults."""
    return ", ".join(f"'{option}'" for option in RETENTION_OFF)


def with_retention(schema: bytes, source: str, options: Mapping[str, str | None] = RETENTION_OFF) -> bytes:
    """A schema with these options as `options` has them, so switched off without it.

    Every other field stays unchanged; the same bytes if nothing changes. Raises `Corrupt`.
    """
    fields = fields_of(schema, source)
    before: Any = fields.get("options") or {}
    if not isinstance(before, dict):
        raise Corrupt(f"The options in {source} are no object", "Restore it from a backup.")
    wanted = {name: options.get(name) for name in RETENTION_OFF}
    # An option stays at its place among the others.
    merged = {name: wanted.get(name, value) for name, value in before.items()} | wanted
    after = {name: value for name, value in merged.items() if value is not None}
    return schema if after == before else _formatted({**fields, "options": after})


def without_time_to_live(tag: bytes, source: str) -> bytes:
    """A tag without a time to live; the same bytes if it has none. Raises `Corrupt`."""
    fields = fields_of(tag, source)
    if not any(name in fields for name in _TIME_TO_LIVE):
        return tag
    return _formatted({name: value for name, value in fields.items() if name not in _TIME_TO_LIVE})


def fields_of(data: bytes, source: str) -> dict[str, Any]:
    """Raises `Corrupt` naming `source` when the bytes are not a JSON object."""
    try:
        return json_object(data)
    except DECODE_ERRORS as error:
        raise Corrupt(f"{source} is not a JSON object ({error})", "Restore it from a backup.") from error


def _formatted(fields: Mapping[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(fields), indent=2)


def require_consistent(options: Mapping[str, str]) -> None:
    """Raises `UsageError` for numbers of snapshots or changelogs with which stock Paimon opens no table."""
    least, most = FEWEST, MOST
    for fewest_name, most_name in (_SNAPSHOTS, _CHANGELOGS):
        least, most = _number(options, fewest_name, least), _number(options, most_name, most)
        if least < 1:
            raise UsageError(f"Option {fewest_name} is at least 1, not {least}", _NOT_OPENED)
        if least > most:
            reason = f"Option {fewest_name} ({least}) is larger than {most_name} ({most})"
            raise UsageError(reason, _NOT_OPENED)


def _number(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, "")
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text) else default


def definition(schema: TableSchema) -> dict[str, Any]:
    """A schema without its time, id, and the options that disable stock expiry on branches."""
    written = schema.as_written()
    options = {name: value for name, value in schema.options.items() if name not in RETENTION_OFF}
    return {**written, "options": options, "timeMillis": None, "id": None}


def schemas_digest(files: Files, root: Root, newest: int) -> str | None:
    """SHA-256 of a root's definitions up to schema `newest`; None if one is missing. Raises `Corrupt`."""
    # Imported late: it loads OpenSSL, and the first frame needs no digest.
    import hashlib

    digest = hashlib.sha256()
    # Read one after the other: the number may be a damaged one, of schemas that nobody could count.
    for number, data in enumerate(files.read_many(map(root.schema, range(newest + 1)))):
        if data is None:
            return None
        schema = TableSchema.from_json(data, root.schema(number))
        digest.update(msgspec.json.encode(definition(schema), order="sorted"))
    return digest.hexdigest()
