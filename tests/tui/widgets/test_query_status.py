"""The lines under the editor are as high as their text, whatever is known of the width when they get it."""

from __future__ import annotations

from textual.app import App, ComposeResult

from paimark.tui.theme import Line
from paimark.tui.widgets.query_status import QueryStatus, problem

WORDS = "Spark is starting, and the statement runs by itself as soon as it is ready to run it"
HINT = "Name a column that the table has"


class OneStatus(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.status = QueryStatus()

    def compose(self) -> ComposeResult:
        yield self.status

    @property
    def shown(self) -> str:
        strips = self.screen._compositor.render_strips(self.size)
        return " ".join(" ".join(strip.text for strip in strips).split())

    def on_mount(self) -> None:
        self.status.say([(WORDS, "")])


async def test_the_first_text_is_shown_to_its_end_in_a_narrow_place() -> None:
    app = OneStatus()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert app.shown == WORDS


async def test_the_height_follows_the_width_of_the_terminal() -> None:
    app = OneStatus()
    async with app.run_test(size=(100, 12)) as pilot:
        await pilot.pause()
        assert (app.shown, app.status.size.height) == (WORDS, 1)
        await pilot.resize_terminal(30, 12)
        await pilot.pause()
        assert (app.shown, app.status.size.height) == (WORDS, 3)
        await pilot.resize_terminal(100, 12)
        await pilot.pause()
        assert (app.shown, app.status.size.height) == (WORDS, 1)


def failed_with(error: str, more: list[Line], free: int) -> list[str]:
    status = QueryStatus(lambda: free)
    first, *hint = problem(error, HINT)
    status.say(first, [*hint, *more], ("SELECT x", 7))
    lines = status.lines(40)
    return ["".join(text for text, _ in line).strip() for line in lines]


def test_of_an_error_that_is_too_long_the_middle_is_cut_and_the_hint_kept() -> None:
    error = " ".join(f"word{number:03}" for number in range(100))
    lines = failed_with(error, [[("Statement 1 was run.", "")]], 9)
    assert len(lines) == 9
    assert lines[0].startswith("✗ word000 word001")
    assert lines[2].endswith(" …") and lines[4].endswith("word099")
    assert lines[5:] == ["SELECT x", "^", HINT, "Statement 1 was run."]


def test_the_hint_comes_before_the_place_of_the_error() -> None:
    lines = failed_with("It failed", [[(f"line {number}", "")] for number in range(4)], 6)
    assert lines == ["✗ It failed", HINT, *(f"line {number}" for number in range(4))]
