"""A commit that is refused leaves nothing behind; where nobody knows whether it landed, its files stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.errors import Cancelled, Refused, Unavailable, is_uncommitted
from paimark.core.spark.writing.target import WriteTarget, find_target
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import each_needed_file
from tests.full_disk import no_file_over
from tests.interop.written import Table
from tests.paimon import commit, open_table, read_rows
from tests.spark.library.ways import commit_begun, names_of, upserts_begun, write_begun
from tests.wording import about

ADDED = range(100, 120)
COLUMNS = {"k": "INT", "v": "INT"}
ROWS = [(1, 1), (2, 2)]
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("v", pa.int32())])


@pytest.fixture(params=[{"bucket": "1"}, {"bucket": "-1"}], ids=["fixed", "dynamic"])
def table(spark_of_library: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Table:
    options = {**request.param, "commit.max-retries": "2", "commit.max-retry-wait": "1 ms"}
    name = "d.dynamic" if request.param["bucket"] == "-1" else "d.fixed"
    table = Table(tmp_path, name, COLUMNS, keys=["k"], options=options)
    table.write(ROWS)
    return table


def begun(table: Table, *, overwrite: bool = False, pinned: bool = False) -> tuple[WriteTarget, Any]:
    """Rows that are written and wait for their commit; `pinned` to the newest snapshot."""
    target = find_target({"warehouse": str(table.warehouse), "table": table.name}, overwrite)
    if pinned:
        newest = lineage(table).latest()
        assert newest is not None
        target = msgspec.structs.replace(target, head=newest.to_json().decode())
    batch = pa.RecordBatch.from_pydict({"k": [3, 4], "v": [3, 4]}, schema=SCHEMA)
    return target, write_begun(target, batch)


def lineage(table: Table) -> Lineage:
    return Lineage(LocalFiles(str(table.warehouse)), TablePath(*table.name.split(".")).root())


def another(table: Table, key: int = 9) -> None:
    commit(table.warehouse, table.name, pa.table({"k": [key], "v": [0]}, schema=SCHEMA))


def unowned(table: Table) -> set[str]:
    """Files that no snapshot needs, but for the table's own small ones."""
    own = lineage(table)
    root = own.root
    needed = {file.path for each in own.snapshots() for file in each_needed_file(own.files, root, each)}
    there = {str(path.relative_to(table.warehouse)) for path in table.files()}
    small = (root.snapshots, root.schemas, root.table.operations)
    return {path for path in there - needed if not path.startswith(small)}


@contextmanager
def instead_of_create(act: Callable[[LocalFiles, str, bytes], bool]) -> Iterator[None]:
    """Inside, a snapshot's file is created by `act`."""
    create = LocalFiles.create
    with pytest.MonkeyPatch.context() as patch:

        def acting(files: LocalFiles, path: str, data: bytes) -> bool:
            return act(files, path, data) if "/snapshot/" in path else create(files, path, data)

        patch.setattr(LocalFiles, "create", acting)
        yield


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_newest_snapshot_is_another(table: Table, overwrite: bool) -> None:
    target, written = begun(table, overwrite=overwrite, pinned=True)
    another(table)
    with pytest.raises(Refused, match=about(table.name, "moved", "written")):
        commit_begun(target, written)
    assert unowned(table) == set()
    assert lineage(table).latest_id() == 2


def test_the_definition_is_another(table: Table) -> None:
    target, written = begun(table)
    schema = table.directory / "schema" / "schema-0"
    changed = {**msgspec.json.decode(schema.read_bytes()), "id": 1}
    schema.with_name("schema-1").write_bytes(msgspec.json.encode(changed))
    with pytest.raises(Refused, match="definition of d"):
        commit_begun(target, written)
    assert unowned(table) == set()


def test_a_commit_does_not_hide_that_newest_snapshots_were_lost(table: Table) -> None:
    another(table)
    (table.directory / "snapshot" / "snapshot-2").unlink()
    of_lost = unowned(table)
    with pytest.raises(Refused, match=about("lost", "LATEST", "2", "1")):
        commit_begun(*begun(table))
    assert unowned(table) == of_lost
    assert lineage(table).latest_id() == 1


@pytest.mark.parametrize("now", ["held", "released", "another's", "taken over"])
def test_the_change_that_makes_it_may_be_recovered_by_another(table: Table, now: str) -> None:
    """Its own process died, and this one has not heard of that yet."""
    target, written = begun(table)
    entry = target.root.table.journal_step("mine", 3)
    target = msgspec.structs.replace(target, lock="mine", next_entry=entry)
    lock = table.warehouse / target.root.table.journal
    lock.parent.mkdir(exist_ok=True)
    if now != "released":
        lock.write_bytes(msgspec.json.encode({"token": "theirs" if now == "another's" else "mine"}))
    if now == "taken over":
        (table.warehouse / entry).write_bytes(b"{}")
    if now == "held":
        commit_begun(target, written)
    else:
        with pytest.raises(Refused, match=about("another process", table.name)):
            commit_begun(target, written)
    lock.unlink(missing_ok=True)
    (table.warehouse / entry).unlink(missing_ok=True)
    assert unowned(table) == set()
    assert lineage(table).latest_id() == (2 if now == "held" else 1)


