"""Every setting that the code reads is on the page of settings, with what holds unless it is set."""

from __future__ import annotations

import re
from pathlib import Path

from paimark.core.config import _VARIABLES
from paimark.core.spark.launch.session_settings import DEFAULTS

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
    missing = [name for name in (*read, *_VARIABLES) if f"`{name}`" not in _PAGE and f"`{name}=" not in _PAGE]
    assert not missing


def test_the_page_says_what_holds_unless_it_is_set() -> None:
    for name, value in DEFAULTS.items():
        assert f"| `{name}` | `{value}`" in _PAGE
