"""Declarations name code that is there, load none of it, and read arguments the same everywhere."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from typing import Any

import pytest

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import (
    Argument,
    BranchName,
    Choice,
    Flag,
    Number,
    RowVersion,
    SavepointId,
    Seen,
    TagName,
    Text,
)
from paimark.core.actions.names import known_names
from paimark.core.storage.local import LocalFiles
from tests.actions.acting import ORDERS
from tests.wording import about

CHOICE = Choice("layout", among=("pointer", "overwrite"))


def test_declaring_loads_no_action() -> None:
    code = (
        "import sys, paimark.core.actions.declared.declarations\n"
        "begin = 'paimark.core.actions.'\n"
        "print(*sorted(each.removeprefix(begin) for each in sys.modules if each.startswith(begin)))"
    )
    there = subprocess.check_output([sys.executable, "-c", code], text=True)
    modules = ("declaration", "declarations", "kinds")
    assert there.split() == ["declared", *(f"declared.{each}" for each in modules)]


@pytest.mark.parametrize("name", DECLARED)
def test_what_a_declaration_names_is_there(name: str) -> None:
    declared = DECLARED[name]
    assert callable(importlib.import_module(f"paimark.core.actions.{declared.code}").plan)
    for where in declared.changes.values():
        module, _, kind = where.partition(":")
        assert isinstance(getattr(importlib.import_module(f"paimark.core.actions.{module}"), kind), type)
    names = [each.name for each in declared.arguments]
    assert len({*names}) == len(names)
    assert {each.unless for each in declared.arguments} <= {"", *names}
    assert len([each for each in declared.arguments if each.many]) <= 1


@pytest.mark.parametrize(
    ("argument", "text", "value"),
    [
        (Text("to"), "a b", "a b"),
        (Number("id"), "7", 7),
        (Number("id"), "seven", about("whole number", "'seven'")),
        (Number("id"), "-1", about("whole number", "'-1'")),
        (Flag("keep"), "Yes", True),
        (Flag("keep"), "off", False),
        (Flag("keep"), "maybe", about("yes", "no", "'maybe'")),
        (CHOICE, "overwrite", "overwrite"),
        (CHOICE, "sideways", about("pointer", "overwrite", "sideways")),
    ],
)
def test_what_is_typed_is_read_or_the_reason_is_said(argument: Argument, text: str, value: object) -> None:
    try:
        assert argument.read(text) == value
    except ValueError as error:
        assert isinstance(value, re.Pattern) and value.search(str(error))


@pytest.mark.parametrize(
    ("argument", "value", "problem"),
    [
        (Text("to"), "x", None),
        (Text("to"), 5, about("text", "5")),
        (Text("to"), " ", about("empty")),
        (Number("id"), 5, None),
        (Number("id"), True, about("whole number", "True")),
        (Number("id"), "5", about("whole number", "'5'")),
        (Flag("keep"), True, None),
        (Flag("keep"), 1, about("true", "false", "1")),
        (CHOICE, "pointer", None),
        (CHOICE, "sideways", about("pointer", "overwrite", "sideways")),
    ],
)
def test_a_value_of_a_program_is_one_or_the_reason_is_said(
    argument: Argument, value: object, problem: re.Pattern[str] | None
) -> None:
    said = argument.problem(value)
    assert problem.search(said) if problem else not said


@pytest.mark.parametrize(
    ("argument", "tag", "why"),
    [
        (TagName("name"), "", about("tag", "none", "rename")),
        (TagName("name"), "savepoint.1", about("tag", "savepoint 1", "name")),
        (SavepointId("id"), "v2", about("savepoint", "none", "rename")),
        (BranchName("name", of_main="main is main"), "v2", about("branch", "main is main")),
    ],
)
def test_a_row_without_the_thing_is_told(argument: Argument, tag: str, why: re.Pattern[str]) -> None:
    row = RowVersion(tag=tag or None)
    assert argument.of(Seen(row)) is None
    assert why.search(argument.why_none("rename", Seen(row)))


def test_names_to_choose_from_are_those_that_an_action_takes(warehouse: Any) -> None:
    files = LocalFiles(str(warehouse))
    known = {
        (name, each.name): known_names(each, files, ORDERS)
        for name, declared in DECLARED.items()
        for each in declared.arguments
    }
    assert known["delete-tag", "name"] == known["create-branch", "tag"] == ["v2"]
    assert known["merge-branch", "on_conflict"] == ("fail", "branch", "main")
    assert known["reset-consumer", "name"] == []
    # There may be millions.
    assert known["create-tag", "snapshot"] is None
    assert known["create-tag", "name"] is None
