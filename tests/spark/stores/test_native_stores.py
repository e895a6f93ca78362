"""An object store and HDFS, read by Spark's own readers: the rows of the Python source and of stock Paimon.

And written, row by row and by compactions.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.storage.open import open_files
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.interop.judge import Judge
from tests.long import long_but
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, rows
from tests.spark.generated_tables import Generated, generate
from tests.spark.native.test_native import agreed
from tests.spark.stores.engines import SECRET, door, on_hdfs, on_s3, upload
from tests.spark.stores.faulty import Door
from tests.spark.test_differential import agree
from tests.wording import about

__all__ = ["door", "on_hdfs", "on_s3"]
# Generated tables, which take a minute a store: a number, and which kind of them.
_GENERATED = {
    2001: ("deduplicate", "parquet"),
    2003: ("deduplicate", "orc"),
    2005: ("append", "avro"),
    2007: ("deduplicate", "avro"),
}
# As the table is first, and after a column has another name and a wider type.
AVRO = pa.schema(
    [
        *(("whole", pa.int64()), ("small", pa.int8()), ("real", pa.float64()), ("is_so", pa.bool_())),
        *(("text", pa.string()), ("part", pa.string())),
    ]
)
AVRO_LATER = AVRO.set(1, pa.field("small", pa.int32())).set(4, pa.field("words", pa.string()))


@pytest.fixture(params=["on_s3", pytest.param("on_hdfs", marks=pytest.mark.long)])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


def test_stores_are_read_natively(engine: Engine, judge: Judge, tmp_path: Path, is_long: bool) -> None:
    """Merged and appended tables, at versions, with conditions and limits; then generated ones."""
    assert len(agreed(engine, "SELECT * FROM shop.orders VERSION AS OF 1")) == 4
    assert len(agreed(engine, "SELECT * FROM shop.orders VERSION AS OF 5 WHERE order_id > 6")) == 2
    assert len(agreed(engine, "SELECT day, count(kind) FROM shop.events GROUP BY day")) == 2
    # Few rows are read by the engine itself.
    assert ask(engine, "SELECT * FROM shop.events LIMIT 2").finish.rows == 2
    explained = ask(engine, "EXPLAIN SELECT * FROM shop.events").explained
    assert explained.startswith("scan: native shop.events")
    native = 0
    for seed, kind in _GENERATED.items() if is_long else ():
        table, place = Generated(seed, kind), tmp_path / f"w{seed}"
        generate(table, place, judge)
        upload(place, engine.settings)
        try:
            native += agree(Random(seed), table, table.targets[-1], engine, place, judge)
        except Exception as error:
            error.add_note("\n".join([f"seed {seed}", *table.story]))
            raise
    assert native or not is_long


CHANGED = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())])
_JOINS = {"compaction.min.file-num": "2"}
_CHANGED_KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "keyed": (["k"], {"bucket": "1"}),
    "append": ([], _JOINS),
    "vectors": ([], {**_JOINS, "deletion-vectors.enabled": "true"}),
}
_MERGE = (
    "MERGE INTO {} t USING (SELECT * FROM VALUES (3, 33), (9, 90) AS x(k, v)) s ON t.k = s.k "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
)


@pytest.mark.long
@pytest.mark.parametrize("kind", long_but(_CHANGED_KINDS, "keyed"))
def test_rows_are_changed_and_files_merged(engine: Engine, kind: str, tmp_path: Path, is_long: bool) -> None:
    settings, (keys, options) = engine.settings, _CHANGED_KINDS[kind]
    table, files = TablePath("changed", kind), open_files(settings.warehouse, settings.options)
    context = replace(context_on(tmp_path / "w", files), options=settings.options, engine=lambda: engine)
    name = table.full_name
    create_table(tmp_path / "w", name, CHANGED, primary_keys=keys, options=options)
    for some in ([1, 2, 3], [20, 21]):
        commit(tmp_path / "w", name, pa.table({"k": some, "v": some}, CHANGED))
    upload(tmp_path / "w", settings)

    def changed(sql: str) -> dict[int, int]:
        if sql:
            *_, end = run_statement(
                context_for(engine), sql.format(name), call=CallMode(lambda action, plan: None)
            )
            assert isinstance(end, Finished), end
        return {row["k"]: row["v"] for row in rows(engine, f"SELECT * FROM {name}")}

    first = changed("")
    second = changed("UPDATE {} SET v = 22 WHERE k = 2")
    assert second == {**first, 2: 22}
    # Paimon rewrites files with deleted rows apart from the others.
    files_after = 2 if kind == "vectors" else 1
    assert done(context, "compact", table, full=True).result["files_after"] == files_after
    assert changed("") == second
    if is_long:
        third = changed("DELETE FROM {} WHERE k = 1")
        assert third == {k: v for k, v in second.items() if k != 1}
        assert changed(_MERGE) == {**third, 3: 33, 9: 90}
        for before in (third, second, first):
            done(context, "undo", table)
            assert changed("") == before


@pytest.mark.long
def test_avro_files_are_read_natively(engine: Engine, judge: Judge, tmp_path: Path) -> None:
    """Of partitions and of an older schema."""
    name = "avros.plain"
    options = {"file.format": "avro"}
    create_table(tmp_path, name, AVRO, partition_keys=["part"], options=options)
    for start, schema in ((0, AVRO), (3, AVRO_LATER)):
        if start:
            judge.alter(tmp_path, name, "rename", "text", name="words")
            judge.alter(tmp_path, name, "widen", "small", type="INT")
        added = [(n << 40, -n, n / 3, n % 2 == 0, f"é{n}", "a/b %41") for n in range(start, start + 3)]
        columns = zip(*added, (None,) * len(schema), strict=True)
        commit(tmp_path, name, pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema))
    upload(tmp_path, engine.settings)
    found = agreed(engine, f"SELECT * FROM {name}")
    assert fields(found) == sorted(judge.rows(tmp_path, name), key=repr)
    assert agreed(engine, f"SELECT words FROM {name} WHERE part = 'a/b %41' AND small < -3 LIMIT 5") == [
        {"words": "é4"},
        {"words": "é5"},
    ]
    (summed,) = agreed(engine, f"SELECT sum(whole) AS whole, count(words) AS n FROM {name} VERSION AS OF 2")
    assert summed == {"whole": 15 << 40, "n": 6}
    assert ask(engine, f"EXPLAIN SELECT * FROM {name}").explained.startswith(f"scan: native {name} at ")


def fields(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """As `Judge.rows` has them, in an order."""
    return sorted((list(row.values()) for row in rows), key=repr)


def test_a_store_that_refuses_or_is_gone_is_told_in_a_sentence(
    on_s3: Engine, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(error: str) -> tuple[str, str]:
        monkeypatch.setattr(door, "error", error)
        failure = ask(on_s3, "SELECT max(kind), min(day), count(kind) FROM shop.events").failure
        monkeypatch.undo()
        assert "Exception" not in failure.message + failure.hint
        return failure.message, failure.hint

    bucket = on_s3.settings.warehouse.rpartition("/")[0]
    # It was read before: Spark asks the store for nothing but the files of this query.
    assert ask(on_s3, "SELECT * FROM shop.events").readings[0].scan == "native"
    message, hint = fails("InvalidAccessKeyId")
    assert about("Spark", bucket, "refuses", "credentials").search(message)
    assert "s3.access-key" in hint
    message, hint = fails("ExpiredToken")
    assert about("Spark", bucket, "refuses", "token", "expired").search(message)
    assert "s3.session-token" in hint
    message, hint = fails("gone")
    assert about("Spark", bucket, "not answer").search(message)
    assert about("network", "address").search(hint)
    assert rows(on_s3, "SELECT count(kind) AS n FROM shop.events") == [{"n": 4}]


def test_secrets_of_a_store_are_in_no_setting_and_on_no_command_line(on_s3: Engine) -> None:
    assert ask(on_s3, "SELECT * FROM shop.events").readings[0].scan == "native"
    assert SECRET not in repr(rows(on_s3, "SET -v"))
    processes = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True)
    assert "SparkSubmit" in processes.stdout
    assert SECRET not in processes.stdout
    explained = ask(on_s3, "EXPLAIN EXTENDED SELECT * FROM shop.events").explained
    assert SECRET not in explained
