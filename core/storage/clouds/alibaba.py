"""Alibaba's OSS over ossfs: read, and never written."""

from __future__ import annotations

import logging
from typing import Any

from core.storage.conditions import Conditions, Race
from core.storage.remote import RemoteFiles

# It warns of an endpoint that is not given, and fails without one as well.
logging.getLogger("ossfs").setLevel(logging.CRITICAL)


class AlibabaFiles(RemoteFiles):
    """Takes no change: there is no server to try on whether two writers can both win."""

    def __init__(self, filesystem: Any, root: str, uri: str) -> None:
        super().__init__(filesystem, root, uri, can_create=False, must_prove=True)

    def race(self, race: Race) -> Conditions:
        return Conditions(race, "whether OSS keeps its condition x-oss-forbid-overwrite was never tried")
