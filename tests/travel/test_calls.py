"""`CALL sys.name(...)` is read by position, and what is no call of ours is pointed at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.errors import UsageError
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.statement import SqlRefused
from paimark.core.travel.statements.calls import ArgumentValue, ProcedureCall, read_call
from tests.wording import about


def call_of(sql: str) -> ProcedureCall:
    return read_call(read_statement(sql))


def values(sql: str) -> list[tuple[str | None, ArgumentValue]]:
    return [(each.name, each.value) for each in call_of(sql).arguments]


def test_arguments_come_by_name_and_by_place() -> None:
    call = call_of("call `sys`.Create_Tag ( 'shop.orders', Snapshot=>-5L, /* why */ name => \"v'1\" ) ;;")
    assert call.procedure == "create_tag"
    assert [(each.name, each.value) for each in call.arguments] == [
        (None, "shop.orders"),
        ("snapshot", -5),
        ("name", "v'1"),
    ]
    assert call.sql[call.position :].startswith("`sys`")
    assert call.sql[call.end] == ")"
    assert call.sql[call.arguments[1].position :].startswith("Snapshot")
    assert call.sql[call.arguments[1].value_position :].startswith("-5L")


def test_every_literal_has_its_value() -> None:
    assert values("CALL sys.x()") == []
    assert values("CALL sys.x(TRUE, false, NULL, +7, 'it''s', r'a\\b', TIMESTAMP '2026-05-01 12:00:00')") == [
        (None, True),
        (None, False),
        (None, None),
        (None, 7),
        (None, "it's"),
        (None, "a\\b"),
        (None, "2026-05-01 12:00:00"),
    ]
    assert values("CALL sys.x(timestamp => 'a', true => date '2026-05-01')") == [
        ("timestamp", "a"),
        ("true", "2026-05-01"),
    ]


@pytest.mark.parametrize(
    ("sql", "said", "place"),
    [
        ("CALL", "name procedure missing", ""),
        ("CALL ;", "name procedure missing", " ;"),
        ("CALL (1)", "name procedure missing", "(1)"),
        ("CALL create_tag('t')", "no procedure create_tag", "create_tag"),
        ("CALL paimon.sys.create_tag('t')", "no procedure paimon.sys.create_tag", "paimon"),
        ("CALL sys.x", "( sys.x", ""),
        ("CALL sys.x 'a'", "( sys.x", "'a'"),
        ("CALL sys.x('a'", "comma )", ""),
        ("CALL sys.x('a' 'b')", "comma )", "'b'"),
        ("CALL sys.x('a', )", ") literal", ")"),
        ("CALL sys.x(", "value missing", ""),
        ("CALL sys.x(a => )", ") literal", ")"),
        ("CALL sys.x(now())", "now literal", "now"),
        ("CALL sys.x(1.5)", "1.5 literal", "1.5"),
        ("CALL sys.x(-'a')", "'a' literal", "'a'"),
        ("CALL sys.x(-true)", "true literal", "true"),
        ("CALL sys.x(99999999999999999999)", "99999999999999999999 literal", "999"),
        ("CALL sys.x(a => 1, 2)", "without name", "2)"),
        ("CALL sys.x(1) SELECT 1", "nothing follow", "SELECT"),
    ],
)
def test_what_is_no_call_is_pointed_at(sql: str, said: str, place: str) -> None:
    with pytest.raises(SqlRefused) as refused:
        call_of(sql)
    assert about(*said.split()).search(refused.value.message)
    assert refused.value.hint
    assert sql[refused.value.position :].startswith(place)


def test_a_call_of_the_schema_alone_is_shown_a_whole_one() -> None:
    with pytest.raises(SqlRefused, match="no procedure sys") as refused:
        call_of("CALL sys")
    assert "CALL sys.create_savepoint(" in refused.value.hint


@given(
    st.lists(
        st.one_of(
            st.booleans(),
            st.none(),
            st.integers(min_value=-(10**18) + 1, max_value=10**18 - 1),
            st.text(alphabet=st.characters(exclude_characters="\\", exclude_categories=["Cs"])),
        )
    )
)
def test_what_was_written_is_what_is_read(written: list[ArgumentValue]) -> None:
    def literal(value: ArgumentValue) -> str:
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return "NULL" if value is None else str(value)

    assert values(f"CALL sys.x({', '.join(map(literal, written))})") == [(None, each) for each in written]


@given(st.text(alphabet="CALsys.x(),'=>-1 \"`;", max_size=25))
def test_any_text_is_read_or_refused_at_a_place_in_it(text: str) -> None:
    sql = f"CALL {text}"
    try:
        call_of(sql)
    except SqlRefused as refused:
        assert 0 <= refused.position <= len(sql)
    except UsageError as error:
        assert ";" in text and about("one statement", "more").search(error.message)
