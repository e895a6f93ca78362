"""The jars on this machine: in the cache directory, or in this environment of Python (`make setup`).

Their checksums are checked at each use.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from contextlib import suppress
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import NamedTuple

from paimark.core.config import cache_directory
from paimark.core.errors import Unavailable


def directory_of(jars: JarSet) -> Path:
    """The directory of a set in the cache, which may not exist."""
    return cache_directory() / "jars" / _name(jars)


def _installed(jars: JarSet) -> Path:
    """The same in the environment, where a process with another home finds it too."""
    return Path(sys.prefix) / "share/paimark/jars" / _name(jars)


def _name(jars: JarSet) -> str:
    return f"{jars.name}-{jars.product.lower()}-{jars.version}"


def place_of(jars: JarSet) -> Path:
    """Where a set is, else where it would be fetched to."""
    cached = directory_of(jars)
    return cached if cached.is_dir() or not is_installed(jars) else _installed(jars)


def is_installed(jars: JarSet) -> bool:
    return all((_installed(jars) / jar.name).is_file() for jar in jars.jars)


def install(jars: JarSet) -> None:
    """Put a set that the cache has into the environment, as links or copies."""
    to = _installed(jars)
    to.mkdir(parents=True, exist_ok=True)
    for jar in jars.jars:
        own = to / jar.name
        own.unlink(missing_ok=True)
        with suppress(OSError):
            os.link(directory_of(jars) / jar.name, own)
        if not own.exists():
            shutil.copy(directory_of(jars) / jar.name, own)


def cached_jars(jars: JarSet) -> list[Path]:
    """The checked jars of a set; empty if it was not fetched. Raises `Unavailable`, which names a bad one."""
    directory = place_of(jars)
    if not directory.is_dir():
        return []
    require_ours(directory)
    for jar in jars.jars:
        require_checksum(directory / jar.name, jar, f"Run `paimark jars fetch {jars.name}` again.")
    return [directory / jar.name for jar in jars.jars]


def require_ours(directory: Path) -> None:
    """Raises `Unavailable` for a directory that others can write to: they could make us run their classes."""
    status = directory.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise Unavailable(
            f"{directory} can be written to by others, so its jars are not used",
            f"Remove it, or make it yours alone: chmod go-w {directory}",
        )


def require_checksum(path: Path, jar: Jar, hint: str) -> None:
    """Raises `Unavailable` for a jar that is missing, or has another checksum than in the list."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unavailable(f"{path} can't be read: {error.strerror}", hint) from error
    if digest != jar.sha256:
        raise Unavailable(
            f"{path.name} is not the jar that it should be: its SHA-256 is {digest}, not {jar.sha256}", hint
        )


_HEAD = re.compile(r"# for (\S+) (\S+): (.+)")


class Jar(NamedTuple):
    """`place` is `group:artifact:version` or `group:artifact:version:classifier`, as in repositories.

    `sha256` is the checksum of the jar, in hex.
    """

    place: str
    sha256: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return "-".join(self.place.split(":")[1:]) + ".jar"

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """Group, artifact, version and classifier; the latter is empty for none."""
        group, artifact, version, classifier = f"{self.place}:".split(":")[:4]
        return group, artifact, version, classifier


class JarSet(NamedTuple):
    """The jars fit that version of a `product`, such as Hadoop. The first jar of a store's is its client."""

    name: str
    product: str
    version: str
    purpose: str
    jars: tuple[Jar, ...]

    @property
    def label(self) -> str:
        """`Hadoop 3.4.2`."""
        return f"{self.product} {self.version}"


@cache
def jar_sets() -> dict[str, JarSet]:
    """All sets, by name."""
    found = (each for each in (resources(__package__) / "checksums").iterdir() if each.name.endswith(".txt"))
    sets = [read_jar_set(each.name.removesuffix(".txt"), each.read_text(encoding="utf-8")) for each in found]
    return {each.name: each for each in sorted(sets)}


def read_jar_set(name: str, text: str) -> JarSet:
    """The set of a file as in `checksums/`."""
    head, *lines = text.splitlines()
    match = _HEAD.fullmatch(head)
    assert match is not None, head
    return JarSet(name, match[1], match[2], match[3], tuple(Jar(*line.split()) for line in lines))
