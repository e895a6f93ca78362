"""What `make test-long` runs beyond `make test`: tests marked `long`, and generated examples from new seeds.

How many are left out is told. Without `--long` Hypothesis generates the same examples each time; a failure
that new seeds find becomes an `@example` of its test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_NEW_SEEDS = "new seeds"
_LEFT_OUT = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="Run also what takes minutes, and new examples.")


def pytest_configure(config: pytest.Config) -> None:
    """Before test modules are imported: `@settings` takes from the profile what it does not say itself.

    No deadline: examples write files, and a busy machine is no fault of theirs.
    """
    short = "the same each time"
    settings.register_profile(short, derandomize=True, deadline=None, max_examples=25)
    settings.register_profile(_NEW_SEEDS, derandomize=False, deadline=None, print_blob=True)
    settings.load_profile(_NEW_SEEDS if config.getoption("--long") else short)


def unhurried(examples: int) -> settings:
    """So many generated examples, however slow the machine is; without `--long` a third of them."""
    is_long = settings.get_current_profile_name() == _NEW_SEEDS
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=examples if is_long else max(1, examples // 3),
        deadline=None,
        suppress_health_check=slow,
    )


def long_but(cases: Iterable[Any], *short: str, name: Callable[[Any], str] = str) -> list[Any]:
    """The parameters `cases`, of which all but those called `short` take long."""
    return [pytest.param(each, marks=() if name(each) in short else pytest.mark.long) for each in cases]


def examples(few: int, many: int) -> int:
    """How many Hypothesis generates for a test."""
    return few if settings().derandomize else many


@pytest.fixture(scope="session")
def is_long(pytestconfig: pytest.Config) -> bool:
    """Whether a test goes through all that it has, and not through every few."""
    return bool(pytestconfig.getoption("--long"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = [] if config.getoption("--long") else [item for item in items if item.get_closest_marker("long")]
    config.stash[_LEFT_OUT] = [item.nodeid for item in long]
    if long:
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)


def pytest_sessionfinish(session: pytest.Session) -> None:
    # A process of pytest-xdist's collects, and another one tells.
    told: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if told is not None:
        told["left_out"] = session.config.stash.get(_LEFT_OUT, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left = config.stash.get(_LEFT_OUT, [])
    if left:
        terminalreporter.write_line(
            f"LEFT OUT, as they take long or are much like others: {len(left)} tests. "
            "make test-long runs them, and `pytest -m long --collect-only -q --long` lists them."
        )
