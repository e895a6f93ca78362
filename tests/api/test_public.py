"""The surface of `paimark`: its names, their signatures, and what importing it costs."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

import paimark
from paimark import api, results
from paimark.core import errors
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.table.system_tables import SYSTEM_TABLES
from tests.api import methods
from tests.paimon import read_rows

READING = {
    paimark.Warehouse: {
        "databases": "(self) -> 'list[str]'",
        "dropped": "(self, database: 'str | None' = None) -> 'list[DroppedTable]'",
        "spark_settings": "(self, catalog: 'str' = 'lake') -> 'dict[str, str]'",
        "table": "(self, name: 'str') -> 'Table'",
        "tables": "(self, database: 'str | None' = None) -> 'list[Table]'",
    },
    paimark.Savepoint: {
        "data_manifests": "(self) -> 'list[ManifestFile]'",
        "from_json": "(content: 'str | bytes') -> 'Self'",
        "from_path": "(path: 'str | os.PathLike[str]', *,"
        " options: 'Mapping[str, str] | None' = None) -> 'Self'",
        "to_json": "(self) -> 'str'",
    },
    paimark.SavepointManager: {
        "earliest_savepoint_id": "(self) -> 'int | None'",
        "latest_savepoint_id": "(self) -> 'int | None'",
        "savepoint": "(self, savepoint_id: 'int') -> 'Savepoint'",
        "savepoint_exists": "(self, savepoint_id: 'int') -> 'bool'",
        "savepoint_path": "(self, savepoint_id: 'int') -> 'str'",
    },
    paimark.Table: {
        "apply": "(self, plan: 'Plan') -> 'Result'",
        "apply_snapshot": "(self, timestamp_ms: 'int') -> 'Version'",
        "at": "(self, version: 'str | int | None' = None, *, branch: 'str | None' = None) -> 'Version'",
        "at_time": "(self, time: 'datetime | int', *, branch: 'str | None' = None) -> 'Version'",
        "branches": "(self) -> 'list[Branch]'",
        "blame": "(self, condition: 'str | None' = None, *,"
        " keys: 'Sequence[Mapping[str, object]] | None' = None, branch: 'str | None' = None)"
        " -> 'list[Blamed]'",
        "history": "(self, key: 'Mapping[str, object]', *, branch: 'str | None' = None,"
        " limit: 'int | None' = None) -> 'list[RowChange]'",
        "holders": "(self, condition: 'str | None' = None, *, key: 'Mapping[str, object] | None' = None)"
        " -> 'list[Holder]'",
        "when": "(self, condition: 'str', *, branch: 'str | None' = None, old: 'str | None' = None,"
        " new: 'str | None' = None) -> 'FirstRows'",
        "operations": "(self) -> 'list[Operation]'",
        "plan": "(self, action: 'str', /, **arguments: 'object') -> 'Plan'",
        "savepoints": "(self, *, branch: 'str | None' = None) -> 'list[Savepoint]'",
        "schemas": "(self, *, branch: 'str | None' = None) -> 'list[Schema]'",
        "snapshots": "(self, *, branch: 'str | None' = None, limit: 'int | None' = None) -> 'list[Snapshot]'",
        "check": "(self, version: 'str | None' = None, *, file: 'str | None' = None) -> 'list[CheckResult]'",
        "space": "(self, *, branch: 'str | None' = None) -> 'SpaceReport'",
        "try_script": "(self, file: 'str', *, check: 'str | None' = None, publish: 'str' = 'merge',"
        " name: 'str | None' = None) -> 'Tried'",
        "tags": "(self, *, branch: 'str | None' = None) -> 'list[Tag]'",
    },
    paimark.Version: {
        "to_arrow": "(self, columns: 'Sequence[str] | None' = None, limit: 'int | None' = None)"
        " -> 'pa.Table'",
        "to_arrow_batch_reader": "(self, columns: 'Sequence[str] | None' = None,"
        " limit: 'int | None' = None) -> 'pa.RecordBatchReader'",
    },
}
OPEN = (
    "(uri: 'str | os.PathLike[str]', *, options: 'Mapping[str, str] | None' = None,"
    " read_only: 'bool' = False, spark_master: 'str | None' = None,"
    " spark_conf: 'Mapping[str, str] | None' = None) -> 'Warehouse'"
)
RECORDS = {
    "snapshots": paimark.Snapshot,
    "savepoints": paimark.Savepoint,
    "tags": paimark.Tag,
    "branches": paimark.Branch,
    "operations": paimark.Operation,
}

# A program in an environment with neither the console's packages nor Spark, and what it then has imported.
BARE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ImportError(name)

ABSENT = {"textual", "rich", "click", "pyspark", "py4j", "sqlglot", "platformdirs"}
sys.meta_path.insert(0, Missing())
import json
import paimark

heavy = {"pyspark", "pyarrow", "pypaimon", "textual", "pandas", "numpy", "fsspec", "fastavro"}
imported = sorted(heavy & set(sys.modules))
orders = paimark.open(sys.argv[1], options={"paimark.verify-wait": "1 ms"}).table("shop.orders")
saved = orders.create_savepoint(comment="kept")
freed = orders.delete_tag(name="v2").freed_files
rows = orders.at(f"savepoint.{saved.savepoint_id}").to_arrow(["order_id"]).num_rows
lists = [orders.snapshots(), orders.savepoints(), orders.branches(), orders.tags(), orders.schemas()]
print(json.dumps([imported, rows, freed, [len(each) for each in lists]]))
"""


