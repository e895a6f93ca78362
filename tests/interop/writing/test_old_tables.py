"""Tables that Paimon 0.7 and 0.8 began: what their schemas leave out means what it meant then."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.spark.datasource.table_rows import row_batches
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import context_on, done
from tests.interop.judge import Judge
from tests.interop.written import Table

TABLE = TablePath("d", "t")
COLUMNS = {"k": "INT", "v": "STRING"}
THEN: dict[str, str] = {"bucket": "1", "file.format": "orc"}
FIRST = [[1, "a"], [2, "b"]]
# Fields of a file's record that came after 0.9.
LATER = ("_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_WRITE_COLS")


def of_version(table: Table, version: int | None, left_out: tuple[str, ...]) -> None:
    """Rewrite the schema as that version of the format has it."""
    path = table.directory / "schema/schema-0"
    fields = json.loads(path.read_text())
    fields.pop("version", None)
    if version is not None:
        fields["version"] = version
    fields["options"] = {name: value for name, value in fields["options"].items() if name not in left_out}
    path.write_text(json.dumps(fields))


def with_old_manifests(table: Table) -> None:
    """Take the later fields out of every manifest."""
    for path in table.directory.glob("manifest/manifest-*"):
        reader = fastavro.reader(io.BytesIO(path.read_bytes()))
        schema: Any = json.loads(json.dumps(reader.writer_schema))
        for file in (each for each in schema["fields"] if each["name"] == "_FILE"):
            fields = file["type"]["fields"]
            file["type"]["fields"] = [each for each in fields if each["name"] not in LATER]
        records = list(reader)
        with path.open("wb") as out:
            fastavro.writer(out, schema, records, codec="null")


@pytest.mark.parametrize("keys", [["k"], []], ids=["keyed", "append"])
@pytest.mark.parametrize(
    ("version", "left_out"),
    [(None, ("bucket", "file.format")), (1, ("bucket", "file.format")), (2, ("file.format",))],
)
def test_ours_and_theirs_write_on_in_turn(
    tmp_path: Path, judge: Judge, keys: list[str], version: int | None, left_out: tuple[str, ...]
) -> None:
    options = THEN if keys else {**THEN, "bucket-key": "k"}
    table = Table(tmp_path, TABLE.full_name, COLUMNS, keys=keys, options=options)
    of_version(table, version, left_out)
    judge.put(tmp_path, table.name, [("+I", row) for row in FIRST])
    table.write([(2, "ours"), (3, "c")])
    judge.put(tmp_path, table.name, [("+I", [3, "theirs"])])
    want = [[1, "a"], [2, "ours"], [3, "theirs"]]
    if not keys:
        want = sorted([*FIRST, [2, "ours"], [3, "c"], [3, "theirs"]])
    assert sorted(judge.rows(tmp_path, table.name)) == want
    assert judge.misplaced(tmp_path, table.name) == []
    assert {path.suffix for path in table.directory.glob("bucket-0/*")} == {".orc"}
    assert {path.name for path in table.directory.glob("bucket-*")} == {"bucket-0"}


def test_an_altered_schema_goes_on_to_mean_it(tmp_path: Path, judge: Judge) -> None:
    table = Table(tmp_path, TABLE.full_name, COLUMNS, keys=["k"], options=THEN)
    of_version(table, None, ("bucket", "file.format"))
    judge.put(tmp_path, table.name, [("+I", row) for row in FIRST])
    done(context_on(tmp_path), "alter-branch-schema", table=TABLE, add="w INT")
    newest = Lineage(LocalFiles(str(tmp_path)), TABLE.root()).require_schema()
    assert (newest.options["bucket"], newest.options["file.format"]) == ("1", "orc")
    judge.put(tmp_path, table.name, [("+I", [4, "d", 5])])
    assert len(judge.rows(tmp_path, table.name)) == 3
    assert {path.suffix for path in table.directory.glob("bucket-0/*")} == {".orc"}


def test_old_manifests_are_read_and_written_on(tmp_path: Path, judge: Judge) -> None:
    table = Table(tmp_path, TABLE.full_name, COLUMNS, keys=["k"], options=THEN)
    judge.put(tmp_path, table.name, [("+I", row) for row in FIRST])
    with_old_manifests(table)
    table.write([(2, "ours"), (3, "c")])
    assert sorted(judge.rows(tmp_path, table.name)) == [[1, "a"], [2, "ours"], [3, "c"]]
    assert _read_by_python(tmp_path) == [[1, "a"], [2, "ours"], [3, "c"]]


def _read_by_python(warehouse: Path) -> list[list[object]]:
    files, root = LocalFiles(str(warehouse)), TABLE.root()
    scan = make_scan(
        WarehouseAccess(files, str(warehouse), {}), root, Lineage(files, root).latest(), pinned=False
    )
    return sorted(list(row.values()) for batch in row_batches(scan) for row in batch.to_pylist())
