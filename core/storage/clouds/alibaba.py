"""Alibaba's OSS over ossfs: it is read, never written."""

from __future__ import annotations

import logging
from typing import Any

from core.storage.conditions import Conditions, Race
from core.storage.remote import RemoteFiles

# Without an endpoint it only warns, and fails anyway.
logging.getLogger("ossfs").setLevel(logging.CRITICAL)


class AlibabaFiles(RemoteFiles):
    """Refuses changes: without a server to test, it is unknown whether two writers can both win."""

    def __init__(self, filesystem: Any, root: str, uri: str) -> None:
        super().__init__(filesystem, root, uri, can_create=False, must_prove=True)

    def race(self, race: Race) -> Conditions:
        return Conditions(race, "whether OSS keeps its condition x-oss-forbid-overwrite was never tried")
