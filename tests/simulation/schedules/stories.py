"""The exact steps that once led to a fault: with the fault planted again, a judge must find it.

Random schedules find some of these faults too rarely.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.simulation.actors.deterministic import deterministic
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import schema_json
from tests.simulation.judging import view
from tests.simulation.schedules.bench import Bench
from tests.simulation.stock.reader import StockReader
from tests.simulation.world import TABLE

_OLDER = 3
# The number of the undo's last write before its finish, on these tables.
_MAIN_IS_BACK = 24
# The number of its write of the main-branch file, on these tables.
_MAIN_IS_NAMED = 9


def a_tag_goes_that_a_branch_stands_on(bench: Bench) -> None:
    """The branch has expired its first snapshot, and still reads the files of that snapshot."""
    _branch(bench)
    bench.act("expire-snapshots", branch="b", retain_last=1)
    bench.act("delete-tag", name="fork")
    bench.write(None, "overwrite")
    bench.expire()


def a_job_commits_to_a_branch_that_is_deleted(bench: Bench) -> None:
    """The commit comes after the plan, while somebody reads it."""
    _branch(bench)
    bench.ours("ours").do("delete-branch", lambda: bench.write("b"), name="b")


def an_open_session_reads_a_replaced_main(bench: Bench) -> None:
    _branch(bench)
    reader = StockReader(bench.world, Actor("reader"), TABLE.root())
    bench.act("replace-main-branch", name="b")
    bench.alone(reader.read)


def a_branch_keeps_what_main_expires(bench: Bench) -> None:
    """The branch has a savepoint of a snapshot that it shares with main after a fast-forward."""
    bench.act("create-tag", name="now")
    bench.act("create-branch", name="b", tag="now")
    bench.write("b", "append", "append")
    bench.act("merge-branch", name="b")
    bench.act("create-savepoint", branch="b", snapshot=_OLDER + 2)
    bench.write(None, "overwrite")
    bench.expire()


def another_engine_rolls_main_back_past_a_savepoint(bench: Bench) -> None:
    """The rollback deletes the savepoint's tag; its files would expire after the recovery."""
    bench.act("create-savepoint")
    bench.write()
    bench.world.stock_may_drop = TABLE.root()
    bench.maintenance().roll_back(2)
    bench.world.stock_may_drop = None
    bench.act("recover")
    bench.write()
    bench.expire()


def a_job_on_a_branch_makes_tags_by_itself(bench: Bench) -> None:
    """Engines create a branch's automatic tags among main's, and check only main's references on deletion."""
    options = {"tag.automatic-creation": "process-time", "tag.num-retained-max": "1"}
    bench.world.store.put(TABLE.root().schema(0), schema_json(0, keyed=False, options=options), 0)
    _branch(bench)
    bench.alone(lambda: bench.write("b", "overwrite", "append", "append"))


def an_engine_deletes_the_tag_that_a_branch_stands_on(bench: Bench) -> None:
    """The tag is an automatic one, which the engine deletes later."""
    bench.maintenance().create_tag("2026-05-01", _OLDER + 1)
    bench.act("create-branch", name="b", tag="2026-05-01")
    bench.write("b")
    bench.write(None, "overwrite")
    bench.expire()
    bench.maintenance().delete_own_tags()


def an_engine_deletes_its_tag_while_an_undo_stands_still(bench: Bench) -> None:
    """Recovery deletes the archive once its main is back, with the tags that main has lost since."""
    bench.maintenance().create_tag("2026-05-01", _OLDER + 1)
    bench.write(None, "overwrite")
    _branch(bench)
    bench.act("replace-main-branch", name="b")
    bench.dies(_MAIN_IS_BACK, "die after", "undo")
    bench.write(None, "overwrite")
    bench.maintenance().delete_own_tags()
    bench.expire()


def a_job_commits_to_an_archive_before_its_undo_is_recovered(bench: Bench) -> None:
    """The archive stays, and gives up its copies of main's tags, whose snapshots have expired."""
    bench.act("create-tag", name="past", snapshot=_OLDER - 1)
    bench.write(None, "overwrite")
    bench.expire()
    _branch(bench)
    archive = _archive(bench)
    bench.dies(_MAIN_IS_NAMED, "die after", "undo")
    bench.write(archive)


def another_engine_takes_a_rollback_of_a_merge_back(bench: Bench) -> None:
    """Main has the merged rows again, so the next merge must not add them twice."""
    _branch(bench)
    bench.act("merge-branch", name="b", on_conflict="branch")
    merged = max(view.snapshots(bench.world.store, TABLE.root()))
    bench.act("rollback", to=f"snapshot.{_OLDER + 1}")
    bench.world.stock_may_drop = TABLE.root()
    bench.maintenance().roll_back(merged)
    bench.world.stock_may_drop = None
    bench.act("merge-branch", name="b", on_conflict="branch")


def a_protected_tag_is_in_the_way_of_an_undo(bench: Bench) -> None:
    """The undo would delete the tag."""
    bench.act("create-tag", name="paid")
    bench.act("protect", tag="paid", reason="the audit")
    bench.act("undo")


def run_story(story: Callable[[Bench], None]) -> None:
    """Run a story on a table of four commits with a tag `fork` at the third. Raises `Violation`."""
    bench = Bench(Random(story.__name__), "local")
    with deterministic(bench.scheduler, Random("names")):
        bench.create_table({})
        for _ in range(_OLDER):
            bench.write()
        bench.act("create-tag", name="fork")
        bench.write()
        story(bench)
        bench.rest()


def _archive(bench: Bench) -> str | None:
    """Make branch b main; return the branch that keeps the previous one."""
    bench.act("replace-main-branch", name="b")
    [archive] = [each for each in view.roots(bench.world.store) if each.label.startswith("main-")]
    return archive.branch


def _branch(bench: Bench) -> None:
    bench.act("create-branch", name="b", tag="fork")
    bench.write("b")
    bench.write("b")
