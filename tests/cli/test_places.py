"""What a word on the command line means: a warehouse, a context, a place in one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.cli.places import Meaning, go_to, meaning_of
from paimark.core.config import Flags, load_settings
from paimark.core.errors import UsageError
from paimark.core.table.layout import TablePath
from paimark.core.travel.place import Place, parse_place
from tests.cli.command import Paimark

CONFIG = """
[contexts.prod]
warehouse = "/lake"
start = "shop.orders"

[contexts.lab]
warehouse = "s3://lab/warehouse"
"""


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config" / "paimark" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIG)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for made in ("work/here", "work/prod/shop.orders", "work/x.y"):
        (tmp_path / made).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("s3://b/w", Meaning("s3://b/w")),
        ("s3://b/w.v2", Meaning("s3://b/w.v2")),
        ("s3://b/w/shop.orders", Meaning("s3://b/w/shop.orders")),
        ("s3://b/w//shop.orders@12", Meaning("s3://b/w", start="shop.orders@12")),
        ("file:///lake//shop.orders", Meaning("file:///lake", start="shop.orders")),
        ("file:////lake.v2", Meaning("file:////lake.v2")),
        ("here", Meaning("here")),
        ("./x.y", Meaning("./x.y")),
        ("x.y", Meaning("x.y")),
        ("./here/shop.orders", Meaning("./here", start="shop.orders")),
        ("here/shop.orders:fix@v1.0", Meaning("here", start="shop.orders:fix@v1.0")),
        ("/shop.orders", Meaning("/", start="shop.orders")),
        ("prod", Meaning("prod")),
        ("prod/shop.orders", Meaning("prod/shop.orders")),
        ("prod/shop.items@v2", Meaning(context="prod", start="shop.items@v2")),
        ("./prod/shop.items", Meaning("./prod", start="shop.items")),
        ("lab", Meaning(context="lab")),
        ("lab/shop.orders$branch_fix", Meaning(context="lab", start="shop.orders$branch_fix")),
        ("shop.orders@savepoint.1", Meaning(start="shop.orders@savepoint.1")),
        ("nowhere/shop.orders", Meaning("nowhere/shop.orders")),
        ("nowhere", Meaning("nowhere")),
    ],
)
def test_every_path_and_uri_means_what_it_did_and_a_place_is_told_from_them(
    word: str, meaning: Meaning
) -> None:
    assert meaning_of(word) == meaning


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("shop.orders", Place(TablePath("shop", "orders"))),
        ("shop.orders:main@12", Place(TablePath("shop", "orders"), None, "12")),
        ("shop.orders$branch_fix@a.b:c@d", Place(TablePath("shop", "orders"), "fix", "a.b:c@d")),
        ("shop.`a@b:c`:fix", Place(TablePath("shop", "a@b:c"), "fix")),
    ],
)
def test_a_place_is_a_table_a_branch_and_a_version(text: str, place: Place) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize(
    "text",
    ["orders", "a.b.c", "shop.orders@", "shop.orders:", "shop.t$branch_a:b", "shop.t$files", "a.b/c", ""],
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_place(text)


def test_an_option_that_says_something_else_is_refused_by_name() -> None:
    for flags in (Flags(context="lab"), Flags(warehouse="/lake")):
        with pytest.raises(UsageError, match="names"):
            go_to("prod/shop.items", flags)


def test_a_context_says_where_to_begin_and_a_word_goes_before_it() -> None:
    assert load_settings(Flags(context="prod")).start == "shop.orders"
    assert load_settings(Flags(context="prod", start="shop.items")).start == "shop.items"
    assert load_settings(Flags(context="prod", warehouse="/other")).start == ""


@pytest.mark.parametrize(
    ("place", "sentence", "code"),
    [
        ("shop.ordrs", "no table shop.ordrs", 1),
        ("nope.orders", "no database nope", 1),
        ("shop.orders:fix", "no branch fix", 1),
        ("shop.orders@savepoint.7", "savepoint.7", 1),
    ],
)
def test_a_place_that_is_not_there_is_one_sentence_before_the_console_opens(
    warehouse: Path, paimark: Paimark, place: str, sentence: str, code: int
) -> None:
    ran = paimark(f"{warehouse}/{place}")
    assert ran.code == code
    assert sentence in ran.err.splitlines()[0]


def test_a_place_without_a_warehouse_takes_the_one_that_options_name(
    warehouse: Path, paimark: Paimark
) -> None:
    ran = paimark("--warehouse", warehouse, "shop.ordrs")
    assert (ran.code, "no table shop.ordrs" in ran.err) == (1, True)
    ran = paimark("--warehouse", warehouse, "shop.orders@v2")
    assert (ran.code, "needs a terminal" in ran.err) == (2, True)


def test_a_command_without_a_console_takes_no_mouse(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark("--warehouse", warehouse, "--mouse", "tables")
    assert (ran.code, "opens no console" in ran.err) == (2, True)
