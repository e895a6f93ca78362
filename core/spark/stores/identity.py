"""Who the client of the metadata is on S3, so that Spark reads as the same."""

from __future__ import annotations

from core.spark.stores.settings import Identity
from core.storage.files import Files

# What Java's own search for credentials finds as well, on the same machine.
_FOUND_BY_JAVA = frozenset(
    {
        *("env", "shared-credentials-file", "config-file", "custom-process"),
        *("assume-role", "assume-role-with-web-identity", "container-role", "iam-role"),
    }
)
_PARTS = ("key", "secret", "token")


def s3_identity(files: Files, *, elsewhere: bool) -> Identity:
    """What the client of `files` found for itself. `elsewhere`: Spark reads on other machines as well.

    Credentials are told only where Java would not find them by itself. Nothing is asked of a store. Raises
    `Unavailable` where they can't be had.
    """
    from core.storage.s3.s3_files import S3Files

    if not isinstance(files, S3Files):
        return Identity()
    found = files.found()
    if found.is_anonymous:
        return Identity(found.endpoint, found.region, is_anonymous=True)
    keys = files.own_keys(() if elsewhere else _FOUND_BY_JAVA)
    return Identity(found.endpoint, found.region, False, *(keys.get(part, "") for part in _PARTS))
