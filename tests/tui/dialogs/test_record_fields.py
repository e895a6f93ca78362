"""What a record or a cell shows: JSON folded and unfolded, and the lines that one looks for."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from paimark.core.table.records import Snapshot
from paimark.tui.dialogs.record import RecordScreen, as_json, cell_of, is_foldable, paragraphs, unfolded
from paimark.tui.panes.snapshots import snapshot_facts
from paimark.tui.records.sources import GridColumn
from paimark.tui.tabs import Tab
from paimark.tui.widgets.detail_strip import Detail, Fact, described
from paimark.tui.widgets.grid.record_grid import RecordGrid
from tests.table.branches import create_branch
from tests.tui.conftest import act
from tests.tui.driving import at_orders, sitting
from tests.wording import about

FIELDS = (
    Fact("order_id", "7\x1b[2J"),
    Fact("payload", '{"price":1.10,"lines":["Main St"]}'),
    Fact("customer_address_of_shipping_line_2", "x" * 30_000),
)


def text_of(lines: list[list[tuple[str, str]]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def test_json_unfolds_with_its_numbers_as_they_are_written() -> None:
    assert unfolded('{"a":1.10,"b":[12345678901234567890]}') == [
        "{",
        '  "a": 1.10,',
        '  "b": [',
        "    12345678901234567890",
        "  ]",
        "}",
    ]
    assert [is_foldable(text) for text in ("7", "{}", "[broken", "{not json}", "[1]")] == [
        *(False, False, False, False, True)
    ]


def test_fields_are_whole_and_clean_with_names_cut_in_the_middle() -> None:
    shown = text_of([list(line) for line in paragraphs(FIELDS, unfold=False)])
    assert shown[0].split() == ["order_id", "7\N{REPLACEMENT CHARACTER}[2J"]
    assert '"price":1.10' in shown[1]
    assert shown[2].startswith("customer_addre…ipping_line_2")
    assert shown[2].endswith("x" * 30_000)


def test_words_keep_the_lines_that_hold_them_and_their_opposite_the_others() -> None:
    assert len(paragraphs(FIELDS, unfold=False, words="PAYLOAD")) == 1
    assert len(paragraphs(FIELDS, unfold=False, words="!payload")) == 2
    found = text_of([list(line) for line in paragraphs(FIELDS, unfold=True, words="main st")])
    assert [line.split(maxsplit=1) for line in found] == [["payload", '"Main St"']]


async def test_a_record_is_searched_unfolded_and_copied_whole(tmp_path: Path) -> None:
    async with sitting(tmp_path, (80, 24)) as console:
        await console.app.push_screen(RecordScreen(Detail("row 7", FIELDS[:2])))
        await console.sees("row 7", '{"price":1.10,"lines"')
        await console.press("f")
        await console.sees('"price": 1.10,')
        await console.press("slash")
        await console.type("price")
        await console.sees("row 7: 1 line with /price", '"price": 1.10,')
        await console.loses("order_id")
        await console.press("enter", "slash", "z")
        await console.sees("Nothing here matches /z")
        await console.press("escape")
        await console.sees("order_id")
        await console.press("slash")
        await console.type("price")
        await console.press("enter")
        await console.loses("order_id")
        # It has a filter again: escape removes that before it closes the record.
        await console.press("escape")
        await console.sees("order_id")
        await console.press("escape")
        await console.until(lambda: console.app.screen is console.app.browse)


async def test_the_keys_of_a_dialog_are_listed_all(tmp_path: Path) -> None:
    async with sitting(tmp_path, (80, 24)) as console:
        await console.app.push_screen(RecordScreen(Detail("row 7", FIELDS[:1])))
        await console.press("question_mark")
        await console.sees("Keys", "  i  q  ")
        # A dialog may have another use for tab.
        assert not console.shows(about("shift+tab"))


def test_a_cell_is_its_value_and_two_columns_of_one_name_are_copied_both() -> None:
    grid = RecordGrid([GridColumn("id"), GridColumn("doc")], cells=True)
    assert cell_of(grid) is None
    assert '"id_2": "2"' in as_json(Detail("row 1", (Fact("id", "1"), Fact("id", "2"))))


def test_a_record_is_copied_with_values_and_not_with_their_texts() -> None:
    """A null is no text, and a number is one, as in the JSON of the command."""
    values = {"id": 1, "name": None, "price": Decimal("0.5"), "blob": b"a", "word": "null"}
    copied = as_json(Detail("row 1", tuple(Fact.cell(*each) for each in values.items())))
    assert json.loads(copied) == {"id": 1, "name": None, "price": "0.5", "blob": "YQ==", "word": "null"}


def test_a_snapshot_tells_why_it_was_made_and_with_what() -> None:
    """As Paimon 2 writes it, and we; other properties stay as they are."""
    properties = {"paimark.message": "of May", "paimark.author": "jane", "theirs": "1"}
    written = {
        **{"version": 3, "id": 1, "schemaId": 0, "baseManifestList": "a", "deltaManifestList": "b"},
        **{"commitUser": "u", "commitIdentifier": 1, "commitKind": "APPEND", "timeMillis": 1},
        **{"operation": "MERGE", "writerVersion": "java-2.1.0-abc", "properties": properties},
    }
    known = snapshot_facts(Snapshot.from_json(json.dumps(written).encode(), "s"), 2, "rows")
    facts = {each.name: each.text for each in known}
    said = [facts[name] for name in ("message", "author", "operation", "written by")]
    assert said == ["of May", "jane", "MERGE", "Paimon for Java 2.1.0"]
    assert facts["writer version"] == "java-2.1.0-abc" and json.loads(facts["properties"]) == properties


async def test_copied_records_of_metadata_have_numbers_and_plain_times(warehouse: Path) -> None:
    act(warehouse, "create-savepoint", snapshot=4)
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with at_orders(warehouse, (100, 30)) as console:
        await console.sees("commit identifier")
        browse, copied = console.app.browse, {}
        for tab in Tab:
            if tab not in (Tab.QUERY, Tab.SPACE):
                await browse.open_tab(tab)
                await console.until(lambda: bool(browse.pane.current_detail.facts), tab.title)
                copied[tab] = json.loads(as_json(browse.pane.current_detail))
        snapshot = copied[Tab.SNAPSHOTS]
        assert (snapshot["records"], snapshot["schema"], snapshot["version"]) == (20, 0, 3)
        assert datetime.fromisoformat(snapshot["committed"]).microsecond >= 0
        records = [copied[tab]["records"] for tab in (Tab.SAVEPOINTS, Tab.BRANCHES, Tab.TIMELINE)]
        assert records == [16, 20, 20]
        assert (copied[Tab.TAGS]["snapshot"], copied[Tab.SAVEPOINTS]["of snapshot"]) == (4, 4)
        assert copied[Tab.SCHEMA]["columns"] == 3


def test_an_unknown_field_without_a_value_is_copied_as_null() -> None:
    written = {
        **{"version": 3, "id": 1, "schemaId": 0, "baseManifestList": "a", "deltaManifestList": "b"},
        **{"commitUser": "u", "commitIdentifier": 1, "commitKind": "APPEND", "timeMillis": 1, "theirs": None},
    }
    facts = snapshot_facts(Snapshot.from_json(json.dumps(written).encode(), "s"), 2, "rows")
    copied = json.loads(as_json(described("snapshot 1", facts)))
    assert copied["theirs"] is None and copied["schema"] == 0 and "rows" not in copied
