"""The jars that the user's Spark settings name."""

from __future__ import annotations

from collections.abc import Mapping
from glob import glob

_FILES = {"spark.jars": ",", "spark.driver.extraClassPath": ":"}
_PACKAGES = "spark.jars.packages"


def named_files(settings: Mapping[str, str]) -> list[str]:
    """The names of jars given as files: `hadoop-aws-3.4.2.jar`."""
    patterns = [
        each.strip() for name, mark in _FILES.items() for each in settings.get(name, "").split(mark) if each
    ]
    paths = [path for each in patterns for path in (glob(_path(each)) or [each])]
    return [path.rpartition("/")[2] for path in paths]


def named_packages(settings: Mapping[str, str]) -> list[str]:
    """The names of jars given as packages, without their dependencies."""
    packages = [each.strip().split(":") for each in settings.get(_PACKAGES, "").split(",")]
    return ["-".join(each[1:3]) + ".jar" for each in packages if len(each) >= 3]


def _path(written: str) -> str:
    """A glob pattern of paths; in a class path `/*` stands for all jars of a directory."""
    path = "/" + written.removeprefix("file:").lstrip("/") if written.startswith("file:") else written
    return f"{path}.jar" if path.endswith("/*") else path
