"""Resolution against a model that looks at every state there is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.errors import NotFound
from paimark.core.table.records import Snapshot
from paimark.core.travel.version import resolve_time, resolve_version
from tests.long import unhurried
from tests.travel.roots import Layout, snapshot


@st.composite
def layouts(draw: st.DrawFn, any_clocks: bool = False) -> Layout:
    """A history of up to 20 commits, of which any may have expired and any may be kept.

    With `any_clocks` times and watermarks may fall from one commit to the next.
    """
    count = draw(st.integers(0, 20))
    lowest = -3 if any_clocks else 0
    steps = draw(st.lists(st.integers(lowest, 3), min_size=count, max_size=count))
    watermark = 0
    history: list[Snapshot] = []
    for number, step in enumerate(steps, start=1):
        watermark = max(0, watermark + draw(st.integers(lowest, 2)))
        time_ms = (history[-1].time_millis if history else 1000) + step
        history.append(snapshot(number, time_ms, watermark or None))
    if not history:
        return Layout([])
    some = st.lists(st.sampled_from(history), max_size=4)
    tags = {f"t{number}": kept for number, kept in enumerate(draw(some))}
    if draw(st.booleans()):
        tags[str(draw(st.integers(1, count)))] = draw(st.sampled_from(history))
    live = [each for each in history if draw(st.booleans())]
    return Layout(live, tags, dict(enumerate(draw(some), start=1)))


def states(layout: Layout) -> list[Snapshot]:
    return [*layout.snapshots, *layout.tags.values(), *layout.savepoints.values()]


@unhurried(200)
@given(layouts() | layouts(any_clocks=True), st.lists(st.integers(995, 1065), min_size=1, max_size=5))
def test_a_time_is_the_newest_state_not_after_it(layout: Layout, times: list[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        files, root = layout.write(Path(directory))
        for time_ms in times:
            candidates = [each for each in states(layout) if each.time_millis <= time_ms]
            if not candidates:
                with pytest.raises(NotFound):
                    resolve_time(files, root, time_ms)
                continue
            newest = max(each.time_millis for each in candidates)
            resolved = resolve_time(files, root, time_ms)
            assert resolved.snapshot.time_millis == newest <= time_ms
            live = [each.id for each in layout.snapshots if each.time_millis == newest]
            assert (resolved.kind == "snapshot") == bool(live)
            if live:
                assert resolved.snapshot.id == max(live)
            else:
                assert resolved.note


@unhurried(200)
@given(layouts(), st.integers(0, 22))
def test_a_number_is_its_tag_or_its_snapshot_or_what_saved_it(layout: Layout, number: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        files, root = layout.write(Path(directory))
        for asked in (str(number), f"snapshot.{number}"):
            tagged = layout.tags.get(asked)
            known = [each for each in states(layout) if each.id == number]
            # Only a rollback takes the newest snapshot away.
            is_past = not layout.snapshots or number <= layout.snapshots[-1].id
            if tagged is not None:
                resolved = resolve_version(files, root, asked)
                assert (resolved.kind, resolved.snapshot.id) == ("tag", tagged.id)
            elif known and is_past:
                resolved = resolve_version(files, root, asked)
                assert resolved.snapshot.id == number
                assert (resolved.kind == "snapshot") == any(each.id == number for each in layout.snapshots)
                saved = any(each.id == number for each in layout.savepoints.values())
                assert (resolved.kind == "savepoint") == (saved and resolved.kind != "snapshot")
            else:
                with pytest.raises(NotFound, match=rf"no version '{asked}'"):
                    resolve_version(files, root, asked)


@unhurried(100)
@given(layouts())
def test_every_tag_and_savepoint_answers_by_name(layout: Layout) -> None:
    with tempfile.TemporaryDirectory() as directory:
        files, root = layout.write(Path(directory))
        for name, kept in layout.tags.items():
            assert resolve_version(files, root, name).snapshot.id == kept.id
        for savepoint_id, kept in layout.savepoints.items():
            resolved = resolve_version(files, root, f"savepoint.{savepoint_id}")
            assert (resolved.kind, resolved.snapshot.id) == ("savepoint", kept.id)


@unhurried(100)
@given(layouts() | layouts(any_clocks=True), st.integers(-1, 45))
def test_a_watermark_is_the_first_snapshot_to_reach_it(layout: Layout, watermark: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        files, root = layout.write(Path(directory))
        reached = [
            each.id for each in layout.snapshots if each.watermark is not None and each.watermark >= watermark
        ]
        if reached:
            assert resolve_version(files, root, f"watermark-{watermark}").snapshot.id == min(reached)
        else:
            with pytest.raises(NotFound):
                resolve_version(files, root, f"watermark-{watermark}")
