"""The table options that stop stock engines from deleting anything when they write to a branch root.

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

from paimark.core.errors import UsageError
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.records import TableSchema

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
