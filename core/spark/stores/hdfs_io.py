"""pypaimon's client for HDFS, with two things mended.

For a keytab pypaimon would run `kinit` each time that it opens one: a program that may not be there, whose
ticket takes the place of the user's own for all other programs. The client of HDFS takes the keytab itself.
And fsspec would call a file missing that nobody has the ticket to look for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypaimon.common.file_io import FileIO
from pypaimon.common.options import Options

from core.storage.known_options import KEYTAB, PRINCIPAL


def hdfs_io(address: str, options: Mapping[str, str]) -> Any:
    """pypaimon's file system for an address; `options` are the catalog's. Touches no storage."""
    others = {name: value for name, value in options.items() if name not in (KEYTAB, PRINCIPAL)}
    opened = FileIO.get(address, Options(others))
    if type(opened).__name__ != "HdfsNativeFileIO":
        # libhdfs, asked for by name, takes tickets alone.
        return FileIO.get(address, Options(dict(options)))
    return _with_own_clients(opened, options.get(PRINCIPAL), options.get(KEYTAB))


def _with_own_clients(opened: Any, principal: str | None, keytab: str | None) -> Any:
    """The same with another client, and another in what pyarrow reads from."""
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
    # fsspec gives one object to all who ask for the same host, whoever they are.
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
