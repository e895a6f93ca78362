"""Keys bound anew in the config file: what they do then, and what is refused."""

from __future__ import annotations

import ast
import gc
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import paimark.tui
from paimark.core.config import OwnCommand, Settings
from paimark.core.errors import UsageError
from paimark.core.travel.requested_version import RequestedVersion
from paimark.tui.app import _scopes, run
from paimark.tui.keys.bindings import Scope
from paimark.tui.keys.rebinding import first_keys, keymap_of, keys_of
from paimark.tui.named_keys import DEFAULTS, take_keys
from paimark.tui.own_commands import bindings_of, ready_commands, require_free_keys
from paimark.tui.records.marks import Mark, marked_words
from paimark.tui.widgets.key_bar import written
from tests.tui.driving import at_orders
from tests.wording import about

# A key, and a verb of what it does.
_KEY = r"[A-Zb-z0-9]|[Ee]nter|[Ee]sc(?:ape)?|tab|space|ctrl\+\w|[Ff]\d+"
_TOLD = re.compile(rf"(?:^|[:;] |  )(?:{_KEY}) (?:or {_KEY} )?(?:[a-z]{{3,}}s\b|choose)")
_FIXED = {
    # They are no bindings: a line of text is sent, keys that wait.
    "enter takes the line under the cursor; type for fewer",
    ": enter goes back",
    ": esc forgets",
}


@pytest.fixture(scope="module")
def scopes() -> list[Scope]:
    return _scopes()


def test_every_key_of_the_console_has_an_id(scopes: list[Scope]) -> None:
    assert len(scopes) > 10
    assert [each.action for scope in scopes for each in scope.bindings if not each.id] == []


def test_keys_are_swapped_and_those_that_shared_one_keep_it(scopes: list[Scope]) -> None:
    asked = {"act.savepoint": "b", "act.branch": "s", "dialog.close": "q, f9", "grid.down": "f11"}
    keymap = keymap_of(asked, scopes)
    assert (keymap["act.savepoint"], keymap["act.branch"]) == ("b", "s")
    # Escape is three things in the dialog of a plan, one at a time.
    assert (keymap["dialog.close"], keymap["dialog.finish"]) == ("q,f9", "escape")


def test_the_keys_and_commands_of_the_documentation_can_be(scopes: list[Scope]) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", Path("docs/configuration.md").read_text(), re.DOTALL)
    config = tomllib.loads("\n".join(each for each in blocks if "[keys]" in each or "[[command]]" in each))
    assert keymap_of(config["keys"], scopes)["act.savepoint"] == "f2"
    commands = ready_commands([msgspec.convert(each, OwnCommand) for each in config["command"]])
    require_free_keys(bindings_of(commands), scopes, config["keys"])


