"""The Java sources of the engine's jar, and whether a jar was compiled from them.

The jar is kept beside its sources, so that a machine without a compiler has it. Only the standard library is
imported here: the build of a wheel needs no more.
"""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent
JAR = ROOT / "paimark-engine.jar"
# What Python and Java read, by its name in the jar.
_TEXTS = {"paimark/library/newer.txt": ROOT.parents[1] / "table/definition/newer.txt"}
_MANIFEST = "META-INF/MANIFEST.MF"
_ENTRY = "Paimark-Sources"


def sources() -> list[Path]:
    return sorted((ROOT / "paimark").rglob("*.java"))


def is_whole() -> bool:
    """Whether the jar is there, and was compiled from the present sources."""
    try:
        with zipfile.ZipFile(JAR) as jar:
            return jar.read(_MANIFEST).decode() == _manifest()
    except (OSError, zipfile.BadZipFile, KeyError):
        return False


def write_jar(classes: Path) -> None:
    """Put the compiled classes into the jar: readers find the old one or the new one. Raises `OSError`."""
    unfinished = JAR.with_suffix(".new")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as jar:
        # Without times, so that the same classes make the same jar.
        jar.writestr(zipfile.ZipInfo(_MANIFEST), _manifest())
        for path in sorted(classes.rglob("*.class")):
            jar.writestr(zipfile.ZipInfo(path.relative_to(classes).as_posix()), path.read_bytes())
        for name, path in _TEXTS.items():
            jar.writestr(zipfile.ZipInfo(name), path.read_bytes())
    unfinished.replace(JAR)


def _manifest() -> str:
    """With the sources' names and texts, as SHA-256 in hex, of which a line holds no more."""
    total = hashlib.sha256()
    named = {path.relative_to(ROOT).as_posix(): path for path in sources()} | _TEXTS
    for name, path in named.items():
        total.update(f"{name}\n".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return f"Manifest-Version: 1.0\n{_ENTRY}: {total.hexdigest()[:32]}\n"
