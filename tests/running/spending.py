"""What a run of the tests costs: how long each took is written down, and collecting them costs less."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

_FILES_TOLD = 5


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing that is collected goes before the end: a search for garbage in it takes long."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # Consoles are made of cycles that a later search finds as well.
        gc.set_threshold(5_000, 20, 50)
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Durations(config), "durations")


class _Durations:
    """Wall time of setup, call and teardown. The processes of pytest-xdist report to the one that writes."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        # With `-p no:cacheprovider` there is nowhere to keep them.
        cache: Any = getattr(self.config, "cache", None)
        if cache is not None and self.seconds:
            path = cache.mkdir("durations") / "last-run.tsv"
            path.write_text(as_lines(self.seconds))
            terminalreporter.write_line(f"{said(self.seconds)} All tests: {path}")


def as_lines(seconds: Mapping[str, float]) -> str:
    """A line a test, the longest first."""
    longest = sorted(seconds.items(), key=lambda item: -item[1])
    return "".join(f"{took:.2f}\t{name}\n" for name, took in longest)


def said(seconds: Mapping[str, float]) -> str:
    """Which files took longest."""
    files: defaultdict[str, float] = defaultdict(float)
    for name, took in seconds.items():
        files[name.partition("::")[0]] += took
    longest = sorted(files.items(), key=lambda item: -item[1])[:_FILES_TOLD]
    slowest = ", ".join(f"{name} {took:.0f} s" for name, took in longest)
    return f"Tests took {sum(files.values()):.0f} s in all processes together: {slowest}."
