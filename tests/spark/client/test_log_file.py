"""The engine's log goes where it can be written: it is no reason not to read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from paimark.core.spark.client.log_file import open_log
from tests.wording import about


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def test_it_is_where_it_should_be(tmp_path: Path, temporary: Path) -> None:
    log = open_log(tmp_path / "state" / "paimark" / "engine.log")
    log.file.close()
    assert log.note == "" and log.path.read_bytes() == b"paimark: an engine starts\n"
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    ("place", "why"), [("home/state/engine.log", "Not a directory"), ("/dev/full", "No space")]
)
def test_it_goes_among_temporary_files_if_that_can_not_be_written(
    tmp_path: Path, temporary: Path, place: str, why: str
) -> None:
    (tmp_path / "home").write_bytes(b"")
    log = open_log(tmp_path / place)
    log.file.close()
    assert log.path.parent == temporary and log.path.read_bytes()
    assert log.path.stat().st_mode & 0o777 == 0o600
    assert why in log.note and about(log.path).search(log.note)


def test_a_link_that_somebody_made_there_is_not_followed(tmp_path: Path, temporary: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    (temporary / f"paimark-engine-{os.getuid()}.log").symlink_to(precious)
    log = open_log(Path("/dev/full"))
    log.file.close()
    assert log.path == Path(os.devnull) and precious.read_bytes() == b"mine"
