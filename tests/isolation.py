"""Tests have a home of their own: no config of the user's is read, and nothing of theirs is written to."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from paimark.core.spark.launch.cds import SWITCH

# A variable with the directory for what is compiled.
KEPT = "PAIMARK_TESTS_KEPT"
_HOME = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
_IN_MEMORY = pytest.StashKey[Path]()
# Of a run in several processes: what it writes, and what its processes need beside that.
_MEMORY, _WRITTEN, _FREE = Path("/dev/shm"), 4 << 30, 12 << 30
# Short, as the path of a socket has room for a hundred characters.
_OURS = "pmktest-"
_BELOW_HOME = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
}
_OF_THE_PRODUCT = ("PAIMARK_WAREHOUSE", "PAIMARK_READ_ONLY", "PAIMARK_DEBUG")


def pytest_configure(config: pytest.Config) -> None:
    """Before any test or fixture runs, for the processes that they start as well."""
    # Tests write many small files: on a disk these take a tenth of the CPU time of a run.
    if getattr(config.option, "numprocesses", None) and "TMPDIR" not in os.environ and _has_room():
        # Always as long: a screen breaks a path where its lines end.
        directory = config.stash[_IN_MEMORY] = _MEMORY / f"{_OURS}{os.getpid():07}"
        # As a directory for temporary files is, others may go through it.
        directory.mkdir(mode=0o711)
        # It is locked until this process ends, however that is.
        assert _locked(directory)
        os.environ["TMPDIR"] = tempfile.tempdir = str(directory)
    home = config.stash[_HOME] = tempfile.TemporaryDirectory(prefix="paimark-home-")
    os.environ["HOME"] = home.name
    os.environ.update({name: str(Path(home.name, below)) for name, below in _BELOW_HOME.items()})
    for name in _OF_THE_PRODUCT:
        os.environ.pop(name, None)
    # To make an archive of classes takes 40 s of CPU, and it spares a start of Spark 2 s.
    os.environ[SWITCH] = "off"
    # From one run to the next: to fetch and compile each of the tests' own Java programs takes 7 s.
    # With `-p no:cacheprovider` there is nowhere to keep them.
    cache = getattr(config, "cache", None)
    if cache is not None:
        os.environ[KEPT] = str(cache.mkdir("java-built"))


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_HOME].cleanup()
    if (directory := config.stash.get(_IN_MEMORY, None)) is not None:
        shutil.rmtree(directory, ignore_errors=True)


def _has_room() -> bool:
    """Whether files can be kept in memory, without those that a killed run left there."""
    try:
        for left in _MEMORY.glob(f"{_OURS}[0-9]*"):
            if left.is_dir() and left.stat().st_uid == os.getuid() and _locked(left):
                shutil.rmtree(left, ignore_errors=True)
        disk = os.statvfs(_MEMORY)
        free = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return False
    # Tests write programs, and Java unpacks libraries.
    runs = os.access(_MEMORY, os.W_OK) and not disk.f_flag & os.ST_NOEXEC
    return runs and disk.f_bavail * disk.f_frsize > _WRITTEN and int(free[1] if free else 0) << 10 > _FREE


def _locked(directory: Path) -> bool:
    """Whether no other process has it: one in another container may, where its number means nothing here."""
    held = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return False
    return True
