"""The small parts: how values read, what is copied, which statement runs."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import RowVersion, Value
from paimark.core.export.difference_rows import value_text
from paimark.core.export.json_rows import as_text
from paimark.core.quoting import quoted_if_needed
from paimark.core.spark.protocol import CANCELLED, Finished, StageProgress
from paimark.core.table.layout import TablePath
from paimark.core.text import cut, fit, width_of, wrap
from paimark.tui.dialogs.plan_text import by_keys
from paimark.tui.formats import LONGEST, copied_cells, format_value, short_user, whole_text
from paimark.tui.query.drafts import QueryExecution, add_to_history, read_history
from paimark.tui.query.query_result import QueryResult
from paimark.tui.records.row_actions import seen
from paimark.tui.session import Target
from paimark.tui.tabs import Tab
from paimark.tui.terminal.clipboard import MOST_BYTES, copy_sequence
from paimark.tui.widgets.breadcrumb import Breadcrumb, Location
from paimark.tui.widgets.detail_strip import flow
from paimark.tui.widgets.grid.scroll_lines import wrap_line
from paimark.tui.widgets.lines import line_width
from paimark.tui.widgets.sql_editor import highlights, statement_at
from paimark.tui.widgets.tab_bar import TabBar
from tests.wording import about

ORDERS = Target(TablePath("shop", "orders"))


def test_values_of_every_kind_become_one_clean_line() -> None:
    assert format_value("text", "a\nb\x1b[31m", 0) == "a b�[31m"
    assert format_value("number", 1234567, 0) == "1,234,567"
    assert format_value("id", 1234567, 0) == "1234567"
    assert format_value("time", 10**30, 0) == str(10**30)
    assert whole_text(True) == "true"
    assert whole_text({"a": [1, None]}) == '{"a":[1,null]}'
    assert whole_text(b"\x00\xff") == "AP8="
    assert whole_text([1.5, float("nan"), float("-inf")]) == '[1.5,"NaN","-Infinity"]'
    assert whole_text([(1, "k"), (2, None)]) == '[{"key":1,"value":"k"},{"key":2,"value":null}]'
    assert format_value("text", list(range(100_000)), 0) == whole_text(list(range(1000)))[:1000]


def test_how_far_a_statement_is_stays_on_one_line_beside_the_tables_of_a_small_terminal() -> None:
    result = QueryResult("SELECT 1", 0, 0.0)
    result.take(StageProgress(12, 200, ""))
    assert line_width(result.status(107.1, "running")[0]) <= 60


def test_a_huge_cell_costs_no_more_than_a_long_one() -> None:
    assert len(format_value("text", "x" * 10_000_000, 0)) == 1000


@given(st.text(), st.integers(1, 30))
def test_fitting_gives_exactly_the_cells_asked_for(text: str, width: int) -> None:
    clean = format_value("text", text, 0)
    assert width_of(fit(clean, width)) == width
    assert width_of(cut(clean, width)) <= width


@given(st.binary(max_size=2000))
def test_bytes_are_written_the_same_everywhere(value: bytes) -> None:
    """In a grid, a record, a list of differences, a file, and within other values."""
    written = as_text(value)
    assert whole_text(value) == written
    assert whole_text([value]) == f'["{written}"]'
    assert format_value("text", value, 0) == written[:LONGEST]
    assert value_text(value).rstrip("…") == written[:200]


@given(st.text("ab 日", max_size=60), st.integers(2, 20))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(width_of(line) <= max(width, width_of(line.rstrip())) for line in lines)


def test_copying_is_wrapped_for_tmux_and_screen_and_capped() -> None:
    encoded = base64.b64encode("é".encode()).decode()
    bare = f"\x1b]52;c;{encoded}\x07"
    assert copy_sequence("é", {}) == bare
    in_tmux = copy_sequence("é", {"TMUX": "socket,1,0"})
    assert in_tmux == bare + f"\x1bPtmux;\x1b\x1b]52;c;{encoded}\x07\x1b\\"
    in_screen = copy_sequence("x" * 1000, {"STY": "1.pts"})
    assert in_screen is not None and in_screen.startswith("\x1bP\x1b]52;c;")
    assert max(len(piece) for piece in in_screen.split("\x1b\\")) <= 252
    assert copy_sequence("x" * (MOST_BYTES + 1), {}) is None


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("orders", "orders"),
        ("orders$branch_b", "`orders$branch_b`"),
        ("1a", "`1a`"),
        ("a`b", "`a``b`"),
        ("é", "`é`"),
    ],
)
def test_names_are_quoted_where_spark_needs_it(name: str, written: str) -> None:
    assert quoted_if_needed(name) == written


def test_the_prepared_statement_reads_the_row() -> None:
    branch = Target(ORDERS.table, "b")
    assert ORDERS.select_all(RowVersion(version="v'1")) == "SELECT *\nFROM shop.orders VERSION AS OF 'v\\'1'"
    assert branch.select_all(RowVersion(version="snapshot.3")).endswith(
        "`orders$branch_b` VERSION AS OF 'snapshot.3'"
    )
    assert branch.select_all(RowVersion(branch="main")) == "SELECT *\nFROM shop.orders"
    assert ORDERS.select_all(RowVersion()) == "SELECT *\nFROM shop.orders"


def arguments_from(name: str, target: Target, row: RowVersion, *, newest: bool | None) -> dict[str, Value]:
    return DECLARED[name].of(seen(target, row, newest=newest))


def test_arguments_come_from_the_row_and_the_branch_in_view() -> None:
    row = RowVersion(version="snapshot.3", snapshot_id=3)
    branch = Target(ORDERS.table, "b")
    assert arguments_from("create-savepoint", ORDERS, row, newest=True) == {}
    assert arguments_from("create-savepoint", branch, row, newest=False) == {"snapshot": 3, "branch": "b"}
    assert arguments_from("create-branch", ORDERS, RowVersion(tag="savepoint.1"), newest=False) == {
        "tag": "savepoint.1"
    }
    assert arguments_from("create-branch", ORDERS, row, newest=True) == {"snapshot": 3}
    assert arguments_from("create-branch", branch, row, newest=False) == {}
    pinned = RowVersion(snapshot_id=3, tag="paimark.merge.b.3")
    assert arguments_from("create-branch", ORDERS, pinned, newest=False) == {"snapshot": 3}
    expired = RowVersion(version=pinned.tag, snapshot_id=3, tag=pinned.tag)
    assert arguments_from("create-branch", ORDERS, expired, newest=False) == {"tag": pinned.tag}
    assert arguments_from("create-tag", ORDERS, RowVersion(branch="b"), newest=False) == {"branch": "b"}
    of_branch = {"name": "v2", "branch": "b"}
    assert arguments_from("rename-tag", branch, RowVersion(tag="v2"), newest=False) == of_branch
    assert arguments_from("delete-tag", branch, RowVersion(tag="v2"), newest=False) == of_branch
    saved = RowVersion(tag="savepoint.1")
    assert arguments_from("delete-tag", ORDERS, saved, newest=False) == {}
    assert arguments_from("delete-savepoint", ORDERS, saved, newest=False) == {"id": 1}
    assert arguments_from("create-savepoint", ORDERS, row, newest=None) == {}
    assert arguments_from("create-tag", ORDERS, row, newest=None) == {"snapshot": 3}
    assert arguments_from("auto-savepoint", branch, row, newest=None) == {}
    assert arguments_from("expire-snapshots", branch, row, newest=None) == {"branch": "b"}


@pytest.mark.parametrize("width", range(-1, 3))
def test_facts_are_laid_out_however_narrow_the_window_is(width: int) -> None:
    assert flow([("name", "value"), ("another", "value")], width, 3)


def test_the_statement_at_the_caret_runs() -> None:
    text = "SELECT 1;\n-- a;b\nSELECT ';' ;\n"
    assert statement_at(text, 3) == ("SELECT 1;", 0)
    assert statement_at(text, 20)[0] == "\n-- a;b\nSELECT ';' ;"
    assert statement_at(text, len(text))[0] == "\n-- a;b\nSELECT ';' ;"
    assert statement_at("", 0) == ("", 0)


def test_time_travel_is_told_from_other_words() -> None:
    text = "SELECT 'a' AS of_t -- VERSION AS OF\nFROM t VERSION AS OF 5"
    inks = [(text[start:end], ink) for start, end, ink in highlights(text)]
    assert ("AS", "accent") in inks
    assert ("-- VERSION AS OF", "quiet") in inks
    assert [word for word, ink in inks if ink == "warn"] == ["VERSION", "AS", "OF"]


def test_history_is_newest_first_once_each_and_private(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history.jsonl"
    for number, sql in enumerate(["a", "b", "a"]):
        add_to_history(path, QueryExecution(number, sql, "1 row"))
    with path.open("ab") as file:
        file.write(b'{"half')
    assert [(ran.sql, ran.time) for ran in read_history(path)] == [("a", 2), ("b", 1)]
    assert path.stat().st_mode & 0o077 == 0
    assert read_history(tmp_path / "none") == []
    os.mkfifo(tmp_path / "pipe")
    add_to_history(tmp_path / "pipe", QueryExecution(1, "a", "1 row"))
    assert read_history(tmp_path / "pipe") == []


def test_a_commit_user_is_shown_without_the_end_of_its_uuid() -> None:
    uuid = "23764166-ab0b-492f-8d8c-97f5534d8690"
    assert short_user(f"order-load_{uuid}") == "order-load_23764166…"
    assert (short_user(uuid), short_user(f"{uuid}0")) == ("23764166…", f"{uuid}0")


def test_a_copied_row_stays_a_row() -> None:
    assert copied_cells(["a\r\nb", None, "c\td", "e\\n", 1]) == "a\\r\\nb\t\tc\\td\te\\n\t1"


@pytest.mark.parametrize("tab", Tab)
@pytest.mark.parametrize("width", [18, 40, 60, 80, 100, 200])
def test_every_tab_is_in_sight_by_its_key_and_those_near_the_open_one_by_name(tab: Tab, width: int) -> None:
    bar = TabBar([each.title for each in Tab])
    bar.current = tab
    [line] = bar.lines(width)
    text = "".join(text for text, _ in line)
    assert line_width(line) <= width and f"[{tab.key} {tab.title}]" in text
    words = text.replace("[", "").replace("]", "").split()
    keys, titles = [each.key for each in Tab], [each.title for each in Tab]
    assert [each for each in words if each in keys] == (keys if width > 18 else [tab.key])
    named = [each for each in words if each in titles]
    first = titles.index(named[0])
    assert named == titles[first : first + len(named)] and tab.title in named
    assert width < 100 or named == titles
    assert width < 80 or len(named) >= 7


def test_no_name_of_main_pushes_what_matters_off_the_top_line() -> None:
    at = Location("lab", "shop", "orders", "x" * 60, main="x" * 60, read_only=True, engine="Spark starts")
    [line] = Breadcrumb(at).lines(80)
    text = "".join(piece for piece, _ in line)
    assert line_width(line) == 80
    for words in (" lab › shop › orders", "MAIN = xxx", " READ-ONLY ", "Spark starts"):
        assert words in text


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, " /tmp/walk/place › shop › orders › main"),
        (62, " /tmp/w…place › shop › orders › main"),
        (52, " shop › orders › main"),
        (44, " orders › main"),
        (34, " orders › main"),
    ],
)
def test_the_table_is_named_before_the_warehouse(width: int, shown: str) -> None:
    at = Location("/tmp/walk/place", "shop", "orders", "main", main="main", engine="Spark ready")
    [line] = Breadcrumb(at).lines(width)
    text = "".join(piece for piece, _ in line)
    assert text.split("  ")[0].split(" MAIN")[0] == shown
    assert "MAIN = main" in text
    assert line_width(line) == width


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("Wait for it, or run `paimark recover`.", "Wait for it, or run `ctrl+p` recover."),
        ("Run `paimark recover shop.orders` to go on.", "Run `ctrl+p` recover to go on."),
        ("`paimark undo --replacement` first.", "`paimark undo --replacement` first."),
        ("`paimark recover a.b --assume committed`", "`paimark recover a.b --assume committed`"),
        ("`paimark verify shop.orders` names it", "`paimark verify shop.orders` names it"),
        ("Roll back without --truncate.", "Roll back without `truncate`."),
        ("Give --retain-last, or take it out.", "Give `retain_last`, or take it out."),
        ("on the command line add --conflicts-out NEW.", "on the command line add --conflicts-out NEW."),
    ],
)
def test_hints_name_what_the_console_has_for_a_command(hint: str, shown: str) -> None:
    assert by_keys(hint) == shown


def test_a_result_that_was_cut_is_not_told_as_whole() -> None:
    """In the history and the log, where nobody sees that there were more."""
    result = QueryResult("SELECT 1", 0, 0.0)
    result.take(Finished(500, True, 0.5))
    assert result.in_short == "first 500 rows, 0.50 s"


def test_a_statement_that_was_cancelled_has_not_failed() -> None:
    result = QueryResult("SELECT 1", 0, 0.0)
    result.take(CANCELLED)
    first, _ = result.status(1.0, "ready")
    assert first[0] == ("! ", "warn") and about("statement", "cancelled").search(first[1][0])


def test_what_a_statement_says_at_its_end_is_not_cut() -> None:
    result = QueryResult("INSERT INTO t SELECT 1", 0, 0.0)
    message = "Committed snapshot 12 of shop.orders$branch_repair, with 11,950 rows"
    result.take(Finished(11950, False, 48.1, message))
    # Its one row tells of the commit: it is not the number of its rows.
    assert (result.in_short, result.outcome) == ("done, 48.1 s", message)
    first, _ = result.status(50.0, "ready")
    lines = wrap_line([(" ", ""), *first], 60)
    assert max(map(line_width, lines)) <= 60
    assert " ".join("".join(text for text, _ in line).strip() for line in lines) == f"✓ {message}  in 48.1 s"
