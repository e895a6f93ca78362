"""No test reaches what belongs to the user who runs it, and those that people run are the same each time."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from paimark.core.actions.context import open_context
from paimark.core.config import cache_directory, config_path, state_directory

USERS_OWN = Path(pwd.getpwuid(os.getuid()).pw_dir)


def directories_in_use() -> list[Path]:
    environment = os.environ
    audit_path = open_context("/nowhere", {}, read_only=True).audit_path
    return [
        audit_path,
        config_path(environment),
        state_directory(environment),
        cache_directory(environment),
    ]


@pytest.mark.parametrize("unset", [[], ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"]])
def test_nothing_is_kept_in_the_users_own_home(unset: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in unset:
        monkeypatch.delenv(name)
    assert Path.home() != USERS_OWN
    assert [each for each in directories_in_use() if not each.is_relative_to(Path.home())] == []


def test_nor_by_the_processes_that_tests_start() -> None:
    code = (
        "from paimark.core.actions.context import open_context\n"
        "print(open_context('/nowhere', {}, True).audit_path)"
    )
    told = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert Path(told.strip()).is_relative_to(Path.home())


def test_generated_examples_are_the_same_each_time_unless_asked(pytestconfig: pytest.Config) -> None:
    assert settings.default is not None
    assert settings.default.derandomize is not pytestconfig.getoption("--long")
