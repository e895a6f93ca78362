"""The identity of the metadata's S3 client, so that Spark reads with the same."""

from __future__ import annotations

from paimark.core.spark.stores.settings import Identity
from paimark.core.storage.files import Files

# Sources of credentials that Java's own search also finds on the same machine.
_FOUND_BY_JAVA = frozenset(
    {
        *("env", "shared-credentials-file", "config-file", "custom-process"),
        *("assume-role", "assume-role-with-web-identity", "container-role", "iam-role"),
    }
)
_PARTS = ("key", "secret", "token")


def s3_identity(files: Files, *, elsewhere: bool) -> Identity:
    """The values that the client of `files` found by itself. `elsewhere`: Spark also reads on other machines.

    Credentials are included only if Java would not find them by itself. Makes no request to the store. Raises
    `Unavailable` if there are none.
    """
    from paimark.core.storage.s3.s3_files import S3Files

    if not isinstance(files, S3Files):
        return Identity()
    client = files.client_settings()
    if client.is_anonymous:
        return Identity(client.endpoint, client.region, is_anonymous=True)
    keys = files.own_keys(() if elsewhere else _FOUND_BY_JAVA)
    if not keys and files.has_other_keys:
        # Java has read the profile's files once, with the first keys.
        keys = files.own_keys(())
    return Identity(client.endpoint, client.region, False, *(keys.get(part, "") for part in _PARTS))
