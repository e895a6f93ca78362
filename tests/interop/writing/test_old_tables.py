"""Tables that Paimon 0.7 and 0.8 began: what their schemas leave out means what it meant then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import context_on, done
from tests.interop.judge import Judge
from tests.interop.written import Table
from tests.spark.library.ways import OwnTable

TABLE = TablePath("d", "t")
COLUMNS = {"k": "INT", "v": "STRING"}
THEN: dict[str, str] = {"bucket": "1", "file.format": "orc"}
FIRST = [[1, "a"], [2, "b"]]


def of_version(table: Table, version: int | None, left_out: tuple[str, ...]) -> None:
    """Rewrite the schema as that version of the format has it."""
    path = table.directory / "schema/schema-0"
    fields = json.loads(path.read_text())
    fields.pop("version", None)
    if version is not None:
        fields["version"] = version
    fields["options"] = {name: value for name, value in fields["options"].items() if name not in left_out}
    path.write_text(json.dumps(fields))


@pytest.mark.parametrize("keys", [["k"], []], ids=["keyed", "append"])
@pytest.mark.parametrize(
    ("version", "left_out"),
    [(None, ("bucket", "file.format")), (1, ("bucket", "file.format")), (2, ("file.format",))],
)
def test_ours_and_theirs_write_on_in_turn(
    spark_of_library: SparkSession,
    tmp_path: Path,
    judge: Judge,
    keys: list[str],
    version: int | None,
    left_out: tuple[str, ...],
) -> None:
    options = THEN if keys else {**THEN, "bucket-key": "k"}
    table = OwnTable(tmp_path, TABLE.full_name, COLUMNS, keys=keys, options=options)
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


def test_an_altered_schema_goes_on_to_mean_it(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge
) -> None:
    table = OwnTable(tmp_path, TABLE.full_name, COLUMNS, keys=["k"], options=THEN)
    of_version(table, None, ("bucket", "file.format"))
    judge.put(tmp_path, table.name, [("+I", row) for row in FIRST])
    done(context_on(tmp_path), "alter-branch-schema", table=TABLE, add="w INT")
    newest = Lineage(LocalFiles(str(tmp_path)), TABLE.root()).require_schema()
    assert (newest.options["bucket"], newest.options["file.format"]) == ("1", "orc")
    judge.put(tmp_path, table.name, [("+I", [4, "d", 5])])
    assert len(judge.rows(tmp_path, table.name)) == 3
    assert {path.suffix for path in table.directory.glob("bucket-0/*")} == {".orc"}
