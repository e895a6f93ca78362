"""Remove another Spark's Python from the engine's PYTHONPATH, where edge nodes of a cluster have it.

Spark in Python and in Java must be of the same version, and PYTHONPATH precedes installed packages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_VERSION = re.compile(r"""^__version__[^=]*=\s*["']([^"']+)["']""", re.MULTILINE)
_PY4J = re.compile(r"py4j-([0-9.]+)-src\.zip$")


def without_other_spark(environment: Mapping[str, str] = os.environ) -> tuple[dict[str, str], list[str]]:
    """The environment, and the parts removed from its PYTHONPATH: those with a Spark of another version."""
    kept = dict(environment)
    parts = kept.get("PYTHONPATH", "").split(os.pathsep)
    others = [part for part in parts if part and _is_other(part)]
    if others:
        kept["PYTHONPATH"] = os.pathsep.join(part for part in parts if part not in others)
    return kept, others


def _is_other(part: str) -> bool:
    if zipped := _PY4J.search(part):
        return _differs("py4j", zipped[1])
    try:
        said = _VERSION.search(Path(part, "pyspark", "version.py").read_text(errors="replace"))
    except OSError:
        return False
    return said is not None and _differs("pyspark", said[1])


def _differs(package: str, other: str) -> bool:
    """Whether the installed version differs. If none is installed, the other one is used."""
    # Imported only if PYTHONPATH has such a part, because it takes time to load.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package) != other
    except PackageNotFoundError:
        return False
