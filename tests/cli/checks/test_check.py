"""`paimark check` with the suite's Spark, on a table with a key and one without, on main and on branches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import paimark as api
from paimark.core.spark.client.client import Engine
from tests.cli.command import Paimark
from tests.cli.shared_engine import share
from tests.paimon import commit, create_table
from tests.wording import about

KEYED = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("price", pa.float64()), ("kind", pa.string())]
)
PLAIN = pa.schema([pa.field("id", pa.int64()), ("price", pa.float64()), ("kind", pa.string())])


@pytest.fixture(scope="session")
def checked(engine_warehouse: Path) -> Path:
    """`checked.keyed` and `checked.plain`, whose branch fix changes row 1, loses 2, and has 3 (twice) new."""
    for name, schema, keys in (("checked.keyed", KEYED, ["id"]), ("checked.plain", PLAIN, [])):
        create_table(
            engine_warehouse, name, schema, primary_keys=keys, options={"bucket": "1"} if keys else {}
        )
        rows = {"id": [1, 2], "price": [10.0, 20.0], "kind": ["a", None]}
        commit(engine_warehouse, name, pa.table(rows, schema=schema))
        table = api.open(engine_warehouse).table(name)
        table.create_branch(name="fix", snapshot=1)
        more = {"id": [1, 3, 3], "price": [-1.0, 30.0, 30.0], "kind": ["b", "c", "c"]}
        commit(engine_warehouse, f"{name}$branch_fix", pa.table(more, schema=schema), overwrite=True)
    return engine_warehouse


@pytest.fixture
def check(paimark: Paimark, engine: Engine, checked: Path, monkeypatch: pytest.MonkeyPatch) -> Paimark:
    share(engine, checked, monkeypatch)
    return paimark


RULES = """
    -- name: no negative prices
    SELECT * FROM {this} WHERE price < 0;
    UNIQUE id;
    KEEPS KEYS id;
    NO NEW KEYS id;
    CHANGES ONLY price BY id;
    TOTAL price WITHIN 200 PERCENT;
    -- warn
    TOTAL price WITHIN 1 PERCENT;
    -- name: all orders are known
    SELECT t.id FROM {this} t LEFT ANTI JOIN checked.plain VERSION AS OF 1 o ON t.id = o.id
"""


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("checked.keyed", [1, 0, 1, 1, 1, 0, 1, 1]),
        pytest.param("checked.plain", [1, 1, 1, 1, 1, 0, 1, 2], marks=pytest.mark.long),
    ],
)
def test_a_branch_is_checked_beside_main(check: Paimark, tmp_path: Path, table: str, rows: list[int]) -> None:
    path = tmp_path / "checks.sql"
    path.write_text(RULES)
    ran = check("check", table, "fix", "--check", path, "--output", "json")
    assert ([each["rows"] for each in ran.rows], ran.code) == (rows, 4)
    assert [each["result"] for each in ran.rows][6] == "warns"
    assert ran.rows[0]["first"] == ['{"id":1,"price":-1.0,"kind":"b"}']
    assert ran.rows[4]["first"] == ['{"id":1,"changed":"kind"}']
    main = check("check", table, "main:1", "--check", path)
    assert (main.code, f"{table}, snapshot.1: 8 checks pass" in main.err) == (0, True)
    assert main.out.splitlines()[0] == "passes  no negative prices"


def test_a_person_sees_the_first_rows(
    check: Paimark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "paimark" / "checks" / "checked.keyed.sql"
    own.parent.mkdir(parents=True)
    own.write_text("-- name: many\nSELECT id, kind FROM {this}, (SELECT explode(sequence(1, 6))) ORDER BY id")
    ran = check("check", "checked.keyed")
    assert ran.code == 4
    lines = ran.out.splitlines()
    assert (lines[0], lines[-1]) == ("fails   many: 12 rows", "        and 2 more")
    # A null is told from a column that is not there.
    assert lines[1:11] == ['        {"id":1,"kind":"a"}'] * 6 + ['        {"id":2,"kind":null}'] * 4
    assert "checked.keyed, main at snapshot 1: 1 check, 1 fails: 12 rows" in ran.err
    called = check("sql", "CALL sys.check('checked.keyed', version => 'fix')", "--output", "json")
    [row] = called.rows
    assert (row["name"], row["result"], row["rows"]) == ("many", "fails", 12)
    assert "fix at snapshot 2: 1 check, 1 fails: 12 rows" in called.err


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("SELECT nope FROM {this}", 1, ("Check 1", "column", "nope")),
        ("-- name: x\nSELECT * FROM checked.none", 1, ("Check x",)),
        ("UNIQUE nope", 2, ("no column nope",)),
        ("DELETE FROM {this}", 2, ("SELECT", "check")),
    ],
)
def test_bad_checks_are_told_by_name(
    check: Paimark, tmp_path: Path, text: str, code: int, said: tuple[str, ...]
) -> None:
    path = tmp_path / "checks.sql"
    path.write_text(text)
    ran = check("check", "checked.plain", "--check", path)
    assert (ran.code, ran.out) == (code, "") and about(*said).search(ran.err), ran.err


def test_a_table_without_checks_says_where_to_write_them(check: Paimark) -> None:
    ran = check("check", "checked.plain")
    assert ran.code == 1 and "checks/checked.plain.sql" in ran.err