@pytest.mark.parametrize(
    ("asked", "sentence", "hint"),
    [
        ({"act.savpoint": "S"}, ("no key", "id 'act.savpoint'"), "'act.savepoint'"),
        ({"nonsense": "S"}, ("no key", "id 'nonsense'"), "paimark keys"),
        ({"act.savepoint": "hyper+s"}, ("'hyper+s'", "for act.savepoint", "no key"), "ctrl+x"),
        ({"act.savepoint": ""}, ("''", "for act.savepoint", "no key"), "ctrl+x"),
        ({"act.savepoint": "ss"}, ("'ss'", "for act.savepoint", "no key"), "ctrl+x"),
        (
            {"act.savepoint": "ctrl+i"},
            ("'ctrl+i'", "for act.savepoint", "as 'tab'"),
            "another key",
        ),
        ({"act.savepoint": "f2,ctrl+["}, ("as 'escape'",), "another key"),
        ({"act.savepoint": "shift+f"}, ("as 'F'",), "another key"),
        ({"act.savepoint": "ctrl+K"}, ("as 'ctrl+k'",), "another key"),
        ({"act.savepoint": "b"}, ("b", "for act.savepoint", "key of act.branch"), "act.branch another key"),
        ({"act.savepoint": "V,V2"}, ("'V2'",), "ctrl+x"),
        ({"timeline.fold": "D"}, ("key of browse.diff", "(timeline)"), "browse.diff another key"),
        ({"grid.sort": "z", "browse.peek": "z"}, ("z", "for"), "another key"),
        ({"peek.copy": "q"}, ("key of peek.close", "(peek)"), "peek.close another key"),
        ({"app.quit": "q"}, ("app.quit", "'q'"), "ctrl+x"),
        # A second quick x would apply the plan that the first one opened.
        ({"dialog.apply": "x"}, ("x", "for dialog.apply", "key of act.delete"), "act.delete another key"),
        ({"act.delete": "a"}, ("a", "for act.delete", "key of"), "another key"),
    ],
)
def test_what_no_key_can_be_is_refused_by_name(
    scopes: list[Scope], asked: dict[str, str], sentence: tuple[str, ...], hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        keymap_of(asked, scopes)
    assert about(*sentence).search(refused.value.message)
    assert hint in refused.value.hint


def test_the_console_does_not_start_with_a_key_that_is_none(warehouse: Path) -> None:
    try:
        with pytest.raises(UsageError, match=about("no key", "act.savpoint")):
            run(Settings(str(warehouse), keys={"act.savpoint": "S"}))
    finally:
        gc.enable()


def test_every_key_alone_can_be_another(scopes: list[Scope]) -> None:
    """Also those that a dialog has as well, which keeps its own."""
    for id_ in {each.id for scope in scopes for each in scope.bindings if each.id is not None}:
        keymap_of({id_: "ctrl+f12"}, scopes)
        require_free_keys([], scopes, {id_: "ctrl+f12"})


async def test_new_keys_work_and_are_told_everywhere(warehouse: Path, scopes: list[Scope]) -> None:
    async with at_orders(warehouse, (120, 50)) as console:
        asked = {"act.savepoint": "f2", "app.help": "f1", "dialog.close": "f9", "grid.down": "f11"}
        console.app.set_keymap(dict(keymap_of(asked, scopes)))
        await console.press("s", "f11")
        await console.sees("2 of 5", "f2 savepoint", "f1 keys")
        await console.press("f2")
        await console.sees("[ Apply ]")
        await console.press("f9")
        await console.loses("[ Apply ]")
        await console.press("f1")
        await console.sees("  f2 ", "make a savepoint")
        await console.press("q", "colon")
        await console.type("create-save")
        await console.sees("create-savepoint", "f2")


def test_sentences_name_the_keys_there_are(scopes: list[Scope]) -> None:
    known = {each.id: each for scope in scopes for each in scope.bindings if each.id is not None}
    assert {*_named_in_sentences()} == DEFAULTS.keys()
    for id_, default in DEFAULTS.items():
        assert default in [written(key) for key in keys_of(known[id_], {})]


def test_sentences_name_keys_bound_anew(scopes: list[Scope]) -> None:
    marks = [Mark(RequestedVersion(version="v1"), 1), Mark(RequestedVersion(version="v2"), 2)]
    assert "D shows the difference, s t x act" in marked_words(marks)
    take_keys(first_keys(keymap_of({"browse.diff": "f11", "act.tag": "ctrl+n"}, scopes)))
    try:
        assert "f11 shows the difference, s ctrl+n x act" in marked_words(marks)
    finally:
        take_keys({})


def test_no_sentence_names_a_key_that_may_be_another_by_now() -> None:
    """A key and what it does, as `x deletes those`: the key is asked for, not written there."""
    found = [f"{file}: {text}" for file, text in _texts() if _TOLD.search(text) and text not in _FIXED]
    assert found == []


async def test_sentences_of_empty_places_and_the_palette_name_keys_bound_anew(
    warehouse: Path, scopes: list[Scope]
) -> None:
    asked = {"act.delete": "f11", "browse.up": "f12", "sheet.new": "ctrl+n", "tab.tags": "f10"}
    take_keys(first_keys(keymap_of(asked, scopes)))
    try:
        async with at_orders(warehouse, (120, 40)) as console:
            console.app.set_keymap(dict(keymap_of(asked, scopes)))
            await console.press("slash", *"nowhere", "enter")
            await console.sees(about("f12", "filter"))
            await console.press("f12", "space", "j", "space", "7")
            await console.sees("[7 ", "1 of 5")
            await console.press("f11")
            await console.sees(about("f11", "2 savepoints", "3 branches", "f10 tags"))
            await console.press("f12", "8")
            await console.sees("[8 ", "main, older snapshots")
            await console.press("j")
            await console.sees("f11 expires them")
            await console.press("colon", *"new query")
            await console.sees(about("new query", "ctrl+n"))
    finally:
        take_keys({})


def _texts() -> Iterator[tuple[str, str]]:
    """Each text in the console's source that is no docstring, and its file."""
    for file in Path(paimark.tui.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text())
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield file.name, node.value


def _named_in_sentences() -> Iterator[str]:
    """The id in each call of `key` in the console's source."""
    for file in Path(paimark.tui.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "key":
                yield ast.literal_eval(node.args[0])
