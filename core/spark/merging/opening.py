"""Opens data files for pyarrow, where Spark would open them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from core.errors import FileMissing

# From a file's address to what pyarrow reads from.
OpenFile = Callable[[str], Any]


def file_opener(options: Mapping[str, str]) -> OpenFile:
    """Opens by address; `options` are the catalog's. What it gives raises `FileMissing`."""
    remote: dict[str, Any] = {}

    def open_file(address: str) -> Any:
        try:
            scheme, is_address, rest = address.partition("://")
            if address.startswith("file:"):
                # As Paimon writes it: without escapes.
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
    """pypaimon's own file system: it takes the options as every other part of the read does."""
    from core.spark.datasource.file_io import file_io

    return file_io(store, options)
