"""`:` and `ctrl+p`: anything by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from tui.dialogs.dialog import Dialog
from tui.records.sources import GridColumn, Records
from tui.widgets.grid.record_grid import RecordGrid

_LOOK_AGAIN_SECONDS = 0.3
_TITLE = "Go to, or do"


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """`run` is called after the palette has closed; what it gives back is awaited where that is needed."""

    name: str
    what: str
    keys: str
    run: Callable[[], object]

    def values(self) -> Sequence[object]:
        return (self.name, self.what, self.keys)


class PaletteScreen(Dialog[PaletteEntry]):
    """Type to narrow; Enter runs what the cursor is on."""

    DEFAULT_CSS = """
    PaletteScreen { align: center top; }
    PaletteScreen > Vertical { height: 60%; margin-top: 1; }
    PaletteScreen Input { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+k", "move(-1)", "up", show=False, id="palette.up"),
        Binding("down,ctrl+j", "move(1)", "down", show=False, id="palette.down"),
        Binding("pageup", "move(-10)", "page up", show=False, id="palette.page_up"),
        Binding("pagedown", "move(10)", "page down", show=False, id="palette.page_down"),
    ]

    def __init__(
        self, offered: Callable[[], Sequence[PaletteEntry]], all_offered: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__()
        self._offered = offered
        self._all_offered = all_offered
        self._has_chosen = self._is_pointed = False
        self._all = self._entries = offered()
        self._grid = RecordGrid(
            [GridColumn("", style="accent", most=36), GridColumn("", most=60), GridColumn("", style="quiet")],
            head=False,
        )
        self._grid.can_focus = False
        self._input = Input(placeholder="an action, a pane or a table", compact=True)

    def compose(self) -> ComposeResult:
        with self.framed(_TITLE):
            yield self._input
            yield self._grid

    def on_mount(self) -> None:
        self._grid.show(Records(self._entries, PaletteEntry.values), note="Nothing of that name.")
        self.set_focus(self._input)
        self.set_interval(_LOOK_AGAIN_SECONDS, self._look_again)

    def on_input_changed(self) -> None:
        self._has_chosen = self._is_pointed = False
        self._show_matching()

    def on_input_submitted(self) -> None:
        self._has_chosen = True
        self._run_chosen()

    def on_record_grid_moved(self) -> None:
        """The list may be in order only now."""
        self._run_chosen()

    def action_move(self, rows: int) -> None:
        self._is_pointed = True
        self._grid.move_to(self._grid.cursor + rows)

    def _look_again(self) -> None:
        """Tables of a big warehouse may still be listed."""
        offered = self._offered()
        if len(offered) != len(self._all):
            self._all = offered
            self._show_matching()
        self._run_chosen()

    def _show_matching(self) -> None:
        # What is called so comes before what only speaks of it.
        typed = self._typed
        self._entries = sorted(self._all, key=lambda entry: not entry.name.lower().startswith(typed))
        self._grid.show(Records(self._entries, PaletteEntry.values))
        if not self._is_pointed:
            self._grid.filter(self._input.value, to_top=True)

    def _run_chosen(self) -> None:
        """Run what Enter was pressed on: once the list is in order, and long enough to have it."""
        if not self._has_chosen or self._grid.is_ordering:
            return
        index = self._grid.index
        entry = None if index is None else self._entries[index]
        if entry is not None and (
            self._is_pointed or self._typed in entry.name.lower() or self._all_offered()
        ):
            self.dismiss(entry)
        elif self._all_offered():
            self._has_chosen = False
        else:
            self.retitle(f"{_TITLE}: tables are still being listed …")
            return
        self.retitle(_TITLE)

    @property
    def _typed(self) -> str:
        return self._input.value.strip().lower()