def own_methods(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isroutine) if not name.startswith("_")}


def test_each_name_is_there_and_no_other() -> None:
    there = {name for name, value in vars(api).items() if not isinstance(value, ModuleType)}
    public = {name for name in there if not name.startswith("_")} - {"Any", "TYPE_CHECKING", "annotations"}
    assert {*public, "PaimarkSource"} == set(api.__all__)
    assert all(hasattr(paimark, name) for name in api.__all__)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        getattr(paimark, "nothing_of_the_kind")  # noqa: B009  # mypy knows that there is none


def test_every_error_a_person_may_see_is_public() -> None:
    family = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    assert {kind.__name__ for kind in family if issubclass(kind, errors.PaimarkError)} <= set(api.__all__)


def test_the_result_of_every_action_is_public() -> None:
    kinds = {name for name, kind in vars(results).items() if isinstance(kind, type)}
    assert {name for name in kinds if issubclass(vars(results)[name], paimark.Result)} <= set(api.__all__)


def test_signatures_are_as_promised() -> None:
    assert str(inspect.signature(paimark.open)) == OPEN
    for kind, reading in READING.items():
        assert {name: str(inspect.signature(getattr(kind, name))) for name in reading} == reading
    actions = {name.replace("-", "_") for name in DECLARED}
    assert {kind: own_methods(kind) - actions for kind in READING} == {
        kind: set(reading) for kind, reading in READING.items()
    }


def test_the_methods_of_actions_are_those_that_are_declared() -> None:
    assert methods.PATH.read_text() == methods.source(), "run `make methods`"


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_the_columns_of_its_system_table(name: str) -> None:
    columns = tuple(column.name for column in SYSTEM_TABLES[name].columns)
    # A savepoint has the fields of its file too.
    assert RECORDS[name].__struct_fields__[: len(columns)] == columns
    assert RECORDS[name] is paimark.Savepoint or len(RECORDS[name].__struct_fields__) == len(columns)


def test_everything_returned_is_frozen() -> None:
    kinds = [getattr(paimark, name) for name in api.__all__]
    structs = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    assert len(structs) > 20
    assert [kind for kind in structs if not kind.__struct_config__.frozen] == []


def test_the_source_of_spark_needs_only_core_on_workers() -> None:
    """Spark's workers find the class by its module, and a cluster's do not get `paimark.tui`."""
    assert paimark.PaimarkSource.__module__.startswith("paimark.core.")


def test_it_works_without_the_packages_of_the_console_and_of_spark(warehouse: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BARE, str(warehouse)],
        env={
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "XDG_STATE_HOME": str(warehouse.parent),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    imported, rows, freed, lists = json.loads(done.stdout)
    assert imported == []
    assert rows == len(read_rows(warehouse, "shop.orders"))
    assert freed == 0
    assert lists == [5, 1, 1, 1, 1]
