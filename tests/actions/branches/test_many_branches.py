"""Where all branches are asked something, many are asked at once: a thousand, 20 ms away, take no minute."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from paimark.core.actions.change.landing import left_readers
from paimark.core.actions.garbage import release_pins
from paimark.core.actions.garbage.release_pins import Dependent, dependents
from paimark.core.actions.replace.comparison import savepoints_held_alone
from paimark.core.actions.rollback.truncation import stranded
from paimark.core.actions.roots import savepoint_claim
from paimark.core.actions.roots.guard_tags import is_last_of_savepoint
from paimark.core.actions.savepoints.unprotected import unprotected
from paimark.core.actions.tags.delete_tag import left_reads
from paimark.core.storage.files import Files
from paimark.core.table.lineage.branches import branch_rows
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import context_on, done
from tests.actions.garbage.test_counting_cost import Crowd
from tests.actions.histories import TABLE, History

BRANCHES = 40
MAIN = TABLE.root()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Branches from tag `t`; savepoint 1 on branch b0, and 2 on main, whose tag has gone."""
    made = History(tmp_path_factory.mktemp("many") / "warehouse", Random(3))
    for _ in range(4):
        made.commit()
    made.tag("t", 2)
    made.tag("paimark.merge.b0.3", 3)
    for number in range(BRANCHES):
        made.fork(f"b{number}", "t")
    context = context_on(made.warehouse)
    done(context, "create-savepoint", TABLE, branch="b0")
    done(context, "create-savepoint", TABLE)
    made.files.delete(MAIN.tag("savepoint.1"))
    made.files.delete(MAIN.tag("savepoint.2"))
    return made


QUESTIONS: dict[str, Callable[[History, Files], object]] = {
    "who stands on a tag": lambda history, files: dependents(
        files, TABLE, Lineage(history.files, MAIN).tag("t"), [MAIN.tag("t")]
    ),
    "the next savepoint's id": lambda history, files: savepoint_claim.next_id(files, TABLE),
    "which pins a branch leaves": lambda history, files: release_pins.released(files, MAIN, "b0"),
    "which savepoints a branch alone holds": lambda history, files: savepoints_held_alone(
        files, TABLE.root("b0")
    ),
    "who else holds a savepoint's tag": lambda history, files: is_last_of_savepoint(
        files, TABLE, "savepoint.2"
    ),
    "which savepoints lack their tag": lambda history, files: unprotected(files, TABLE),
    "how savepoints are": lambda history, files: SavepointManager(files, TABLE).health_of_root(MAIN),
    "how all savepoints are": lambda history, files: SavepointManager(files, TABLE).health(),
    "which tags are foreign": lambda history, files: SavepointManager(files, TABLE).foreign(),
    "the rows of the branches": lambda history, files: list(branch_rows(files, TABLE)),
    "which reads were left": lambda history, files: list(
        left_reads(context_on(history.warehouse, files), TABLE)
    ),
    "which readers were left": lambda history, files: left_readers(files, TABLE, ()),
    "which branches a cut strands": lambda history, files: stranded(
        files, MAIN, Lineage(history.files, MAIN).snapshot(1)
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_many_are_asked_at_once(history: History, question: str) -> None:
    files = Crowd(history.files)
    QUESTIONS[question](history, files)
    assert files.most >= files.MANY


def test_the_answers(history: History) -> None:
    ask = {name: partial(question, history, history.files) for name, question in QUESTIONS.items()}
    stands = ask["who stands on a tag"]()
    assert isinstance(stands, list) and len(stands) == BRANCHES and Dependent("b7", "was made from") in stands
    assert ask["the next savepoint's id"]() == 3
    assert ask["which savepoints a branch alone holds"]() == [1]
    health = ask["how all savepoints are"]()
    assert isinstance(health, list)
    assert [(each.id, how) for each, how in health] == [(1, "ok"), (2, "unprotected")]
    assert ask["which tags are foreign"]() == []
    rows = ask["the rows of the branches"]()
    assert isinstance(rows, list)
    names = sorted(f"b{number}" for number in range(BRANCHES))
    assert [row.branch_name for row in rows] == ["main", *names]
    assert {row.created_from for row in rows if row.branch_name != "b0"} == {None, "t"}
    assert ask["who else holds a savepoint's tag"]() is True
    assert len(ask["which branches a cut strands"]()) == BRANCHES  # type: ignore[arg-type]
