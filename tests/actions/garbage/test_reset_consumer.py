"""A consumer goes on where one says, or is forgotten: then expiry waits for it no longer."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.storage.local import LocalFiles
from tests.actions.acting import Meanwhile, applied, codes, context_on, done, item, planned, refused, texts
from tests.paimon import open_table
from tests.wording import about


@pytest.fixture
def job(orders: Path) -> Path:
    """The consumer `job`, which reads snapshot 3 next. With a field that this version does not know."""
    (orders / "consumer").mkdir()
    path = orders / "consumer/consumer-job"
    path.write_text('{"nextSnapshot": 3, "later": true}')
    return path


def next_of(path: Path) -> object:
    return msgspec.json.decode(path.read_bytes())["nextSnapshot"]


def test_one_that_is_forgotten_holds_no_snapshot(context: Context, job: Path, warehouse: Path) -> None:
    assert done(context, "expire-snapshots", retain_last=1).result["earliest_snapshot_id"] == 3
    plan = planned(context, "reset-consumer", name="job")
    assert item(plan, "consumer-forgotten").is_grave and plan.ask.phrase == "job"
    outcome = applied(context, plan)
    assert not job.exists()
    assert outcome.result["previous_snapshot_id"] == 3
    assert done(context, "expire-snapshots", retain_last=1).result["earliest_snapshot_id"] == 5
    assert open_table(warehouse, "shop.orders") is not None


def test_its_way_back_is_a_command(context: Context, job: Path) -> None:
    outcome = done(context, "reset-consumer", name="job")
    assert outcome.undo == "paimark reset-consumer shop.orders --name job --snapshot 3"
    done(context, "reset-consumer", name="job", snapshot=3)
    assert next_of(job) == 3


@pytest.mark.parametrize(("to", "said"), [(5, "consumer-skips"), (6, "consumer-skips"), (1, "reads-again")])
def test_it_goes_on_elsewhere(context: Context, job: Path, to: int, said: str) -> None:
    plan = planned(context, "reset-consumer", name="job", snapshot=to)
    assert said in codes(plan)
    # Only what is skipped is lost.
    assert (plan.ask.kind == "type") == (to > 3)
    applied(context, plan)
    assert next_of(job) == to


def test_it_has_that_place_already(context: Context, job: Path) -> None:
    plan = planned(context, "reset-consumer", name="job", snapshot=3)
    assert plan.empty
    applied(context, plan)
    assert "later" in job.read_text()


@pytest.mark.parametrize("to", [0, 7])
def test_a_snapshot_that_is_not_there_is_refused(context: Context, job: Path, to: int) -> None:
    plan = planned(context, "reset-consumer", name="job", snapshot=to)
    [reason] = refused(plan)
    assert about("main", "shop.orders", f"no snapshot {to}").search(reason)


def test_a_new_one_makes_expiry_wait(context: Context, orders: Path) -> None:
    """Also where the oldest snapshot has another number by the time that somebody has typed it."""
    done(context, "expire-snapshots", retain_last=3)
    plan = planned(context, "reset-consumer", name="hold", snapshot=1)
    assert item(plan, "expiry-waits").names == ("hold",) and plan.ask.kind == "none"
    outcome = applied(context, plan)
    assert outcome.undo == "paimark reset-consumer shop.orders --name hold"
    assert planned(context, "expire-snapshots", retain_last=1).empty
    # It has no snapshot to go on at, once it is there.
    assert refused(planned(context, "reset-consumer", name="hold", snapshot=2))
    done(context, "reset-consumer", name="hold")
    assert done(context, "expire-snapshots", retain_last=1).result["earliest_snapshot_id"] == 5


def test_one_that_is_not_there_is_named(context: Context, job: Path) -> None:
    with pytest.raises(NotFound, match=about("no consumer jb")) as missing:
        planned(context, "reset-consumer", name="jb")
    assert about("job").search(missing.value.hint)
    with pytest.raises(UsageError, match=about("name", "consumer")):
        planned(context, "reset-consumer", name="../../tag/tag-v2")


def test_what_holds_expiry_for_a_change_of_ours_stays(context: Context, job: Path) -> None:
    job.rename(job.with_name("consumer-paimark-1f"))
    plan = planned(context, "reset-consumer", name="paimark-1f")
    [reason] = refused(plan)
    assert about("consumer paimark-1f", "expiry", "change").search(reason)


def test_one_that_does_not_say_its_place_is_forgotten_too(context: Context, job: Path) -> None:
    job.write_bytes(b"\xff{")
    plan = planned(context, "reset-consumer", name="job")
    assert plan.undo == ""
    applied(context, plan)
    assert not job.exists()


def test_a_job_that_goes_on_meanwhile_wins(context: Context, job: Path, warehouse: Path) -> None:
    plan = planned(context, "reset-consumer", name="job", snapshot=1)
    job.write_text('{"nextSnapshot": 4}')
    with pytest.raises(Refused, match=about("main", "shop.orders", "plan")):
        applied(context, plan)
    plan = planned(context, "reset-consumer", name="job", snapshot=1)
    moved_on = warehouse / "moved_on"
    moved_on.write_text('{"nextSnapshot": 5}')
    # The journal says that it is committed.
    files = Meanwhile(
        LocalFiles(str(warehouse)), "-2", lambda: job.write_text('{"nextSnapshot": 5}') and None
    )
    outcome = applied(context_on(warehouse, files), plan)
    assert about("stays", "job", "since").search(outcome.message)
    assert next_of(job) == 5


def test_of_a_branch(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    plan = planned(context, "reset-consumer", name="job", snapshot=2, branch="fix")
    assert texts(plan, "loses") == []
    assert plan.undo == "paimark reset-consumer shop.orders --name job --branch fix"
    applied(context, plan)
    assert next_of(orders / "branch/branch-fix/consumer/consumer-job") == 2
    assert done(context, "reset-consumer", name="job", branch="fix").undo.endswith(
        "--snapshot 2 --branch fix"
    )
