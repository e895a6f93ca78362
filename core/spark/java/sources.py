"""The Java sources of the engine's jar, and whether a jar was compiled from them."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent
JAR = ROOT / "paimark-engine.jar"
# What needs Paimon's own library to compile and to run.
LIBRARY = ROOT / "paimark" / "library"
_MANIFEST = "META-INF/MANIFEST.MF"
_ENTRY = "Paimark-Sources"


def sources(*, with_library: bool = True) -> list[Path]:
    found = sorted((ROOT / "paimark").rglob("*.java"))
    return found if with_library else [path for path in found if LIBRARY not in path.parents]


def digest(files: list[Path]) -> str:
    """SHA-256 of the files' names and texts, in hex."""
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(ROOT)}\n".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _manifest(of: str) -> str:
    return f"Manifest-Version: 1.0\n{_ENTRY}: {of[:32]}\n"


def is_whole(of: str) -> bool:
    """Whether the jar is there, and was compiled from sources with that digest."""
    try:
        with zipfile.ZipFile(JAR) as jar:
            return jar.read(_MANIFEST).decode() == _manifest(of)
    except (OSError, zipfile.BadZipFile, KeyError):
        return False


def write_jar(classes: Path, of: str) -> None:
    """Put the compiled classes into the jar: readers find the old one or the new one. Raises `OSError`."""
    unfinished = JAR.with_suffix(".new")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as jar:
        # Without times, so that the same classes make the same jar.
        jar.writestr(zipfile.ZipInfo(_MANIFEST), _manifest(of))
        for path in sorted(classes.rglob("*.class")):
            jar.writestr(zipfile.ZipInfo(path.relative_to(classes).as_posix()), path.read_bytes())
    unfinished.replace(JAR)
