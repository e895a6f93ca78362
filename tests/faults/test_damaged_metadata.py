"""For any damage of a metadata file, reads and plans report an error in a sentence, and write nothing.

Each file of three small tables gets all damages of `damage`; without `--long`, a fixed selection of them.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import ACTIONS
from paimark.core.cli.checks import doctor
from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.root import invoke
from paimark.core.errors import PaimarkError
from paimark.core.table.catalog import databases, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_root
from paimark.core.table.manifests.file_rows import file_rows
from paimark.core.table.system_tables import SYSTEM_TABLES
from paimark.core.travel.version import resolve_time, resolve_version
from tests.actions.acting import ORDERS, contents, context_on, done
from tests.actions.declared.catalogue import ARGUMENTS
from tests.actions.taking_over import branched
from tests.faults import damage
from tests.faults.damage import Damage
from tests.faults.fault_files import Death, FaultFiles

# A table with a branch as main, and one with an interrupted change and an interrupted savepoint.
MOVED, INTERRUPTED = TablePath("shop", "moved"), TablePath("shop", "interrupted")
# `redo` and `restore` plan other actions, Spark counts for `revert` and `restore-rows`, and what is in the
# trash is no table to others.
_OTHERS = {"redo", "restore", "revert", "restore-rows", "edit-rows"} | {
    name for name, each in ACTIONS.items() if each.of_no_table
}
PLANS: list[tuple[str, Mapping[str, object]]] = [
    *((name, arguments) for name, arguments in ARGUMENTS.items() if name not in _OTHERS),
    ("create-savepoint", {}),
    ("create-branch", {"name": "new", "tag": "savepoint.1"}),
    ("create-branch", {"name": "new", "snapshot": 3}),
    ("alter-branch-schema", {"add": "note STRING"}),
    ("delete-savepoint", {"id": 2}),
    ("expire-snapshots", {"older_than": "1 h"}),
    ("compact", {"full": True, "branch": "fix"}),
    ("delete-branch", {"name": "fix", "keep": True}),
    ("replace-main-branch", {"name": "fix", "layout": "overwrite"}),
    ("rollback", {"to": "savepoint.1"}),
    ("rollback", {"to": "snapshot.2", "truncate": True}),
]
# What prints its answers, as `uses` does not.
COMMANDS = [
    "snapshots",
    "tags",
    "savepoints",
    "branches",
    "schemas",
    "operations",
    "space",
    "space --output json",
    "verify",
    "verify --orphans --output json",
]
# By directory of a table's metadata: one of this many damages is tried.
SHARES = {
    "snapshot": 1000,
    "schema": 130,
    "tag": 1000,
    "savepoint": 500,
    "manifest": 1600,
    "consumer": 50,
    "changelog": 240,
    "branch": 1200,
}
LONG_SHARE = 6
# Directories of a table, and how a file there begins; other programs may have made others of such names.
NAMES_OF_OTHERS = [
    ("branch", f"STEP-{32 * 'a'}-1"),
    ("branch", "branch-"),
    ("consumer", "consumer-"),
    ("snapshot", "snapshot-3"),
    ("schema", "schema-0"),
    ("tag", "tag-"),
    ("savepoint", "savepoint-1"),
    ("manifest", "manifest-"),
    ("branch/operations", "operation-"),
    ("", "bucket-"),
    *(
        pytest.param(*each, marks=pytest.mark.long)
        for each in (
            ("branch", "STEP-"),
            ("branch", f"ALIVE-{32 * 'a'}"),
            ("branch", ".ACTION"),
            ("consumer", f"consumer-paimark-{32 * 'a'}"),
            ("snapshot", ".snapshot-3."),
            ("savepoint", "CLAIM-1"),
        )
    ),
]


@pytest.fixture(scope="module")
def damaged(warehouse_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`orders` with a branch, savepoints, a consumer and a changelog; and two tables copied from it."""
    warehouse = tmp_path_factory.mktemp("damaged") / "warehouse"
    shutil.copytree(warehouse_template, warehouse)
    shutil.rmtree(warehouse / "shop.db/events")
    context, orders = context_on(warehouse), warehouse / "shop.db/orders"
    for path in (*orders.glob("snapshot/snapshot-*"), *orders.glob("tag/*")):
        path.write_bytes(as_of_stock(path))
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-savepoint", comment="kept")
    branched(context)
    (orders / "consumer").mkdir()
    (orders / "consumer/consumer-job").write_text('{"nextSnapshot": 4}')
    (orders / "changelog").mkdir()
    shutil.copy(orders / "snapshot/snapshot-1", orders / "changelog/changelog-1")
    (orders / "snapshot/EARLIEST").write_text("1")
    for table in (MOVED, INTERRUPTED):
        shutil.copytree(orders, warehouse / table.directory)
    done(context, "replace-main-branch", MOVED, name="fix")
    archive = next(name for name in branch_names(context.files, MOVED) if name != "fix")
    done(context, "create-branch", MOVED, name="spare", tag="v2")
    done(context, "delete-branch", MOVED, name="spare", keep=True)
    done(context, "delete-branch", MOVED, name=archive, keep=True)
    for writes, action, arguments in (
        (5, "replace-main-branch", {"name": "fix"}),
        (2, "create-savepoint", {}),
    ):
        dying = context_on(warehouse, FaultFiles(context.files, writes))
        with pytest.raises(Death):
            done(dying, action, INTERRUPTED, **arguments)
    return warehouse


