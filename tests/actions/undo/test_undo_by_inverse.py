"""An undo that consists of another action, such as the deletion of a tag."""

from __future__ import annotations

from typing import Any

import pytest

from paimark.core.actions.context import Context
from tests.actions.acting import done


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
