"""Requests that a model of an object store carries out after the client gave them up: they do no harm."""

from __future__ import annotations

import pytest

from tests.simulation.test_seeds import simulated

# Points that failed while recovery did not wait for late requests: rows came twice, main could not be read, a
# branch was incomplete.
FOUND = (
    "merge: die late write 17, nothing happens",
    "merge with a column: die late write 17, nothing happens",
    "undo of a pointer: die late write 10, nothing happens",
    "pointer: late write 15, nothing happens",
    "branch: late write 8, nothing happens",
    "rollback on a main that moves: late write 16, others commit",
)


def test_what_comes_late_is_waited_for() -> None:
    simulated("--store", "s3", *(word for each in FOUND for word in ("--point", each)), seconds=280)


@pytest.mark.long
@pytest.mark.timeout(0)
def test_every_write_of_every_action_may_come_late() -> None:
    simulated("--late", "--store", "s3", "--minutes", "30", seconds=3000)