def test_it_is_cancelled_while_others_are_faster(table: Table) -> None:
    cancellation = Cancellation()

    def slowly(files: LocalFiles, path: str, data: bytes) -> bool:
        cancellation.cancel()
        return False

    target, written = begun(table)
    with cancellable(cancellation), instead_of_create(slowly), pytest.raises(Cancelled):
        commit_begun(target, written)
    assert unowned(table) == set()


def test_others_are_faster(table: Table) -> None:
    create = LocalFiles.create
    faster = iter([20])

    def slowly(files: LocalFiles, path: str, data: bytes) -> bool:
        for key in faster:
            another(table, key)
        return create(files, path, data)

    target, written = begun(table)
    with instead_of_create(slowly):
        if table.name == "d.dynamic":
            with pytest.raises(Refused, match=about("another writer", "d.dynamic", "buckets")):
                commit_begun(target, written)
        else:
            commit_begun(target, written)
    assert unowned(table) == set()
    rows = {row["k"]: row["v"] for row in read_rows(table.warehouse, table.name)}
    assert rows == {1: 1, 2: 2, 20: 0, **({} if table.name == "d.dynamic" else {3: 3, 4: 4})}


def test_it_landed_though_the_store_said_otherwise(table: Table) -> None:
    create = LocalFiles.create

    def lying(files: LocalFiles, path: str, data: bytes) -> bool:
        create(files, path, data)
        raise Unavailable("The connection was lost")

    target, written = begun(table)
    with instead_of_create(lying):
        commit_begun(target, written)
    assert lineage(table).latest_id() == 2
    assert unowned(table) == set()


def test_a_local_disk_that_is_full_has_certainly_not_committed_it(table: Table) -> None:
    create = LocalFiles.create

    def full(files: LocalFiles, path: str, data: bytes) -> bool:
        with no_file_over(10):
            return create(files, path, data)

    target, written = begun(table)
    with (
        instead_of_create(full),
        pytest.raises(Unavailable, match=about("snapshot-2", "file too large")) as failed,
    ):
        commit_begun(target, written)
    assert failed.value.hint.startswith("Nothing was committed.") and is_uncommitted(failed.value)
    assert unowned(table) == set()
    commit_begun(*begun(table))
    assert len(read_rows(table.warehouse, table.name)) == 4


def test_nobody_knows_whether_it_landed(table: Table) -> None:
    def silent(files: LocalFiles, path: str, data: bytes) -> bool:
        raise Unavailable("The connection was lost")

    target, written = begun(table)
    with (
        instead_of_create(silent),
        pytest.raises(
            Unavailable,
            match=about("not known", table.name, "The connection was lost"),
        ),
    ):
        commit_begun(target, written)
    data = names_of(written)
    assert data
    assert data <= {Path(path).name for path in unowned(table)}


def test_nobody_knows_and_then_it_is_refused(table: Table) -> None:
    """The first try may have landed and been rolled back since, for all that can be told."""

    def silent(files: LocalFiles, path: str, data: bytes) -> bool:
        back.undo()
        another(table)
        raise Unavailable("The connection was lost")

    target, written = begun(table, pinned=True)
    with instead_of_create(silent), pytest.MonkeyPatch.context() as back:
        back.setattr(LocalFiles, "create", LocalFiles.create)
        with pytest.raises(Unavailable, match=about("not known", table.name)):
            commit_begun(target, written)
    assert any(path.endswith(".parquet") for path in unowned(table))


def test_the_store_keeps_no_conditions(table: Table) -> None:
    """It is told at once, and not tried a hundred times."""
    tries = []

    def refused(files: LocalFiles, path: str, data: bytes) -> bool:
        tries.append(path)
        raise Refused("s3://lake: both of 2 writers won")

    target, written = begun(table)
    with instead_of_create(refused), pytest.raises(Refused, match="both of 2 writers won"):
        commit_begun(target, written)
    assert len(tries) == 1 and unowned(table) == set()


@pytest.fixture
def unkeyed(spark_of_library: SparkSession, tmp_path: Path) -> Table:
    table = Table(tmp_path, "d.unkeyed", COLUMNS, options={"commit.max-retry-wait": "1 ms"})
    table.write(ROWS)
    return table


def test_rows_that_may_go_on_are_committed_on_what_others_committed_at_each_try(unkeyed: Table) -> None:
    target, written = begun(unkeyed, pinned=True)
    target = msgspec.structs.replace(target, may_go_on=True, known=1)
    create, left = LocalFiles.create, [7, 8, 9]

    def after_another(files: LocalFiles, path: str, data: bytes) -> bool:
        if left:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(LocalFiles, "create", create)
                another(unkeyed, left.pop())
        return create(files, path, data)

    def data() -> int:
        return len([path for path in unkeyed.files() if path.parent.name.startswith("bucket-")])

    before = data()
    with instead_of_create(after_another):
        commit_begun(target, written)
    assert lineage(unkeyed).latest_id() == 5 and unowned(unkeyed) == set()
    assert sorted(row["k"] for row in read_rows(unkeyed.warehouse, unkeyed.name)) == [1, 2, 3, 4, 7, 8, 9]
    # Theirs alone: ours were written once, before.
    assert data() - before == 3


