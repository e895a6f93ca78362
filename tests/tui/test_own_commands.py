"""Programs on keys: their words, what is refused, and one that runs in a real terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.config import Flags, OwnCommand, Settings, load_settings
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.table.layout import TablePath
from paimark.tui.app import _bind_own, _scopes
from paimark.tui.keys.rebinding import keymap_of
from paimark.tui.own_commands import (
    bindings_of,
    filled,
    ready_commands,
    require_free_keys,
    values_of,
)
from paimark.tui.session import Target
from tests.tui.driving import at_orders
from tests.tui.terminal.test_terminal import Tmux, terminal_in
from tests.wording import about

ORDERS = Target(TablePath("shop", "orders"))


def words_of(run: str | list[str], row: RowVersion | None = None, target: Target = ORDERS) -> list[str]:
    values = values_of(Settings("sftp://bob:hunter2@host/lake"), target, row, "n")
    return filled(ready_commands([OwnCommand("f6", run)])[0], values)


def test_each_placeholder_is_a_part_of_one_word_whatever_its_value_holds() -> None:
    evil = 'a b"; $(reboot) {branch}'
    row = RowVersion(version="savepoint.1", tag=evil, snapshot_id=4)
    assert words_of("echo {tag} x={tag} {snapshot_id}", row) == ["echo", evil, f"x={evil}", "4"]
    assert words_of(["sh", "-c", 'echo "$1"', "sh", "{name}"]) == ["sh", "-c", 'echo "$1"', "sh", "n"]
    odd = Target(TablePath("a b", "c;d"), "fix")
    assert words_of("p {database} {table} {branch}", target=odd) == ["p", "a b", "a b.c;d", "fix"]


def test_no_secret_and_no_option_comes_from_a_value() -> None:
    assert "hunter2" not in words_of("echo {warehouse}")[1]
    with pytest.raises(Refused, match=about("-rf", "option")):
        words_of("rm {tag}", RowVersion(tag="-rf"))
    assert words_of("rm --tag={tag}", RowVersion(tag="-rf")) == ["rm", "--tag=-rf"]
    with pytest.raises(NotFound, match="There is no tag here"):
        words_of("echo {tag}", RowVersion(version="snapshot.1"))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (OwnCommand("f6", "echo {tble}"), ("no {tble}",)),
        (OwnCommand("f6", "echo 'x"), ("split",)),
        (OwnCommand("f6", ""), ("no program",)),
        (OwnCommand("f6", "sh -c 'echo {tag}'"), ("shell", "{tag}")),
        (OwnCommand("f6", ["/bin/bash", "-xec", "ls {table}"]), ("shell", "{table}")),
        (OwnCommand("f6", "echo", on="snapshot"), ("no tab 'snapshot'",)),
        (OwnCommand("x", "echo"), ("key of act.delete",)),
        (OwnCommand("a", "echo"), ("a", "for command.1", "key of")),
        (OwnCommand("nokey", "echo"), ("no key",)),
    ],
)
def test_what_can_not_be_is_refused_at_start(asked: OwnCommand, sentence: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refused:
        require_free_keys(bindings_of(ready_commands([asked])), _scopes(), keymap_of({}, []))
    assert about(*sentence).search(refused.value.message)


async def test_a_command_asks_and_read_only_mode_refuses_it_unless_it_only_reads(warehouse: Path) -> None:
    commands = [
        OwnCommand("f6", "echo {version}", "look"),
        OwnCommand("f10", "echo", "read", read_only=True),
        OwnCommand("f12", "echo", "tags only", on="tags"),
    ]
    async with at_orders(warehouse, (140, 24), read_only=True) as console:
        _bind_own(console.app, Settings(str(warehouse), commands=commands))
        await console.press("f6")
        await console.sees("look is refused in read-only mode")
        await console.press("f12", "f10")
        await console.sees("read?", "[ Run it ]")
        await console.press("escape")
        await console.loses("[ Run it ]")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    yield from terminal_in(tmp_path)


def test_a_program_gets_the_row_and_the_terminal_and_gives_it_back(
    warehouse: Path, tmp_path: Path, terminal: Tmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "paimark" / "config.toml"
    path.parent.mkdir()
    run = json.dumps(["sh", "-c", 'echo "got <$1> <$2>"', "sh", "{table}", "{version}"])
    path.write_text(f'[[command]]\nkey = "f6"\nrun = {run}\ndescription = "show"\non = "snapshots"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load_settings(Flags(warehouse="/lake")).commands[0].on == "snapshots"
    program = [
        sys.executable,
        "-c",
        "from paimark.core.cli.main import main; main()",
        f"{warehouse}/shop.orders@4",
    ]
    terminal.start("env", f"XDG_CONFIG_HOME={tmp_path}", *program)
    # There is no Java: said later, it could take the place of what the program leaves.
    terminal.sees("2 of 5", "f6 show", "Spark failed")
    terminal.keys("F6")
    terminal.sees("show?", "shop.orders snapshot.4")
    terminal.keys("a")
    terminal.sees("got <shop.orders> <snapshot.4>", "sh ended with 0: enter goes back")
    terminal.keys("Enter")
    terminal.sees("2 of 5", "show ended with 0")
