"""`recover` ends what died, leaves alone what lives, and removes nothing that no journal or claim names."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.change import journal
from paimark.core.actions.change.owner import Owner, running, this_process
from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.actions.roots.savepoint_claim import Claim
from paimark.core.errors import Corrupt, Refused, Unavailable
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.manifests.files import each_needed_file
from paimark.core.table.operations import read_operations
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, applied, contents, context_on, done, planned, texts
from tests.faults.fault_files import Death, FaultFiles
from tests.paimon import read_rows
from tests.storage.wrapped import Wrapped
from tests.wording import about

# A process that makes a savepoint (or a branch) and stops for good when it tells a line that begins so.
SLEEPER = """
import sys, time
from pathlib import Path
from tests.actions.acting import context_on
from paimark.core.actions.registry import action
from paimark.core.table.layout import TablePath

context, table = context_on(Path(sys.argv[1])), TablePath("shop", "orders")
name, until = sys.argv[2], sys.argv[3]
arguments = {"name": "b", "tag": "v2"} if name == "create-branch" else {"message": "month end"}

def told(line):
    if line.startswith(until):
        print("stopped", flush=True)
        time.sleep(600)

plan = action(name).plan(context, table, arguments)
action(name).apply(context, plan, told)
"""


def test_a_living_process_is_left_alone_and_a_killed_one_recovered(
    context: Context, warehouse: Path, orders: Path
) -> None:
    process = _stopped_at(warehouse, "create-savepoint", "tagged")
    before = contents(orders)
    plan = planned(context, "recover")
    assert plan.empty
    [told] = texts(plan, "affects")
    assert told.startswith("savepoint 1, by ")
    assert about("held", "living process", "alone").search(told)
    applied(context, plan)
    assert contents(orders) == before

    _kill(process)
    plan = planned(context, "recover")
    assert [step.target for step in plan.steps] == ["shop.db/orders/savepoint/savepoint-1"]
    applied(context, plan)

    assert [each.id for each in SavepointManager(context.files, ORDERS).of_root(ORDERS.root())] == [1]
    assert [each.message for each in read_operations(context.files, ORDERS)] == ["month end"]
    assert not (orders / "savepoint/CLAIM-1").exists()
    assert planned(context, "recover").empty


def test_a_branch_whose_maker_was_killed_blocks_others_until_recovered(
    context: Context, warehouse: Path, orders: Path
) -> None:
    process = _stopped_at(warehouse, "create-branch", "copied tag")
    [held] = planned(context, "create-branch", name="c", tag="v2").refusals
    assert about("shop.orders", "held", "create-branch").search(held.reason)
    assert planned(context, "recover").empty

    _kill(process)
    [held] = planned(context, "create-branch", name="c", tag="v2").refusals
    assert about("shop.orders", "interrupted create-branch").search(held.reason)
    assert about("`paimark recover shop.orders`").search(held.hint)
    done(context, "recover")

    assert branch_names(context.files, ORDERS) == []
    done(context, "create-branch", name="b", tag="v2")
    assert len(read_rows(warehouse, "shop.orders$branch_b")) == 5


def test_a_branch_that_main_no_longer_feeds_is_undone(context: Context, orders: Path) -> None:
    _die(context, "create-branch", 4, name="b", tag="v2")
    assert (orders / "branch/branch-b").exists()
    (orders / "tag/tag-v2").unlink()

    plan = planned(context, "recover")
    assert ("delete", "branch b") in [(step.verb, step.target) for step in plan.steps]
    applied(context, plan)

    assert branch_names(context.files, ORDERS) == []
    assert not (orders / "branch/branch-b").exists()
    assert not (orders / "branch/ACTION").exists()


def test_a_branch_that_others_use_already_is_not_undone(context: Context, orders: Path) -> None:
    _die(context, "create-branch", 8, name="b", tag="v2")
    (orders / "tag/tag-v2").unlink()
    theirs = orders / "branch/branch-b/tag/tag-theirs"
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_bytes(b"{}")
    before = contents(orders / "branch/branch-b")

    written, gone = "shop.db/orders/branch/branch-b/tag/tag-theirs", "shop.db/orders/tag/tag-v2"
    said = done(context, "recover").message
    assert about("branch b", "shop.orders", "stays unfinished", written, gone, "plan").search(said)
    assert contents(orders / "branch/branch-b") == before
    assert planned(context, "recover").empty


def test_a_whole_branch_stays_though_its_tag_has_gone(
    context: Context, warehouse: Path, orders: Path
) -> None:
    writes = _die(context, "create-branch", 11, name="b", tag="v2")
    assert "STEP-" in writes[-1] and (orders / "branch/branch-b/snapshot/LATEST").exists()
    (orders / "tag/tag-v2").unlink()

    done(context, "recover")

    assert len(read_rows(warehouse, "shop.orders$branch_b")) == 5


def test_a_foreign_tag_is_never_removed(context: Context, orders: Path) -> None:
    foreign = orders / "tag/tag-savepoint.3"
    foreign.write_bytes((orders / "tag/tag-v2").read_bytes())
    assert planned(context, "recover").empty

    # Killed right after its claim: the tag of that number is somebody else's.
    dead = Claim(
        id=3,
        token="gone",
        snapshot_id=5,
        tag_digest="another",
        full_manifest_list="manifest-list-x",
        save_time=0,
        created_by="manual",
        owner=msgspec.structs.replace(this_process(context), pid=2**22 + 1),
    )
    (orders / "savepoint").mkdir()
    (orders / "savepoint/CLAIM-3").write_bytes(dead.to_json())
    done(context, "recover")

    assert foreign.exists()
    assert not (orders / "savepoint/CLAIM-3").exists()


def test_a_dead_claim_never_touches_a_finished_savepoint_of_its_number(
    context: Context, orders: Path
) -> None:
    writes = _die(context, "create-savepoint", 1)
    assert writes == ["create shop.db/orders/savepoint/CLAIM-1"]
    claim = (orders / "savepoint/CLAIM-1").read_bytes()
    (orders / "savepoint/CLAIM-1").unlink()
    done(context, "create-savepoint")
    whole = contents(orders)
    (orders / "savepoint/CLAIM-1").write_bytes(claim)

    done(context, "recover")

    assert contents(orders) == whole


def test_another_machines_process_is_watched_and_given_up_when_it_stays_silent(
    context: Context, orders: Path
) -> None:
    watching = replace(context, watch_for=0.2)
    _die(context, "create-savepoint", 1)
    claim = _moved_elsewhere(orders)
    path = orders / "savepoint/CLAIM-1"

    plan = planned(watching, "recover")
    assert about("edge-2", "still", "running").search(plan.warnings[0])
    beat, stop = _beating(orders / f"branch/ALIVE-{claim.token}")
    with pytest.raises(Refused, match=about("edge-2", "still", "running")):
        applied(watching, plan)
    assert path.exists()
    stop.set()
    beat.join()

    # Neither machine's clock is asked: a silent owner is given up though it began "in the future".
    applied(watching, plan)
    assert not path.exists()


def _moved_elsewhere(orders: Path) -> Claim:
    path = orders / "savepoint/CLAIM-1"
    claim = Claim.from_json(path.read_bytes(), "claim")
    owner = msgspec.structs.replace(
        claim.owner, machine="another", host="edge-2", pid=os.getpid(), since=2**45
    )
    moved = msgspec.structs.replace(claim, owner=owner)
    path.write_bytes(moved.to_json())
    return moved


def _beating(path: Path) -> tuple[threading.Thread, threading.Event]:
    """Another process that says again and again that it lives."""
    stop = threading.Event()

    def run() -> None:
        count = 0
        while not stop.wait(0.005):
            count += 1
            path.parent.mkdir(exist_ok=True)
            path.write_text(str(count))

    thread = threading.Thread(target=run)
    thread.start()
    return thread, stop


def test_of_two_recoveries_one_acts(context: Context, orders: Path) -> None:
    _die(context, "create-branch", 4, name="b", tag="v2")
    plan = planned(context, "recover")
    begun = journal.current(context, ORDERS)
    assert begun is not None
    token = journal.new_token()
    with running(context, ORDERS, token):
        hold = journal.take_over(context, ORDERS, begun, token)
        with pytest.raises(Refused, match=r"\bplan\b|being recovered"):
            applied(context, plan)
        with pytest.raises(Refused, match=about("shop.orders", "being recovered")):
            journal.take_over(context, ORDERS, begun, journal.new_token())
    # The first dies, and the second takes its turn.
    done(context, "recover")
    assert planned(context, "recover").empty
    with pytest.raises(journal.TakenOver):
        hold.note("too late")
    with pytest.raises(Refused, match=about("shop.orders", "just", "recovered")):
        journal.take_over(context, ORDERS, begun, journal.new_token())
    assert not journal.leftovers(context, ORDERS)


def test_an_owner_thought_dead_touches_nothing_more(context: Context, orders: Path) -> None:
    """Its process slept through a minute; meanwhile another machine took the branch back."""
    _die(context, "create-branch", 4, name="b", tag="v2")
    begun = journal.current(context, ORDERS)
    assert begun is not None
    slept = journal.Hold(context, ORDERS, begun, begun.journal.token)
    done(context, "recover")
    before = contents(orders)
    for late in (slept.require, slept.release, lambda: slept.note("schemas")):
        with pytest.raises(journal.TakenOver, match=about("another process", "create-branch")):
            late()
    assert contents(orders) == before


def test_an_owner_thought_dead_leaves_the_next_change_alone(context: Context, orders: Path) -> None:
    """It wakes up when another change holds the table: neither its notes nor its release touch that."""
    _die(context, "create-branch", 4, name="b", tag="v2")
    begun = journal.current(context, ORDERS)
    assert begun is not None
    slept = journal.Hold(context, ORDERS, begun, begun.journal.token)
    done(context, "recover")
    _die(context, "create-branch", 4, name="c", tag="v2")
    before = contents(orders)
    for late in (slept.require, slept.release, lambda: slept.note("schemas")):
        with pytest.raises(journal.TakenOver):
            late()
    assert contents(orders) == before


def test_an_entry_of_ones_own_that_came_late_is_no_takeover(context: Context) -> None:
    """Nobody had heard of it: the store carried out the request when its client had given up."""
    _die(context, "create-branch", 4, name="b", tag="v2")
    begun = journal.current(context, ORDERS)
    assert begun is not None
    token = begun.journal.token
    hold = journal.Hold(context, ORDERS, begun, token)

    def come_late(step: str) -> None:
        path = ORDERS.journal_step(token, len(hold.journaled.entries) + 1)
        entry = journal.JournalEntry(token=token, uuid=journal.new_token(), step=step)
        assert context.files.create(path, entry.to_json())

    come_late("late")
    hold.require()
    come_late("later")
    hold.note("next")
    assert hold.steps[-3:] == ("late", "later", "next")
    now = journal.current(context, ORDERS)
    assert now is not None and now.entries == hold.journaled.entries


def test_a_journal_or_claim_of_a_newer_version_is_left_alone(context: Context, orders: Path) -> None:
    _die(context, "create-savepoint", 1)
    claim = msgspec.json.decode((orders / "savepoint/CLAIM-1").read_bytes())
    (orders / "savepoint/CLAIM-1").write_bytes(msgspec.json.encode({**claim, "version": 2}))
    plan = planned(context, "recover")
    assert plan.empty and about("CLAIM-1", "format 2", "1").search(plan.warnings[0])

    _die(context, "create-branch", 1, name="b", tag="v2")
    action = orders / "branch/ACTION"
    begun = msgspec.json.decode(action.read_bytes())
    action.write_bytes(msgspec.json.encode({**begun, "change": "delete-everything"}))
    with pytest.raises(Refused, match="can't recover delete-everything"):
        planned(context, "recover")
    action.write_bytes(msgspec.json.encode({**begun, "version": 3}))
    with pytest.raises(Corrupt, match="has format 3"):
        planned(context, "recover")
    assert action.exists()


INTERRUPTED: dict[str, dict[str, object]] = {
    "create-savepoint": {},
    "create-tag": {"name": "n"},
    "create-branch": {"name": "b", "tag": "v2"},
}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, BrokenPipeError])
@pytest.mark.parametrize("name", INTERRUPTED)
def test_what_is_stopped_half_way_is_undone_at_once(
    context: Context, orders: Path, name: str, stop: type[BaseException]
) -> None:
    def told(line: str) -> None:
        raise stop

    before = contents(orders)
    with pytest.raises(stop):
        action(name).apply(context, action(name).plan(context, ORDERS, INTERRUPTED[name]), told)

    assert contents(orders) == before
    assert not (orders / "branch/branch-b").exists()


class Dying(Wrapped):
    """A store that stops answering when the tag is written, for as long as it is `down`."""

    down = False

    def create(self, path: str, data: bytes) -> bool:
        if "/tag/" in path:
            # The request arrived; its answer did not.
            self.inner.create(path, data)
            self.down = True
        self._answer()
        return self.inner.create(path, data)

    def exists(self, path: str) -> bool:
        self._answer()
        return self.inner.exists(path)

    def _answer(self) -> None:
        if self.down:
            raise Unavailable("The store does not answer")


class NoClaims(Wrapped):
    """A store on which another creator is faster, and which then answers no claim."""

    def __init__(self, inner: Files, faster: Callable[[], object]) -> None:
        super().__init__(inner)
        self._faster = faster

    def create(self, path: str, data: bytes) -> bool:
        if "CLAIM-" in path:
            self._faster()
            raise Unavailable("The store does not answer")
        return self.inner.create(path, data)


def test_a_claim_that_fails_leaves_the_tag_of_who_has_it(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Both save the same snapshot under the same id: the tags would be the same bytes."""
    process: list[subprocess.Popen[str]] = []
    files = NoClaims(
        context.files, lambda: process.append(_stopped_at(warehouse, "create-savepoint", "tagged"))
    )

    with pytest.raises(Unavailable):
        done(context_on(warehouse, files), "create-savepoint")

    assert (orders / "tag/tag-savepoint.1").exists()
    assert (orders / "savepoint/CLAIM-1").exists()
    _kill(process[0])


