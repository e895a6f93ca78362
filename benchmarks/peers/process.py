"""A peer as a process: it reads questions from stdin, a line each, and answers each with a line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
_END_OF_LOG = 2000


class PeerProcess:
    def __init__(
        self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """`log` gets the process's stderr."""
        self._name = name
        self._log = log
        with log.open("w") as stderr:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=CHECKOUT,
                env=environment,
                text=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, line: str) -> str:
        """Send a line and return the answer. Ends this program if the peer ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            print(line, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise SystemExit(f"{self._name} ended: {self._log.read_text()[-_END_OF_LOG:]}")
        return answer.rstrip("\n")

    def close(self) -> None:
        try:
            self._process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class SqlProcess(PeerProcess):
    """A peer that takes SQL and answers with the rows, as JSON."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        answer = json.loads(self.ask(json.dumps(sql)))
        if isinstance(answer, str):
            raise SystemExit(f"{self._name}: {sql}: {answer}")
        return [tuple(row) for row in answer]
