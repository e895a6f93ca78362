"""S3 and stores that speak like it, over s3fs."""

from __future__ import annotations

import asyncio
import errno
import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from paimark.core.errors import FileMissing, Refused
from paimark.core.redaction import keep_secrets
from paimark.core.storage.conditions import Conditions
from paimark.core.storage.files import DirectoryEntry, Unanswered, require_small
from paimark.core.storage.remote import INTERRUPTED, LISTING_SECONDS, RemoteFiles
from paimark.core.storage.remote_errors import code_of, is_missing, is_of_s3, unavailable
from paimark.core.storage.s3.other_keys import (
    OF_THE_MACHINE,
    Credentials,
    is_of_keys,
    lacks_keys,
    profile_files,
    session_with_other_keys,
    without_questions,
)
from paimark.core.storage.s3.s3_options import ATTEMPTS, ClientSettings, has_keys, options_for_pypaimon

# Without a handler Python would print the library's tracebacks of errors that are also raised.
logging.getLogger("aiobotocore").addHandler(logging.NullHandler())
_WRITER = "paimark-write"
# The codes of a failed condition, and of two conditional writes at once.
_UNMET, _CONFLICT = ("PreconditionFailed", "412"), "ConditionalRequestConflict"
# Seconds to wait after each conflict, for the other request to end.
_CONFLICT_SECONDS = (0.1, 0.2, 0.4, 0.8)
# The codes of an overloaded S3; of MinIO also if too few of its disks took a write.
_THROTTLED = ("SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "503")
# Seconds to wait after each: the client's own second try comes within one second.
_THROTTLED_SECONDS = (0.5, 1.0, 2.0, 4.0)
# Requests in flight may still use the client with the earlier keys.
_DRAIN_SECONDS = LISTING_SECONDS
_LOOK_AGAIN_SECONDS = 5.0
# Bytes of the largest file that is copied by one request, whose answer the client waits for; and of a part.
_COPIED_WHOLE = 256 << 20
# The codes of a refused request whose answer has no body.
_WITHOUT_REASON = ("400", "403", "404")
# Amazon is known to keep conditions; every other endpoint is raced.
_AMAZON = (".amazonaws.com", ".amazonaws.com.cn")


class S3Files(RemoteFiles):
    """Makes one request per call."""

    def __init__(self, filesystem: Any, root: str, uri: str) -> None:
        from aiobotocore.session import AioSession

        patience = filesystem.config_kwargs["read_timeout"] * ATTEMPTS
        super().__init__(filesystem, root, uri, can_create=True, must_prove=True, deadline=patience)
        # s3fs tries five times, and again five times around that; the client below retries by itself.
        filesystem.retries = 1
        filesystem.session = without_questions(AioSession())
        self._credentials = Credentials()
        self._profile_files = profile_files()
        self._looked = (profile_files(), 0.0)
        self._replacing = asyncio.Lock()
        self._closing: set[Any] = set()
        # Whether other keys replaced the first ones. Clients that read a profile once have the first ones.
        self.has_other_keys = False

    def _call(self, method: str, *arguments: object, **keywords: Any) -> Any:
        """As in every store, repeated with other keys if this one refuses the first, or there were none."""
        session = self._filesystem.session
        try:
            return self._call_patiently(method, *arguments, **keywords)
        except Exception as error:
            if not self._follow_keys(session, error):
                raise
        return self._call_patiently(method, *arguments, **keywords)

    def _follow_keys(self, session: Any, error: Exception | None = None) -> bool:
        """As `_replace_keys`; False also if the error of a request has another cause."""
        if error is not None and not is_of_keys(error):
            return False
        replaced: bool = self._answer(self._replace_keys(session, error), LISTING_SECONDS)
        return replaced

    async def _replace_keys(self, session: Any, error: Exception | None) -> bool:
        """Whether the client has other keys now than those of its `session`, which may have had none."""
        has_none = error is not None and lacks_keys(error)
        if self._filesystem.key is not None:
            # Keys of the options are the only ones.
            return False
        async with self._replacing:
            # Other requests may have been refused at the same time.
            if self._filesystem.session is session and (not has_none or self._may_look()):
                other = await session_with_other_keys(session, has_none=has_none)
                if other is not None:
                    self._use(other)
            return self._filesystem.session is not session

    def _may_look(self) -> bool:
        """Whether to look for first keys: a search asks a service of the machine, which takes a second."""
        files, before = profile_files(), self._looked
        if files == before[0] and time.monotonic() < before[1] + _LOOK_AGAIN_SECONDS:
            return False
        self._looked = (files, time.monotonic())
        return True

    def _use(self, session: Any) -> None:
        filesystem = self._filesystem
        if (earlier := getattr(filesystem, "_s3creator", None)) is not None:
            asyncio.get_running_loop().call_later(_DRAIN_SECONDS, self._close, earlier)
        filesystem.session, filesystem._s3, filesystem._s3creator = session, None, None
        self._credentials, self.has_other_keys = Credentials(), True

    def _close(self, client: Any) -> None:
        """Close an earlier client. In the event loop."""
        closing = asyncio.ensure_future(client.__aexit__(None, None, None))
        # The loop itself does not keep it.
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _call_patiently(
        self,
        method: str,
        *arguments: object,
        deadline: float | None = None,
        writes: bool = False,
        **keywords: object,
    ) -> Any:
        """As in every store, repeated while this one is overloaded. A write given up is `Unanswered`."""
        was_throttled = False
        for seconds in (*_THROTTLED_SECONDS, None):
            try:
                return super()._call(method, *arguments, deadline=deadline, writes=writes, **keywords)
            except OSError as error:
                code = _code(error)
                if code not in _THROTTLED or seconds is None:
                    if writes and was_throttled and code not in (*_UNMET, _CONFLICT):
                        # An earlier attempt may have been carried out.
                        failure = unavailable(self._uri, error)
                        raise Unanswered(failure.message, failure.hint) from error
                    raise
                was_throttled = True
            try:
                time.sleep(seconds)
            except KeyboardInterrupt as interrupt:
                if writes:
                    raise Unanswered(INTERRUPTED) from interrupt
                raise
        raise AssertionError("unreachable: the last try returns or raises")

    def _list(self, full: str) -> list[DirectoryEntry]:
        # The listing of s3fs sends a second request, for the parent, whenever it finds nothing.
        bucket, _, key = full.partition("/")
        prefix = f"{key}/" if key else ""
        entries: list[DirectoryEntry] = []
        more: dict[str, str] = {}
        while True:
            parameters = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "/", **more}
            page = self._call("call_s3", "list_objects_v2", parameters)
            for item in page.get("Contents", ()):
                name = item["Key"][len(prefix) :]
                # An empty name is the marker that some tools leave for a directory.
                if name:
                    modified = int(item["LastModified"].timestamp() * 1000)
                    entries.append(DirectoryEntry(name, False, item["Size"], modified, etag=item.get("ETag")))
            for item in page.get("CommonPrefixes", ()):
                entries.append(DirectoryEntry(item["Prefix"][len(prefix) : -1], True, 0))
            if not page.get("IsTruncated"):
                return entries
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _size(self, full: str) -> int | None:
        size: int = self._head(full)["ContentLength"]
        return size

    def _head(self, full: str) -> Any:
        bucket, _, key = full.partition("/")
        try:
            return self._call("call_s3", "head_object", Bucket=bucket, Key=key)
        except OSError as error:
            if self._is_missing(error) or code_of(error) not in _WITHOUT_REASON:
                raise
            # The answer to a HEAD has no body; a request for one byte gets the reason.
            session = self._filesystem.session
            self._call("call_s3", "get_object", Bucket=bucket, Key=key, Range="bytes=0-0")
            if self._filesystem.session is session:
                raise
        return self._call("call_s3", "head_object", Bucket=bucket, Key=key)

    def _is_missing(self, error: BaseException) -> bool:
        # Without an answer from S3, a local file is missing, such as a program that provides keys, or a proxy
        # says that it does not find the store.
        return is_missing(error) and is_of_s3(error)

    def make_directory(self, directory: str) -> None:
        """By an empty object whose name ends with a slash, as Hadoop's and Paimon's own clients do."""
        bucket, _, key = self._file(directory).partition("/")
        with self._translate_errors(directory, writes=True):
            self._call("call_s3", "put_object", Bucket=bucket, Key=f"{key}/", Body=b"", writes=True)

    def prune(self, directory: str) -> None:
        bucket, _, key = self._file(directory).partition("/")
        with suppress(FileMissing), self._translate_errors(directory, writes=True):
            self._call("call_s3", "delete_object", Bucket=bucket, Key=f"{key}/", writes=True)

    def _copy(self, full: str, to: str, size: int, seconds: float) -> None:
        if size > _COPIED_WHOLE:
            self._call("copy_managed", full, to, size, _COPIED_WHOLE, deadline=seconds, writes=True)
            return
        (bucket, _, key), (to_bucket, _, to_key) = full.partition("/"), to.partition("/")
        source = {"Bucket": bucket, "Key": key}
        self._call(
            "call_s3",
            "copy_object",
            Bucket=to_bucket,
            Key=to_key,
            CopySource=source,
            deadline=seconds,
            writes=True,
        )

    def give_up_copies(self, directory: str, is_own: Callable[[str], bool]) -> int:
        bucket, _, prefix = f"{self._directory(directory)}/".partition("/")
        after: dict[str, str] = {}
        given_up = 0
        with self._translate_errors(directory, writes=True):
            while True:
                asked = {"Bucket": bucket, "Prefix": prefix, **after}
                found = self._call("call_s3", "list_multipart_uploads", **asked)
                for each in found.get("Uploads", ()):
                    key, number = each["Key"], each["UploadId"]
                    if is_own(key.removeprefix(prefix)):
                        named = {"Bucket": bucket, "Key": key, "UploadId": number}
                        self._call("call_s3", "abort_multipart_upload", **named, writes=True)
                        given_up += 1
                if not found.get("IsTruncated"):
                    return given_up
                markers = {"KeyMarker": "NextKeyMarker", "UploadIdMarker": "NextUploadIdMarker"}
                after = {to: found[name] for to, name in markers.items() if found.get(name)}

    async def _get(self, full: str) -> bytes:
        session = self._filesystem.session
        try:
            return await self._body(full)
        except Exception as error:
            if not (is_of_keys(error) and await self._replace_keys(session, error)):
                raise
        return await self._body(full)

    async def _body(self, full: str) -> bytes:
        bucket, _, key = full.partition("/")
        response = await self._filesystem._call_s3("get_object", Bucket=bucket, Key=key)
        async with response["Body"] as body:
            require_small(response["ContentLength"])
            data: bytes = await body.read()
            return data

    def _first_look(self) -> Conditions:
        # Use the endpoint that the client found: it may come from the environment or a profile.
        is_amazon = not self.client_settings().endpoint
        return Conditions() if is_amazon and self._can_ask() else self.race()

    def client_settings(self) -> ClientSettings:
        """The endpoint, region and sign-in from options, the environment or a profile. Sends no request."""
        meta = self._client.meta
        is_amazon = (urlsplit(meta.endpoint_url).hostname or "").endswith(_AMAZON)
        region = "" if meta.region_name == "aws-global" else meta.region_name or ""
        return ClientSettings("" if is_amazon else meta.endpoint_url, region, bool(self._filesystem.anon))

    def options_for_others(self, options: Mapping[str, str]) -> dict[str, str]:
        """As in every store.

        Arrow's client knows few sources of credentials, and no endpoint of a profile.
        """
        client = self.client_settings()
        own_keys = {} if client.is_anonymous or has_keys(options) else self.own_keys(OF_THE_MACHINE)
        return options_for_pypaimon(options, client, own_keys)

    def own_keys(self, but_of: Collection[str]) -> dict[str, str]:
        """As `Credentials.keys`. Raises `Unavailable` on failure: others would find different credentials."""
        with self._translate_errors(""):
            before, self._profile_files = self._profile_files, profile_files()
            if before != self._profile_files:
                self._follow_keys(self._filesystem.session)
            keys = self._credentials.keys(but_of)
        keep_secrets("", keys)
        return keys

    def race(self, *, deletions: bool = False) -> Conditions:
        """As in every store. Raises `Refused` if the installed client drops the condition by itself."""
        if not self._can_ask():
            raise Refused(
                "The installed S3 client can't write conditionally", "Upgrade it: pip install -U s3fs."
            )
        return super().race(deletions=deletions)

    def _can_ask(self) -> bool:
        return {"IfNoneMatch", "IfMatch"} <= self._parameters("PutObject")

    @cached_property
    def _can_delete_if(self) -> bool:
        return "IfMatch" in self._parameters("DeleteObject")

    def _parameters(self, request: str) -> set[str]:
        """What the installed client can ask with a request."""
        return {*self._client.meta.service_model.operation_model(request).input_shape.members}

    @property
    def _client(self) -> Any:
        """botocore's client, made at first use: only then are invalid options found."""
        with self._translate_errors(""):
            session = self._filesystem.session
            try:
                return self._filesystem.s3
            except Exception as error:
                if not self._follow_keys(session, error):
                    raise
            return self._filesystem.s3

    def put_over(self, path: str, data: bytes, etag: str) -> bool | None:
        bucket, _, key = self._file(path).partition("/")
        with self._translate_errors(path):
            try:
                self._call("call_s3", "put_object", Bucket=bucket, Key=key, Body=data, IfMatch=etag)
            except OSError as error:
                code = _code(error)
                if code == "NotImplemented":
                    return None
                if code in (*_UNMET, _CONFLICT):
                    return False
                raise
        return True

    def etag_of(self, path: str) -> str | None:
        full = self._file(path)
        try:
            with self._translate_errors(path):
                etag: str = self._head(full).get("ETag", "")
        except FileMissing:
            return None
        return etag

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        try:
            # Get the etag first: then the bytes that are compared are no older than the etag.
            etag = self.etag_of(path)
            if etag is None or not is_own(self.read(path)):
                return
        except FileMissing:
            return
        if not etag or self.delete_if(path, etag) is None:
            self.delete(path)

    def delete_if(self, path: str, etag: str) -> bool | None:
        if not self._can_delete_if:
            return None
        bucket, _, key = self._file(path).partition("/")
        try:
            with self._translate_errors(path, writes=True):
                try:
                    self._call("call_s3", "delete_object", Bucket=bucket, Key=key, IfMatch=etag, writes=True)
                except OSError as error:
                    if _code(error) == "NotImplemented":
                        return None
                    if _code(error) in (*_UNMET, _CONFLICT):
                        return False
                    raise
        except FileMissing:
            return False
        return True

    @property
    def _store(self) -> str:
        # The endpoint that the client found, also in the environment or a profile.
        return f"{self.client_settings().endpoint} {super()._store}"

    def _create(self, full: str, data: bytes) -> bool:
        # A put that is repeated because its answer was lost finds its own object; the mark identifies it.
        mark = uuid.uuid4().hex
        for seconds in (*_CONFLICT_SECONDS, None):
            try:
                self._put(full, data, mode="create", Metadata={_WRITER: mark})
            except OSError as error:
                code = _code(error)
                if code not in (*_UNMET, _CONFLICT):
                    raise
                # A conflict only means that another request for the object was in progress.
                writer = self._written_by(full)
                if code in _UNMET or writer is not None:
                    return writer == mark
            else:
                return True
            if seconds is not None:
                time.sleep(seconds)
        name = full.removeprefix(f"{self._root}/")
        raise Unanswered(
            f"It is unknown whether {name} was created: {self.uri} says that another request for it goes on",
            "Look whether it is there before you try again.",
        )

    def _written_by(self, full: str) -> str | None:
        """The mark of the object's writer; empty if another program wrote it; None if there is no object."""
        try:
            mark: str = self._head(full).get("Metadata", {}).get(_WRITER, "")
        except FileNotFoundError as error:
            if not self._is_missing(error):
                raise
            return None
        return mark


def _code(error: OSError) -> str:
    return code_of(error) or ("412" if error.errno == errno.EEXIST else "")
