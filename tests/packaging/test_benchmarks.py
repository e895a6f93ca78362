"""Each goal has commands, which take the words that they are started with, and a row in its page."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from benchmarks.__main__ import main
from benchmarks.goals import GOALS
from tests.packaging.test_map import CHECKOUT

_PAGE = CHECKOUT / "benchmarks" / "README.md"


@pytest.mark.parametrize("number", GOALS)
def test_the_commands_of_a_goal_take_their_words(number: str) -> None:
    for module, *words in GOALS[number].commands:
        import_module(module).parser().parse_args(words)


def test_the_page_has_each_goal_with_its_command() -> None:
    page = _PAGE.read_text()
    rows = re.findall(r"^\| (P\w+) \|", page, re.MULTILINE)
    assert set(rows) >= GOALS.keys()
    named = {command[0] for goal in GOALS.values() for command in goal.commands}
    assert [module for module in sorted(named) if f"`{module}`" not in page] == []


def test_a_goal_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["P99"]) == 2
    told = capsys.readouterr()
    assert told.out == "" and "P13" in told.err
