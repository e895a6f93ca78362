"""What stderr gets while something runs, on a terminal and without one."""

from __future__ import annotations

import pytest

from paimark.core.actions.context import Counting, Remark
from paimark.core.cli.query.answering import Narrator


def narrated(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    narrator = Narrator()
    for line in ("wrote one", Counting("1 of 9 tasks"), Counting("2 of 9 tasks"), Remark("t stays")):
        narrator.step(line)
    narrator.step("wrote two")
    narrator.clear()
    return capsys.readouterr().err


def test_without_a_terminal_only_remarks_are_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert narrated(capsys, monkeypatch, terminal=False) == "t stays\n"


def test_on_a_terminal_a_count_takes_the_place_of_the_one_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = narrated(capsys, monkeypatch, terminal=True)
    assert told == "wrote one\n\r\x1b[K1 of 9 tasks\r\x1b[K2 of 9 tasks\r\x1b[Kt stays\nwrote two\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_the_caret_below_a_long_line_is_in_sight(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    text = f"SELECT {', '.join(map(str, range(900)))}, FORM x WHERE {'y' * 4_000}"
    Narrator().point(text, text.index("FORM"))
    line, caret = capsys.readouterr().err.splitlines()
    assert len(line) <= 110
    assert line[caret.index("^") :].startswith("FORM x")
