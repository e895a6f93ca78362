"""Peers from the package index, each in an environment of its own, made once and kept in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path


def peer_python(name: str, *packages: str) -> Path:
    """The Python of the environment that has these packages (`name==version`)."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paimark-benchmarks"
    place = home / f"{name}-{sys.version_info.major}.{sys.version_info.minor}"
    python = place / "bin" / "python"
    ready = place / "ready"
    wanted = "\n".join(packages)
    if not ready.exists() or ready.read_text() != wanted:
        print(f"installing {' '.join(packages)} into {place}", file=sys.stderr)
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.write_text(wanted)
    return python
