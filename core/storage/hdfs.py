"""HDFS, through fsspec's wrapper of libhdfs. Needs a Hadoop client, and the JVM that comes with it."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any

from core.storage.paths import checked
from core.storage.remote import RemoteFiles


class HdfsFiles(RemoteFiles):
    """Files are written beside their place and then moved to it."""

    def __init__(self, filesystem: Any, root: str, uri: str) -> None:
        super().__init__(filesystem, root, uri, can_create=True)

    def prune(self, directory: str) -> None:
        full = self._file(checked(directory))
        with self._said_plainly(directory):
            if self._filesystem.isdir(full) and not self._filesystem.find(full):
                self._filesystem.rm(full, recursive=True)

    def _create(self, full: str, data: bytes) -> bool:
        """Move the file *into the directory*, under the name it already has.

        HDFS refuses that when the name is taken. A move onto the file's own path would not do: libhdfs's
        wrapper then deletes what is there and moves again.
        """
        directory, _, name = full.rpartition("/")
        own = f"{directory}/.{name}.{uuid.uuid4()}"
        self._filesystem.makedirs(own, exist_ok=True)
        try:
            self._filesystem.pipe_file(f"{own}/{name}", data)
            try:
                self._filesystem.mv(f"{own}/{name}", directory)
            except OSError:
                if self._filesystem.exists(full):
                    return False
                raise
            return True
        finally:
            with suppress(FileNotFoundError):
                self._filesystem.rm(own, recursive=True)

    def _replace(self, full: str, data: bytes) -> None:
        """For the blink between libhdfs's delete and its rename a reader finds nothing; never a part."""
        directory, _, name = full.rpartition("/")
        written = f"{directory}/.{name}.{uuid.uuid4()}"
        self._filesystem.makedirs(directory, exist_ok=True)
        self._filesystem.pipe_file(written, data)
        self._filesystem.mv(written, full)
