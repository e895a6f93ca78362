"""An undo that consists of another action, such as the deletion of a tag."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.table.operations import read_operations
from tests.actions.acting import ORDERS, done, planned
from tests.faults.fault_files import Death, DiesAfter
from tests.wording import about


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("create-tag", {"name": "kept", "snapshot": 4}),
        ("create-savepoint", {"snapshot": 4}),
        ("create-branch", {"name": "fix", "tag": "v2"}),
        ("rename-tag", {"name": "v2", "to": "v3"}),
    ],
)
def test_its_outcome_says_how_to_redo(context: Context, name: str, arguments: dict[str, Any]) -> None:
    assert done(context, name, **arguments).undo == "paimark undo shop.orders"
    assert done(context, "undo").undo == "paimark redo shop.orders"
    assert done(context, "redo").undo == "paimark undo shop.orders"


def test_a_redo_that_died_is_done_once_it_is_recovered(context: Context) -> None:
    """The savepoint is there, and its operation is not in the log yet."""
    done(context, "create-savepoint", snapshot=3, comment="monthly")
    done(context, "undo")
    with pytest.raises(Death):
        done(replace(context, files=DiesAfter(context.files, "savepoint/savepoint-2")), "redo")
    done(context, "recover")
    [entry] = [each for each in read_operations(context.files, ORDERS) if each.redoes]
    assert entry.action == "create-savepoint"
    assert about("snapshot 3", "shop.orders", "savepoint 2").search(entry.summary)
    assert about("shop.orders", "no undo", "redone").search(planned(context, "redo").refusals[0].reason)
