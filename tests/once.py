"""What costs much and all processes of a test run can share: made by whichever asks first."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def once_a_run(
    tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path, int], str], purpose: str
) -> tuple[Path, str]:
    """A directory of that name, and what `make` said: it is given that, and the process of the run.

    Servers end with that process. Where a tool is missing the tests skip, saying that there is no `purpose`,
    or fail with PAIMARK_REQUIRE_INTEROP=1.
    """
    # It imports Spark, which is slow, and most tests need none of this.
    from tests.interop.stock import ToolMissing

    shared, run = tmp_path_factory.getbasetemp(), os.getpid()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared, run = shared.parent, os.getppid()
    directory = shared / name
    directory.mkdir(exist_ok=True)
    said = directory / "said"
    try:
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not said.exists():
                said.write_text(make(directory, run))
        return directory, said.read_text()
    except ToolMissing as missing:
        reason = f"no {purpose}: {missing}"
        if os.environ.get("PAIMARK_REQUIRE_INTEROP") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
