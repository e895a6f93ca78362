"""Hadoop's own configuration files: core-site.xml, hdfs-site.xml, yarn-site.xml."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def site_settings(directories: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """The settings in these files. Unreadable files are skipped: their own readers report them."""
    settings: dict[str, str] = {}
    for path in (Path(directory, name) for directory in directories for name in names):
        with suppress(OSError, ET.ParseError):
            for each in ET.parse(path).getroot().iterfind("property"):
                settings[(each.findtext("name") or "").strip()] = (each.findtext("value") or "").strip()
    return settings
