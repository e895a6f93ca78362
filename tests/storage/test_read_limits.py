"""Only regular files are read, and no more of one than metadata can be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.errors import Corrupt
from paimark.core.storage.files import MOST_BYTES
from paimark.core.storage.local import LocalFiles
from tests.wording import about

TAG = "shop.db/t/tag/tag-x"


def device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def terminal(place: Path) -> None:
    place.symlink_to("/dev/tty")


def socket(place: Path) -> None:
    program = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, place.name], cwd=place.parent, check=True)


@pytest.mark.parametrize("make", [device, socket, os.mkfifo, terminal])
def test_what_is_no_regular_file_is_damaged_and_never_read(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    files = LocalFiles(str(tmp_path))
    files.create("shop.db/t/tag/tag-good", b"{}")
    make(tmp_path / TAG)
    with pytest.raises(Corrupt, match=about(TAG, "regular file")):
        files.read(TAG)
    # Not "missing": what it may keep would be deleted. No reader takes nothing for metadata.
    assert list(files.read_many([TAG, "shop.db/t/tag/tag-good"])) == [b"", b"{}"]
    assert not files.exists(TAG)


def test_a_file_larger_than_metadata_can_be_is_damaged_and_never_read(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    files.create(TAG, b"")
    os.truncate(tmp_path / TAG, MOST_BYTES + 1)
    with pytest.raises(Corrupt, match=about(TAG, f"{MOST_BYTES + 1} bytes", "large")):
        files.read(TAG)
    assert list(files.read_many([TAG])) == [b""]


def test_a_regular_file_behind_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"{}")
    files = LocalFiles(str(tmp_path))
    files.create("shop.db/t/tag/tag-good", b"{}")
    (tmp_path / TAG).symlink_to(tmp_path / "elsewhere")
    assert files.read(TAG) == b"{}"
