"""`paimark demo --fresh`: the demo's tables go to the trash, and only as it was planned."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context, open_context
from paimark.core.actions.registry import action
from paimark.core.demo import rows
from paimark.core.demo.build import build_demo
from paimark.core.demo.directory import MARKER, TABLES, UNFINISHED, alone
from paimark.core.demo.placing import plan_fresh, put_in_place, tidy_up
from paimark.core.errors import PaimarkError, Refused
from paimark.core.table.layout import TablePath
from paimark.core.table.trash import dropped_tables
from tests.long import long_but
from tests.paimon import commit, create_table, read_rows
from tests.wording import about

ORDERS = TablePath("shop", "orders")
IDS = pa.schema([("id", pa.int64())])


def context_of(demo: Path) -> Context:
    return replace(open_context(str(demo), {}, read_only=False), audit_path=demo.parent / "audit")


def act(context: Context, action_name: str, /, **arguments: object) -> None:
    chosen = action(action_name)
    chosen.apply(context, chosen.plan(context, ORDERS, arguments), lambda line: None)


def fresh(demo: Path) -> None:
    build_demo(demo, lambda line: None, fresh=plan_fresh(demo))


def reasons(demo: Path) -> list[str]:
    return [refusal.reason for refusal in plan_fresh(demo).refusals]


def names(demo: Path) -> list[str]:
    return sorted(path.name for path in demo.iterdir())


def content(demo: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in demo.rglob("*") if path.is_file()}


def test_the_plan_drops_the_demos_tables_and_keeps_all_others(demo: Path) -> None:
    create_table(demo, "shop.my_own", IDS)
    before = content(demo)
    plan = plan_fresh(demo)
    assert content(demo) == before
    assert plan.refusals == ()
    # The demo's own loads are nothing that a person could stop.
    (loss,) = plan.warnings
    assert about("loses", "shop.customers", "shop.events", "shop.orders").search(loss)
    assert [step.target for step in plan.steps if step.verb == "move"] == [
        f"shop.db/{name}" for name in TABLES
    ]
    in_trash, _ = plan.kept
    assert in_trash.endswith("orders: 16,200 records, 1 branch and 1 savepoint")
    assert about("shop.my_own", "demo").search(plan.kept[-1])


def test_the_demos_tables_are_new_and_all_else_is_as_it_was(demo: Path) -> None:
    act(context_of(demo), "create-branch", name="repair", tag="month-end")
    commit(demo, "shop.customers", rows.customers(1, 2, with_tier=True))
    create_table(demo, "shop.my_own", IDS)
    (demo / "own.db").mkdir()
    (demo / "own.db" / "notes.txt").write_text("mine")
    own = content(demo / "shop.db" / "my_own")
    fresh(demo)
    assert content(demo / "shop.db" / "my_own") == own
    assert (demo / "own.db" / "notes.txt").read_text() == "mine"
    assert [path.name for path in (demo / "shop.db/orders/branch").glob("branch-*")] == ["branch-fix_prices"]
    assert len(read_rows(demo, "shop.orders")) == 11950
    assert names(demo) == [MARKER, "own.db", "shop.db"]
    files = context_of(demo).files
    dropped = {each.table.name: each for each in dropped_tables(files, "shop")}
    assert sorted(dropped) == sorted(TABLES)
    assert (demo / dropped["orders"].place.directory / "branch" / "branch-repair").is_dir()


def a_change(demo: Path) -> None:
    (demo / "shop.db/orders/branch/ACTION").write_text("{}")


def a_link(demo: Path) -> None:
    (demo / "shop.db/events").rename(demo.parent / "events")
    (demo / "shop.db/events").symlink_to(demo.parent / "events")


@pytest.mark.parametrize("meanwhile", [a_change, a_link])
def test_what_drop_table_refuses_is_refused_and_stays(demo: Path, meanwhile: Callable[[Path], None]) -> None:
    meanwhile(demo)
    before = content(demo)
    with pytest.raises(PaimarkError):
        fresh(demo)
    assert content(demo) == before


def test_a_demo_that_is_being_built_elsewhere_is_refused(demo: Path) -> None:
    with alone(demo), pytest.raises(Refused, match="being built"):
        fresh(demo)
    assert reasons(demo) == []


def test_a_job_that_wrote_since_is_told(demo: Path) -> None:
    commit(demo, "shop.customers", rows.customers(1, 2, with_tier=True))
    [affects] = [each.text for each in plan_fresh(demo).items if each.kind == "affects"]
    assert "wrote to shop.customers" in affects and "stop it first" in affects


def test_a_commit_after_the_plan_is_found_and_its_table_stays(demo_template: Path, demo: Path) -> None:
    plan = plan_fresh(demo)
    commit(demo, "shop.customers", rows.customers(1, 2, with_tier=True))
    before = content(demo)
    built = shutil.copytree(demo_template, demo.parent / "built")
    with pytest.raises(Refused):
        put_in_place(demo, built, plan, lambda line: None)
    assert content(demo) == before


@pytest.mark.parametrize("at", long_but(range(6), "0", "3", "5"))
def test_killed_between_two_renames_no_table_is_lost_and_the_next_run_tidies_up(
    demo_template: Path, demo: Path, at: int
) -> None:
    plan = plan_fresh(demo)
    built = shutil.copytree(demo_template, demo / f"{UNFINISHED}1")
    child = os.fork()
    if child == 0:
        killed_at(at)
        put_in_place(demo, built, plan, lambda line: None)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    tidy_up(demo)
    assert names(demo) == [MARKER, "shop.db"]
    dropped = {each.table.name for each in dropped_tables(context_of(demo).files, "shop")}
    there = {path.name for path in (demo / "shop.db").iterdir()}
    assert dropped | there >= {*TABLES}


def killed_at(number: int) -> None:
    """From now on the process ends instead of the rename of a directory with this number, from 0."""
    rename = os.rename
    done: list[object] = []

    def rename_or_end(source: str, target: str, **where: int) -> None:
        if len(done) == number:
            os._exit(9)
        done.append(target)
        rename(source, target, **where)

    os.rename = rename_or_end  # type: ignore[assignment]
