"""What was asked names one snapshot, or the error says what there is."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC
from pathlib import Path
from random import Random

import pytest

from paimark.core.errors import Corrupt, NotFound
from paimark.core.storage.open import open_files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.parse.statement import Clause, TableUse
from paimark.core.travel.resolving import TravelSource
from paimark.core.travel.version import (
    Resolved,
    SupportsTimeTravel,
    resolve_latest,
    resolve_time,
    resolve_version,
)
from tests.actions.histories import TABLE as HISTORY
from tests.actions.histories import History
from tests.paimon import open_table
from tests.travel.roots import TABLE, Layout, savepoint, snapshot
from tests.wording import about

HOUR = 3_600_000
S = {number: snapshot(number, number * HOUR) for number in range(1, 10)}
# Snapshots 3, 7, 8 and 9 are left; savepoints kept 2 and 5, tags 4 and 7.
KEPT = Layout([S[3], S[7], S[8], S[9]], {"v4": S[4], "v7": S[7], "Case": S[9]}, {1: S[2], 2: S[5]})


@pytest.mark.parametrize(
    ("asked", "kind", "name", "snapshot_id"),
    [
        ("7", "snapshot", "snapshot.7", 7),
        (" 7 ", "snapshot", "snapshot.7", 7),
        ("007", "snapshot", "snapshot.7", 7),
        ("snapshot.7", "snapshot", "snapshot.7", 7),
        ("Snapshot.7", "snapshot", "snapshot.7", 7),
        ("5", "savepoint", "savepoint.2", 5),
        ("snapshot.5", "savepoint", "savepoint.2", 5),
        ("snapshot.4", "tag", "v4", 4),
        ("savepoint.2", "savepoint", "savepoint.2", 5),
        ("SAVEPOINT.2", "savepoint", "savepoint.2", 5),
        ("v4", "tag", "v4", 4),
        ("v7", "tag", "v7", 7),
        ("Case", "tag", "Case", 9),
    ],
)
def test_a_version_names_one_snapshot(
    tmp_path: Path, asked: str, kind: str, name: str, snapshot_id: int
) -> None:
    resolved = resolve_version(*KEPT.write(tmp_path), asked)
    assert (resolved.kind, resolved.name, resolved.snapshot.id) == (kind, name, snapshot_id)
    assert resolved.requested == asked
    assert resolved.root == TABLE.root()


def test_an_expired_snapshot_says_what_saved_it(tmp_path: Path) -> None:
    files, root = KEPT.write(tmp_path)
    note = resolve_version(files, root, "snapshot.5").note
    assert about("snapshot 5", "expired", "savepoint.2", "number").search(note)
    assert resolve_version(files, root, "7").note == ""


@pytest.mark.parametrize(
    "asked", ["6", "snapshot.1", "savepoint.9", "v44", "case", "watermark-x", "", "../x", "1e3"]
)
def test_an_unknown_version_says_what_there_is(tmp_path: Path, asked: str) -> None:
    with pytest.raises(NotFound) as missing:
        resolve_version(*KEPT.write(tmp_path), asked)
    assert missing.value.message == f"shop.orders has no version '{asked}': 4 snapshots from 3 to 9 exist"
    assert "Nearest savepoints: savepoint." in missing.value.hint
    if asked == "snapshot.1":
        assert missing.value.hint == "Nearest savepoints: savepoint.1 (snapshot 2), savepoint.2 (snapshot 5)."
    if asked == "v44":
        assert missing.value.hint.startswith("Did you mean v4?")


def test_the_range_of_an_unbroken_history_and_of_an_empty_table(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=about("version '9'", "1 to 3")):
        resolve_version(*Layout([S[1], S[2], S[3]]).write(tmp_path / "a"), "9")
    with pytest.raises(NotFound, match=about("version '9'", "snapshot 1")):
        resolve_version(*Layout([S[1]]).write(tmp_path / "b"), "9")
    with pytest.raises(NotFound, match=about("version '9'", "no snapshots")):
        resolve_version(*Layout([]).write(tmp_path / "c"), "9")


@pytest.mark.parametrize(
    ("time_ms", "snapshot_id"),
    [(5 * HOUR, 5), (2 * HOUR, 2), (2 * HOUR + 1, 2), (3 * HOUR, 4), (9 * HOUR, 3), (HOUR, 1)],
)
def test_a_clock_that_was_ahead_for_one_commit_hides_no_later_state(
    tmp_path: Path, time_ms: int, snapshot_id: int
) -> None:
    hours = {1: 1, 2: 2, 3: 9, 4: 3, 5: 4}
    files, root = Layout([snapshot(each, hour * HOUR) for each, hour in hours.items()]).write(tmp_path)
    assert resolve_time(files, root, time_ms).snapshot.id == snapshot_id


def test_where_the_first_clock_was_ahead_the_earliest_state_is_a_later_snapshot(tmp_path: Path) -> None:
    files, root = Layout([snapshot(1, 9 * HOUR), snapshot(2, 3 * HOUR)]).write(tmp_path)
    with pytest.raises(NotFound, match=about("earliest", "snapshot.2", "1970-01-01 03:00")):
        resolve_time(files, root, HOUR)


def test_a_tag_called_like_a_number_wins_and_says_so(tmp_path: Path) -> None:
    files, root = Layout([S[1], S[2], S[3]], {"2": S[1]}).write(tmp_path)
    resolved = resolve_version(files, root, "2")
    assert (resolved.kind, resolved.name, resolved.snapshot.id) == ("tag", "2", 1)
    assert about("tag", "snapshot 1", "wins", "'snapshot.2'").search(resolved.note)
    assert resolve_version(files, root, "snapshot.2").snapshot.id == 2


def test_a_tag_called_like_a_snapshot_is_never_that_snapshot(tmp_path: Path) -> None:
    files, root = Layout([S[3]], {"snapshot.2": S[1]}).write(tmp_path)
    with pytest.raises(NotFound) as missing:
        resolve_version(files, root, "snapshot.2")
    assert "paimark rename-tag shop.orders --name snapshot.2 --to NAME" in missing.value.hint


def test_a_tag_that_a_snapshot_hides_is_named(tmp_path: Path) -> None:
    tags = {"snapshot.3": S[1], "snapshot.2": S[2], "SNAPSHOT.3": S[1]}
    files, root = Layout([S[1], S[2], S[3]], tags).write(tmp_path)
    hidden = resolve_version(files, root, "snapshot.3")
    assert hidden.snapshot.id == 3
    rename = "paimark rename-tag shop.orders --name snapshot.3 --to NAME"
    assert about("tag", "snapshot 1", "snapshot 3", rename).search(hidden.note)
    assert resolve_version(files, root, "snapshot.2").note == ""
    wins = resolve_version(files, root, "SNAPSHOT.3")
    assert (wins.kind, wins.snapshot.id) == ("tag", 1) and "a tag wins" in wins.note


def test_ids_given_again_since_are_not_answered_from_the_earlier_history(tmp_path: Path) -> None:
    # Savepoint 1 saved snapshot 5 of a history that was rolled back to 3; the new 4 and 6 are later than it.
    old = snapshot(5, 5 * HOUR)
    layout = Layout([S[3], snapshot(4, 20 * HOUR), snapshot(6, 22 * HOUR)], {}, {1: old})
    with pytest.raises(NotFound) as missing:
        resolve_version(*layout.write(tmp_path / "below"), "snapshot.5")
    assert about("rollback", "'savepoint.1'").search(missing.value.hint)
    # Here the old history went on for longer than the new one has.
    late = Layout([snapshot(6, 4 * HOUR)], {"old": old})
    with pytest.raises(NotFound):
        resolve_version(*late.write(tmp_path / "above"), "5")
    # Of two that are kept nobody chooses by their times: clocks may be wrong.
    new = snapshot(5, 21 * HOUR)
    both = Layout([S[3], snapshot(4, 20 * HOUR), snapshot(6, 22 * HOUR)], {"new": new}, {1: old})
    with pytest.raises(NotFound) as missing:
        resolve_version(*both.write(tmp_path / "both"), "snapshot.5")
    assert about("rollback", "new, savepoint.1", "'new'").search(missing.value.hint)
    # Main ends before it: it went back.
    ended = Layout([S[3], S[4]], {"old": old})
    with pytest.raises(NotFound, match=r"no version '5'"):
        resolve_version(*ended.write(tmp_path / "ended"), "5")


@pytest.mark.parametrize("newest", [4, 6])
def test_manifests_tell_which_of_two_histories_a_number_is_of(tmp_path: Path, newest: int) -> None:
    """Ids 3 and above were given again after a rollback to 2, and every clock was wrong."""
    history = History(tmp_path, Random(4))
    history.commit()
    history.commit()
    history.tag("two", 2)
    history.fork("before", "two")
    history.commit("before")
    history.commit()
    history.tag("ours", 3)
    for _ in range(newest - 3):
        history.commit()
    history.drop_snapshots(newest)
    main = HISTORY.root()
    files, late = history.files, {"timeMillis": 2**41}
    told_before = files.read(HISTORY.root("before").snapshot(3))
    files.replace(main.tag("old"), told_before)
    files.replace(main.tag("ours"), json.dumps({**json.loads(files.read(main.tag("ours"))), **late}).encode())

    resolved = resolve_version(files, main, "3")
    assert resolved.name == "ours"
    assert about("snapshot 3", "expired", "ours").search(resolved.note) and "number" not in resolved.note
    files.delete(main.tag("ours"))
    if newest == 4:
        with pytest.raises(NotFound, match="no version '3'"):
            resolve_version(files, main, "3")


def test_a_savepoint_without_its_file_is_a_tag_and_says_so(tmp_path: Path) -> None:
    files, root = Layout([S[3]], {"savepoint.4": S[2]}).write(tmp_path)
    resolved = resolve_version(files, root, "savepoint.4")
    assert (resolved.kind, resolved.snapshot.id) == ("tag", 2)
    assert about("savepoint.4", "tag", "no savepoint 4").search(resolved.note)


def test_a_savepoint_that_lost_its_tag_is_read_while_its_snapshot_lives(tmp_path: Path) -> None:
    files, root = Layout([S[3]]).write(tmp_path)
    files.create(TABLE.savepoint(1), savepoint(1, S[3]).to_json())
    files.create(TABLE.savepoint(2), savepoint(2, S[2]).to_json())
    resolved = resolve_version(files, root, "savepoint.1")
    assert (resolved.kind, resolved.snapshot.id) == ("savepoint", 3)
    assert about("savepoint 1", "unprotected").search(resolved.note)
    with pytest.raises(NotFound, match=about("savepoint 2", "shop.orders", "tag", "snapshot 2", "expired")):
        resolve_version(files, root, "savepoint.2")


def test_a_savepoint_whose_tag_is_of_another_snapshot_is_corrupt(tmp_path: Path) -> None:
    files, root = Layout([S[3]], {"savepoint.1": S[3]}).write(tmp_path)
    files.create(TABLE.savepoint(1), savepoint(1, S[2]).to_json())
    with pytest.raises(Corrupt, match=about("snapshot 2", "tag savepoint.1", "snapshot 3")):
        resolve_version(files, root, "savepoint.1")


def test_a_savepoint_of_a_branch_is_named_and_read_there(tmp_path: Path) -> None:
    files, main = KEPT.write(tmp_path)
    branch = TABLE.root("fix")
    Layout([S[1]], {}, {3: S[1]}).write(tmp_path, branch)
    with pytest.raises(NotFound) as missing:
        resolve_version(files, main, "savepoint.3")
    assert about("savepoint 3", "fix", "shop.orders").search(missing.value.message)
    assert "`orders$branch_fix` VERSION AS OF 'savepoint.3'" in missing.value.hint
    assert resolve_version(files, branch, "savepoint.3").snapshot.id == 1
    with pytest.raises(NotFound, match=about("shop.orders (branch fix)", "version '9'")):
        resolve_version(files, branch, "9")


def test_a_watermark_is_the_earliest_snapshot_that_reached_it(tmp_path: Path) -> None:
    marks = {1: None, 2: None, 3: 100, 5: 100, 6: 200, 9: 300}
    layout = Layout([snapshot(number, number * HOUR, mark) for number, mark in marks.items()])
    files, root = layout.write(tmp_path)
    for asked, expected in [
        ("watermark-50", 3),
        ("watermark-100", 3),
        ("Watermark-101", 6),
        ("watermark-300", 9),
    ]:
        assert resolve_version(files, root, asked).snapshot.id == expected
    with pytest.raises(NotFound, match="no version 'watermark-301'") as missing:
        resolve_version(files, root, "watermark-301")
    assert about("no snapshot", "watermark").search(missing.value.hint)


@pytest.mark.parametrize(
    ("hours", "kind", "name"),
    [
        (2, "savepoint", "savepoint.1"),
        (2.5, "savepoint", "savepoint.1"),
        (3, "snapshot", "snapshot.3"),
        (4.5, "tag", "v4"),
        (6.9, "savepoint", "savepoint.2"),
        (7, "snapshot", "snapshot.7"),
        (1000, "snapshot", "snapshot.9"),
    ],
)
def test_a_time_is_the_newest_state_from_then_or_before(
    tmp_path: Path, hours: float, kind: str, name: str
) -> None:
    resolved = resolve_time(*KEPT.write(tmp_path), int(hours * HOUR), "then")
    assert (resolved.kind, resolved.name) == (kind, name)
    assert (resolved.note == "") == (kind == "snapshot")


def test_a_time_served_by_a_savepoint_says_how_much_older_it_is(tmp_path: Path) -> None:
    files, root = KEPT.write(tmp_path)
    for later, older in [
        (HOUR * 3 // 2, "1 h 30 min older"),
        (1_500, "1 s 500 ms older"),
        (0, "exactly"),
    ]:
        note = resolve_time(files, root, 5 * HOUR + later).note
        assert about("savepoint.2 (snapshot 5)", older).search(note)


def test_a_time_before_everything_names_the_earliest_state_and_the_closest_savepoint(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as missing:
        resolve_time(*KEPT.write(tmp_path), HOUR, "then", zone=UTC)
    earliest = ("savepoint.1 (snapshot 2)", "1970-01-01 02:00:00.000+00:00")
    asked = "then (1970-01-01 01:00:00.000+00:00)"
    assert about("shop.orders", asked, "earliest", *earliest).search(missing.value.message)
    assert about("closest savepoint", *earliest).search(missing.value.hint)
    with pytest.raises(NotFound, match=about("no snapshot")):
        resolve_time(*Layout([]).write(tmp_path / "empty"), HOUR)


def test_a_half_written_tag_is_left_out_and_named(tmp_path: Path) -> None:
    files, root = KEPT.write(tmp_path)
    files.replace(root.tag("v4"), b'{"version": 3')
    resolved = resolve_time(files, root, int(4.5 * HOUR))
    assert resolved.name == "snapshot.3"
    assert about(root.tag("v4"), "tag record").search(resolved.note)
    with pytest.raises(Corrupt):
        resolve_version(files, root, "v4")


def test_a_dropped_table_is_an_error_of_its_own(tmp_path: Path) -> None:
    files = open_files(str(tmp_path))
    for ask in ("5", "v4", "savepoint.1", "watermark-1"):
        with pytest.raises(NotFound, match=r"Table shop\.orders does not exist"):
            resolve_version(files, TABLE.root(), ask)


def test_a_real_table_is_travelled(warehouse: Path) -> None:
    files = open_files(str(warehouse))
    root = TablePath("shop", "orders").root()
    times = {each: Lineage(files, root).snapshot(each).time_millis for each in range(1, 6)}
    assert resolve_version(files, root, "v2").snapshot.id == 2
    assert resolve_version(files, root, "3").snapshot.id == 3
    for number, time_ms in times.items():
        assert resolve_time(files, root, time_ms).snapshot.id >= number
    with pytest.raises(NotFound):
        resolve_time(files, root, times[1] - 1)
    latest = resolve_latest(files, root)
    assert latest is not None
    assert latest.name == "snapshot.5"
    files.delete(root.snapshot(2))
    assert resolve_version(files, root, "snapshot.2").name == "v2"
    assert resolve_time(files, root, times[2]).name == "v2"
    assert open_table(warehouse, "shop.orders").tag_manager().get("v2").id == 2


def test_a_source_takes_versions_and_times_as_a_statement_writes_them(warehouse: Path) -> None:
    files = open_files(str(warehouse))
    root = TablePath("shop", "orders").root()
    source = TravelSource(files, root)
    travels: SupportsTimeTravel[Resolved] = source
    latest = resolve_latest(files, root)
    assert latest is not None
    now = latest.snapshot.time_millis
    assert travels.apply_snapshot(now).name == "snapshot.5"
    tagged, timed, too_old = (
        TableUse(("orders",), clause=Clause(words, 0, 0, version, time=f"'{time}'", literal=time))
        for words, version, time in [
            ("VERSION AS OF", "v2", None),
            ("TIMESTAMP AS OF", None, "2999-01-01"),
            ("FOR SYSTEM_TIME AS OF", None, "2001-01-01"),
        ]
    )
    sql = "SELECT 1"
    names = [source.as_written(sql, use, now_ms=now) for use in (TableUse(("orders",)), tagged, timed)]
    assert [each and each.name for each in names] == ["snapshot.5", "v2", "snapshot.5"]
    with pytest.raises(NotFound, match=about("old", "'2001-01-01'")):
        source.as_written(sql, too_old, now_ms=now)


def test_the_light_side_stays_light() -> None:
    heavy = "{'sqlglot', 'pypaimon', 'pyarrow', 'pandas', 'numpy', 'pyspark', 'fsspec'}"
    modules = "paimark.core.travel.version, paimark.core.travel.parse.sql, paimark.core.travel.resolving"
    code = f"import sys, {modules}\nprint({heavy} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
