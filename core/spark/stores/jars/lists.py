"""The sets of jars, named like the kinds of stores: `s3`, `gcs`. A set fits one version of Hadoop."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files as resources
from typing import NamedTuple

_HEAD = re.compile(r"# for Hadoop (\S+): (.+)")


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
    """`version` is the version of Hadoop that these jars fit. The first jar is the client of the store."""

    name: str
    version: str
    purpose: str
    jars: tuple[Jar, ...]

    @property
    def label(self) -> str:
        """`Hadoop 3.4.2`."""
        return f"Hadoop {self.version}"


@cache
def jar_sets() -> dict[str, JarSet]:
    """All sets, by name."""
    found = (each for each in (resources(__package__) / "checksums").iterdir() if each.name.endswith(".txt"))
    sets = [_read(each.name.removesuffix(".txt"), each.read_text(encoding="utf-8")) for each in found]
    return {each.name: each for each in sorted(sets)}


def _read(name: str, text: str) -> JarSet:
    head, *lines = text.splitlines()
    match = _HEAD.fullmatch(head)
    assert match is not None, head
    return JarSet(name, match[1], match[2], tuple(Jar(*line.split()) for line in lines))
