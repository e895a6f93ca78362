"""The smallest Textual application with 50 rows: the console's start is compared with it."""

from textual.app import App, ComposeResult
from textual.widgets import DataTable


class Minimal(App[None]):
    def compose(self) -> ComposeResult:
        yield DataTable()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns("id", "committed", "kind", "rows", "change", "schema", "user")
        for number in range(50):
            table.add_row(str(number), "2026-05-01 12:00:00", "APPEND", "1,200", "100", "0", "writer")


Minimal().run(mouse=False)
