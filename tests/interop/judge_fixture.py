"""The fixture of the judge: downloaded and compiled once a run, started once in each test process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.judge import Judge
from tests.once import once_a_run


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Without a JDK and Maven, its tests are skipped; with PAIMARK_REQUIRE_INTEROP=1 they fail."""
    _, command = once_a_run(tmp_path_factory, "stock", _built, "stock Paimon to judge by")
    judge = Judge(json.loads(command), tmp_path_factory.mktemp("judge") / "judge.log")
    yield judge
    judge.close()


def _built(workspace: Path, run: int) -> str:
    # Imported here because it imports Spark, which is slow, and most tests need no judge.
    from tests.interop.stock import build_command

    return json.dumps(build_command(workspace))
