"""Google Cloud Storage over gcsfs."""

from __future__ import annotations

import logging

from paimark.core.storage.clouds.google_options import ENDPOINT, TYPE, UNSIGNED
from paimark.core.storage.clouds.marked_files import WRITER, MarkedFiles

_GOOGLE = "https://storage.googleapis.com"
# It logs tracebacks of errors that it also raises.
logging.getLogger("gcsfs").setLevel(logging.CRITICAL)


class GoogleFiles(MarkedFiles):
    """Creates with `ifGenerationMatch=0`: the request fails if the object has any generation."""

    def discovered_options(self) -> dict[str, str]:
        """From the environment: the endpoint of an emulator, and whether requests go without credentials."""
        options = {}
        if (endpoint := self._filesystem._location) != _GOOGLE:
            options[ENDPOINT] = endpoint
        if self._filesystem.credentials.credentials is None:
            options[TYPE] = UNSIGNED
        return options

    def _put_marked(self, full: str, data: bytes, mark: str) -> None:
        self._put(full, data, mode="create", metadata={WRITER: mark})

    def _mark_of(self, full: str) -> str:
        try:
            mark: str = (self._call("info", full).get("metadata") or {}).get(WRITER, "")
        except FileNotFoundError:
            return ""
        return mark
