"""Every setting that the code reads is on the page of settings, with what holds unless it is set."""

from __future__ import annotations

import re
from pathlib import Path

from paimark.core.actions.savepoints.auto_savepoint import OPTION
from paimark.core.config import _VARIABLES
from paimark.core.spark.launch.session_settings import DEFAULTS
from tests.packaging.tables import with_fields, with_json

CHECKOUT = Path(__file__).parents[2]
_PAGE = (CHECKOUT / "docs/configuration.md").read_text()
# A setting's name in quotes. Names of modules begin with paimark. too, but have no hyphen.
_SETTING = re.compile(r'"(spark\.paimark\.[A-Za-z.-]+\w|paimark\.\w+-[\w-]+)"')


def test_every_setting_is_on_the_page() -> None:
    texts = [
        path.read_text() for top in ("core", "tui", "paimark") for path in (CHECKOUT / top).rglob("*.py")
    ]
    read = {name for text in texts for name in _SETTING.findall(text)}
    assert {*DEFAULTS} | {"paimark.verify-wait"} <= read
    missing = [
        name for name in (*read, *_VARIABLES, OPTION) if f"`{name}`" not in _PAGE and f"`{name}=" not in _PAGE
    ]
    assert not missing


def test_the_page_says_what_holds_unless_it_is_set() -> None:
    for name, value in DEFAULTS.items():
        assert f"| `{name}` | `{value}`" in _PAGE


def test_the_tables_of_the_config_file_are_made_from_the_code() -> None:
    assert with_fields(_PAGE) == _PAGE, "run `make tables`"


def test_the_fields_of_json_are_on_the_page() -> None:
    assert with_json(_PAGE) == _PAGE, "run `make tables`"
