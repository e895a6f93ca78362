"""`-o FILE`: refused before anything runs if the file can't be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.cli.query.answering import Narrator, show_events
from paimark.core.cli.query.result import FileResult
from paimark.core.errors import Unavailable
from paimark.core.spark.arrow import cells_batch
from paimark.core.spark.protocol import Columns, Event, Finished
from tests.cli.command import Paimark
from tests.full_disk import no_file_over


@pytest.mark.parametrize("command", ["sql", "diff"])
def test_a_file_that_can_not_be_written_is_refused_first(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    words = {
        "sql": ["sql", "CALL sys.create_savepoint(table => 'shop.orders')"],
        "diff": ["diff", "shop.orders", "1", "2"],
    }[command]
    before = paimark("savepoints", "shop.orders").out
    ran = paimark(*words, "-o", tmp_path / "missing" / "out.csv")
    assert ran.code == 2
    assert ran.err.startswith(f"paimark: {tmp_path}/missing/out.csv can't be written: No such file")
    assert paimark("savepoints", "shop.orders").out == before


def test_an_explain_writes_no_file(
    paimark: Paimark, warehouse: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
    ran = paimark("sql", "EXPLAIN SELECT 1", "-o", tmp_path / "out.csv")
    assert (ran.code, ran.out) == (2, "")
    assert "EXPLAIN has no rows" in ran.err


def test_what_an_action_did_is_said_also_if_its_row_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = FileResult(tmp_path / "out.csv")
    cells = cells_batch({"action": "string"}, [("create-savepoint",)])
    events: list[Event] = [
        Columns(("action",), ("string",)),
        cells,
        Finished(1, False, 0.1, "Created savepoint 1"),
    ]
    with no_file_over(0), pytest.raises(Unavailable, match="can't be written"):
        show_events(events, "CALL ...", result, Narrator())
    assert capsys.readouterr().err == "Created savepoint 1\n"
    assert not (tmp_path / "out.csv").exists()
