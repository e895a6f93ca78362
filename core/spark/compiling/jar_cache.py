"""Jars of compiled classes, cached in the cache directory from one start of Spark to the next.

They are stored beside the archive of Spark's classes, in a directory that only this user can write to. A
name depends on Java and Spark's jars, as the name of the archive does, and on the sources.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

# A Java property: the prefix of the names of all jars that this Java process may use. Unset without a cache.
PROPERTY = "paimark.classes"
# Enough for two versions of Spark and some versions of Paimark; a jar has 10 to 30 kB.
_MOST = 48


def jar_path(prefix: str, name: str, digest: str) -> Path:
    return Path(f"{prefix}-{name}-{digest[:20]}.jar")


def read_jar(path: Path) -> dict[str, bytes] | None:
    """The classes by name. None if the jar is missing or damaged, or if another user can write to it."""
    try:
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            return None
        with zipfile.ZipFile(path) as jar:
            return {name.removesuffix(".class"): jar.read(name) for name in jar.namelist()}
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, EOFError):
        return None


def write_jar(path: Path, classes: Mapping[str, bytes]) -> None:
    """Write a jar atomically: readers find the old one or the new one. Raises `OSError`."""
    unfinished = path.with_suffix(f".new-{os.getpid()}")
    try:
        with zipfile.ZipFile(unfinished, "w") as jar:
            for name, code in classes.items():
                jar.writestr(f"{name}.class", code)
        unfinished.chmod(0o600)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def keep_jar(path: Path, classes: Mapping[str, bytes]) -> None:
    """Cache the jar for later starts, and delete the oldest jars. Ignores any `OSError` (a full disk)."""
    with suppress(OSError):
        write_jar(path, classes)
        jars = sorted(path.parent.glob("spark-*.jar"), key=lambda each: each.stat().st_mtime)
        for old in jars[:-_MOST]:
            old.unlink(missing_ok=True)