def as_of_stock(path: Path) -> bytes:
    """A snapshot or tag with the fields that stock writers add."""
    fields = json.loads(path.read_bytes())
    for name in ("base", "delta"):
        size = (path.parents[1] / "manifest" / fields[f"{name}ManifestList"]).stat().st_size
        fields[f"{name}ManifestListSize"] = size
    fields |= {"watermark": 1000, "logOffsets": {"0": 5}, "nextRowId": 9}
    if path.parent.name == "tag":
        fields |= {"tagCreateTime": [2026, 5, 1, 12, 30], "tagTimeRetained": 1e9}
    return json.dumps(fields).encode()


def uses(warehouse: Path, table: TablePath) -> Iterator[tuple[str, Callable[[], object]]]:
    """All functions that read a table's metadata and change nothing, by name."""
    context = context_on(warehouse)
    files = context.files
    yield "tables", lambda: [list(tables(files, each)) for each in databases(files)]
    yield "doctor", lambda: list(doctor._table(GlobalOptions(warehouse=str(warehouse)), table.full_name))
    for name, system in SYSTEM_TABLES.items():
        yield name, partial(lambda read: list(read(files, main_root(files, table), {})), system.read)
    yield "files", lambda: list(newest_files(context, table))
    for words in COMMANDS:
        yield words, partial(invoke, [*words.split(), table.full_name, "--warehouse", str(warehouse)])
    for version in ("3", "savepoint.1", "v2", "watermark-1", "fix"):
        yield version, partial(lambda asked: resolve_version(files, main_root(files, table), asked), version)
    for time_ms in (0, 10**13):
        yield (
            f"at {time_ms}",
            partial(lambda when: resolve_time(files, main_root(files, table), when), time_ms),
        )
    for action, arguments in PLANS:
        yield f"{action} {arguments}", partial(ACTIONS[action].plan, context, table, arguments)


def newest_files(context: Context, table: TablePath) -> Iterator[tuple[Any, ...]]:
    root = main_root(context.files, table)
    snapshot = Lineage(context.files, root).latest()
    yield from file_rows(context.files, root, snapshot) if snapshot else ()


def failing_uses(warehouse: Path, table: TablePath) -> list[str]:
    """The uses that fail with anything but a `PaimarkError`."""
    faulty = []
    for name, use in uses(warehouse, table):
        try:
            use()
        except PaimarkError as error:
            assert error.message
        except Exception as error:
            faulty.append(f"{name}: {type(error).__name__}: {str(error)[:100]}")
    return faulty


def damages(path: Path) -> Iterator[Damage]:
    data = path.read_bytes()
    yield from damage.of_any_file(data)
    if data.startswith(b"Obj\x01"):
        yield from damage.of_avro(data)
    elif data.startswith(b"{") and b"\n{" not in data:
        yield from damage.of_json(data)


def metadata_files(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.rglob("*")) if path.is_file() and "bucket-" not in str(path))


@pytest.mark.parametrize("directory", SHARES)
@pytest.mark.parametrize("table", [ORDERS, MOVED, INTERRUPTED], ids=lambda table: table.name)
def test_every_damage_of_a_file_is_said_in_a_sentence(
    damaged: Path, table: TablePath, directory: str, pytestconfig: pytest.Config
) -> None:
    share = LONG_SHARE if pytestconfig.getoption("--long") else SHARES[directory]
    faulty = []
    before = contents(damaged)
    for path in metadata_files(damaged / table.directory / directory):
        data, seed = path.read_bytes(), f"{table.name}/{path.name.rstrip('0123456789abcdef-')}"
        for each in damages(path):
            if zlib.crc32(f"{seed}{each.name}".encode()) % share:
                continue
            path.write_bytes(each.data())
            faulty += [f"{path.name}, {each.name}: {fault}" for fault in failing_uses(damaged, table)]
        path.write_bytes(data)
    assert faulty == []
    assert contents(damaged) == before


@pytest.mark.parametrize("table", [ORDERS, MOVED, INTERRUPTED], ids=lambda table: table.name)
def test_undamaged_tables_have_no_fault(damaged: Path, table: TablePath) -> None:
    assert failing_uses(damaged, table) == []


@pytest.mark.parametrize("directory, begin", NAMES_OF_OTHERS)
def test_a_name_that_is_not_utf8_is_said_in_a_sentence(damaged: Path, directory: str, begin: str) -> None:
    table = INTERRUPTED if directory.startswith("branch") else MOVED
    there = os.fsencode(damaged / table.directory / directory)
    path = os.path.join(there, begin.encode() + b"\xff")
    os.makedirs(path)
    assert failing_uses(damaged, table) == []
    os.rmdir(path)
    os.mknod(path)
    assert failing_uses(damaged, table) == []
    os.unlink(path)
