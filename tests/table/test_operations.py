"""The operation log does not grow without bound, and keeps what only it can bring back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table import operations
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import Edits, MainEdit, MovedRoot, RowsEdit
from paimark.core.table.operations import Operation, append, log_entries, read_operations
from paimark.core.table.records import Point

TABLE = TablePath("d", "t")
_MADE = Operation(
    number=0,
    token="",
    action="create-tag",
    request={},
    user="ana",
    host="vm",
    time=1,
    summary="",
    before="",
    after="",
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """A log that keeps five of each kind, and is trimmed by each tenth operation."""
    monkeypatch.setattr(operations, "_MOST_KEPT", 5)
    monkeypatch.setattr(operations, "_TRIMMED_EVERY", 10)
    return LocalFiles(str(tmp_path))


def replacement() -> Edits:
    return Edits(main=MainEdit(after="fix", head=3), moved=MovedRoot(after="main-old"))


def add(files: Files, *tokens: str) -> None:
    for token in tokens:
        append(files, TABLE, msgspec.structs.replace(_MADE, token=token))


def many(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number:03}" for number in range(count)]


def tokens(files: Files) -> list[str]:
    return [each.token for each in read_operations(files, TABLE)]


def test_old_operations_go_and_numbers_are_not_given_again(files: Files) -> None:
    add(files, *many("a", 23))
    assert len(log_entries(files, TABLE)) == 9
    assert [each.number for each in read_operations(files, TABLE)][-1] == 23
    add(files, *many("b", 7))
    assert tokens(files) == [*many("a", 23)[19:], *many("b", 7)][-6:]


def test_what_only_the_log_can_bring_back_stays_with_its_undo(files: Files) -> None:
    append(files, TABLE, msgspec.structs.replace(_MADE, token="r1", edits=replacement()))
    append(files, TABLE, msgspec.structs.replace(_MADE, token="u1", undoes="r1"))
    append(files, TABLE, msgspec.structs.replace(_MADE, token="t1"))
    append(files, TABLE, msgspec.structs.replace(_MADE, token="r2", edits=replacement()))
    add(files, *many("a", 60))
    assert tokens(files)[:3] == ["r1", "u1", "r2"]
    assert len(log_entries(files, TABLE)) < 20


def test_writes_do_not_push_other_operations_out(files: Files) -> None:
    add(files, *many("a", 4))
    for number in range(5, 60):
        edit = RowsEdit(is_write=True, after=Point(id=number, delta_manifest_list="x"))
        write = msgspec.structs.replace(
            _MADE, number=number, token=f"w{number}", edits=Edits(rows=edit), landed=True, action="write"
        )
        operations.confirm(files, TABLE, write)
        operations.keep_up(files, TABLE, log_entries(files, TABLE), 1)
    known = read_operations(files, TABLE)
    assert [each.token for each in known if each.action == "create-tag"] == many("a", 4)
    assert 5 <= len([each for each in known if each.action == "write"]) <= 15
