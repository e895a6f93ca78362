"""Files of checks: what is a check, what stands for one, and what is refused before any of them runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.row_checks.check_file import (
    MAIN,
    THIS,
    Check,
    Rule,
    file_of_table,
    read_check_file,
    read_checks,
)
from paimark.core.errors import UsageError
from tests.actions.acting import ORDERS
from tests.wording import about


def test_names_warnings_and_places() -> None:
    checks = read_checks("""
        -- Prices are in euros: {this} here is a comment's.
        -- name: no negative prices
        SELECT * FROM {this} WHERE price < 0 AND note <> '{main}'; -- why
        -- WARN
        SELECT order_id FROM {main} EXCEPT SELECT order_id FROM {this};
        KEEPS KEYS;
    """)
    assert checks == (
        Check("no negative prices", f"SELECT * FROM {THIS} WHERE price < 0 AND note <> '{{main}}'"),
        Check("check 2", f"SELECT order_id FROM {MAIN} EXCEPT SELECT order_id FROM {THIS}", True),
        Check("KEEPS KEYS", Rule("keeps", ())),
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("UNIQUE a, `b c`", Rule("unique", ("a", "b c"))),
        ("NO NEW KEYS (a)", Rule("new", ("a",))),
        ("CHANGES ONLY a, b BY c", Rule("only", ("a", "b"), ("c",))),
        ("TOTAL a WITHIN 2.5 %", Rule("total", ("a",), percent="2.5")),
    ],
)
def test_words_that_stand_for_a_select(text: str, rule: Rule) -> None:
    assert [each.query for each in read_checks(text)] == [rule]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ("no check",)),
        ("-- only a comment", ("no check",)),
        ("SELECT * FROM {that}", ("{that}", "unknown")),
        ("DELETE FROM {this}", ("only a SELECT",)),
        ("SELECT 1; CALL sys.undo('shop.orders')", ("check 2", "only a SELECT")),
        ("CREATE TABLE a.b AS SELECT 1", ("only a SELECT",)),
        ("FROM {main} INSERT INTO a.b SELECT *", ("only a SELECT",)),
        ("SET a=b", ("only a SELECT",)),
        ("SELECT JAVA_METHOD('java.lang.System', 'gc')", ("effect",)),
        ("SELECT TRANSFORM(a) USING 'rm x' FROM {this}", ("effect",)),
        ("SELECT 'a", ("not closed",)),
        ("-- name: a\nSELECT 1;\n-- name: b", ("line 3", "no check")),
        ("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2", ("two checks", "a")),
        ("-- name:\nSELECT 1", ("name", "empty")),
        ("UNIQE a", ("only a SELECT",)),
        ("UNIQUE a b", ("no check",)),
        ("TOTAL a WITHIN 5", ("no check",)),
        ("CHANGES ONLY", ("no check",)),
    ],
)
def test_what_is_no_check_is_refused(text: str, said: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        read_checks(text)
    assert about(*said).search(caught.value.message)


def test_a_file_is_held_to_its_digest_and_a_table_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert file_of_table(ORDERS) is None
    path = tmp_path / "paimark" / "checks" / "shop.orders.sql"
    path.parent.mkdir(parents=True)
    path.write_text("SELECT 1 FROM {this}")
    assert file_of_table(ORDERS) == str(path)
    read = read_check_file(str(path))
    assert read_check_file(str(path), read.digest) == read
    path.write_text("SELECT 2 FROM {this}")
    with pytest.raises(UsageError, match=about(path, "plan")):
        read_check_file(str(path), read.digest)
