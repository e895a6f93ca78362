"""Every action does on S3 and HDFS what it does on a disk, its undo and redo too.

Without `--long` those that write in each way that there is, on S3.
"""

from __future__ import annotations

import shutil
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import ACTIONS
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.storage.open import open_files
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.operations import read_operations
from tests.actions.acting import ORDERS, contents, context_on, done, planned
from tests.actions.apart_from_chance import apart_from_chance, difference
from tests.actions.declared.catalogue import ALONE, CATALOGUE, CONSUMER
from tests.actions.taking_over import branched
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.faults.fault_files import Death, FaultFiles
from tests.paimon import commit
from tests.storage.pretending import PretendingServer
from tests.storage.stores import BUCKET

Tree = dict[str, bytes]
# What was said at each step, and the table in the end.
Story = tuple[list[str], Counter[tuple[str, str]]]


@dataclass(frozen=True)
class Step:
    """An action; whether it is undone and redone right away; what a stale job leaves before it.

    `is_long`: others that stay write in the same ways; `goes_back_long`: others that go back do.
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    goes_back: bool = False
    goes_back_long: bool = False
    after_stray: bool = False
    is_long: bool = False


# One after the other, each on what those before it made of the table. Spark writes the rows of other merges,
# rollbacks and overwrites: `tests.simulation` does these on the same stores.
STEPS = (
    Step("auto-savepoint", is_long=True),
    Step("merge-branch", {"name": "ahead"}),
    Step("create-savepoint", {"snapshot": 3}),
    Step("create-tag", {"name": "n"}),
    Step("rename-tag", {"name": "n", "to": "m"}, goes_back_long=True),
    Step("create-branch", {"name": "b", "tag": "v2"}),
    Step("alter-branch-schema", {"set": "'snapshot.time-retained' = '9 d'"}),
    Step("delete-branch", {"name": "ahead", "keep": True}, goes_back=True, is_long=True),
    Step("undo", is_long=True),
    Step("delete-branch", {"name": "ahead"}),
    Step("delete-tag", {"name": "m"}),
    Step("delete-savepoint", {"id": 1}),
    Step("expire-snapshots", {"retain_last": 4}),
    Step("rollback", {"to": "snapshot.3", "truncate": True}, goes_back=True),
    Step("replace-main-branch", {"name": "b"}, goes_back_long=True),
    Step("rescue-commits", {"name": "rescued"}, after_stray=True, is_long=True),
    Step("create-tag", {"name": "x"}, is_long=True),
    Step("create-tag", {"name": "y"}, is_long=True),
    # To before the second.
    Step("restore", is_long=True),
    *(Step(each.action, each.arguments, is_long=True) for each in CATALOGUE if each.alone),
    Step("unprotect", {"tag": "v2"}, is_long=True),
    Step("rename-branch", {"name": "rescued", "to": "kept"}, is_long=True),
)


# `tests.actions.tables` moves tables, on object stores too.
MOVES = {"drop-table", "rename-table", "undrop", "delete-dropped"}
# Spark does all of it.
OF_SPARK = {"compact", "analyze", "revert", "restore-rows", "edit-rows"}


def test_every_action_is_tried() -> None:
    assert {each.name for each in STEPS} | {"undo", "redo", "recover"} | MOVES | OF_SPARK == ACTIONS.keys()


@pytest.fixture(scope="module")
def steps(is_long: bool) -> list[Step]:
    if is_long:
        return [replace(each, goes_back=each.goes_back or each.goes_back_long) for each in STEPS]
    return [each for each in STEPS if not each.is_long]


@pytest.fixture(scope="module")
def start(warehouse_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The template's files, with a savepoint that is due, and a branch `ahead` that main can follow."""
    path = tmp_path_factory.mktemp("start") / "warehouse"
    shutil.copytree(warehouse_template, path)
    context = context_on(path)
    done(context, "alter-branch-schema", set="'savepoint.create-interval' = '1 h'")
    done(context, "create-tag", name="now")
    branched(context, "ahead", "now")
    return contents(path)


