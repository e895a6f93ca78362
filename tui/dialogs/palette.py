"""`:` and `ctrl+p`: the palette, which finds anything by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from paimark.tui.dialogs.pick import PickDialog
from paimark.tui.records.sources import GridColumn, Records

_LOOK_AGAIN_SECONDS = 0.3
_TITLE = "Go to, or do"
# Cut in the middle: names of tables often differ only at the end. Keys come before the longer texts.
_COLUMNS = (
    GridColumn("", style="accent", most=36, middle=True),
    GridColumn("", style="second"),
    GridColumn("", most=60),
)


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """`run` is called after the palette has closed; an awaitable that it returns is awaited. `aliases` are
    other whole names. `run_with`, if there is one, is called instead with the text after the name."""

    name: str
    what: str
    keys: str
    run: Callable[[], object]
    aliases: tuple[str, ...] = ()
    run_with: Callable[[str], object] | None = None

    def with_text(self, typed: str) -> PaletteEntry | None:
        """What `name text` does; None if the entry takes no text, or the typed one is no such."""
        name, _, text = typed.strip().partition(" ")
        run_with = self.run_with
        if run_with is None or not text or name.lower() != self.name:
            return None
        return replace(self, name=typed.strip(), run=lambda: run_with(text.strip()))

    def is_named(self, typed: str) -> bool:
        """Whether the text is in its name, or an alias."""
        return typed in self.name.lower() or typed in self.aliases

    def values(self) -> Sequence[object]:
        return (self.name, self.keys, self.what)


class PaletteScreen(PickDialog[PaletteEntry]):
    """Enter runs the entry under the cursor."""

    DEFAULT_CSS = """
    PaletteScreen { align: center top; }
    PaletteScreen > Vertical { height: 60%; min-height: 9; margin-top: 1; }
    """

    def __init__(
        self, offered: Callable[[], Sequence[PaletteEntry]], all_offered: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__(_TITLE, "an action, a pane or a table", _COLUMNS, head=False)
        self._offered = offered
        self._all_offered = all_offered
        self._has_chosen = self._is_pointed = False
        # Whether nothing is missing from the entries. Asked first: more may come while they are read.
        self._is_complete = all_offered()
        self._all = self._entries = offered()

    def on_mount(self) -> None:
        self._grid.show(Records(self._entries, PaletteEntry.values), note="Nothing of that name.")
        self.set_interval(_LOOK_AGAIN_SECONDS, self._look_again)

    def on_input_changed(self) -> None:
        self._has_chosen = self._is_pointed = False
        self._show_matching()

    def on_input_submitted(self) -> None:
        self._has_chosen = True
        self._run_chosen()

    def on_record_grid_moved(self) -> None:
        """Run a pending Enter: the list may have been sorted only now."""
        self._run_chosen()

    def action_move(self, rows: int) -> None:
        self._is_pointed = True
        super().action_move(rows)

    def _look_again(self) -> None:
        """Add new entries: the tables of a big warehouse may still be listed."""
        self._is_complete = self._all_offered()
        offered = self._offered()
        if len(offered) != len(self._all):
            self._all = offered
            self._show_matching()
        self._run_chosen()

    def _show_matching(self) -> None:
        # Names that are the text, or begin with it, come before other matches.
        typed, given = self._typed, self._input.value
        if taking := [entry for each in self._all if (entry := each.with_text(given)) is not None]:
            self._entries = taking
            self._grid.show(Records(self._entries, PaletteEntry.values))
            self._grid.filter("", to_top=True)
            return
        self._entries = sorted(
            self._all,
            key=lambda each: (
                typed not in (each.name.lower(), *each.aliases),
                not each.name.lower().startswith(typed),
            ),
        )
        self._grid.show(Records(self._entries, PaletteEntry.values))
        if not self._is_pointed:
            self._grid.filter(self._input.value, to_top=True)

    def _run_chosen(self) -> None:
        """Run the entry that Enter chose, once the list is sorted, and complete enough to contain it."""
        if not self._has_chosen or self._grid.is_filtering:
            return
        index = self._grid.index
        entry = None if index is None else self._entries[index]
        if entry is not None and (self._is_pointed or entry.is_named(self._typed) or self._is_complete):
            self.dismiss(entry)
        elif self._is_complete:
            self._has_chosen = False
        else:
            self.retitle(f"{_TITLE}: tables are still being listed …")
            return
        self.retitle(_TITLE)

    @property
    def _typed(self) -> str:
        return self._input.value.strip().lower()
