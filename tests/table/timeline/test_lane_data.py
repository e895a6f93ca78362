"""What is read of a table's history, and what it makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root
from paimark.core.table.records import APART, Point
from paimark.core.table.timeline.lane_data import LaneData, PastEvent, read_lane_data
from paimark.core.table.timeline.lanes import LaneCommit, Opened
from paimark.core.table.timeline.row_pages import RecordReader, Row, commit_at, page_of_rows, unfold_around
from tests.table.lineages import TABLE, CountingFiles, snapshot_json, write_lineage
from tests.wording import about

MAIN = TABLE.root()
HOUR = 3_600_000


def write_root(warehouse: Path, branch: str | None, ids: Sequence[int], begun: float = 0) -> Root:
    """Hourly commits. Those of a branch are others than main's of the same ids, but for the first."""
    root = TABLE.root(branch)
    write_lineage(warehouse, {each: int((each + (each > ids[0]) * begun) * HOUR) for each in ids}, root)
    for each in ids[1:] if branch else ():
        path = warehouse / root.snapshot(each)
        path.write_text(path.read_text().replace("5ec5d4cd", unique(branch)))
    return root


def unique(branch: str | None) -> str:
    """The first digits in the names of a branch's own manifest lists."""
    return f"{crc32((branch or '').encode()):08x}"


