"""Open data files for pyarrow, at the addresses that Spark uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimark.core.errors import FileMissing

# Takes a file's address, and returns a source for pyarrow.
OpenFile = Callable[[str], Any]


def file_opener(options: Mapping[str, str]) -> OpenFile:
    """A function that opens files by address, and raises `FileMissing`; `options` are the catalog's."""
    remote: dict[str, Any] = {}

    def open_file(address: str) -> Any:
        try:
            scheme, is_address, rest = address.partition("://")
            if address.startswith("file:"):
                # Paimon writes such addresses without escapes.
                return pa.memory_map("/" + address.removeprefix("file:").lstrip("/"))
            if not is_address:
                return pa.memory_map(address)
            store = f"{scheme}://{rest.partition('/')[0]}"
            if store not in remote:
                remote[store] = _remote(store, options)
            return remote[store].new_input_stream(address)
        except FileNotFoundError as error:
            raise FileMissing(Path(address).name) from error

    return open_file


def _remote(store: str, options: Mapping[str, str]) -> Any:
    """pypaimon's file system, so that the options mean the same as in all other reads."""
    from paimark.core.spark.datasource.file_io import file_io

    return file_io(store, options)
