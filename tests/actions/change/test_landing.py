"""Whether a commit landed is told rightly, whatever time passed and whoever committed and expired since."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.change.change import Landed
from paimark.core.actions.change.landing import commit_user, find_commit, hold_expiry, release_expiry
from paimark.core.actions.context import Context
from paimark.core.actions.garbage.expiry_rules import smallest_consumer
from tests.actions.acting import ORDERS, done

TOKEN = 32 * "a"
MAIN = ORDERS.root()


def signed(orders: Path, number: int) -> None:
    """Make a snapshot the commit of the change with `TOKEN`."""
    path = orders / f"snapshot/snapshot-{number}"
    record = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode({**record, "commitUser": commit_user(TOKEN)}))


def find_landed(context: Context, after: int) -> Landed:
    return find_commit(context.files, MAIN, TOKEN, after)[0]


def test_the_next_snapshot_tells_by_its_user(context: Context, orders: Path) -> None:
    assert find_landed(context, 3) is Landed.NO
    signed(orders, 4)
    assert find_landed(context, 3) is Landed.YES


def test_nothing_after_the_head_means_no(context: Context) -> None:
    assert find_landed(context, 5) is Landed.NO
    assert find_landed(context, 9) is Landed.NO


@pytest.mark.parametrize("kept_by", ["tag", "savepoint", "tag of a branch"])
def test_an_expired_commit_is_found_where_a_reference_holds_it(
    context: Context, orders: Path, kept_by: str
) -> None:
    signed(orders, 3)
    if kept_by == "savepoint":
        done(context, "create-savepoint", snapshot=3)
    else:
        done(context, "create-tag", name="kept", snapshot=3)
    if kept_by == "tag of a branch":
        done(context, "create-branch", name="b", tag="kept")
        (orders / "tag/tag-kept").unlink()
    (orders / "snapshot/snapshot-3").unlink()
    commit_fate, snapshot = find_commit(context.files, MAIN, TOKEN, 2)
    assert commit_fate is Landed.YES
    assert snapshot is not None and snapshot.id == 3


def test_an_expired_commit_of_somebody_else_is_told_by_a_tag_of_it(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="kept", snapshot=3)
    (orders / "snapshot/snapshot-3").unlink()
    assert find_landed(context, 2) is Landed.NO


def test_nobody_can_tell_once_all_traces_expired(context: Context, orders: Path) -> None:
    for number in (1, 2, 3):
        (orders / f"snapshot/snapshot-{number}").unlink()
    assert find_landed(context, 2) is Landed.UNKNOWN


def test_expiry_does_not_pass_a_commit_that_is_being_made(context: Context, orders: Path) -> None:
    hold_expiry(context.files, MAIN, TOKEN, 3)
    assert smallest_consumer(context.files, MAIN) == 3
    done(context, "expire-snapshots", retain_last=1)
    assert (orders / "snapshot/snapshot-3").exists() and not (orders / "snapshot/snapshot-2").exists()
    release_expiry(context.files, MAIN, TOKEN)
    done(context, "expire-snapshots", retain_last=1)
    assert not (orders / "snapshot/snapshot-3").exists()
    assert not (orders / "consumer").exists()


def test_what_a_change_that_has_ended_left_is_removed(context: Context, orders: Path) -> None:
    hold_expiry(context.files, MAIN, TOKEN, 3)
    (orders / "consumer/consumer-flink").write_text('{"nextSnapshot": 4}')
    done(context, "recover")
    assert [path.name for path in (orders / "consumer").iterdir()] == ["consumer-flink"]
