"""Jars of compiled classes, kept in the cache directory from one start of Spark to the next.

They lie beside the archive of Spark's classes, in a directory that only this user can write to. Their names
are made of Java and Spark's jars, as that of the archive is, and of the sources.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

# Of Java: how the names of all jars begin that this Java process may use. Unset where none are kept.
PROPERTY = "paimark.classes"
# Those of two Sparks and some versions of ours, 10 to 30 kB each.
_MOST = 48


def jar_path(prefix: str, name: str, digest: str) -> Path:
    return Path(f"{prefix}-{name}-{digest[:20]}.jar")


def read_jar(path: Path) -> dict[str, bytes] | None:
    """The classes by name. None for no jar, one that is not whole, and one that others can write to."""
    try:
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            return None
        with zipfile.ZipFile(path) as jar:
            return {name.removesuffix(".class"): jar.read(name) for name in jar.namelist()}
    except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, EOFError):
        return None


def write_jar(path: Path, classes: Mapping[str, bytes]) -> None:
    """Readers find the old one or the new one, whole. Raises `OSError`."""
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
    """Keep it for later starts, where there is room; of all jars keep those written last."""
    with suppress(OSError):
        write_jar(path, classes)
        jars = sorted(path.parent.glob("spark-*.jar"), key=lambda each: each.stat().st_mtime)
        for old in jars[:-_MOST]:
            old.unlink(missing_ok=True)
