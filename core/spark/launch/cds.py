"""Java's archive of the classes that Spark loads (AppCDS): with it Java starts in about half the CPU time.

It is made in the background when the first engine ends, from the list of classes that this one loaded, and
all later engines use it. Its name is a hash of Java, Spark's jars and the flags, so that each combination has
its own archive. Java checks them again, and starts without an archive that does not fit.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paimark.core.config import FALSE_WORDS, cache_directory

SWITCH = "PAIMARK_JAVA_ARCHIVE"
_SUFFIX = ".jsa"
_KEPT = 2
_NEEDED_BYTES = 1 << 30
_LEFT_OVER_SECONDS = 24 * 3600
_BUILD_SECONDS = 900
# A random load address would cost a quarter of a second for relocating an archive of this size.
_SHARED = ("-Xshare:auto", "-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0", "-Xlog:cds=off")


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive for a Java, a set of jars and flags. It may not exist yet."""

    path: Path
    java: Path
    class_path: str
    flags: tuple[str, ...]

    def start_flags(self, scratch: Path) -> list[str]:
        """Flags for Java: to use the archive, or if there is none, to list the classes for one."""
        if self.path.exists():
            with suppress(OSError):
                # `_tidy` removes the archives with the oldest time.
                os.utime(self.path)
            return [f"-XX:SharedArchiveFile={self.path}", *_SHARED]
        return [] if self._failed.exists() else [f"-XX:DumpLoadedClassList={_class_list(scratch)}"]

    def build_in_background(self, scratch: Path) -> None:
        """Make it from the list of classes in a Java process's scratch directory. Returns at once."""
        if self.path.exists():
            return
        # Copied, because the scratch directory is about to be deleted.
        kept = self.path.with_suffix(f".classes-{os.getpid()}")
        with suppress(OSError):
            # Without the last line if it is incomplete, because Java was killed.
            kept.write_bytes(b"".join(_class_list(scratch).read_bytes().rpartition(b"\n")[:2]))
            subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "paimark.core.spark.launch.cds",
                    str(self.path),
                    str(kept),
                    str(self.java),
                    self.class_path,
                    *self.flags,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )

    @property
    def _failed(self) -> Path:
        return self.path.with_suffix(".failed")

    def build(self, loaded: Path) -> None:
        """Make it from a list of classes, unless another process does. After a failure it waits a day."""
        folder = self.path.parent
        with open(folder / "lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return
            if not self.path.exists() and shutil.disk_usage(folder).free > _NEEDED_BYTES:
                unproven = self.path.with_suffix(f".new-{os.getpid()}")
                try:
                    if self._dumped(loaded, unproven) and self._is_usable(unproven):
                        unproven.replace(self.path)
                    else:
                        self._failed.touch()
                finally:
                    unproven.unlink(missing_ok=True)
            _tidy(folder)

    def _dumped(self, loaded: Path, target: Path) -> bool:
        listed = (f"-XX:SharedClassListFile={loaded}", f"-XX:SharedArchiveFile={target}")
        return _succeeds([*self._java_with("-Xmx1g", "-Xshare:dump", "-Xlog:cds=off", *listed)])

    def _is_usable(self, path: Path) -> bool:
        return _succeeds([*self._java_with(f"-XX:SharedArchiveFile={path}", "-Xshare:on"), "-version"])

    def _java_with(self, *flags: str) -> list[str]:
        return [str(self.java), *self.flags, *flags, "-cp", self.class_path]


def archive_for(java: Path, class_path: str, jars: Iterable[Path], flags: Sequence[str]) -> Archive | None:
    """The archive; None if it is switched off, or if its directory is unusable or writable for others."""
    if os.environ.get(SWITCH, "1").strip().lower() in FALSE_WORDS:
        return None
    folder = cache_directory() / "java"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
        # Anybody who can write there could make us run their classes.
        if status.st_uid != os.getuid() or status.st_mode & 0o022 or not os.access(folder, os.W_OK):
            return None
        key = _key(java, jars, flags)
    except OSError:
        return None
    return Archive(folder / f"spark-{key}{_SUFFIX}", java, class_path, tuple(flags))


def _succeeds(command: Sequence[str]) -> bool:
    try:
        run = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_BUILD_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0


def _tidy(folder: Path) -> None:
    """Keep the most recently used archives; remove the leftovers of builders that were killed."""
    archives = sorted(folder.glob(f"spark-*{_SUFFIX}"), key=lambda each: each.stat().st_mtime)
    for old in archives[:-_KEPT]:
        old.unlink(missing_ok=True)
    for left in (left for end in ("new-*", "classes-*", "failed") for left in folder.glob(f"spark-*.{end}")):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_OVER_SECONDS:
                left.unlink()


def _key(java: Path, jars: Iterable[Path], flags: Sequence[str]) -> str:
    """A hash of everything that an archive depends on. Raises `OSError`."""
    home = java.resolve().parent.parent
    parts = [str(home), *flags]
    for file in (
        *(home / "lib" / name for name in ("server/libjvm.so", "server/libjvm.dylib", "modules")),
        *jars,
    ):
        with suppress(FileNotFoundError):
            status = file.stat()
            parts.append(f"{file} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


def _class_list(scratch: Path) -> Path:
    return scratch / "loaded-classes"


def main() -> None:
    path, loaded, java, class_path, *flags = sys.argv[1:]
    os.nice(19)
    try:
        Archive(Path(path), Path(java), class_path, tuple(flags)).build(Path(loaded))
    finally:
        Path(loaded).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