def write_tag(warehouse: Path, root: Root, name: str, snapshot_id: int, time_ms: int | None = None) -> None:
    path = warehouse / root.tag(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(snapshot_json(snapshot_id, snapshot_id * HOUR if time_ms is None else time_ms))


def scene_of(warehouse: Path, events: Sequence[PastEvent] = (), main: Root = MAIN) -> LaneData:
    return read_lane_data(LocalFiles(str(warehouse)), TABLE, main, events)


def rows_of(files: Files, scene: LaneData, opened: Sequence[Opened] = ()) -> list[Row]:
    return page_of_rows(scene, RecordReader(files, scene), opened)[0]


def picture(warehouse: Path, events: Sequence[PastEvent] = (), main: Root = MAIN) -> list[str]:
    """Lanes, newest id, and what is said of it."""
    scene = scene_of(warehouse, events, main)
    return [
        " ".join([row.graph, str(row.run.newest), *row.tags, *row.lane.notes.get(row.run.newest, ())])
        for row in rows_of(LocalFiles(str(warehouse)), scene)
    ]


def test_tags_savepoints_and_what_expired_have_signs_of_their_own(tmp_path: Path) -> None:
    write_root(tmp_path, None, [3, 4, 5, 6])
    for name, number in {"savepoint.1": 4, "month-end": 4, "v2": 5, "v1": 1, "savepoint.0": 2}.items():
        write_tag(tmp_path, MAIN, name, number)
    assert picture(tmp_path) == [
        "● 6",
        "◇ 5 v2",
        "◆ 4 savepoint.1 month-end",
        "● 3",
        "○ 2 savepoint.0",
        "○ 1 v1",
    ]


def test_a_tag_of_another_commit_of_the_number_is_not_on_it(tmp_path: Path) -> None:
    write_root(tmp_path, None, [3, 4])
    write_tag(tmp_path, MAIN, "lost", 4, time_ms=77)
    files, scene = LocalFiles(str(tmp_path)), scene_of(tmp_path)
    assert [(row.graph, row.tags, row.others) for row in rows_of(files, scene)] == [
        ("●", (), ("lost",)),
        ("●", (), ()),
    ]


def test_a_tag_of_a_history_that_was_rolled_back_says_so(tmp_path: Path) -> None:
    write_root(tmp_path, None, [1, 2])
    write_tag(tmp_path, MAIN, "savepoint.1", 5)
    tag = tmp_path / MAIN.tag("savepoint.1")
    tag.write_text(tag.read_text().replace("{", f'{{"properties": {{"{APART}": "true"}},', 1))
    tagged, *commits = picture(tmp_path)
    assert about("○ 5 savepoint.1", "not", "history").search(tagged)
    assert commits == ["● 2", "● 1"]


def test_branches_part_from_main_and_one_without_commits_is_named(tmp_path: Path) -> None:
    write_root(tmp_path, None, [1, 2, 3, 4])
    write_root(tmp_path, "fix", [2, 3], begun=0.5)
    for name in ("a", "b", "c", "d"):
        write_root(tmp_path, name, [1])
    assert picture(tmp_path) == ["● 4", "│ ● 3", "● │ 3", "●─╯ 2", "● 1 branches a, b, c and 1 more"]


def test_an_archive_of_main_is_a_lane_and_the_parent_of_its_own_branches(tmp_path: Path) -> None:
    """`fix` became main; `late` was made of what main went on to be before."""
    fix = write_root(tmp_path, "fix", [2, 3], begun=0.5)
    archive = "main-20260501T120000-1f2e3d"
    write_root(tmp_path, archive, [2, 4, 5], begun=0.2)
    write_root(tmp_path, "late", [4, 6])
    four = (tmp_path / TABLE.root(archive).snapshot(4)).read_text()
    (tmp_path / TABLE.root("late").snapshot(4)).write_text(four)
    words = f"took the place of {archive}"
    became = PastEvent("fix", Point(id=3, delta_manifest_list=""), words, 10 * HOUR)
    scene = scene_of(tmp_path, [became], fix)
    assert [(lane.root.label, lane.parent, lane.fork) for lane in scene.lanes] == [
        ("fix", None, None),
        ("late", 2, 4),
        (archive, 0, 2),
    ]
    assert picture(tmp_path, [became], fix) == [
        "  ● 6",
        "  │ ● 5",
        "  ╰─● 4",
        f"●   │ 3 {words}",
        "●───╯ 2",
    ]


def test_a_branch_of_a_branch_is_found_by_the_tag_it_began_with(tmp_path: Path) -> None:
    write_root(tmp_path, None, [1, 2])
    fix = write_root(tmp_path, "fix", [1, 8, 9])
    write_root(tmp_path, "deeper", [8, 10])
    eight = (tmp_path / fix.snapshot(8)).read_text()
    for root in (fix, TABLE.root("deeper")):
        write_tag(tmp_path, root, "good", 8)
        (tmp_path / root.tag("good")).write_text(eight)
        (tmp_path / root.snapshot(8)).write_text(eight)
    lanes = {lane.root.label: lane for lane in scene_of(tmp_path).lanes}
    assert (lanes["deeper"].parent, lanes["deeper"].fork) == (2, 8)
    assert list(lanes["deeper"].ids) == [10]


def test_a_merge_is_drawn_while_its_commits_are_those_that_were_recorded(tmp_path: Path) -> None:
    write_root(tmp_path, None, [1, 2, 5])
    fix = write_root(tmp_path, "fix", [1, 3])
    rest = "5a37-4a4b-9f5c-0b3c8f5bb8a1-1"
    head = Point(id=3, delta_manifest_list=f"manifest-list-{unique('fix')}-{rest}")
    own = Point(id=5, delta_manifest_list=f"manifest-list-5ec5d4cd-{rest}")
    assert head.delta_manifest_list in (tmp_path / fix.snapshot(3)).read_text()
    merge = PastEvent(None, own, "merge of fix", source="fix", head=head)
    assert picture(tmp_path, [merge]) == ["●─╮ 5 merge of fix", "│ ● 3", "● │ 2", "●─╯ 1"]
    given_again = PastEvent(None, Point(id=5, delta_manifest_list="x"), "merge", source="fix", head=head)
    assert picture(tmp_path, [given_again]) == ["● 5", "│ ● 3", "● │ 2", "●─╯ 1"]


def test_a_branch_that_can_not_be_read_is_said_and_hides_no_other(tmp_path: Path) -> None:
    write_root(tmp_path, None, [1, 2, 3])
    for name in ("bad", "good"):
        write_root(tmp_path, name, [2, 3], begun=0.5)
    (tmp_path / TABLE.root("bad").snapshot(2)).write_text("{")
    scene = scene_of(tmp_path)
    assert [lane.parent for lane in scene.lanes] == [None, None, 0]
    assert about("branch-bad/snapshot/snapshot-2", "not", "snapshot record").search(scene.unreadable[0])


def test_a_newest_record_that_can_not_be_read_is_a_row_all_the_same(tmp_path: Path) -> None:
    write_root(tmp_path, None, [1, 2])
    (tmp_path / MAIN.snapshot(2)).write_text("{")
    files = LocalFiles(str(tmp_path))
    scene = scene_of(tmp_path)
    reader = RecordReader(files, scene)
    assert [(row.run.newest, row.newest is None) for row in page_of_rows(scene, reader)[0]] == [
        (2, True),
        (1, False),
    ]
    assert about("snapshot-2", "not", "snapshot record").search(next(iter(reader.unreadable.values())))


def test_few_records_are_read_however_many_snapshots_there_are(tmp_path: Path) -> None:
    write_root(tmp_path, None, range(1, 2001))
    for number in range(10):
        write_root(tmp_path, f"b{number}", [1000 + number * 90, 5000, 5001], begun=-4000)
    files = CountingFiles(LocalFiles(str(tmp_path)))
    scene = read_lane_data(files, TABLE, MAIN, ())
    rows, total = page_of_rows(scene, RecordReader(files, scene))
    assert (len(rows), total) == (51, 51)
    assert sum(row.run.length for row in rows) == 2020
    assert len(files.reads) < 200


def test_a_page_has_the_newest_rows_and_reads_little_more(tmp_path: Path) -> None:
    write_root(tmp_path, None, range(1, 301))
    for number in range(1, 301, 2):
        write_tag(tmp_path, MAIN, f"v{number}", number)
    scene = scene_of(tmp_path)
    files = CountingFiles(LocalFiles(str(tmp_path)))
    rows, total = page_of_rows(scene, RecordReader(files, scene), limit=20)
    assert ([row.run.newest for row in rows], total) == ([*range(300, 280, -1)], 300)
    assert len(files.reads) < 120
    rows, _ = page_of_rows(scene, RecordReader(files, scene), limit=20, until=LaneCommit(0, 200))
    assert rows[-1].run.newest == 200


def test_a_time_is_found_on_the_branch_and_before_its_fork_on_main(tmp_path: Path) -> None:
    write_root(tmp_path, None, range(10, 1201))
    write_root(tmp_path, "fix", [500, 501], begun=0.5)
    write_tag(tmp_path, MAIN, "old", 3)
    scene = scene_of(tmp_path)
    files = CountingFiles(LocalFiles(str(tmp_path)))
    reader = RecordReader(files, scene)
    times = {1: 600 * HOUR, 2: 501 * HOUR, 3: 1000 * HOUR + 5, 4: 5 * HOUR, 5: HOUR}
    asked = [(1, times[1]), (1, times[2]), (0, times[3]), (1, times[4]), (0, times[5])]
    assert [commit_at(scene, reader, lane, time_ms) for lane, time_ms in asked] == [
        LaneCommit(1, 501),
        LaneCommit(0, 500),
        LaneCommit(0, 1000),
        LaneCommit(0, 3),
        None,
    ]
    assert len(files.reads) < 60
    assert unfold_around(scene.lanes[0], 1000, 2) == Opened(MAIN, 998, 1002)


def test_a_folded_run_tells_the_rows_it_brought(tmp_path: Path) -> None:
    write_root(tmp_path, None, range(1, 101))
    [*_, fold] = rows_of(LocalFiles(str(tmp_path)), scene_of(tmp_path))
    assert (fold.run.length, fold.change) == (90, 900)