@pytest.fixture(scope="module")
def stray(warehouse_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The files of a commit by a job that knows the table as it was at snapshot 3."""
    path = tmp_path_factory.mktemp("stray") / "warehouse"
    shutil.copytree(warehouse_template, path)
    for number in (4, 5):
        (path / ORDERS.root().snapshot(number)).unlink()
    (path / ORDERS.root().latest_hint).write_text("3")
    before = contents(path)
    rows = {"order_id": [900], "customer": ["stale"], "price": [1.0]}
    commit(path, "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA))
    return {name: data for name, data in contents(path).items() if name not in before}


@pytest.fixture(scope="module")
def on_disk(start: Tree, stray: Tree, steps: list[Step], tmp_path_factory: pytest.TempPathFactory) -> Story:
    path = tmp_path_factory.mktemp("disk") / "warehouse"
    path.mkdir()
    put(LocalFiles(str(path)), start)
    message_of = list(messages_of_steps(context_on(path), stray, steps))
    return message_of, apart_from_chance(contents(path))


def test_on_s3(on_disk: Story, start: Tree, stray: Tree, steps: list[Step], tmp_path: Path) -> None:
    with PretendingServer("keeps") as server:
        files = open_files(f"s3://{BUCKET}/lake", server.options())
        put(files, start)
        message_of = list(messages_of_steps(context_on(tmp_path / "lake", files), stray, steps))
        objects = {key.removeprefix("lake/"): data for key, data in server.objects.items()}
    assert_same((message_of, table(objects)), on_disk)


@pytest.mark.long
def test_on_hdfs(
    on_disk: Story, start: Tree, stray: Tree, steps: list[Step], tmp_path: Path, hdfs: str
) -> None:
    files = open_files(f"{hdfs}/{uuid.uuid4().hex}")
    put(files, start)
    message_of = list(messages_of_steps(context_on(tmp_path / "lake", files), stray, steps))
    assert_same((message_of, table(dict(everything(files)))), on_disk)


def messages_of_steps(context: Context, stray: Tree, steps: list[Step]) -> Iterator[str]:
    """Do each step, go back and forth where that goes, and die in between once; what was said of each."""
    for step in steps:
        if step.after_stray:
            put(context.files, stray)
        if step.name in ALONE:
            context.files.create(main_root(context.files, ORDERS).consumer("job"), CONSUMER)
        arguments = dict(step.arguments)
        if step.name == "restore":
            arguments["to"] = len(read_operations(context.files, ORDERS)) - 1
        yield message_of(context, step.name, **arguments)
        if step.goes_back:
            yield message_of(context, "undo")
            yield message_of(context, "redo")
    with pytest.raises(Death):
        done(
            context_on(context.audit_path.parent, FaultFiles(context.files, 5)),
            "create-branch",
            name="c",
            tag="v2",
        )
    yield message_of(context, "recover")
    assert planned(context, "recover").empty


def message_of(context: Context, action: str, **arguments: object) -> str:
    ((text, _),) = apart_from_chance({done(context, action, ORDERS, **arguments).message: b""})
    return f"{action}: {text}"


def put(files: Files, tree: Tree) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda item: files.create(*item), tree.items()))


def everything(files: Files, directory: str = "") -> Iterator[tuple[str, bytes]]:
    """Each file below a directory."""
    below = f"{directory}/" if directory else ""
    entries = files.entries(directory)
    names = [f"{below}{each.name}" for each in entries if not each.is_directory]
    yield from ((name, data or b"") for name, data in zip(names, files.read_many(names), strict=True))
    for each in entries:
        if each.is_directory:
            yield from everything(files, f"{below}{each.name}")


def table(tree: Tree) -> Counter[tuple[str, str]]:
    """As `contents` tells of a disk: without the logs of operations."""
    return apart_from_chance({path: data for path, data in tree.items() if "/operations/" not in path})


def assert_same(story: Story, right: Story) -> None:
    assert story[0] == right[0]
    assert story[1] == right[1], difference(story[1], right[1])
