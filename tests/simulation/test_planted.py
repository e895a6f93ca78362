"""The simulation finds fixed faults when they are planted again: otherwise it would prove nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.schedules import stories
from tests.simulation.schedules.bench import Bench
from tests.simulation.schedules.cases import CASES
from tests.simulation.schedules.crash_points import CrashPoints
from tests.simulation.schedules.planted import PLANTS, planted
from tests.simulation.schedules.stories import run_story
from tests.simulation.world import Violation

# By the name of each fault, the crash point that finds it. A crash point is deterministic.
POINTS = {
    "a-commit-is-looked-for-in-the-next-snapshot-alone": (
        "merge: die after write 17, others commit and all that is old expires"
    ),
    "expiry-passes-a-commit-that-is-being-made": "merge: die after write 16, others commit and main expires",
    "a-rollback-makes-an-archive-somebodys": "pointer: die after write 16, main is rolled back",
    "a-deletion-takes-what-came-after-its-decision": "branch goes: die after write 6, others commit",
    "a-recovery-takes-another-branch-for-the-one-that-goes": (
        "branch without commits goes: die after write 6, another branch gets its name"
    ),
    "a-recovery-moves-another-branch-of-the-name": (
        "branch is retired: die after write 16, another branch gets its name"
    ),
    "a-recovery-writes-into-a-branch-of-another-engine": (
        "branch from a tag of engines: die after write 5, another branch gets its name"
    ),
    "a-stock-engine-moves-main-to-a-branch-that-goes": (
        "branch goes: die after write 8, main is fast-forwarded"
    ),
    "an-expiry-goes-on-in-a-branch-that-is-gone": (
        "expiry of a branch: die after write 4, the branch is deleted"
    ),
    "an-undo-tells-of-a-branch-that-is-gone": "undo of a pointer: die after write 29, the branch is deleted",
    "a-merge-copies-tags-of-a-branch-that-is-gone": "fast-forward: die after write 16, the branch is deleted",
    "an-undo-takes-a-snapshot-out-of-another-branch": (
        "undo of a pointer, a tag of main's past: die after write 32, another branch gets its name"
    ),
    "jobs-can-not-tell-that-an-archive-goes": "undo of a pointer: die after write 26, open jobs go on",
    "a-recovery-deletes-a-tag-that-was-made-again": "tag goes: die after write 4, its tags are made again",
    "a-schema-goes-that-a-job-may-use": "merge with a column: die after write 12, open jobs wait",
    "a-branch-without-a-schema-is-not-named": "branch goes: die after write 9, open jobs wait",
    "a-moved-root-loses-what-came-late": "branch is retired: die after write 13, others commit",
}
STORIES = {
    "a-branch-stands-on-its-first-snapshot": stories.a_tag_goes_that_a_branch_stands_on,
    "a-deletion-takes-what-its-plan-did-not-see": stories.a_job_commits_to_a_branch_that_is_deleted,
    "no-barrier-for-open-sessions": stories.an_open_session_reads_a_replaced_main,
    "main-does-not-know-what-a-branch-keeps": stories.a_branch_keeps_what_main_expires,
    "a-savepoint-without-its-tag-stays-so": stories.another_engine_rolls_main_back_past_a_savepoint,
    "a-tag-that-main-lost-makes-an-archive-somebodys": (
        stories.an_engine_deletes_its_tag_while_an_undo_stands_still
    ),
    "main-loses-its-tags-with-those-of-its-copy": (
        stories.a_job_commits_to_an_archive_before_its_undo_is_recovered
    ),
    "a-rollback-counts-that-was-taken-back": stories.another_engine_takes_a_rollback_of_a_merge_back,
    "nothing-stands-against-an-undo": stories.a_protected_tag_is_in_the_way_of_an_undo,
    "engines-make-tags-of-branches": stories.a_job_on_a_branch_makes_tags_by_itself,
    "a-branch-stands-on-a-tag-of-engines": stories.an_engine_deletes_the_tag_that_a_branch_stands_on,
}


def test_each_fault_has_what_finds_it() -> None:
    assert {*POINTS, *STORIES} == {*PLANTS}


@pytest.mark.parametrize(("name", "wanted"), POINTS.items())
def test_a_crash_point_finds_it(name: str, wanted: str) -> None:
    [case] = [each for each in CASES if wanted.startswith(f"{each.name}: ")]
    crashes = CrashPoints(case)
    [point] = [each for each in crashes.points() if str(each) == wanted]
    crashes.run(point)
    with planted(name), pytest.raises(Violation):
        crashes.run(point)


@pytest.mark.parametrize(("name", "story"), STORIES.items())
def test_a_story_finds_it(name: str, story: Callable[[Bench], None]) -> None:
    run_story(story)
    with planted(name), pytest.raises(Violation):
        run_story(story)
