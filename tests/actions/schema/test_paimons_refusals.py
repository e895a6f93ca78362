"""What Paimon could not open is not written: its own library is asked before the plan is made."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, planned
from tests.paimon import create_table
from tests.running.library_answers import ASKED_ANEW

ALTER = "alter-branch-schema"
TIME = pa.timestamp("ns")
KEYED = pa.schema([pa.field("k", pa.int64(), nullable=False), ("a", pa.int32()), ("b", pa.int32())])
PLAIN = pa.schema([("a", pa.int32()), ("t", TIME)])


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimark.core.spark.library.schema_check._answer", ASKED_ANEW)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    place = tmp_path_factory.mktemp("refusals")
    create_table(place, "db.plain", PLAIN, options={"file.format": "parquet"})
    partial = {"bucket": "1", "merge-engine": "partial-update"}
    create_table(place, "db.partial", KEYED, primary_keys=["k"], options=partial)
    create_table(place, "db.keyed", KEYED, primary_keys=["k"], options={"bucket": "1"})
    return context_on(place)


def refusals(context: Context, table: str, **changes: str) -> list[str]:
    plan = planned(context, ALTER, TablePath("db", table), **changes)
    return [f"{each.reason}. {each.hint}" for each in plan.refusals]


@pytest.mark.parametrize(
    ("table", "change", "why"),
    [
        ("plain", {"set": "'changelog-producer' = 'lookup'"}, "changelog-producer"),
        ("partial", {"set": "'fields.b.aggregate-function' = 'max'"}, "sequence"),
        ("keyed", {"set": "'snapshot.time-retained' = 'a while'"}, "a while"),
        ("keyed", {"set": "'global-index.external-path' = 'nowhere'"}, "scheme"),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in (
                ("plain", {"set": "'file.format' = 'avro'"}, "Avro does not support TIMESTAMP"),
                ("keyed", {"set": "'changelog-producer' = 'nowhere'"}, "nowhere"),
            )
        ),
    ],
)
def test_a_schema_that_paimon_refuses_is_refused(
    context: Context, table: str, change: dict[str, str], why: str
) -> None:
    [said] = refusals(context, table, **change)
    assert why in said


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("keyed", {"set": "'changelog-producer' = 'lookup'"}),
        pytest.param("keyed", {"set": "'file.format' = 'avro'"}, marks=pytest.mark.long),
        ("partial", {"set": "'savepoint.create-interval' = '1 h'"}),
    ],
)
def test_what_paimon_takes_is_taken(context: Context, table: str, change: dict[str, str]) -> None:
    assert refusals(context, table, **change) == []


def test_without_the_library_the_own_checks_remain(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert refusals(context, "plain", set="'file.format' = 'avro'") == []
    assert refusals(context, "keyed", set="'bucket' = '2'") != []
