"""What Paimon's library says of a schema is asked once, and kept from one run to the next.

Each question is a start of Java, a second of CPU, and hundreds of tests ask the same few. The answer depends
on the question and the jars alone. In a run of several processes the judge's Java runs the same programs.
`tests.actions.schema.test_paimons_refusals` starts them as the product does, in each run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from paimark.core.spark.library import schema_check
from tests.interop.judge import Judge, JudgeError
from tests.interop.judge_fixture import connected

ASKED_ANEW: Callable[[str, Any, str], str | None] = schema_check._answer


@pytest.fixture(scope="session", autouse=True)
def _answers_of_the_library_are_kept(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    place = getattr(pytestconfig, "cache", None)
    if place is None:
        # With `-p no:cacheprovider` there is nowhere to keep them.
        yield
        return
    kept: Path = place.mkdir("library-answers")

    ending = ExitStack()

    @cache
    def running() -> Judge | None:
        with suppress(pytest.skip.Exception, pytest.fail.Exception):
            if "PYTEST_XDIST_WORKER" in os.environ:
                return ending.enter_context(closing(connected(tmp_path_factory)))
        return None

    def asked(name: str, program: Any, given: str) -> str | None:
        if (judge := running()) is not None:
            with suppress(JudgeError):
                return judge.printed(f"paimark.library.{name}", given)
        return ASKED_ANEW(name, program, given)

    @cache
    def answer(name: str, program: Any, given: str) -> str | None:
        path = kept / _named(name, program, given)
        if path.exists():
            return path.read_text()
        said = asked(name, program, given)
        if said is not None:
            # Another process may read it meanwhile.
            own = path.with_suffix(f".{os.getpid()}")
            own.write_text(said)
            own.replace(path)
        return said

    with ending, pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema_check, "_answer", answer)
        yield


def _named(name: str, program: Any, given: str) -> str:
    files = (program.java.executable, *program.jars, *program.of_spark)
    asked = (name, given, *(f"{path} {_version(Path(path))}" for path in files))
    return hashlib.sha256("\n".join(asked).encode()).hexdigest()


@cache
def _version(path: Path) -> str:
    """Our own jar changes, and may keep its size; a jar of Spark or Paimon has its release in its name."""
    if path.name == "paimark-engine.jar":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return str(path.stat().st_size)
