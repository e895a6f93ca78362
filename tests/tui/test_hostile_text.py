"""Whatever a table says, it moves no cursor, copies nothing, and is no markup."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from textual import events

from tests.tui.conftest import act
from tests.tui.driving import Sitting, at_events, sitting

COPIES = "\x1b]52;c;cm0gLXJmIC8=\x07"
MARKUP = "a[/b][red]x[link=file:///etc]"
REORDERS = "user\u202egpj.exe"


def assert_harmless(console: Sitting) -> None:
    for character in console.text.replace("\n", ""):
        assert unicodedata.category(character) not in ("Cc", "Cf", "Cs"), repr(character)


def change_json(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}))


async def test_hostile_cells_and_records_are_shown_as_they_are(warehouse: Path) -> None:
    snapshots = warehouse / "shop.db/events/snapshot"
    change_json(snapshots / "snapshot-2", commitUser=MARKUP + COPIES, commitKind=REORDERS, evil=MARKUP)
    async with sitting(warehouse, (160, 40)) as console:
        await console.sees("snapshot 2", f"user {MARKUP}�]52;c;", "user�gpj.exe")
        assert_harmless(console)
        await console.press("i")
        await console.sees("evil", MARKUP)
        assert_harmless(console)


async def test_hostile_names_of_tables_and_tags(warehouse: Path) -> None:
    (warehouse / "shop.db" / "orders").rename(warehouse / "shop.db" / "[red]t\u202e")
    tags = warehouse / "shop.db" / "[red]t\u202e" / "tag"
    (tags / "tag-v2").rename(tags / "tag-[bold]v2[b\u202e")
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("[red]t�")
        await console.press("enter")
        await console.sees("1 of 5")
        await console.press("4")
        await console.sees("tag [bold]v2[b�")
        assert_harmless(console)
        await console.press("enter")
        await console.sees("`[red]t")
        assert_harmless(console)


async def test_hostile_names_in_a_dialog_and_in_the_bottom_line(warehouse: Path) -> None:
    (warehouse / "shop.db" / "orders").rename(warehouse / "shop.db" / "[b]o[")
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("[b]o[")
        await console.press("y")
        await console.sees("Sent to terminal: shop.`[b]o[`")
        await console.press("s")
        await console.sees("create-savepoint · shop.[b]o[", "(snapshot 5")
        assert_harmless(console)


async def test_hostile_names_on_the_lines_where_one_types(warehouse: Path) -> None:
    """As an argument, and in the words that confirm: C1 codes begin sequences as escape does."""
    evil = "v2\x9b31m\u202e"
    (warehouse / "shop.db" / "orders").rename(warehouse / "shop.db" / evil)
    tags = warehouse / "shop.db" / evil / "tag"
    (tags / "tag-v2").rename(tags / f"tag-{evil}")
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("v2�31m�")
        await console.press("G", "enter", "4")
        await console.sees("tag v2�31m�")
        await console.press("T")
        await console.sees("rename-tag", "name          v2�31m�")
        assert_harmless(console)
        await console.press("escape", "1", "j", "B")
        await console.sees("rollback", "confirm", "to go on")
        assert_harmless(console)
        await console.press("escape", "slash")
        console.app.post_message(events.Paste(COPIES))
        await console.sees("/ �]52;c;")
        assert_harmless(console)


async def test_hostile_comments_of_savepoints(warehouse: Path) -> None:
    act(warehouse, "create-savepoint", comment=f"{MARKUP} {REORDERS}")
    async with at_events(warehouse, (160, 40)) as console:
        await console.press("j", "2")
        await console.sees(f"comment {MARKUP}")
        assert_harmless(console)
