"""pypaimon-rust: DataFusion on Paimon tables in one process, without Java."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.environments import peer_python
from benchmarks.peers.process import SqlProcess

PACKAGES = ("pypaimon-rust==0.4.0", "pyarrow==19.0.1")


class Rust(SqlProcess):
    def __init__(self, workspace: Path, warehouse: Path) -> None:
        workspace.mkdir()
        python = str(peer_python("rust", *PACKAGES))
        command = [python, "-m", "benchmarks.peers.rust_session", str(warehouse)]
        super().__init__("pypaimon-rust", command, workspace / "log")
