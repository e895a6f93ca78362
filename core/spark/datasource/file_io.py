"""Open pypaimon's file system: its own, or for Google and Azure the client that also reads the metadata.

pypaimon doesn't support Azure, and reads Google with the identity that Arrow's client finds, only from
Google's own endpoint. On HDFS it would run `kinit` for a keytab each time: that program may be missing, and
its ticket replaces the user's own for all other programs. And fsspec would report a file as missing if there
is no ticket to look for it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import fastavro
import pyarrow.fs as pafs
from pypaimon.common.file_io import FileIO
from pypaimon.common.options import Options
from pypaimon.common.options.config import CatalogOptions
from pypaimon.common.uri_reader import UriReaderFactory
from pypaimon.filesystem.pyarrow_file_io import PyArrowFileIO
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from paimark.core.storage.known_options import KEYTAB, PRINCIPAL
from paimark.core.storage.open import open_files
from paimark.core.storage.option_values import is_yes
from paimark.core.storage.remote import RemoteFiles
from paimark.core.storage.s3.s3_options import time_limits

_S3 = ("s3", "s3a", "s3n")
_RESOLVING = CatalogOptions.RESOLVING_FILE_IO_ENABLED.key()
# With these an unreachable store fails within a minute; with pypaimon's own limits it takes ten.
_CONNECT_SECONDS, _READ_SECONDS, _ATTEMPTS = 5, 15, 4
# YARN writes delegation tokens of a container to the file that this variable names.
_TOKENS = "HADOOP_TOKEN_FILE_LOCATION"
_OURS = ("gs", "gcs", "abfs", "abfss", "az")


def file_io(address: str, options: Mapping[str, str]) -> Any:
    """pypaimon's file system for a warehouse or store; `options` are the catalog's."""
    return with_later_fields(_opened(address, options))


def _opened(address: str, options: Mapping[str, str]) -> Any:
    scheme = address.partition("://")[0].lower()
    if scheme in _OURS:
        return FsspecFileIO(address, options)
    if scheme == "hdfs":
        return _hdfs(address, options)
    if scheme in _S3 and not is_yes(options.get(_RESOLVING, "")):
        return S3FileIO(address, Options(dict(options)))
    return FileIO.get(address, Options(dict(options)))


def _hdfs(address: str, options: Mapping[str, str]) -> Any:
    """The file system of HDFS, with the keytab of the options, if there is one. Touches no storage."""
    others = {name: value for name, value in options.items() if name not in (KEYTAB, PRINCIPAL)}
    opened = FileIO.get(address, Options(others))
    if type(opened).__name__ != "HdfsNativeFileIO":
        # The options chose libhdfs, which supports only tickets.
        return FileIO.get(address, Options(dict(options)))
    return _with_own_clients(opened, *_login(options))


def _login(options: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The principal and keytab; nothing on a cluster's node without the keytab, where tokens replace it."""
    principal, keytab = options.get(PRINCIPAL), options.get(KEYTAB)
    has_tokens = os.path.isfile(os.environ.get(_TOKENS, ""))
    if keytab and has_tokens and not os.access(keytab, os.R_OK):
        return None, None
    return principal, keytab


def _with_own_clients(opened: Any, principal: str | None, keytab: str | None) -> Any:
    """Replace the client of pypaimon's file system, and the one that pyarrow reads from."""
    from hdfs_native import Client
    from hdfs_native.fsspec import HdfsFileSystem
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    class Plain(HdfsFileSystem):
        def isfile(self, path: str) -> bool:
            try:
                return bool(self.info(path)["type"] == "file")
            except FileNotFoundError:
                return False

    settings = {**opened._hadoop_xml, **opened._config}
    # fsspec would cache one object per host, for all users.
    own = Plain(host=opened._netloc, skip_instance_cache=True, **settings)
    own.client = opened._client = Client(
        opened._build_url(opened._scheme, opened._netloc),
        opened._config,
        opened._config_dir,
        kerberos_principal=principal,
        kerberos_keytab=keytab,
    )
    opened._filesystem = PyFileSystem(FSSpecHandler(own))
    return opened


class S3FileIO(PyArrowFileIO):  # type: ignore[misc]  # pypaimon has no types
    """pypaimon's own, with shorter time limits for an unreachable store."""

    def _create_s3_retry_config(self) -> dict[str, Any]:
        seconds = time_limits(self.properties.to_map())
        return {
            "connect_timeout": seconds.get("connect", _CONNECT_SECONDS),
            "request_timeout": seconds.get("read", _READ_SECONDS),
            "retry_strategy": pafs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        }


class FsspecFileIO(PyArrowFileIO):  # type: ignore[misc]  # pypaimon has no types
    """Uses the file system of `paimark.core.storage`. Such stores have no directories, only file names."""

    def __init__(self, address: str, options: Mapping[str, str]) -> None:
        # The base's constructor would make a client of its own; these are its other attributes.
        self.properties = Options(dict(options))
        self.logger = logging.getLogger(__name__)
        self.uri_reader_factory = UriReaderFactory(self.properties)
        self._is_oss = self._use_jindo = self._oss_bucket_in_endpoint = False
        self._legacy_bucket_lock = threading.Lock()
        ours = {name: value for name, value in options.items() if name != CatalogOptions.WAREHOUSE.key()}
        files = open_files(address, ours)
        assert isinstance(files, RemoteFiles), address
        self._clients = files.filesystem
        self.filesystem = pafs.PyFileSystem(pafs.FSSpecHandler(self._clients))

    def to_filesystem_path(self, path: str) -> str:
        return str(self._clients._strip_protocol(path)) if "://" in path else path


# The last of those fields.
_LATER = b'"_VALUE_STATS_COLS"'
_DIRECTORY, _PREFIX = "manifest", "manifest-"
_LIST = "manifest-list-"


def with_later_fields(opened: Any) -> Any:
    """The file system, which gives old manifests the fields that they lack: null each."""
    plain = opened.new_input_stream

    def new_input_stream(path: str) -> Any:
        stream = plain(path)
        if not _is_manifest(path):
            return stream
        with stream:
            data: bytes = stream.read()
        return BytesIO(data if _LATER in data[: 16 << 10] else _extended(data))

    opened.new_input_stream = new_input_stream
    return opened


def _is_manifest(path: str) -> bool:
    *_, directory, name = ["", "", *str(path).split("/")]
    return directory == _DIRECTORY and name.startswith(_PREFIX) and not name.startswith(_LIST)


def _extended(data: bytes) -> bytes:
    extended = BytesIO()
    fields = [each["name"] for each in MANIFEST_ENTRY_SCHEMA["fields"][-1]["type"]["fields"]]
    lacking = dict.fromkeys(fields)
    records = [{**each, "_FILE": lacking | each["_FILE"]} for each in fastavro.reader(BytesIO(data))]
    fastavro.writer(extended, MANIFEST_ENTRY_SCHEMA, records)
    return extended.getvalue()
