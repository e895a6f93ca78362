"""Alibaba's OSS over ossfs: it is read, never written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from paimark.core.storage.conditions import Conditions
from paimark.core.storage.files import DirectoryEntry, require_small
from paimark.core.storage.remote import LISTING_SECONDS, RemoteFiles

# The most that OSS lists in one answer.
_PAGE = 1000
# OSS's codes for credentials that are wrong or lack a right.
_DENIED = ("AccessDenied", "InvalidAccessKeyId", "SecurityTokenExpired", "SignatureDoesNotMatch")
# Without an endpoint it only warns, and fails anyway.
logging.getLogger("ossfs").setLevel(logging.CRITICAL)

T = TypeVar("T")


class AlibabaFiles(RemoteFiles):
    """Calls Alibaba's client by itself: ossfs can't list without its cache, and lists nothing if denied.

    Refuses changes: without a server to test, it is unknown whether two writers can both win.
    """

    def __init__(self, filesystem: Any, root: str, uri: str) -> None:
        super().__init__(filesystem, root, uri, can_create=False, must_prove=True)

    def race(self, *, deletions: bool = False) -> Conditions:
        return Conditions("whether OSS keeps its condition x-oss-forbid-overwrite was never tried")

    def _list(self, full: str) -> list[DirectoryEntry]:
        def listed(bucket: Any, path: str) -> list[DirectoryEntry]:
            from oss2 import ObjectIterator

            prefix = f"{path}/" if path else ""
            objects = ObjectIterator(bucket, prefix=prefix, delimiter="/", max_keys=_PAGE)
            # Some tools write an empty object as a directory's own marker.
            return [_entry(each, len(prefix)) for each in objects if each.key != prefix]

        return self._ask(full, listed, LISTING_SECONDS)

    def _size(self, full: str) -> int | None:
        return self._ask(full, lambda bucket, key: int(bucket.head_object(key).content_length))

    def _get_in_thread(self, full: str) -> bytes:
        def read(bucket: Any, key: str) -> bytes:
            answer = bucket.get_object(key)
            require_small(answer.content_length or 0)
            data: bytes = answer.read()
            return data

        return self._ask(full, read)

    def _ask(self, full: str, request: Callable[[Any, str], T], seconds: float | None = None) -> T:
        """What OSS answers to a request for a bucket and a key in it."""
        from oss2.exceptions import NoSuchBucket, NotFound, OssError

        name, _, key = full.lstrip("/").partition("/")
        try:
            return request(self._bucket(name, seconds or self._deadline), key)
        except OssError as error:
            # A 404 without OSS's number of the request comes from a proxy before it.
            if isinstance(error, NotFound) and not isinstance(error, NoSuchBucket) and error.request_id:
                raise FileNotFoundError(full) from error
            kind = PermissionError if error.code in _DENIED else OSError
            raise kind(_reason(error)) from error

    def _bucket(self, name: str, seconds: float) -> Any:
        from oss2 import Bucket

        client = self._filesystem
        return Bucket(
            client._auth, client._endpoint or "", name, session=client._session, connect_timeout=seconds
        )


def _reason(error: Any) -> str:
    if isinstance(error.body, str):
        # The client's own error: its kind, and another library's text.
        return error.body.partition(": ")[2]
    return ": ".join(filter(None, [error.code, error.message])) or f"the answer {error.status}"


def _entry(item: Any, prefix_length: int) -> DirectoryEntry:
    name = item.key[prefix_length:].rstrip("/")
    if item.is_prefix():
        return DirectoryEntry(name, True, 0)
    return DirectoryEntry(name, False, item.size, item.last_modified * 1000, etag=item.etag)