def test_rows_that_may_go_on_are_not_committed_after_a_rollback(unkeyed: Table) -> None:
    another(unkeyed)
    target, written = begun(unkeyed, pinned=True)
    target = msgspec.structs.replace(target, may_go_on=True, known=2)
    (unkeyed.directory / "snapshot/snapshot-2").unlink()
    (unkeyed.directory / "snapshot/LATEST").write_text("1")
    for key in (7, 8):
        another(unkeyed, key)
    with pytest.raises(Refused, match=about("d.unkeyed", "moved", "written")):
        commit_begun(target, written)


@pytest.fixture
def keyed(spark_of_library: SparkSession, tmp_path: Path) -> Table:
    options = {"bucket": "1", "commit.max-retry-wait": "1 ms"}
    table = Table(tmp_path, "d.keyed", COLUMNS, keys=["k"], options=options)
    table.write([(1, 1), (2, 2), (5, 5)])
    return table


def begun_beside(table: Table) -> tuple[WriteTarget, Any]:
    """Upserts of the keys 3, 5 and `ADDED`."""
    newest = lineage(table).latest()
    assert newest is not None
    target = find_target({"warehouse": str(table.warehouse), "table": table.name}, False)
    target = msgspec.structs.replace(target, head=newest.to_json().decode(), may_go_on=True)
    keys = [3, 5, *ADDED]
    return target, upserts_begun(target, pa.RecordBatch.from_pydict({"k": keys, "v": keys}, schema=SCHEMA))


def values(table: Table) -> dict[int, int]:
    """The rows, without those of `ADDED`."""
    rows = read_rows(table.warehouse, table.name)
    return {row["k"]: row["v"] for row in rows if row["k"] not in ADDED}


@contextmanager
def before_each_try(*deeds: Callable[[], object]) -> Iterator[None]:
    """Inside, each deed is done right before one try to create a snapshot."""
    create, left = LocalFiles.create, [*deeds]

    def act(files: LocalFiles, path: str, data: bytes) -> bool:
        if left:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(LocalFiles, "create", create)
                left.pop(0)()
        return create(files, path, data)

    with instead_of_create(act):
        yield
    assert not left


def test_upserts_go_behind_a_commit_of_other_keys_at_each_try(keyed: Table) -> None:
    target, written = begun_beside(keyed)
    with before_each_try(*(partial(another, keyed, key) for key in (7, 1, 8))):
        commit_begun(target, written)
    newest = lineage(keyed).latest()
    assert newest is not None and (newest.id, newest.commit_kind) == (5, "APPEND")
    assert values(keyed) == {1: 0, 2: 2, 3: 3, 5: 5, 7: 0, 8: 0} and unowned(keyed) == set()


@pytest.mark.parametrize("key", [3, 5])
def test_upserts_do_not_go_behind_a_commit_of_a_key_that_they_change(keyed: Table, key: int) -> None:
    target, written = begun_beside(keyed)
    with (
        before_each_try(partial(another, keyed, 7), partial(another, keyed, key)),
        pytest.raises(Refused, match=about("d.keyed", "moved", "written", "snapshot 1", "3")),
    ):
        commit_begun(target, written)
    assert values(keyed) == {1: 1, 2: 2, 5: 5, 7: 0} | {key: 0} and unowned(keyed) == set()


def test_what_came_is_read_again_after_a_rollback(keyed: Table) -> None:
    """The snapshot of the last try has gone, and its id is another's, with a key that changes."""
    target, written = begun_beside(keyed)

    def roll_back() -> None:
        (keyed.directory / "snapshot/snapshot-2").unlink()
        (keyed.directory / "snapshot/LATEST").write_text("1")
        another(keyed, 3)
        another(keyed, 8)

    with (
        before_each_try(partial(another, keyed, 7), roll_back),
        pytest.raises(Refused, match=about("d.keyed", "moved", "written", "snapshot 1", "3")),
    ):
        commit_begun(target, written)
    assert values(keyed) == {1: 1, 2: 2, 3: 0, 5: 5, 8: 0}


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"schema_id": 7},
        {"file_size": 1 << 30},
    ],
    ids=str,
)
def test_a_later_file_does_not_stay_if_its_attributes_do_not_tell_enough(
    keyed: Table, attributes: dict[str, Any]
) -> None:
    """With none changed it stays. It may be of another definition, or large."""
    target, written = begun_beside(keyed)
    builder = open_table(keyed.warehouse, keyed.name).new_batch_write_builder()
    write, committing = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.table({"k": [1], "v": [0]}, schema=SCHEMA))
    [message] = write.prepare_commit()
    vars(message.new_files[0]).update(attributes)
    committing.commit([message])
    if not attributes:
        commit_begun(target, written)
        assert values(keyed) == {1: 0, 2: 2, 3: 3, 5: 5}
        return
    with pytest.raises(Refused, match=about("d.keyed", "moved", "written", "snapshot 1", "2")):
        commit_begun(target, written)
