"""Warehouses that only the console's tests need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual._compositor import Compositor
from textual._context import active_app

from paimark.core.actions.context import open_context
from paimark.core.actions.registry import action
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION
from paimark.core.table.layout import TablePath
from tests.tui.painting import painted_later
from tests.tui.settling import settled


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories, logs and the audit line stay in the test's directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(autouse=True)
def settles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's pilot waits until the process uses no CPU, which it also does while others use it all."""

    async def wait(*_: float) -> None:
        await settled(active_app.get())

    monkeypatch.setattr("textual.app.wait_for_idle", wait)
    monkeypatch.setattr("textual.pilot.wait_for_idle", wait)


@pytest.fixture(autouse=True)
def painted_when_read(monkeypatch: pytest.MonkeyPatch, is_long: bool) -> None:
    """Without a terminal nobody sees what is painted, but a test that asks for its text.

    A fourth of these tests' CPU time.
    """
    if not is_long:
        monkeypatch.setattr(Compositor, "render_update", painted_later)


@pytest.fixture
def many(warehouse: Path) -> Path:
    """`shop.events`, the first table, with 250 snapshots: more than one page."""
    directory = warehouse / "shop.db" / "events" / "snapshot"
    latest = json.loads((directory / "snapshot-2").read_bytes())
    for number in range(3, 251):
        made = {**latest, "id": number, "timeMillis": latest["timeMillis"] + number}
        (directory / f"snapshot-{number}").write_text(json.dumps(made))
    (directory / "LATEST").write_text("250")
    return warehouse


def act(warehouse: Path, action_name: str, /, **arguments: object) -> None:
    """An action on shop.orders, done as the command does it."""
    context = open_context(str(warehouse), {VERIFY_WAIT_OPTION: "1 ms"}, read_only=False)
    chosen = action(action_name)
    plan = chosen.plan(context, TablePath("shop", "orders"), arguments)
    chosen.apply(context, plan, lambda line: None)
