"""An S3 that loses an answer, breaks off, dies or refuses at any request of a change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Unavailable
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files, require_conditions
from tests.actions.acting import ORDERS, done
from tests.faults.stores.failing import Case, FailingScene
from tests.faults.test_replace_main import branch, savepoint
from tests.storage.pretending import EXPIRED, FULL, GONE, LOST, Fault, PretendingServer
from tests.storage.stores import BUCKET

SAVED = (partial(savepoint, snapshot=1), partial(savepoint, snapshot=4))
FIX = (*SAVED, partial(branch, name="fix", tag="v2"))


def acting(name: str, /, **arguments: object) -> partial[None]:
    return partial(_act, action=name, arguments=arguments)


def _act(context: Context, action: str, arguments: dict[str, object]) -> None:
    done(context, action, ORDERS, **arguments)


def ahead(context: Context) -> None:
    """Create a branch from main's newest snapshot, to which main can fast-forward."""
    done(context, "create-tag", name="now")
    branch(context, "ahead", "now")


CASES = (
    Case("savepoint", "create-savepoint", {"comment": "kept"}),
    Case("tag", "create-tag", {"name": "new", "snapshot": 3}),
    Case("tag renamed", "rename-tag", {"name": "v2", "to": "new"}),
    Case("branch", "create-branch", {"name": "new", "tag": "v2"}),
    Case("column", "alter-branch-schema", {"add": "note STRING"}),
    Case("savepoint goes", "delete-savepoint", {"id": 1}, SAVED),
    Case("tag goes", "delete-tag", {"name": "v2"}),
    Case("expiry", "expire-snapshots", {"retain_last": 2}, SAVED),
    Case("branch goes", "delete-branch", {"name": "fix"}, FIX),
    Case("branch is retired", "delete-branch", {"name": "fix", "keep": True}, FIX),
    Case("branch is renamed", "rename-branch", {"name": "fix", "to": "new"}, FIX),
    Case("replace", "replace-main-branch", {"name": "fix"}, FIX),
    Case("replace undone", "undo", {}, (*FIX, acting("replace-main-branch", name="fix"))),
    Case("fast-forward", "merge-branch", {"name": "ahead"}, (ahead,), saves_first=True),
    Case("truncation", "rollback", {"to": "v2", "truncate": True}, FIX),
)


@pytest.fixture(scope="module")
def files(server: PretendingServer) -> Files:
    files = open_files(f"s3://{BUCKET}/warehouse", server.options())
    # The check runs once in a process, so its requests are none of the change's.
    require_conditions(files)
    return files


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the client's wait before a retry, which does not change the result."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)


def cases(*short: str) -> list[object]:
    """All cases; those that are not in `short` are for `make test-long`."""
    assert {*short} <= {each.name for each in CASES}
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(each, id=each.name, marks=marks[each.name in short]) for each in CASES]


@pytest.fixture(params=cases("tag renamed"))
def scene(
    request: pytest.FixtureRequest,
    server: PretendingServer,
    files: Files,
    warehouse_template: Path,
    tmp_path: Path,
) -> FailingScene:
    return FailingScene(request.param, server, files, warehouse_template, tmp_path)


@pytest.mark.timeout(0)
def test_whatever_becomes_of_a_request_the_change_is_done_or_recovered(
    scene: FailingScene, is_long: bool
) -> None:
    """With `--long` at every request; otherwise at a few, which differ between the cases."""
    writes = [number for number, each in enumerate(scene.requests, 1) if each.startswith("PUT")]
    for number in writes if is_long else some(scene, writes, 2):
        assert_done_though_an_answer_is_lost(scene, number)
    every = range(1, len(scene.requests) + 1)
    for number in every if is_long else some(scene, every, 1):
        assert_recovered(scene, number, EXPIRED, "The provided token has expired", "s3.session-token")
    for number in every if is_long else some(scene, every, 1):
        assert_recovered(scene, number, GONE)
        # The store carries out each request, and the client gets no answer.
        assert_recovered(scene, number, LOST)
    for number in writes if is_long else some(scene, writes, 1):
        assert_recovered(scene, number, FULL, "minimum free drive threshold", "free some space")


def some(scene: FailingScene, numbers: Sequence[int], count: int) -> list[int]:
    """A selection of `count` numbers."""
    step = max(1, len(numbers) // count)
    return [*numbers[len(scene.case.name) % step :: step]][:count]


def assert_done_though_an_answer_is_lost(scene: FailingScene, number: int) -> None:
    """The server has acted: a client that tries again finds its own file, and recognises it."""
    scene.begin()
    with scene.failing(LOST, number, number):
        scene.run()
    scene.assert_done(f"answer {number} lost, {scene.requests[number - 1]}")


def assert_recovered(scene: FailingScene, first: int, fault: Fault, said: str = "", hint: str = "") -> None:
    """The error names the fault, and once the store works again, `recover` ends the change."""
    when = f"{fault} from {first}, {scene.requests[first - 1]}"
    scene.begin()
    with scene.failing(fault, first), pytest.raises(Unavailable) as told:
        scene.run()
    assert said in told.value.message and hint in told.value.hint, (when, told.value)
    scene.recover()
    scene.assert_whole(when)
