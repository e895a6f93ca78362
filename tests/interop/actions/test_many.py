"""A change of many dies, stock Paimon commits and expires, and only then somebody recovers and goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import read_operations
from paimark.core.verify import verify
from tests.actions.acting import context_on, done, planned
from tests.faults.fault_files import Death, FaultFiles, WatchedWrites
from tests.interop.actions.test_garbage_collection import grow, make_table, some_rows
from tests.interop.judge import Judge
from tests.interop.ours import act
from tests.wording import about

# Every so many writes one is the last.
EVERY = 5
TABLE = parse_table_name("shop.t")


@pytest.fixture
def tagged(judge: Judge, tmp_path: Path) -> Path:
    """A warehouse in which only tags n-1 to n-4 keep old files, some of them together."""
    warehouse = tmp_path / "warehouse"
    make_table(warehouse, "primary key")
    grow(judge, warehouse, "shop.t", "primary key", range(1, 5))
    for number in range(1, 5):
        act(warehouse, "create-tag", "shop.t", name=f"n-{number}", snapshot=number)
    judge.write(warehouse, "shop.t", some_rows("primary key", 6))
    judge.compact(warehouse, "shop.t")
    judge.expire(warehouse, "shop.t")
    return warehouse


def copies(warehouse: Path, action_name: str, /, **arguments: object) -> list[Path]:
    """The warehouse as a kill leaves it, after some of the writes of an action, and whole at the end."""
    whole = shutil.copytree(warehouse, warehouse.with_name("whole"))
    watched = WatchedWrites(LocalFiles(str(whole)))
    done(context_on(whole, watched), action_name, TABLE, **arguments)
    left = []
    for number in range(1, len(watched.writes), EVERY):
        copy = shutil.copytree(warehouse, warehouse.with_name(f"killed-{number}"))
        dying = context_on(copy, FaultFiles(LocalFiles(str(copy)), number))
        with pytest.raises(Death):
            done(dying, action_name, TABLE, **arguments)
        left.append(copy)
    return [*left, whole]


def time_passes(judge: Judge, copy: Path) -> Context:
    judge.write(copy, "shop.t", some_rows("primary key", 8))
    judge.compact(copy, "shop.t")
    judge.expire(copy, "shop.t")
    context = context_on(copy)
    done(context, "recover", TABLE)
    assert verify(context, TABLE).problems == ()
    assert planned(context, "recover", TABLE).empty
    return context


def tags(context: Context) -> set[str]:
    return set(Lineage(context.files, TABLE.root()).tag_names())


@pytest.mark.long
def test_the_rest_of_many_deletions_is_named_and_can_be_done(judge: Judge, tagged: Path) -> None:
    given = [f"n-{number}" for number in range(1, 5)]
    rows = {name: judge.read(tagged, "shop.t", tag=name) for name in given}
    sizes = set()
    for copy in copies(tagged, "delete-tag", name=given):
        context = time_passes(judge, copy)
        left, logged = tags(context), len(read_operations(context.files, TABLE)) - 4
        assert left == set(given[logged:])
        for name in left:
            assert judge.read(copy, "shop.t", tag=name) == rows[name]
        told = " ".join(planned(context, "recover", TABLE).warnings)
        named = f"Not in it: {', '.join(f'tag {each}' for each in sorted(left))}. Run delete-tag"
        assert (named in told) == (0 < logged < 4)
        if left:
            done(context, "delete-tag", TABLE, name=sorted(left))
        assert tags(context) == set() and planned(context, "recover", TABLE).warnings == ()
        judge.clean_orphans(copy, "shop.t")
        sizes.add(len(list(copy.glob("shop.db/t/bucket-0/*"))))
    assert len(sizes) == 1


def test_what_was_made_of_many_can_be_undone_or_gone_on_with(judge: Judge, tagged: Path) -> None:
    """A tag of which the log does not know was made, and its process killed before it was written down."""
    judge.write(tagged, "shop.t", some_rows("primary key", 7))
    snapshots = Lineage(context_on(tagged).files, TABLE.root()).snapshot_ids()
    given = {f"new-{number}": number for number in snapshots[-2:]}
    rows = {name: judge.read(tagged, "shop.t", snapshot=number) for name, number in given.items()}
    before = {f"n-{number}" for number in range(1, 5)}
    for copy in copies(tagged, "create-tag", name="new-{id}", snapshot=[*given.values()]):
        context = time_passes(judge, copy)
        made, logged = tags(context) - before, len(read_operations(context.files, TABLE)) - 4
        assert len(made) - logged in (0, 1)
        for name in made:
            assert judge.read(copy, "shop.t", tag=name) == rows[name]
        told = " ".join(planned(context, "recover", TABLE).warnings)
        assert bool(about("`paimark undo shop.t`", "others").search(told)) == (0 < logged < len(given))
        if logged:
            done(context, "undo", TABLE)
        assert len(tags(context) - before) == len(made) - logged
        assert planned(context, "recover", TABLE).warnings == ()
        assert verify(context, TABLE).problems == ()
