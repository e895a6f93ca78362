"""Names: what people write, and what must never become a path."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from paimark.core.errors import UsageError
from paimark.core.table.layout import TablePath
from paimark.core.table.names import (
    SYSTEM_NAMES,
    is_safe_name,
    near_names,
    parse_table_name,
    split_name,
    split_system_name,
    system_hint,
)
from paimark.core.table.system_tables import SYSTEM_TABLES

plain = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="`.$/\\"), min_size=1)


@given(database=plain, table=plain)
def test_a_name_written_plainly_is_its_two_parts(database: str, table: str) -> None:
    assert parse_table_name(f"{database}.{table}") == TablePath(database, table)
    assert parse_table_name(f"  {database} . {table}\n") == TablePath(database, table)


@given(parts=st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_text_survives_backticks(parts: list[str]) -> None:
    quoted = ".".join("`" + part.replace("`", "``") + "`" for part in parts)
    assert split_name(quoted) == parts


@given(text=st.text())
def test_whatever_is_written_the_table_stays_in_its_database(text: str) -> None:
    try:
        table = parse_table_name(text)
    except UsageError:
        return
    directory = table.directory.split("/")
    assert directory == [f"{table.database}.db", table.name]
    assert all(
        part not in ("", ".", "..") and part.isprintable() | (not part.isascii()) for part in directory
    )


NOT_TABLES = """
t|a.b.c|a.|.b|a..b|../x.t|a.`../b`|a.`b/c`|a.b\\c|`a`.`.`|a.`..`|a.`b|a`b`.c|a.b$snapshots|a.$|a.` `|a.``
`a` `b`|a.`.tmp`
"""


@pytest.mark.parametrize(
    "text", [*NOT_TABLES.replace("\n", "|").split("|"), " ", "a.b\x00", "`a\nb`.c", "a. "]
)
def test_what_is_no_table_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_table_name(text)


def test_backticks_may_hold_what_plain_names_may_not() -> None:
    assert parse_table_name("`my db`.`a.b``c`") == TablePath("my db", "a.b`c")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("t", ("t", None, None)),
        ("t$snapshots", ("t", None, "snapshots")),
        ("t$branch_b", ("t", "b", None)),
        ("t$branch_b_2$savepoints", ("t", "b_2", "savepoints")),
        ("t$branch_main$tags", ("t", None, "tags")),
        ("t$branches", ("t", None, "branches")),
    ],
)
def test_system_names_come_apart(name: str, parts: tuple[str, str | None, str | None]) -> None:
    assert split_system_name(name) == parts


@pytest.mark.parametrize(
    "name", ["", "$", "t$", "$snapshots", "t$a$b", "t$branch_$tags", "t$branch_a$b$c", "t$branch_a/b"]
)
def test_what_is_no_system_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        split_system_name(name)


@given(name=st.text())
def test_a_safe_name_is_one_part_of_a_path(name: str) -> None:
    assume(is_safe_name(name))
    assert "/" not in name
    assert name not in (".", "..")
    assert name.strip()


def test_near_names_ignore_case_and_stop_at_three() -> None:
    assert near_names("Orders", ["orders", "events"]) == "Did you mean orders?"
    assert near_names("order", ["orders", "order1", "order2", "order3"]).count(" or ") == 2
    assert near_names("zebra", ["orders", "events"]) == ""


@pytest.mark.parametrize("name", ["SavepointsTable", "savepoints", "SAVEPOINTS_TABLE", "savepointstable"])
def test_a_system_table_without_its_table_leads_to_its_name(name: str) -> None:
    assert "`t$savepoints`" in system_hint(name)
    assert not system_hint("savepoint_loads") and not system_hint("table")


def test_every_system_table_is_among_the_names() -> None:
    assert set(SYSTEM_NAMES) == set(SYSTEM_TABLES)
