"""Files with a mark of their writer, so that a create with a lost answer is not taken for another's."""

from __future__ import annotations

import uuid
from typing import Any

from paimark.core.storage.remote import RemoteFiles
from paimark.core.storage.remote_errors import is_missing

# The metadata name of the mark. Azure accepts only letters and digits.
WRITER = "paimarkwrite"


class MarkedFiles(RemoteFiles):
    """The clients of Google and Azure repeat a put whose answer is lost, and then find their own object."""

    def __init__(self, filesystem: Any, root: str, uri: str) -> None:
        super().__init__(filesystem, root, uri, can_create=True, must_prove=True)

    def _is_missing(self, error: BaseException) -> bool:
        # Errors with an errno are about local files, such as a token's.
        return is_missing(error) and getattr(error, "errno", None) is None

    def _create(self, full: str, data: bytes) -> bool:
        mark = uuid.uuid4().hex
        try:
            self._put_marked(full, data, mark)
        except FileExistsError:
            return self._mark_of(full) == mark
        return True

    def _put_marked(self, full: str, data: bytes, mark: str) -> None:
        """Create the object, with its mark, if there is none; else raise `FileExistsError`."""
        raise NotImplementedError

    def _mark_of(self, full: str) -> str:
        """The mark of the object's writer; empty if another program wrote it, or there is no object."""
        raise NotImplementedError
