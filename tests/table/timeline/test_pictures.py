"""Lanes as pictures: what a history looks like, newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paimark.core.table.layout import TablePath
from paimark.core.table.timeline.lanes import FOLDED, Drawing, Lane, LaneCommit, Opened, Run, all_runs, locate
from paimark.core.table.timeline.row_pages import in_order

TABLE = TablePath("shop", "orders")
MAIN = TABLE.root()


def lane(
    name: str | None,
    ids: Sequence[int],
    parent: int | None = None,
    fork: int | None = None,
    merges: Mapping[int, Sequence[LaneCommit]] | None = None,
) -> Lane:
    edges = {each: tuple(sources) for each, sources in (merges or {}).items()}
    return Lane(TABLE.root(name), ids, parent=parent, fork=fork, merges=edges)


def rows(
    lanes: Sequence[Lane], times: Mapping[LaneCommit, int] | None = None, opened: Sequence[Opened] = ()
) -> list[tuple[Run, str]]:
    """Without times a commit is as old as its number says, and main's the youngest of equals."""
    runs = all_runs(lanes, opened)
    drawing = Drawing(lanes, runs)
    ordered = in_order(lanes, runs, lambda run: (times or {}).get(run.newest_commit, run.newest * 10))
    return [(run, drawing.draw(run, FOLDED if run.is_folded else "●")) for run in ordered]


def picture(lanes: Sequence[Lane], times: Mapping[LaneCommit, int] | None = None) -> list[str]:
    """Each line: lanes, and the newest id of the run."""
    return [f"{line} {run.newest}" for run, line in rows(lanes, times)]


def test_main_alone_is_a_line() -> None:
    assert picture([lane(None, [1, 2, 3])]) == ["● 3", "● 2", "● 1"]


def test_a_branch_ends_at_the_commit_that_it_parted_from() -> None:
    lanes = [lane(None, [1, 2, 3]), lane("fix", [3, 4], 0, 2)]
    assert picture(lanes) == [
        "  ● 4",
        "● │ 3",
        "│ ● 3",
        "●─╯ 2",
        "● 1",
    ]


def test_branches_of_one_commit_end_there_together_and_pass_others_by() -> None:
    lanes = [
        lane(None, [1, 2, 3]),
        lane("one", [6], 0, 2),
        lane("two", [5], 0, 1),
        lane("three", [4], 0, 2),
    ]
    assert picture(lanes) == [
        "  ● 6",
        "  │ ● 5",
        "  │ │ ● 4",
        "● │ │ │ 3",
        "●─┴─│─╯ 2",
        "●───╯ 1",
    ]


def test_a_merge_joins_the_branch_that_goes_on() -> None:
    lanes = [
        lane(None, [1, 2, 9], merges={9: [LaneCommit(1, 5)]}),
        lane("fix", [4, 5, 10], 0, 1),
    ]
    assert picture(lanes) == [
        "  ● 10",
        "●─┤ 9",
        "│ ● 5",
        "│ ● 4",
        "● │ 2",
        "●─╯ 1",
    ]


def test_a_merge_opens_the_lane_of_a_branch_that_ended_with_it() -> None:
    lanes = [lane(None, [1, 2, 9], merges={9: [LaneCommit(1, 5)]}), lane("fix", [5], 0, 1)]
    assert picture(lanes) == ["●─╮ 9", "│ ● 5", "● │ 2", "●─╯ 1"]


def test_a_lane_of_which_nothing_tells_where_it_began_just_ends() -> None:
    lanes = [lane(None, [1, 2]), lane("main-20260501T120000-1f2e3d", [3, 4])]
    assert picture(lanes) == ["  ● 4", "  ● 3", "● 2", "● 1"]


def test_no_commit_stands_above_one_that_came_from_it_whatever_clocks_say() -> None:
    lanes = [lane(None, [1, 2]), lane("fix", [3], 0, 2)]
    assert picture(lanes, {LaneCommit(1, 3): 0}) == ["  ● 3", "●─╯ 2", "● 1"]


def test_records_that_contradict_one_another_hide_no_commit() -> None:
    """The merge says that main's 1 came after the branch, the fork that the branch came after main's 2."""
    lanes = [lane(None, [1, 2], merges={1: [LaneCommit(1, 3)]}), lane("fix", [3], 0, 2)]
    assert sorted(run.newest_commit for run, _ in rows(lanes)) == [
        LaneCommit(0, 1),
        LaneCommit(0, 2),
        LaneCommit(1, 3),
    ]


def test_long_runs_fold_between_what_is_worth_a_row() -> None:
    main = replace(lane(None, range(1, 101)), tags={40: ("v1",)})
    shown = [(run.newest, run.oldest, run.length) for run, _ in rows([main])]
    assert shown[:10] == [(each, each, 1) for each in range(100, 90, -1)]
    assert shown[10:] == [(90, 41, 50), (40, 40, 1), (39, 1, 39)]


def test_a_fold_opens_where_one_asks() -> None:
    lanes = [lane(None, range(1, 101))]
    shown = [(run.newest, run.length) for run, _ in rows(lanes, opened=[Opened(MAIN, 60, 62)])]
    assert shown[10:] == [(90, 28), (62, 1), (61, 1), (60, 1), (59, 59)]


def test_expired_snapshots_that_a_tag_keeps_have_a_row() -> None:
    main = replace(lane(None, [5, 6]), tags={2: ("v1",), 5: ("v2",)})
    assert [run.newest for run, _ in rows([main])] == [6, 5, 2]


def test_two_hundred_branches_take_eight_lanes_and_a_count() -> None:
    lanes = [lane(None, [1, 2]), *(lane(f"b{each}", [300 - each], 0, 1) for each in range(200))]
    lines = picture(lanes)
    assert lines[6:9] == [
        "  │ │ │ │ │ │ ● 294",
        "  │ │ │ │ │ │ │ ●+1 293",
        "  │ │ │ │ │ │ │ ●+2 292",
    ]
    assert lines[-2:] == ["● │ │ │ │ │ │ │  +193 2", "●─┴─┴─┴─┴─┴─┴─╯  +193 1"]


def test_a_lane_gets_a_free_column_once_another_ends() -> None:
    early = [lane(f"b{each}", [100 - each], 0, 50) for each in range(7)]
    lanes = [lane(None, [40, 50]), *early, lane("late", [45, 90], 0, 40)]
    assert picture(lanes)[-4:] == [
        "  │ │ │ │ │ │ │ ●+1 90",
        "●─┴─┴─┴─┴─┴─┴─╯  +1 50",
        "│ ● 45",
        "●─╯ 40",
    ]


def test_what_a_lane_shares_is_found_where_it_is_shown() -> None:
    lanes = [lane(None, [1, 2, 3]), lane("fix", [3, 4], 0, 2), lane("more", [5], 1, 3)]
    assert [locate(lanes, 2, each) for each in (5, 3, 2, 9)] == [
        LaneCommit(2, 5),
        LaneCommit(1, 3),
        LaneCommit(0, 2),
        None,
    ]
