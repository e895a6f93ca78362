"""ALTER TABLE is read by position, and what is not done here is pointed at in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.statement import SqlRefused
from paimark.core.travel.statements.alters import SchemaChange, changes_text, read_alter, read_changes
from tests.wording import about

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("sql", "said", "place"),
    [
        ("ALTER", "only tables", ""),
        ("ALTER VIEW v RENAME TO w", "only tables", "VIEW"),
        ("ALTER TABLE", "name table missing", ""),
        ("ALTER TABLE t", "alter missing", ""),
        ("ALTER TABLE t RENAME TO u", "TABLE RENAME TO", "RENAME"),
        ("ALTER TABLE t ADD PARTITION (d = 1)", "ADD PARTITION", "ADD"),
        ("ALTER TABLE t DROP IF EXISTS PARTITION (d = 1)", "DROP IF", "DROP"),
        ("ALTER TABLE t SET LOCATION 'x'", "SET LOCATION", "SET"),
        ("ALTER TABLE t ADD COLUMN", "name column missing", ""),
        ("ALTER TABLE t ADD COLUMN a", "type missing", ""),
        ("ALTER TABLE t ADD COLUMN a.b INT", "a.b inside column", "a.b"),
        ("ALTER TABLE t ADD COLUMN a INT NOT NULL", "column a NOT NULL", "NOT"),
        ("ALTER TABLE t ADD COLUMN a INT DEFAULT 5", "column a default", "DEFAULT"),
        ("ALTER TABLE t ADD COLUMN a INT COMMENT b", "text quotes missing", "b"),
        ("ALTER TABLE t ADD COLUMNS (a INT", "comma ) missing", ""),
        ("ALTER TABLE t DROP COLUMN a b", "b follow", "b"),
        ("ALTER TABLE t RENAME COLUMN a b", "TO name missing", "b"),
        ("ALTER TABLE t ALTER COLUMN a SET NOT NULL", "COLUMN a SET NOT", "SET"),
        ("ALTER TABLE t ALTER COLUMN a COMMENT 'x'", "COLUMN a COMMENT", "COMMENT"),
        ("ALTER TABLE t ALTER COLUMN a DROP DEFAULT", "COLUMN a DROP DEFAULT", "DEFAULT"),
        ("ALTER TABLE t SET TBLPROPERTIES ('a' = )", "value a missing", ")"),
        ("ALTER TABLE t UNSET TBLPROPERTIES (5)", "name option missing", "5"),
    ],
)
def test_what_is_not_done_is_pointed_at(sql: str, said: str, place: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        read_alter(read_statement(sql))
    assert about(*said.split()).search(refused.value.message)
    assert refused.value.hint
    assert sql[refused.value.position :].startswith(place)
    assert place or refused.value.position == len(sql)


def test_a_table_and_each_change_have_their_places() -> None:
    sql = (
        "/* x */ ALTER TABLE a.`t$branch_b` ADD COLUMNS (c MAP<INT, ARRAY<DECIMAL(5, 2)>>, `d``e` INT FIRST)"
    )
    alter = read_alter(read_statement(sql))
    assert alter.parts == ("a", "t$branch_b")
    assert sql[alter.table_position :].startswith("a.")
    first, second = alter.changes
    assert (first.name, first.value) == ("c", "MAP<INT, ARRAY<DECIMAL(5, 2)>>")
    assert (second.name, second.value, second.after) == ("d`e", "INT", "")
    assert sql[second.position :].startswith("`d``e`")


@given(NAMES, NAMES, NAMES, st.booleans())
def test_what_is_written_is_read_again(name: str, other: str, text: str, if_exists: bool) -> None:
    for change in (
        SchemaChange("add", name, "INT", comment=text, after=other),
        SchemaChange("rename", name, other),
        SchemaChange("drop", name, if_exists=if_exists),
        SchemaChange("set", text, other),
    ):
        (again,) = read_changes(change.kind, changes_text([change]))
        assert (again.name, again.value, again.comment, again.after, again.if_exists) == (
            change.name,
            change.value,
            change.comment,
            change.after,
            change.if_exists,
        )
