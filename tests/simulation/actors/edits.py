"""`edit-rows` as the simulation runs it: a file with one edit, what its queries answer, the rows it gives."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from paimark.core.actions.merge.sql import BASE, NOW
from tests.simulation.actors.repairs import KeyChange, row_of
from tests.simulation.formats import KEY, VALUE, Rows

WORDS = ("set", "add", "delete")


class Edit(NamedTuple):
    """One row by its key; `value` is that which it gets."""

    word: str
    key: int
    value: int

    @classmethod
    def of(cls, arguments: Mapping[str, object]) -> Edit:
        return cls(str(arguments["word"]), int(str(arguments["key"])), int(str(arguments["value"])))

    @classmethod
    def of_line(cls, line: str) -> Edit:
        """Of a line that the product made of the file."""
        told = json.loads(line)
        return cls(told["w"], int(told["k"]["c0"]), int(told["m"].get("c1", 0)))

    @property
    def line(self) -> str:
        done = True if self.word == "delete" else {VALUE: self.value}
        return json.dumps({"key": {KEY: self.key}, self.word: done})

    @property
    def then(self) -> int | None:
        return None if self.word == "delete" else self.value

    def of_rows(self, now: Rows, read: Rows, *, takes_edits: bool) -> Rows:
        """The rows of now after it, if its row was read among those of `read`."""
        found = dict(now)
        if found.get(self.key) != dict(read).get(self.key) and not takes_edits:
            return now
        found.pop(self.key, None)
        return tuple(sorted([*found.items(), *([] if self.then is None else [(self.key, self.then)])]))


def arguments_of(arguments: Mapping[str, object]) -> dict[str, object]:
    """What the action takes: the edit in a file."""
    edit = Edit.of(arguments)
    rest = {name: value for name, value in arguments.items() if name not in Edit._fields}
    return {**rest, "file": file_of(f"{edit.line}\n")}


@cache
def file_of(text: str) -> str:
    """A file on this machine with the text; it goes when this process ends."""
    path = Path(_directory()) / f"{len(list(Path(_directory()).iterdir()))}.txt"
    path.write_text(text)
    return str(path)


@cache
def _directory() -> str:
    made = tempfile.mkdtemp(prefix="paimark-simulation-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def answer(sql: str, rows: Mapping[str, Rows], lines: Sequence[str]) -> list[dict[str, Any]]:
    """What Spark answers: the edits that are wrong, or all changes."""
    if "SELECT k, w FROM pairs" in sql:
        edits = map(Edit.of_line, lines)
        is_there = dict(rows[BASE])
        return [
            {"k": {KEY: each.key}, "w": each.word}
            for each in edits
            if (each.word == "add") == (each.key in is_there)
        ]
    return [
        {
            "k": {KEY: each.key},
            "then": row_of(each.key, each.then),
            "now": row_of(each.key, each.now),
            "is_conflict": each.is_conflict,
            "older": False,
        }
        for each in key_changes(rows, lines)
    ]


def key_changes(rows: Mapping[str, Rows], lines: Sequence[str]) -> list[KeyChange]:
    base, now = dict(rows[BASE]), dict(rows[NOW])
    found = (
        KeyChange(each.key, each.then, now.get(each.key), base.get(each.key) != now.get(each.key))
        for each in map(Edit.of_line, lines)
    )
    return [each for each in found if each.then != each.now]
