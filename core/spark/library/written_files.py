"""The files that the library's tasks wrote, before their commit."""

from __future__ import annotations

from typing import Any

from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.links import require_no_links


def require_own_files(files: Files, root: Root, uncommitted: Any) -> None:
    """Raises `Refused` if a link leads one of them elsewhere, and deletes all. `uncommitted` is Java's."""
    try:
        require_no_links(files, root.table, _addresses(files, uncommitted))
    except Refused:
        uncommitted.delete()
        raise


def _addresses(files: Files, uncommitted: Any) -> list[str]:
    """The addresses of the data files, where directories can be links."""
    if not files.uri.startswith(("/", "file:")):
        return []
    return [each for each in str(uncommitted.addresses()).split("\n") if each]
