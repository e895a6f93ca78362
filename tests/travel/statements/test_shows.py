"""A SHOW with words that it can't have gets a hint for what they ask for."""

from __future__ import annotations

import pytest

from paimark.core.errors import StatementFailed
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.statements.shows import read_show


@pytest.mark.parametrize(
    ("sql", "word", "hint"),
    [
        ("SHOW PARTITIONS shop.t ^PARTITION (day = '1')", "PARTITION", "SELECT DISTINCT day FROM db.t WHERE"),
        ("SHOW PARTITIONS shop.t ^x", "x", "ends with the table's name"),
        ("SHOW CREATE TABLE shop.t ^AS SERDE", "AS", "ends with the table's name"),
        ("SHOW COLUMNS IN shop.t ^PARTITION (day = '1')", "PARTITION", "ends with the table's name"),
    ],
)
def test_a_word_too_many_is_named(sql: str, word: str, hint: str) -> None:
    with pytest.raises(StatementFailed) as refused:
        read_show(read_statement(sql.replace("^", "")))
    assert refused.value.message.startswith(f"{word} can't follow here")
    assert hint in refused.value.hint
    assert refused.value.position == sql.index("^")
