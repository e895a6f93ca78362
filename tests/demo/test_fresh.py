"""`paimark demo --fresh`: only what the demo made goes, and only as it was planned."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context, open_context
from paimark.core.actions.registry import action
from paimark.core.demo import rows
from paimark.core.demo.build import build_demo
from paimark.core.demo.directory import MARKER, TABLES, UNFINISHED
from paimark.core.demo.fresh import plan_fresh
from paimark.core.demo.placing import finish_interrupted, put_in_place, unfinished
from paimark.core.errors import Refused
from paimark.core.table.layout import TablePath
from tests.long import long_but
from tests.paimon import commit, create_table, read_rows

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


def test_the_plan_counts_what_goes_and_names_what_was_made_since(demo: Path) -> None:
    context = context_of(demo)
    act(context, "create-branch", name="repair", tag="month-end")
    act(context, "create-savepoint", comment="mine")
    act(context, "create-tag", name="mine", snapshot=12)
    create_table(demo, "shop.my_own", IDS)
    before = content(demo)
    plan = plan_fresh(demo)
    assert content(demo) == before
    assert plan.refusals == ()
    assert (
        "loses: shop.orders, with what was made since it was built: branch repair, savepoint 2, tag mine"
        in plan.warnings
    )
    assert [step.target for step in plan.steps if step.verb == "delete"] == [
        "shop.customers",
        "shop.events",
        "shop.orders",
    ]
    files = [path for name in TABLES for path in (demo / "shop.db" / name).rglob("*") if path.is_file()]
    assert (plan.freed_files, plan.freed_bytes) == (len(files), sum(path.stat().st_size for path in files))
    assert plan.kept == ("shop.my_own: the demo did not make it",)


def test_the_demos_tables_are_new_and_all_else_is_as_it_was(demo: Path) -> None:
    act(context_of(demo), "create-branch", name="repair", tag="month-end")
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
    assert reasons(demo) == []


def other_program(demo: Path) -> None:
    commit(demo, "shop.customers", rows.customers(1, 2, with_tier=True))


def another_table(demo: Path) -> None:
    shutil.rmtree(demo / "shop.db" / "events")
    create_table(demo, "shop.events", IDS)
    commit(demo, "shop.events", pa.table({"id": [1]}, schema=IDS))


def another_user(demo: Path) -> None:
    act(replace(context_of(demo), user="ann"), "create-savepoint")


def a_stream(demo: Path) -> None:
    consumers = demo / "shop.db/orders/consumer"
    consumers.mkdir()
    (consumers / "consumer-mine").write_text('{"nextSnapshot": 18}')


def a_change(demo: Path) -> None:
    (demo / "shop.db/orders/branch/ACTION").write_text("{}")


def a_half_written_snapshot(demo: Path) -> None:
    (demo / "shop.db/events/snapshot/snapshot-14").write_text("{")


def a_link(demo: Path) -> None:
    (demo / "shop.db/events").rename(demo.parent / "events")
    (demo / "shop.db/events").symlink_to(demo.parent / "events")


def an_older_marker(demo: Path) -> None:
    (demo / MARKER).write_text(json.dumps({"made_by": "paimark demo"}))


def a_damaged_marker(demo: Path) -> None:
    (demo / MARKER).write_text("{")


@pytest.mark.parametrize(
    ("meanwhile", "reason"),
    [
        (other_program, "shop.customers got 1 commit from another program since"),
        (another_table, "shop.events has none of the commits of the demo: it is another table"),
        (another_user, "shop.orders was changed by ann: "),
        (a_stream, "shop.orders is read by a stream: mine"),
        (a_change, "shop.orders has a change that runs or was interrupted"),
        (a_half_written_snapshot, "shop.events can't be read, so nobody knows what would go: "),
        (a_link, "shop.events is a link to elsewhere"),
        (an_older_marker, "shop.orders was not made by this demo, or its marker does not tell"),
        (a_damaged_marker, "shop.orders was not made by this demo, or its marker does not tell"),
    ],
)
def test_a_table_that_others_have_to_do_with_is_refused_and_stays(
    demo: Path, meanwhile: Callable[[Path], None], reason: str
) -> None:
    meanwhile(demo)
    before = content(demo)
    assert any(each.startswith(reason) for each in reasons(demo))
    with pytest.raises(Refused):
        fresh(demo)
    assert content(demo) == before


def test_a_demo_that_is_open_elsewhere_is_refused(demo: Path) -> None:
    program = (
        "import sys; from paimark.core.demo.directory import open_in; open_in(sys.argv[1]); print(); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, demo], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as elsewhere:
        assert elsewhere.stdout is not None
        elsewhere.stdout.readline()
        assert reasons(demo) == [f"The demo in {demo} is open elsewhere: in a console, or it is being built"]
        with pytest.raises(Refused, match="open elsewhere"):
            fresh(demo)
        elsewhere.communicate(b"\n")
    assert reasons(demo) == []


def test_a_commit_after_the_plan_is_found_and_everything_stays(demo: Path) -> None:
    plan = plan_fresh(demo)
    act(context_of(demo), "create-savepoint")
    before = content(demo)
    with pytest.raises(Refused, match="changed since the plan was made"):
        build_demo(demo, lambda line: None, fresh=plan)
    assert without_marker(content(demo)) == without_marker(before)
    assert names(demo) == [MARKER, "shop.db"]
    assert reasons(demo) == []


@pytest.mark.parametrize("at", long_but(range(6), "0", "3", "5"))
def test_killed_between_two_renames_no_table_is_lost_and_the_next_run_tidies_up(
    template: Path, demo: Path, at: int
) -> None:
    plan = plan_fresh(demo)
    with unfinished(demo) as beside:
        shutil.copytree(template / "shop.db", beside / "shop.db")
        child = os.fork()
        if child == 0:
            # Only renames follow, which no thread of this process has to do with.
            killed_at(at)
            put_in_place(demo, beside, plan)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert any(name.startswith(UNFINISHED) for name in names(demo))
    finish_interrupted(demo)
    assert names(demo) == [MARKER, "shop.db"]
    assert sorted(path.name for path in (demo / "shop.db").iterdir()) == sorted(TABLES)
    assert reasons(demo) == []
    assert len(read_rows(demo, "shop.orders")) == 11950


def killed_at(number: int) -> None:
    """From now on the process ends instead of the rename with this number, from 0."""
    rename = os.rename
    done: list[Path] = []

    def rename_or_end(source: Path, target: Path) -> None:
        if len(done) == number:
            os._exit(9)
        done.append(target)
        rename(source, target)

    os.rename = rename_or_end  # type: ignore[assignment]


def without_marker(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if not path.endswith(MARKER)}
