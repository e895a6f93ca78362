"""Quotas and safe mode: what a NameNode lets nobody write is named, and nothing half-written stays."""

from __future__ import annotations

import itertools
import uuid

import pytest

from paimark.core.errors import Unavailable
from paimark.core.storage.open import open_files
from tests.wording import about


def test_a_quota_of_names_is_told_and_what_was_there_stays(hdfs: str) -> None:
    files = open_files(f"{hdfs}/few/{uuid.uuid4().hex}")
    files.create("t/branch/MAIN-BRANCH", b"old")
    with pytest.raises(Unavailable, match="NameSpace quota") as told:
        for number in itertools.count():
            files.create(f"t/n-{number}", b"x")
    assert about("space", "larger quota").search(told.value.hint)
    full = sorted(files.names("t"))
    # A replacement needs a name of its own for a moment.
    with pytest.raises(Unavailable, match="NameSpace quota"):
        files.replace("t/branch/MAIN-BRANCH", b"new")
    assert files.read("t/branch/MAIN-BRANCH") == b"old"
    assert files.names("t/branch") == ["MAIN-BRANCH"] and sorted(files.names("t")) == full
    files.delete("t/n-0")
    files.replace("t/branch/MAIN-BRANCH", b"new")
    assert files.read("t/branch/MAIN-BRANCH") == b"new"


@pytest.mark.long
def test_a_quota_of_bytes_is_told_and_leaves_nothing(hdfs: str) -> None:
    files = open_files(f"{hdfs}/small/{uuid.uuid4().hex}")
    with pytest.raises(Unavailable, match=r"(?i)space ?quota") as told:
        files.create("t/a", b"x")
    assert about("space", "larger quota").search(told.value.hint)
    assert files.names("t") == []


def test_safe_mode_is_told(hdfs_in_safe_mode: str) -> None:
    files = open_files(f"{hdfs_in_safe_mode}/lake")
    assert files.names("t") == []
    with pytest.raises(Unavailable, match="safe mode") as told:
        files.create("t/a", b"x")
    assert about("NameNode", "safe mode").search(told.value.hint)
