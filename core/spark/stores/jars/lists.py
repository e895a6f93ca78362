"""The sets of jars: those of stores, named like their kinds (`s3`, `gcs`), and Paimon's own library."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files as resources
from typing import NamedTuple

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
