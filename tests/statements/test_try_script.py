"""`try` with the suite's Spark, on a table with a key and one without: published whole, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Outcome
from paimark.core.errors import PaimarkError, Refused
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.statements.try_script import TRY_SCRIPT
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.main_branch import branch_names, main_root
from paimark.core.table.operations import read_operations
from tests.actions.acting import context_on, done, planned
from tests.faults.fault_files import Death, FaultFiles
from tests.long import long_but
from tests.paimon import commit, create_table, read_rows
from tests.storage.wrapped import Wrapped
from tests.wording import about

_numbers = count(1)
REPAIR = "UPDATE {this} SET price = abs(price) WHERE price < 0;"
CHECK = "-- name: no negative prices\nSELECT * FROM {this} WHERE price < 0;"


@pytest.fixture
def context(engine: Engine, engine_warehouse: Path) -> Context:
    return replace(context_on(engine_warehouse), engine=lambda: engine)


@pytest.fixture(params=["keyed", "plain"])
def table(request: pytest.FixtureRequest, context: Context) -> TablePath:
    """Rows 1 at 10 and 2 at -1."""
    path = TablePath("tried", f"{request.param}{next(_numbers)}")
    keys, options = (["id"], {"bucket": "1"}) if request.param == "keyed" else ([], {})
    create_table(Path(context.files.uri), path.full_name, _schema(path), primary_keys=keys, options=options)
    add(context, path, (1, 10.0), (2, -1.0))
    return path


def _schema(table: TablePath) -> pa.Schema:
    return pa.schema(
        [pa.field("id", pa.int64(), nullable="keyed" not in table.name), pa.field("price", pa.float64())]
    )


def add(context: Context, table: TablePath, *rows: tuple[int, float]) -> None:
    ids, prices = zip(*rows, strict=True)
    made = pa.table({"id": ids, "price": prices}, schema=_schema(table))
    commit(Path(context.files.uri), table.full_name, made)


def prices(context: Context, table: TablePath, branch: str | None = None) -> dict[int, float]:
    branch = branch or main_root(context.files, table).branch
    name = table.full_name if branch is None else f"{table.full_name}$branch_{branch}"
    return {row["id"]: row["price"] for row in read_rows(Path(context.files.uri), name)}


class Trying:
    """Tries a script on a table; `meanwhile` is called once, when a line is told that begins with `at`."""

    def __init__(self, context: Context, table: TablePath, directory: Path) -> None:
        self.context, self.table, self.directory = context, table, directory
        self.told: list[str] = []

    def __call__(
        self, script: str, *, at: str = "", meanwhile: Callable[[], None] | None = None, **arguments: object
    ) -> Outcome:
        file, check = self.directory / "fix.sql", self.directory / "checks.sql"
        file.write_text(script)
        check.write_text(CHECK)
        given = {"file": str(file), "check": str(check), "name": "aside", **arguments}
        plan = TRY_SCRIPT.plan(self.context, self.table, given)

        waiting = [] if meanwhile is None else [meanwhile]

        def tell(line: str) -> None:
            self.told.append(line)
            if waiting and line.startswith(at):
                waiting.pop()()

        return TRY_SCRIPT.apply(self.context, plan, tell)


@pytest.fixture
def trying(context: Context, table: TablePath, tmp_path: Path) -> Trying:
    return Trying(context, table, tmp_path)


@pytest.mark.parametrize("table", long_but(["keyed", "plain"], "keyed"), indirect=True)
def test_a_check_fails_first_then_the_repair_is_published_and_taken_back(
    context: Context, table: TablePath, trying: Trying
) -> None:
    before = prices(context, table)
    with pytest.raises(Refused) as caught:
        trying("INSERT INTO {this} VALUES (3, -3.0);" + REPAIR.replace("price < 0", "id = 2"))
    assert about("no negative prices", "snapshot 3", "branch aside", "1 row").search(caught.value.message)
    assert about("main", "branch aside", "`paimark delete-branch").search(caught.value.hint)
    assert prices(context, table) == before
    assert prices(context, table, "aside") == {1: 10.0, 2: 1.0, 3: -3.0}
    ended = trying(REPAIR, name="again")
    assert ended.message.endswith(": 1 statement, 1 check passes")
    assert prices(context, table) == {1: 10.0, 2: 1.0}
    logged = read_operations(context.files, table)[-1]
    assert [(each.name, each.rows) for each in logged.checks or ()] == [("no negative prices", 0)]
    done(context, "undo", table=table)
    assert prices(context, table) == before


@pytest.mark.parametrize("table", ["keyed"], indirect=True)
def test_a_repair_that_finds_no_row_is_checked_too(
    context: Context, table: TablePath, trying: Trying
) -> None:
    nothing = "UPDATE {this} SET price = 1 WHERE id = 99;"
    with pytest.raises(Refused) as caught:
        trying(nothing)
    assert about("no negative prices", "1 row").search(caught.value.message)
    assert about("main", "branch aside").search(caught.value.hint)
    add(context, table, (2, 1.0))
    ended = trying(nothing, name="again")
    assert ended.message.endswith(": 1 statement, no commit of rows, 1 check passes")


@pytest.mark.parametrize("table", ["keyed"], indirect=True)
def test_a_statement_that_fails_is_named(context: Context, table: TablePath, trying: Trying) -> None:
    three = f"{REPAIR} INSERT INTO {{this}} SELECT id, raise_error('too dear') FROM {{this}}; {REPAIR}"
    with pytest.raises(PaimarkError) as caught:
        trying(three)
    assert caught.value.message.startswith("Statement 2 of 3: ") and "too dear" in caught.value.message
    assert about("branch aside", "`paimark delete-branch").search(caught.value.hint)
    assert prices(context, table) == {1: 10.0, 2: -1.0}
    assert prices(context, table, "aside") == {1: 10.0, 2: 1.0}


@pytest.mark.parametrize("table", ["plain"], indirect=True)
def test_what_is_not_on_the_branch_is_refused_before_anything_runs(
    context: Context, table: TablePath, trying: Trying
) -> None:
    for bad, said in (
        (f"DELETE FROM {table.full_name} WHERE id = 1", "DELETE {this}"),
        ("DELETE FROM {main} WHERE id = 1", "DELETE {this}"),
        ("INSERT INTO shop.orders VALUES (1, 'a', 1)", "INSERT {this}"),
        (f"CALL sys.undo('{table.full_name}')", "undo {this}"),
        (f"DROP TABLE {table.full_name}", "DROP {this}"),
        ("UPDATE {that} SET price = 1", "{that} unknown"),
        ("UPDATE {this} SET price = 'a", "closed"),
    ):
        with pytest.raises(PaimarkError) as caught:
            trying(f"{REPAIR} {bad}")
        assert about(*said.split()).search(caught.value.message), bad
    with pytest.raises(PaimarkError, match=about("no statement", "script", "change*")):
        trying("SELECT 1")
    assert branch_names(context.files, table) == []
    trying.context = replace(context, read_only=True)
    with pytest.raises(Refused, match="read-only"):
        trying(REPAIR)


@pytest.mark.parametrize("table", ["keyed"], indirect=True)
def test_nothing_of_another_branch_of_that_name_is_published(
    context: Context, table: TablePath, trying: Trying
) -> None:
    def is_made_again() -> None:
        done(context, "delete-branch", table, name="aside")
        done(context, "create-branch", table, name="aside", snapshot=1)

    with pytest.raises(Refused, match=about("branch aside", "snapshot 2", "another")):
        trying(f"{REPAIR} INSERT INTO {{this}} VALUES (7, 7)", at="statement 2", meanwhile=is_made_again)
    assert prices(context, table) == {1: 10.0, 2: -1.0}


@pytest.mark.parametrize("table", ["keyed", pytest.param("plain", marks=pytest.mark.long)], indirect=True)
def test_main_moves_meanwhile(context: Context, table: TablePath, trying: Trying) -> None:
    script = f"{REPAIR} DELETE FROM {{this}} WHERE id = 7;"

    def moves() -> None:
        add(context, table, (3, 30.0))

    with pytest.raises(Refused, match=about("main", "lose", "commits")) as caught:
        trying(script, at="statement 2", meanwhile=moves, publish="replace")
    assert not about("main").search(caught.value.hint) and about("branch aside").search(caught.value.hint)
    # Without a key, what an UPDATE removed is not matched with main's rows of now.
    if table.name.startswith("keyed"):
        trying(script, at="statement 2", meanwhile=lambda: add(context, table, (4, 40.0)), name="again")
        assert prices(context, table) == {1: 10.0, 2: 1.0, 3: 30.0, 4: 40.0}
    else:
        with pytest.raises(Refused, match=about("removed 1 row")):
            trying(script, at="statement 2", meanwhile=lambda: add(context, table, (4, 40.0)), name="again")
    assert prices(context, table)[3] == 30.0


class _BeforeMerge(Wrapped):
    """A store in which somebody commits right before the merge takes the lock, after create-branch."""

    def __init__(self, inner: Files, meanwhile: Callable[[], None]) -> None:
        super().__init__(inner)
        self.meanwhile, self.locks = meanwhile, 0

    def create(self, path: str, data: bytes) -> bool:
        self.locks += path.endswith("/ACTION")
        if path.endswith("/ACTION") and self.locks == 2:
            self.meanwhile()
        return self.inner.create(path, data)


@pytest.mark.long
@pytest.mark.parametrize("table", ["keyed"], indirect=True)
def test_a_job_that_commits_during_the_checks_is_merged_with(
    context: Context, table: TablePath, trying: Trying
) -> None:
    """Main was to go along the branch, which it can't do any more: it gets the branch's rows."""
    trying.context = replace(
        context, files=_BeforeMerge(context.files, lambda: add(context, table, (3, 30.0)))
    )
    trying(REPAIR)
    assert prices(context, table) == {1: 10.0, 2: 1.0, 3: 30.0}


@pytest.mark.parametrize("table", ["plain"], indirect=True)
def test_the_branch_is_left_or_becomes_main(
    context: Context, table: TablePath, trying: Trying, tmp_path: Path, engine: Engine
) -> None:
    assert trying(REPAIR, publish="no").message == "Tried on branch aside: 1 statement, 1 check passes"
    assert prices(context, table) == {1: 10.0, 2: -1.0}
    # As a statement.
    call = (
        f"CALL sys.try(table => '{table.full_name}', file => '{tmp_path / 'fix.sql'}', "
        f"check => '{tmp_path / 'checks.sql'}', publish => 'replace', name => 'best')"
    )
    events = list(run_statement(context_for(engine), call, call=CallMode(lambda called, plan: None)))
    assert isinstance(events[-1], Finished), [each for each in events if isinstance(each, Failed)]
    assert main_root(context.files, table).branch == "best"
    assert prices(context, table) == {1: 10.0, 2: 1.0}


@pytest.mark.parametrize("table", ["plain"], indirect=True)
def test_an_interrupted_try_leaves_main_whole_and_says_what_stays(
    context: Context, table: TablePath, trying: Trying
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    script, before, after = f"{REPAIR} SELECT 1", {1: 10.0, 2: -1.0}, {1: 10.0, 2: 1.0}
    # While the branch is made, before each statement, and while main goes on along the branch.
    for number, line in enumerate(("", "statement 1", "statement 2", "wrote savepoint")):
        trying.told = []
        with pytest.raises(KeyboardInterrupt):
            trying(script, at=line, meanwhile=stop, name=f"n{number}")
        done(context, "recover", table=table)
        assert prices(context, table) == before
        is_there = f"n{number}" in branch_names(context.files, table)
        said = f"Interrupted. Branch n{number} stays: `paimark delete-branch "
        assert is_there == any(told.startswith(said) for told in trying.told), trying.told
    assert trying(script, name="whole").undo
    assert prices(context, table) == after


# Of the 60 to 90 writes of a try some are of the branch, some of the statement, and some publish it.
@pytest.mark.parametrize("table", ["keyed"], indirect=True)
@pytest.mark.parametrize("publish", long_but(["merge", "replace"], "replace"))
@pytest.mark.parametrize("write", long_but([2, 6, 9, 12, 16, 20, 25, 30], "9", "20"))
def test_a_killed_try_is_recovered_and_main_has_all_or_nothing(
    context: Context, table: TablePath, trying: Trying, publish: str, write: int
) -> None:
    trying.context = replace(context, files=FaultFiles(context.files, write))
    with pytest.raises(Death):
        trying(REPAIR, publish=publish)
    assert prices(context, table) in ({1: 10.0, 2: -1.0}, {1: 10.0, 2: 1.0})
    done(context, "recover", table=table)
    assert planned(context, "recover", table=table).empty
    now = prices(context, table)
    if main_root(context.files, table).branch == "aside" or now[2] == 1.0:
        done(context, "undo", table=table)
        assert prices(context, table) == {1: 10.0, 2: -1.0}
    else:
        assert now == {1: 10.0, 2: -1.0}
    if "aside" in branch_names(context.files, table):
        done(context, "delete-branch", table=table, name="aside")
    trying.context = context
    trying(REPAIR, publish=publish)
    assert prices(context, table) == {1: 10.0, 2: 1.0}
