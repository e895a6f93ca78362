"""The lines under the editor are as high as their text, whatever is known of the width when they get it."""

from __future__ import annotations

from textual.app import App, ComposeResult

from paimark.tui.widgets.query_status import QueryStatus

WORDS = "Spark is starting, and the statement runs by itself as soon as it is ready to run it"


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
