"""A result file that can't be written is refused before anything runs for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from paimark.core.cli.query.answering import target_file
from paimark.core.errors import UsageError
from tests.wording import about

_NOBODY = 65534


def test_a_new_file_and_an_old_one_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    assert target_file(path) == path
    path.write_text("old")
    assert target_file(path) == path
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "file.csv")
    assert target_file(tmp_path / "link.csv") == tmp_path / "file.csv"


def test_what_is_no_file_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "directory.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/null")
    (tmp_path / "nowhere.csv").symlink_to(tmp_path / "missing" / "file.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    before = sorted(tmp_path.iterdir())
    for name, words in {
        "directory.csv": "is a directory",
        "pipe.csv": "regular file",
        "device.csv": "regular file",
        "nowhere.csv": "No such file or directory",
        "missing/out.csv": "No such file or directory",
        "pipe.csv/out.csv": "Not a directory",
        "loop.csv": "Too many levels of symbolic links",
        f"{'n' * 300}.csv": "File name too long",
    }.items():
        with pytest.raises(UsageError, match=words) as refused:
            target_file(tmp_path / name)
        assert name in refused.value.message
    assert sorted(tmp_path.iterdir()) == before


@contextmanager
def not_as_root() -> Iterator[None]:
    """Inside, root is nobody: root may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(_NOBODY, _NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_what_may_only_be_read_is_not_written() -> None:
    # Not in pytest's own directory, which only its user may enter.
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        directory = Path(name)
        (directory / "old.csv").touch(0o444)
        directory.chmod(0o777)
        with not_as_root(), pytest.raises(UsageError, match=about("old.csv", "not", "changed")):
            target_file(directory / "old.csv")
        directory.chmod(0o555)
        with not_as_root(), pytest.raises(UsageError, match="Permission denied"):
            target_file(directory / "new.csv")
        directory.chmod(0o755)
        assert [each.name for each in directory.iterdir()] == ["old.csv"]
