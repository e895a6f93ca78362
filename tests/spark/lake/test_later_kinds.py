"""Types and formats that came with a later Paimon are refused by name, with its version."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import fastavro
import pytest

import paimark
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from tests.spark.datasource.test_table_options import ROW, make, set_options
from tests.spark.engine_fixture import ask, rows
from tests.table.avro_files import avro
from tests.wording import about

# What is told of a type or a format. Of one that no version is known to have, none is named.
TYPES: list[tuple[str, object, tuple[str, ...]]] = [
    ("later", "GEOMETRY(OGC:CRS84)", ("type GEOMETRY", "Paimon 2.1")),
    ("unknown", {"type": "ARRAY", "element": "QUATERNION(4)"}, ("type QUATERNION",)),
]
FORMATS: list[tuple[str, str, tuple[str, ...]]] = [
    ("file.format", "row", ("Paimon 2.0",)),
    ("vector.file.format", "vortex", ("Paimon 2.0", "paimon-vortex-format")),
    ("file.format", "later", ()),
]
FILES = about("files", "vortex", "Paimon 2.0", "paimon-vortex-format")


def names_a_version(message: str) -> bool:
    return re.search(r"Paimon \d", message) is not None


def of_type(warehouse: Path, name: str, kind: object) -> str:
    """A table whose column `a` has another type since the first version."""
    table = make(warehouse, f"{name}_type", {}, [ROW])
    schemas = warehouse / "options.db" / f"{name}_type" / "schema"
    schema = json.loads((schemas / "schema-0").read_text())
    schema["fields"][2]["type"] = kind
    (schemas / "schema-1").write_text(json.dumps({**schema, "id": 1}))
    return table


def of_format(warehouse: Path, option: str, form: str) -> str:
    table = make(warehouse, f"format_{form}", {}, [ROW])
    set_options(warehouse, table, {option: form, "merge-engine": "partial-update"})
    return table


def with_files(warehouse: Path) -> str:
    """A table with a file of a later format."""
    table = make(warehouse, "later_files", {}, [ROW])
    directory = warehouse / "options.db/later_files"
    [manifest] = [each for each in directory.glob("manifest/manifest-*") if "list" not in each.name]
    reader = fastavro.reader(io.BytesIO(manifest.read_bytes()))
    [entry] = records = list(reader)
    [file] = directory.rglob("*.parquet")
    entry["_FILE"]["_FILE_NAME"] = file.rename(file.with_suffix(".vortex")).name
    manifest.write_bytes(avro(reader.writer_schema, records))
    return table


@pytest.mark.parametrize(("name", "kind", "told"), TYPES)
def test_a_type_is_refused(
    engine: Engine, engine_warehouse: Path, name: str, kind: object, told: tuple[str, ...]
) -> None:
    table = of_type(engine_warehouse, name, kind)
    message = ask(engine, f"SELECT p FROM {table}").failure.message
    assert about("column a", table, *told).search(message) and names_a_version(message) == (name == "later")
    with pytest.raises(Refused, match=re.escape(message)):
        paimark.open(engine_warehouse).table(table).at().to_arrow()
    # The version before has another type.
    assert rows(engine, f"SELECT * FROM {table} VERSION AS OF 1") == [ROW]


@pytest.mark.parametrize(("option", "form", "told"), FORMATS)
def test_a_format_is_refused(
    engine: Engine, engine_warehouse: Path, option: str, form: str, told: tuple[str, ...]
) -> None:
    table = of_format(engine_warehouse, option, form)
    message = ask(engine, f"SELECT p FROM {table}").failure.message
    assert about(table, f"{option} = {form}", *told, "library").search(message)
    assert names_a_version(message) == bool(told)


def test_files_of_a_format_are_named_by_who_finds_them(engine: Engine, engine_warehouse: Path) -> None:
    table = with_files(engine_warehouse)
    assert FILES.search(ask(engine, f"SELECT * FROM {table}").failure.message)
    with pytest.raises(Refused, match=FILES):
        paimark.open(engine_warehouse).table(table).at().to_arrow()
