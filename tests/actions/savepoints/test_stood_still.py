"""A process that stood still while it made a savepoint, and was taken for dead: it writes nothing more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.change import fence
from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.actions.roots.savepoint_claim import Claim
from paimark.core.errors import FileMissing, Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.savepoints import SavepointManager
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, contents, context_on, done, planned, replace_rows
from tests.actions.change.test_slept import Sleeps


class StandsStill(Sleeps):
    """After the given call, be it a write or not."""

    def read(self, path: str) -> bytes:
        try:
            return self.inner.read(path)
        finally:
            self._done()

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        found = list(self.inner.read_many(paths))
        self._done()
        return iter(found)

    def exists(self, path: str) -> bool:
        found = self.inner.exists(path)
        self._done()
        return found


def recovered_elsewhere(context: Context, claim: Path, *, deletes: bool) -> bool:
    """Another machine recovers the savepoint, and deletes it then. False if none is being made."""
    if not claim.exists():
        return False
    made = Claim.from_json(claim.read_bytes(), "claim")
    owner = msgspec.structs.replace(made.owner, machine="another", pid=os.getpid())
    claim.write_bytes(msgspec.structs.replace(made, owner=owner).to_json())
    done(replace(context, watch_for=0.001), "recover")
    if deletes and SavepointManager(context.files, ORDERS).ids():
        done(context, "delete-savepoint", id=1)
    return True


@pytest.mark.parametrize("deletes", [False, True], ids=["kept", "deleted"])
@pytest.mark.parametrize("ends", [False, True], ids=["goes on", "takes back"])
def test_nothing_more_is_written(
    warehouse: Path, tmp_path: Path, is_long: bool, monkeypatch: pytest.MonkeyPatch, ends: bool, deletes: bool
) -> None:
    replace_rows(warehouse)
    passed = 0.0
    monkeypatch.setattr(fence, "clocks", lambda: (passed,))

    def wake() -> None:
        nonlocal passed
        passed += 2 * context_on(warehouse).beat_every

    states: list[bool | None] = []
    while None not in states:
        call = (len(states) + 1) * (1 if is_long else 3)
        there = tmp_path / str(call)
        shutil.copytree(warehouse / "shop.db/orders", there / "shop.db/orders")
        states.append(stood_still_after(there, call, wake, ends=ends, deletes=deletes))
    assert states.count(True) > 1


def stood_still_after(
    there: Path, call: int, wake: Callable[[], None], *, ends: bool, deletes: bool
) -> bool | None:
    """Whether the savepoint was being made then; None if there was no such call."""
    orders, others = there / "shop.db/orders", context_on(there)
    left, was_made = dict[str, bytes](), list[bool]()

    def stand_still() -> None:
        was_made.append(recovered_elsewhere(others, orders / "savepoint/CLAIM-1", deletes=deletes))
        left.update(contents(orders))
        wake()

    def tell(line: str) -> None:
        if ends and line.startswith("tagged"):
            raise KeyboardInterrupt

    context = context_on(there, StandsStill(LocalFiles(str(there)), call, stand_still))
    plan = planned(others, "create-savepoint", snapshot=3)
    try:
        action(plan.action).apply(context, plan, tell)
    except (Refused, FileMissing):
        assert was_made == [True], f"after call {call}"
    except KeyboardInterrupt:
        assert ends
    else:
        assert True not in was_made, f"after call {call}"
    if True in was_made:
        assert contents(orders) == left, f"after call {call}"
    report = verify(others, ORDERS, older_than=0)
    assert (report.orphans, report.problems) == ((), ()), f"after call {call}"
    return was_made[0] if was_made else None