def test_a_store_that_stops_answering_leaves_the_rest_to_recover(
    context: Context, warehouse: Path, orders: Path
) -> None:
    dying = Dying(context.files)
    with pytest.raises(Unavailable, match=about("the store does not answer", "half done")) as failed:
        done(context_on(warehouse, dying), "create-savepoint")
    assert about("store", "`paimark recover shop.orders`").search(failed.value.hint)

    dying.down = False
    done(context, "recover")
    [savepoint] = SavepointManager(context.files, ORDERS).of_root(ORDERS.root())
    assert savepoint.saved_snapshot_id == 5


def test_the_owner_tells_who_and_since_when(context: Context) -> None:
    owner = this_process(replace(context, user="alice", clock=lambda: 0))
    assert str(owner).startswith(f"alice on here (process {os.getpid()}), since 19")
    decoded = msgspec.json.decode(msgspec.json.encode(owner), type=Owner)
    assert decoded == owner


def _die(context: Context, name: str, write: int, /, **arguments: object) -> list[str]:
    files = FaultFiles(LocalFiles(context.files.uri), write)
    dying = context_on(Path(context.files.uri), files)
    with pytest.raises(Death):
        applied(dying, action(name).plan(dying, ORDERS, arguments))
    return files.writes


def _stopped_at(warehouse: Path, name: str, line: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLEEPER, str(warehouse), name, line]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "stopped\n"
    return process


def _kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("expire-snapshots", {"retain_last": 1}),
        ("delete-tag", {"name": "other"}),
        ("delete-branch", {"name": "fix"}),
        ("replace-main-branch", {"name": "fix", "drop_previous": True}),
    ],
)
def test_a_deletion_on_a_held_table_says_so_before_it_counts(
    context: Context, warehouse: Path, orders: Path, name: str, arguments: dict[str, object]
) -> None:
    """What it would count can't be read, and it does not find out."""
    done(context, "create-tag", name="other", snapshot=1)
    done(context, "create-branch", name="fix", tag="v2")
    with pytest.raises(Death):
        done(context_on(warehouse, FaultFiles(context.files, 4)), "create-branch", name="b", tag="v2")
    # A branch that becomes main is looked through, and has these.
    v2 = Lineage(context.files, ORDERS.root()).tag("v2")
    kept = {each.path for each in each_needed_file(context.files, ORDERS.root(), v2)}
    for manifest in (orders / "manifest").glob("manifest-*"):
        if str(manifest.relative_to(warehouse)) not in kept:
            manifest.write_bytes(b"")
    [held] = planned(context, name, ORDERS, **arguments).refusals
    assert about("shop.orders", "interrupted create-branch").search(held.reason)
