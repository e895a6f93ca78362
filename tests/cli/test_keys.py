"""`paimark keys`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import Paimark


def test_ids_are_listed_with_the_keys_that_they_have(paimark: Paimark, tmp_path: Path) -> None:
    path = tmp_path / "paimark" / "config.toml"
    path.parent.mkdir()
    path.write_text('[keys]\n"act.savepoint" = "f2"\n')
    rows = {row["id"]: row for row in paimark("keys", "--output", "json").rows}
    assert rows["act.savepoint"]["keys"] == "f2"
    assert rows["act.savepoint"]["does"] == "make a savepoint"
    assert rows["grid.down"]["keys"] == "down j"
    path.write_text('[keys]\n"act.savepoint" = "b"\n')
    ran = paimark("keys")
    assert (ran.code, "act.branch" in ran.err) == (2, True)
