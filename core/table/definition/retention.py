"""The table options by which stock engines that write to a branch root delete nothing by themselves.

Stock expiry on any branch looks only at the tags of the table directory, and destroys what is not there. An
engine that makes tags by itself puts those of a branch among main's. It deletes the oldest by what lies
beside them by their ids: with files that main, or the branch, reads still.
"""

from __future__ import annotations

from collections.abc import Mapping

NEVER = "2147483647"
_AUTOMATIC_TAGS, _NONE = "tag.automatic-creation", "none"
RETENTION_OFF: Mapping[str, str] = {
    "snapshot.num-retained.min": NEVER,
    "snapshot.num-retained.max": NEVER,
    _AUTOMATIC_TAGS: _NONE,
}


def makes_tags(options: Mapping[str, str]) -> bool:
    """Whether the options of a table have engines make tags by themselves."""
    return options.get(_AUTOMATIC_TAGS, _NONE).strip().lower() != _NONE


def is_retention_off(options: Mapping[str, str]) -> bool:
    """Whether it is so by these options of a branch, also where they leave one out that is so by itself."""
    return RETENTION_OFF.items() <= {_AUTOMATIC_TAGS: _NONE, **options}.items()


def retention_off() -> str:
    """The options as an alteration of a schema takes them."""
    return ", ".join(f"'{option}' = '{value}'" for option, value in RETENTION_OFF.items())


def retention_options() -> str:
    """Their names, as an alteration of a schema takes them that leaves all to what is usual."""
    return ", ".join(f"'{option}'" for option in RETENTION_OFF)
