"""Azure's blobs over adlfs: containers of an account, with and without a hierarchical namespace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paimark.core.storage.clouds.azure_account import client_account
from paimark.core.storage.clouds.marked_files import WRITER, MarkedFiles
from paimark.core.storage.files import DirectoryEntry, require_small
from paimark.core.storage.remote import LISTING_SECONDS

# The metadata of a blob that is a directory, in an account with a hierarchical namespace.
_DIRECTORY = "hdi_isfolder"
# adlfs itself recognizes directories by this.
_FILE = {"is_directory": "false"}
# Azure's codes for a failed condition. A lease, or a container being deleted, is a different conflict.
_EXISTS = ("BlobAlreadyExists", "ConditionNotMet", "PathAlreadyExists")
_MISSING = 404
# The client waits 15 seconds before it tries again, which is too long for a person.
_AT_ONCE = {"retry_total": 0, "connection_timeout": 5}
_LOOK_AGAIN_SECONDS = 0.2
# It prints errors that it also raises.
logging.getLogger("azure").setLevel(logging.CRITICAL)


class AzureFiles(MarkedFiles):
    """Creates with `If-None-Match: *`. Lists by itself: adlfs lists a directory's neighbours too."""

    def discovered_options(self) -> dict[str, str]:
        """From the environment: the account and its credentials, as catalog options."""
        return client_account(self._filesystem)

    def _list(self, full: str) -> list[DirectoryEntry]:
        entries: list[DirectoryEntry] = self._answer(self._listed(full), LISTING_SECONDS)
        return entries

    async def _listed(self, full: str) -> list[DirectoryEntry]:
        container, _, path = full.partition("/")
        prefix = f"{path}/" if path else ""
        entries: dict[str, DirectoryEntry] = {}
        async with self._filesystem.service_client.get_container_client(container) as client:
            with _translate_not_found(full):
                async for item in client.walk_blobs(
                    name_starts_with=prefix, include=["metadata"], **_AT_ONCE
                ):
                    name = item["name"][len(prefix) :].rstrip("/")
                    # A directory may be listed as a prefix, and as a blob of its own.
                    if name and name not in entries:
                        entries[name] = _entry(name, item)
        return list(entries.values())

    def _size(self, full: str) -> int | None:
        properties = self._answer(self._properties(full), self._deadline)
        return None if _is_directory(properties) else int(properties["size"])

    async def _properties(self, full: str) -> Any:
        """Azure's properties of a blob."""
        async with self._blob(full) as blob:
            with _translate_not_found(full):
                return await blob.get_blob_properties(**_AT_ONCE)

    async def _get(self, full: str) -> bytes:
        async with self._blob(full) as blob:
            with _translate_not_found(full):
                stream = await blob.download_blob(**_AT_ONCE)
            require_small(stream.size)
            data: bytes = await stream.readall()
            return data

    def _put_marked(self, full: str, data: bytes, mark: str) -> None:
        self._upload(full, data, {**_FILE, WRITER: mark}, overwrite=False)

    def _replace(self, full: str, data: bytes) -> None:
        self._upload(full, data, _FILE, overwrite=True)

    def _upload(self, full: str, data: bytes, metadata: dict[str, str], *, overwrite: bool) -> None:
        uploaded = self._uploaded(full, data, metadata, overwrite)
        self._answer(uploaded, self._patience(data), writes=True)

    async def _uploaded(self, full: str, data: bytes, metadata: dict[str, str], overwrite: bool) -> None:
        async with self._blob(full) as blob:
            try:
                await blob.upload_blob(data, overwrite=overwrite, metadata=metadata, **_AT_ONCE)
            # Errors of azure.core, which is not imported for their types.
            except Exception as error:
                if _code(error) in _EXISTS:
                    raise FileExistsError(full) from error
                raise

    def _copy(self, full: str, to: str, size: int, seconds: float) -> None:
        self._answer(self._copied(full, to), seconds, writes=True)

    async def _copied(self, full: str, to: str) -> None:
        async with self._blob(full) as source, self._blob(to) as blob:
            with _translate_not_found(full):
                begun = await blob.start_copy_from_url(source.url, **_AT_ONCE)
            status = begun["copy_status"]
            while status == "pending":
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
                status = (await blob.get_blob_properties(**_AT_ONCE)).copy.status
            if status != "success":
                raise OSError(f"the copy of {full} ended as {status}")

    def _remove(self, full: str) -> None:
        self._answer(self._removed(full), self._deadline, writes=True)

    async def _removed(self, full: str) -> None:
        async with self._blob(full) as blob:
            with _translate_not_found(full):
                await blob.delete_blob(**_AT_ONCE)

    def _mark_of(self, full: str) -> str:
        try:
            properties = self._answer(self._properties(full), self._deadline)
        except FileNotFoundError:
            return ""
        return str((properties["metadata"] or {}).get(WRITER, ""))

    def _blob(self, full: str) -> Any:
        container, _, path = full.partition("/")
        return self._filesystem.service_client.get_blob_client(container, path)


def _entry(name: str, item: Any) -> DirectoryEntry:
    if "size" not in item or _is_directory(item):
        return DirectoryEntry(name, True, 0)
    modified = int(item["last_modified"].timestamp() * 1000)
    return DirectoryEntry(name, False, item["size"], modified, etag=item["etag"])


def _is_directory(item: Any) -> bool:
    metadata = {key.lower(): value for key, value in (item["metadata"] or {}).items()}
    return metadata.get(_DIRECTORY) == "true" or metadata.get("is_directory") == "true"


@contextmanager
def _translate_not_found(full: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if getattr(error, "status_code", None) == _MISSING:
            raise FileNotFoundError(full) from error
        raise


def _code(error: BaseException) -> str:
    """Azure's code for an error; empty for other errors."""
    code = getattr(error, "error_code", None) or ""
    return str(getattr(code, "value", code))
