"""A snapshot that is read stays while it is read, and nothing of that stays after."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from paimark.core.actions import recover
from paimark.core.actions.change import driver
from paimark.core.actions.context import Context, open_context
from paimark.core.actions.plan import Outcome
from paimark.core.actions.registry import action
from paimark.core.actions.roots.barrier import put_before_removal
from paimark.core.actions.tags.delete_tag import left_reads
from paimark.core.errors import StatementFailed
from paimark.core.spark.client.client import Engine
from paimark.core.spark.engine import holding_reads
from paimark.core.spark.engine.holding_reads import Held, HeldReads
from paimark.core.spark.protocol import Failed, Reading, StageProgress
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import manifest_list_paths, missing_of
from paimark.core.table.read_tags import READ_TAG_PREFIX, is_read_tag, is_stale, read_tag_name, retained_text
from paimark.core.travel.states import States
from tests.actions.acting import applied, codes, context_on, done, planned
from tests.eventually import eventually
from tests.spark.engine_fixture import ask, in_order, rows
from tests.spark.writing.test_write import own_table
from tests.spark.written_tables import lineage_of
from tests.wording import about

ORDERS = parse_table_name("shop.orders")
_READER = """
import sys, time
from paimark.core.spark.engine import holding_reads
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from paimark.core.spark.protocol import Reading
holding_reads._WORTH_IT_SECONDS = 0
held = holding_reads.Held(parse_table_name("shop.orders").root(), 2)
with holding_reads.HeldReads(LocalFiles(sys.argv[1]), False).held({held: Reading("t", "v", "s")}, print):
    time.sleep(600)
