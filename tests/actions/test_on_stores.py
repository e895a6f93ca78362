"""The actions do the same on an object store as on a disk."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paimark.core.actions.roots.root_files import root_files
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from paimark.core.table.layout import BARRIER
from paimark.core.table.lineage.main_branch import branch_names, main_root
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, contents, context_on, done, planned
from tests.faults.fault_files import Death, FaultFiles
from tests.long import long_but
from tests.storage.stores import BUCKET


@pytest.fixture(params=["memory", "s3", pytest.param("hdfs", marks=pytest.mark.long)])
def store(request: pytest.FixtureRequest, warehouse: Path, tmp_path: Path) -> Files:
    """A copy of the template warehouse on an object store."""
    if request.param == "memory":
        files = in_memory(tmp_path)
    elif request.param == "hdfs":
        files = open_files(f"{request.getfixturevalue('hdfs')}/{uuid.uuid4().hex}/warehouse")
    else:
        options = request.getfixturevalue("s3").options()
        files = open_files(f"s3://{BUCKET}/{tmp_path.name}/warehouse", options)
    return filled(files, warehouse)


@pytest.fixture
def memory(warehouse: Path, tmp_path: Path) -> Files:
    """A copy on a store that fsspec opens; `tests.actions.test_every_action_on_stores` has the others."""
    return filled(in_memory(tmp_path), warehouse)


def in_memory(tmp_path: Path) -> Files:
    return open_files(f"memory://{tmp_path.name}/warehouse")


def filled(files: Files, warehouse: Path) -> Files:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: files.create(*item), contents(warehouse).items()))
    return files


def test_savepoint_tag_branch_and_recovery(memory: Files, warehouse: Path) -> None:
    context = context_on(warehouse, memory)
    assert done(context, "create-savepoint", snapshot=3).result["savepoint_id"] == 1
    done(context, "create-tag", name="n")
    done(context, "create-branch", name="b", tag="savepoint.1")
    assert done(context, "create-savepoint", branch="b").result["savepoint_id"] == 2
    # The branch's is of a snapshot that main shares: main keeps it as well.
    of_main = SavepointManager(memory, ORDERS).of_root(ORDERS.root())
    assert [(each.id, each.saved_snapshot_id) for each in of_main] == [(1, 3), (2, 3)]
    done(context, "rename-tag", name="n", to="m")
    assert memory.read(ORDERS.root().tag("m")) == memory.read(ORDERS.root().snapshot(5))
    assert not memory.exists(ORDERS.root().tag("n"))

    with pytest.raises(Death):
        done(context_on(warehouse, FaultFiles(memory, 5)), "create-branch", name="c", tag="v2")
    memory.delete(ORDERS.root().tag("v2"))
    done(context, "recover")
    assert branch_names(memory, ORDERS) == ["b"]
    assert planned(context, "recover").empty


@pytest.mark.parametrize("store", long_but(["memory", "s3", "hdfs"], "memory"), indirect=True)
def test_creators_at_once_get_ids_of_their_own(store: Files, warehouse: Path) -> None:
    context = context_on(warehouse, store)
    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(lambda _: done(context, "create-savepoint"), range(6)))
    given = sorted(int(each.result["savepoint_id"] or 0) for each in outcomes)
    assert len(set(given)) == 6
    assert [each.id for each in SavepointManager(store, ORDERS).of_root(ORDERS.root())] == given
    assert planned(context, "recover").empty


def test_a_branch_becomes_main_and_is_taken_back(memory: Files, warehouse: Path) -> None:
    context = context_on(warehouse, memory)
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-branch", name="b", tag="savepoint.1")
    before = _table_directory(memory)
    archive = done(context, "replace-main-branch", name="b").result["previous_main"]
    assert main_root(memory, ORDERS) == ORDERS.root("b")
    assert sorted(branch_names(memory, ORDERS)) == sorted(["b", str(archive)])
    assert [each.id for each in SavepointManager(memory, ORDERS).of_root(ORDERS.root("b"))] == [1]
    assert sorted(_table_directory(memory)) == [
        "schema/schema-0",
        "snapshot/LATEST",
        f"snapshot/{BARRIER}",
        "tag/tag-savepoint.1",
        "tag/tag-v2",
    ]
    with pytest.raises(Death):
        done(context_on(warehouse, FaultFiles(memory, 9)), "undo")
    done(context, "recover")
    assert main_root(memory, ORDERS) == ORDERS.root("b")
    done(context, "undo")
    assert _table_directory(memory) == before
    done(context, "delete-branch", name="b")
    assert branch_names(memory, ORDERS) == []


def _table_directory(store: Files) -> dict[str, bytes]:
    own = ORDERS.root()
    return {name: store.read(f"{own.directory}/{name}") for name in root_files(store, own)}
