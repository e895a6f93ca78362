"""Buttons: a click chooses, the second of a double click does not."""

from __future__ import annotations

from textual.app import App, ComposeResult

from paimark.tui.widgets.choices import Choices


class Asking(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        yield Choices(["Cancel", "Apply"])

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        self.chosen.append(event.label)


async def test_a_button_takes_one_click_of_two() -> None:
    """The second may have been meant for what stood in its place before."""
    asking = Asking()
    async with asking.run_test() as pilot:
        await pilot.click(Choices, offset=(16, 0), times=2)
        assert asking.chosen == ["Apply"]
        await pilot.click(Choices, offset=(3, 0))
        assert asking.chosen == ["Apply", "Cancel"]
        await pilot.click(Choices, offset=(12, 0))
        assert asking.chosen == ["Apply", "Cancel"]
