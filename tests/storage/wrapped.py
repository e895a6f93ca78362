"""What tests put between the code and a store."""

from __future__ import annotations

from collections.abc import Callable

from paimark.core.storage import files
from paimark.core.storage.files import delete_if_own


class Wrapped(files.Wrapped):
    """A store that passes everything on to another."""

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        # By its own `delete`, so that tests meet each of them there.
        delete_if_own(self, path, is_own)
