"""Stock Paimon for Java as a bare library, with its own threads and without an engine."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measuring.costs import Cost
from benchmarks.measuring.java import JAVA_OPTIONS, MEMORY
from benchmarks.peers.process import PeerProcess
from tests.interop.stock import build_command

_SOURCES = [str(Path(__file__).parent / f"{name}.java") for name in ("StockReads", "StockChanges")]


class Library(PeerProcess):
    """Reads and writes a warehouse. Raises `ToolMissing` without a JDK, Maven and the jar."""

    def __init__(self, workspace: Path, warehouse: Path) -> None:
        workspace.mkdir()
        command = build_command(workspace, _SOURCES, [f"-Xmx{MEMORY}", *JAVA_OPTIONS])
        super().__init__("stock Paimon", [*command, str(warehouse)], workspace / "log")

    def do(self, *words: object) -> None:
        self.ask("\t".join(map(str, words)))

    def cost(self, *words: object) -> Cost:
        """The cost of a command, as the library itself measures it."""
        _, wall, cpu = self.ask("\t".join(map(str, words))).split("\t")
        return Cost(float(wall), float(cpu))