"""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding_reads, "_WORTH_IT_SECONDS", 0.0)


def read_tags(lineage: Lineage) -> list[str]:
    return [name for name in lineage.tag_names() if is_read_tag(name)]


def recovered(context: Context, table: TablePath) -> Outcome:
    return recover.apply(context, action("recover").plan(context, table, {}), print)


def context_of(warehouse: Path) -> Context:
    return open_context(str(warehouse), {"paimark.verify-wait": "0 s"}, read_only=False)


def expired(warehouse: Path, table: TablePath) -> None:
    """All snapshots but the newest."""
    context = context_of(warehouse)
    plan = action("expire-snapshots").plan(context, table, {"retain_last": 1, "older_than": "0 s"})
    assert not plan.refusals
    driver.apply(context, plan, print)


def test_an_expiry_does_not_take_what_a_statement_reads(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "repeatable")
    lineage, table = lineage_of(engine_warehouse, name), parse_table_name(name)
    before = in_order(rows(engine, f"SELECT * FROM {name} VERSION AS OF 3"))
    assert read_tags(lineage) == []
    events = engine.run(f"SELECT count(*) FROM {name} VERSION AS OF 3 CROSS JOIN range(100000000000)")
    next(event for event in events if isinstance(event, StageProgress))
    [tag] = eventually(lambda: read_tags(lineage))
    assert retained_text(lineage.tag(tag)) == "PT24H" and lineage.tag(tag).id == 3
    expired(engine_warehouse, table)
    assert not lineage.has_snapshot(3)
    engine.cancel()
    *_, end = events
    assert isinstance(end, Failed) and end.cause == "cancelled"
    # Only this tag keeps them now, so it is given to whoever recovers the table.
    [left] = read_tags(lineage)
    assert left != tag
    assert in_order(rows(engine, f"SELECT * FROM {name} VERSION AS OF '{left}'")) == before
    # No version that people ask for is found in it.
    failure = ask(engine, f"SELECT * FROM {name} VERSION AS OF 3").failure
    assert failure.message == f"{name} has no version '3': only snapshot 5 exists"
    manifests = set(engine_warehouse.joinpath(table.manifests).iterdir())
    recovered(context_of(engine_warehouse), table)
    assert read_tags(lineage) == []
    # The expiry spared what the tag kept.
    assert manifests - set(engine_warehouse.joinpath(table.manifests).iterdir())
    assert len(rows(engine, f"SELECT * FROM {name}")) == 8


@pytest.fixture
def long_read(engine: Engine) -> Callable[[str, Lineage], AbstractContextManager[None]]:
    """A statement that reads a version for as long as the context lasts, and is held."""

    @contextmanager
    def reading(version: str, lineage: Lineage) -> Iterator[None]:
        events = engine.run(f"SELECT count(*) FROM {version} CROSS JOIN range(100000000000)")
        next(event for event in events if isinstance(event, StageProgress))
        eventually(lambda: read_tags(lineage))
        try:
            yield
        finally:
            engine.cancel()
            *_, end = events
        assert isinstance(end, Failed) and end.cause == "cancelled"

    return reading


@pytest.mark.parametrize("version", ["savepoint.1", "kept"])
def test_a_deletion_does_not_take_what_a_statement_reads(
    engine: Engine,
    engine_warehouse: Path,
    long_read: Callable[[str, Lineage], AbstractContextManager[None]],
    version: str,
) -> None:
    """Its rows are whole until it ends; then `recover` frees what only it kept."""
    name = own_table(engine_warehouse, f"deleted_{version.replace('.', '_')}")
    lineage, table, context = (
        lineage_of(engine_warehouse, name),
        parse_table_name(name),
        context_of(engine_warehouse),
    )
    deletion: tuple[str, dict[str, object]] = ("delete-tag", {"name": version})
    if version == "kept":
        done(context, "create-tag", table=table, name=version, snapshot=3)
    else:
        done(context, "create-savepoint", table=table, snapshot=3)
        deletion = ("delete-savepoint", {"id": 1})
    expired(engine_warehouse, table)
    before = in_order(rows(engine, f"SELECT * FROM {name} VERSION AS OF '{version}'"))
    with long_read(f"{name} VERSION AS OF '{version}'", lineage):
        plan = planned(context, deletion[0], table=table, **deletion[1])
        assert codes(plan, "loses", "affects") == ["version-gone", "read-now"]
        assert plan.freed_files == 0 or version != "kept"
        applied(context, plan)
        [tag] = read_tags(lineage)
        assert missing_of(lineage.files, lineage.root, lineage.tag(tag)) == []
    [left] = read_tags(lineage)
    assert in_order(rows(engine, f"SELECT * FROM {name} VERSION AS OF '{left}'")) == before
    manifests = set(engine_warehouse.joinpath(table.manifests).iterdir())
    recovered(context, table)
    assert manifests - set(engine_warehouse.joinpath(table.manifests).iterdir())
    assert read_tags(lineage) == [] and len(rows(engine, f"SELECT * FROM {name}")) == 8


def test_nothing_stays_of_a_read_that_ended(warehouse: Path, at_once: None) -> None:
    lineage = lineage_of(warehouse, "shop.orders")
    reads = HeldReads(LocalFiles(str(warehouse)), False)
    held = {Held(ORDERS.root(), number): Reading("t", f"snapshot.{number}", "s") for number in (2, 4)}
    with reads.held(held, print):
        eventually(lambda: len(read_tags(lineage)) == 2)
        assert {name.split(".")[2] for name in read_tags(lineage)} == {"2", "4"}
        assert not any(
            state.name.startswith(READ_TAG_PREFIX)
            for state in States(lineage.files, ORDERS.root()).tag_states
        )
        # Its reader lives.
        assert action("recover").plan(context_of(warehouse), ORDERS, {}).empty
    assert read_tags(lineage) == []


def test_what_a_reader_that_was_killed_left_is_found_and_removed(warehouse: Path, at_once: None) -> None:
    lineage = lineage_of(warehouse, "shop.orders")
    reader = subprocess.Popen([sys.executable, "-c", _READER, str(warehouse)])
    try:
        [tag] = eventually(lambda: read_tags(lineage))
    finally:
        reader.send_signal(signal.SIGKILL)
        reader.wait()
    planned = action("recover").plan(context_of(warehouse), ORDERS, {})
    assert about("shop.orders", "nothing", "1 tag", "reads").search(planned.headline)
    assert [step.target for step in planned.steps] == [ORDERS.root().tag(tag)]
    # The next read on the root tidies, too, what costs no more than its file.
    reads = HeldReads(lineage.files, False)
    with reads.held({Held(ORDERS.root(), 3): Reading("t", "snapshot.3", "s")}, print):
        eventually(lambda: tag not in read_tags(lineage))
    assert action("recover").plan(context_of(warehouse), ORDERS, {}).empty


def test_a_failure_after_the_snapshot_went_says_so(warehouse: Path) -> None:
    lineage = lineage_of(warehouse, "shop.orders")
    reads = HeldReads(lineage.files, False)
    held = {Held(ORDERS.root(), 1): Reading("shop.orders", "snapshot.1", "s")}
    with pytest.raises(StatementFailed) as failed, reads.held(held, print):
        os.unlink(warehouse / ORDERS.root().snapshot(1))
        raise ValueError("a file is not there")
    assert about("snapshot 1", "shop.orders", "expired").search(failed.value.message)
    with pytest.raises(ValueError), reads.held({Held(ORDERS.root(), 2): Reading("t", "v", "s")}, print):
        raise ValueError("something else")


GONE: tuple[tuple[str, dict[str, object], str, str], ...] = (
    ("delete-tag", {"name": "kept"}, "kept", "tag kept t deleted"),
    ("delete-savepoint", {"id": 1}, "savepoint.1", "savepoint 1 t deleted"),
    ("delete-branch", {"name": "fix"}, "v2", "t deleted renamed"),
    ("drop-table", {}, "", "t dropped renamed"),
)


@pytest.mark.parametrize(("action", "arguments", "tag", "why"), GONE, ids=lambda each: str(each)[:20])
def test_a_failure_says_what_was_deleted(
    warehouse: Path, fix: Root, action: str, arguments: dict[str, object], tag: str, why: str
) -> None:
    context = context_on(warehouse)
    done(context, "create-tag", name="kept", snapshot=3)
    done(context, "create-savepoint", snapshot=3)
    held = Held(fix if action == "delete-branch" else ORDERS.root(), 3, tag)
    reads = HeldReads(LocalFiles(str(warehouse)), False)
    with pytest.raises(StatementFailed) as failed, reads.held({held: Reading("t", "v", "s")}, print):
        done(context, action, ORDERS, **arguments)
        raise ValueError("a file is not there")
    assert about(*why.split()).search(failed.value.message)


class OnceTagged(LocalFiles):
    """Calls `then` as soon as a tag was created."""

    then: Callable[[], None]

    def create(self, path: str, data: bytes) -> bool:
        created = super().create(path, data)
        self.then()
        return created


@pytest.mark.parametrize("knows_the_tag", [True, False])
def test_a_tag_stays_if_the_expiry_that_came_at_once_spared_its_files(
    warehouse: Path, at_once: None, knows_the_tag: bool
) -> None:
    """The snapshot is gone before the reader looks whether it still is there."""
    files, ended = OnceTagged(str(warehouse)), threading.Event()

    def expiry() -> None:
        if not ended.is_set():
            expire_one(warehouse, 3, knows_the_tag)
            ended.set()

    files.then = expiry
    lineage = lineage_of(warehouse, "shop.orders")
    with HeldReads(files, False).held({Held(ORDERS.root(), 3): Reading("t", "snapshot.3", "s")}, print):
        assert ended.wait(60)
        eventually(lambda: not lineage.has_snapshot(3) and bool(read_tags(lineage)) == knows_the_tag)
    over = read_tags(lineage)
    assert len(over) == knows_the_tag
    assert all(is_stale(name, lineage.tag(name), 0) for name in over)


def test_nothing_stays_of_a_read_whose_files_an_expiry_took(warehouse: Path, at_once: None) -> None:
    """It had listed the tags before this one was made, and goes on while the read does."""
    lineage = lineage_of(warehouse, "shop.orders")
    held = {Held(ORDERS.root(), 3): Reading("t", "snapshot.3", "s")}
    with HeldReads(LocalFiles(str(warehouse)), False).held(held, print):
        eventually(lambda: read_tags(lineage))
        expire_one(warehouse, 3, knows_the_tag=False)
    assert read_tags(lineage) == []


def expire_one(warehouse: Path, number: int, knows_the_tag: bool) -> None:
    snapshot = lineage_of(warehouse, "shop.orders").snapshot(number)
    for path in () if knows_the_tag else manifest_list_paths(ORDERS, snapshot):
        warehouse.joinpath(path).unlink()
    warehouse.joinpath(ORDERS.root().snapshot(number)).unlink()


def test_where_nothing_can_be_written_it_is_said(warehouse: Path, at_once: None) -> None:
    files = LocalFiles(str(warehouse))
    tags = warehouse / ORDERS.root().tags
    held = {Held(ORDERS.root(), 3): Reading("shop.orders", "snapshot.3", "s")}
    told: list[Reading] = []
    with HeldReads(files, True).held(held, told.append):
        assert not any(each.name.startswith(f"tag-{READ_TAG_PREFIX}") for each in tags.iterdir())
    assert told == []
    for each in tags.iterdir():
        each.unlink()
    tags.rmdir()
    tags.write_text("a file where tags would be")
    with HeldReads(files, False).held(held, told.append):
        eventually(lambda: [each.note for each in told])
    assert about("not protected", "expiry").search(told[0].note) and "read-only" not in told[0].note


class Once(LocalFiles):
    """Somebody else acts, once for each moment: right before or after such a call on a read tag."""

    def __init__(self, warehouse: Path, deeds: dict[str, Callable[[], object]]) -> None:
        super().__init__(str(warehouse))
        self._deeds = deeds

    def read(self, path: str) -> bytes:
        with self._around("read", path):
            return super().read(path)

    def create(self, path: str, data: bytes) -> bool:
        with self._around("create", path):
            return super().create(path, data)

    def replace(self, path: str, data: bytes) -> None:
        with self._around("replace", path):
            super().replace(path, data)

    def delete(self, path: str) -> None:
        with self._around("delete", path):
            super().delete(path)

    @contextmanager
    def _around(self, call: str, path: str) -> Iterator[None]:
        is_tag = READ_TAG_PREFIX in path
        if is_tag and (deed := self._deeds.pop(f"before {call}", None)):
            deed()
        yield
        if is_tag and (deed := self._deeds.pop(f"after {call}", None)):
            deed()


@pytest.mark.parametrize("knows_the_tag", [True, False])
def test_a_tag_that_comes_when_its_engine_has_ended_is_given_to_recover(
    warehouse: Path, knows_the_tag: bool
) -> None:
    deeds: dict[str, Callable[[], object]] = {}
    reads = HeldReads(Once(warehouse, deeds), False)
    deeds["before create"] = reads.end
    deeds["after create"] = lambda: expire_one(warehouse, 3, knows_the_tag)
    reads._take(Held(ORDERS.root(), 3))
    assert_over(warehouse, knows_the_tag)


@pytest.mark.parametrize("knows_the_tag", [True, False])
def test_a_tag_is_given_to_recover_if_its_snapshot_goes_while_it_does(
    warehouse: Path, knows_the_tag: bool
) -> None:
    files = Once(warehouse, {"before delete": lambda: expire_one(warehouse, 3, knows_the_tag)})
    reads = HeldReads(files, False)
    reads._take(Held(ORDERS.root(), 3))
    reads.end()
    assert_over(warehouse, knows_the_tag)


def test_a_tag_that_is_renewed_when_its_engine_ends_does_not_come_back(warehouse: Path) -> None:
    deeds: dict[str, Callable[[], object]] = {}
    reads = HeldReads(Once(warehouse, deeds), False)
    deeds["before replace"] = reads.end
    reads._take(Held(ORDERS.root(), 3))
    reads._renew()
    assert_over(warehouse, False)


@pytest.fixture
def fix(warehouse: Path) -> Root:
    """A branch with snapshot 2 of main."""
    done(context_on(warehouse), "create-branch", name="fix", tag="v2")
    return ORDERS.root("fix")


@pytest.mark.parametrize("moment", ["before create", "after read", "before replace"])
@pytest.mark.parametrize("is_stock", [True, False])
def test_a_read_tag_does_not_make_a_branch_again_that_is_deleted(
    warehouse: Path, fix: Root, moment: str, is_stock: bool
) -> None:
    """Stock orphan cleaning fails on a branch without a schema. Main has all files of the branch."""

    def deletes() -> None:
        if is_stock:
            shutil.rmtree(warehouse / fix.directory)
        else:
            done(context_on(warehouse), "delete-branch", name="fix")

    reads = HeldReads(Once(warehouse, {moment: deletes}), False)
    reads._take(Held(fix, 2))
    if moment == "before replace":
        reads._renew()
    reads.end()
    assert not (warehouse / fix.directory).exists()


def test_a_branch_that_is_marked_to_go_gets_no_read_tag(warehouse: Path, fix: Root) -> None:
    """Whoever marked it may have listed its files before the tag was there."""
    files = LocalFiles(str(warehouse))
    marking = Once(warehouse, {"before create": lambda: put_before_removal(files, fix, "deleted")})
    for each in (marking, files):
        reads = HeldReads(each, False)
        reads._take(Held(fix, 2))
        assert read_tags(Lineage(files, fix)) == []


def test_a_tag_of_another_commit_with_its_id_is_not_tidied(warehouse: Path) -> None:
    """A rollback gave the id of its snapshot to another: only the tag keeps the files."""
    root, lineage = ORDERS.root(), lineage_of(warehouse, "shop.orders")
    tags = {number: root.tag(read_tag_name(number, is_over=True)) for number in (2, 4)}
    for path in tags.values():
        lineage.files.create(path, lineage.files.read(root.snapshot(2)))
    other = lineage.files.read(root.snapshot(3)).replace(b'"id": 3', b'"id": 2')
    lineage.files.replace(tags[4], other)
    assert lineage.tag(tags[4].rpartition("tag-")[2]).id == 2
    HeldReads(lineage.files, False)._tidy(root)
    assert [lineage.files.exists(tags[number]) for number in (2, 4)] == [False, True]


def test_a_read_that_ends_between_two_looks_is_no_error(warehouse: Path) -> None:
    path = ORDERS.root().tag(read_tag_name(3))
    files = Once(warehouse, {"before read": lambda: os.unlink(warehouse / path)})
    files.create(path, files.read(ORDERS.root().snapshot(3)))
    assert list(left_reads(context_on(warehouse, files), ORDERS)) == []


def assert_over(warehouse: Path, is_given: bool) -> None:
    """No read tag is there, or if it was given to `recover`, one that says that its read is over."""
    lineage = lineage_of(warehouse, "shop.orders")
    over = read_tags(lineage)
    assert len(over) == is_given
    assert all(is_stale(name, lineage.tag(name), 0) for name in over)


def test_only_a_reader_that_is_surely_dead_is_given_up() -> None:
    from paimark.core.table.records import Tag

    made = Tag.from_json(
        b'{"version":3,"id":5,"schemaId":0,"baseManifestList":"b","deltaManifestList":"d","commitUser":"u",'
        b'"commitIdentifier":1,"commitKind":"APPEND","timeMillis":1,"totalRecordCount":1,"deltaRecordCount":1,'
        b'"tagCreateTime":[2026,5,1,12,0],"tagTimeRetained":86400.0}',
        "made",
    )
    now = 1_777_636_800_000 + 24 * 3600 * 1000
    mine = read_tag_name(5)
    elsewhere = "paimark.read.5.0123456789ab-77-12345.0123abcd"
    assert not is_stale(mine, made, now)
    assert is_stale(read_tag_name(5, is_over=True), made, now)
    assert not is_stale(elsewhere, made, now)
    assert is_stale(elsewhere, made, now + 7 * 24 * 3600 * 1000)
    assert not is_stale("paimark.read.of-somebody", made, now + 7 * 24 * 3600 * 1000)
