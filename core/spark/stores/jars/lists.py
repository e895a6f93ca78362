"""Sets of jars by name: `s3`, `avro`. A set fits one version of Hadoop or of Spark."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files as resources
from typing import NamedTuple

_HEAD = re.compile(r"# for (hadoop|spark) (\S+): (.+)")


class Jar(NamedTuple):
    """`place` is `group:artifact:version`, as repositories have it; `sha256` is of the jar, in hex."""

    place: str
    sha256: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return "-".join(self.place.split(":")[1:]) + ".jar"


class JarSet(NamedTuple):
    """`product` is `hadoop` or `spark`, and `version` the one whose classes these jars fit."""

    name: str
    product: str
    version: str
    purpose: str
    jars: tuple[Jar, ...]

    @property
    def label(self) -> str:
        """`Hadoop 3.4.2`."""
        return f"{self.product.capitalize()} {self.version}"


@cache
def jar_sets() -> dict[str, JarSet]:
    """All that are known, by name."""
    found = (each for each in (resources(__package__) / "lists").iterdir() if each.name.endswith(".txt"))
    sets = [_read(each.name.removesuffix(".txt"), each.read_text(encoding="utf-8")) for each in found]
    return {each.name: each for each in sorted(sets)}


def _read(name: str, text: str) -> JarSet:
    head, *lines = text.splitlines()
    match = _HEAD.fullmatch(head)
    assert match is not None, head
    return JarSet(name, match[1], match[2], match[3], tuple(Jar(*line.split()) for line in lines))
