"""Local files: races between processes, and what the operating system may answer."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paimark.core.errors import FileMissing, Unavailable, UsageError
from paimark.core.storage.files import NotWritten
from paimark.core.storage.local import LocalFiles
from paimark.core.storage.open import open_files
from tests.wording import about

CREATORS = 10
SIZE = 1 << 20
CREATOR = """
import sys, time
from pathlib import Path
from paimark.core.storage.local import LocalFiles
root, letter = sys.argv[1:]
files = LocalFiles(root)
print("ready", flush=True)
while not Path(root, "go").exists():
    time.sleep(0.0005)
for number in range(20):
    print(files.create(f"t/savepoint-{number}", letter.encode() * (1 << 20)), flush=True)
"""


def test_of_ten_processes_one_creates_and_no_reader_sees_a_part(tmp_path: Path) -> None:
    letters = "abcdefghij"[:CREATORS]
    creators = [
        subprocess.Popen(
            [sys.executable, "-c", CREATOR, str(tmp_path), letter], stdout=subprocess.PIPE, text=True
        )
        for letter in letters
    ]
    for creator in creators:
        assert creator.stdout is not None
        assert creator.stdout.readline() == "ready\n"
    (tmp_path / "go").touch()
    files = LocalFiles(str(tmp_path))
    while any(creator.poll() is None for creator in creators):
        for data in files.read_many(f"t/savepoint-{number}" for number in range(20)):
            assert data is None or (len(data) == SIZE and data == data[:1] * SIZE)
    answers = [creator.communicate()[0].split() for creator in creators]
    assert [answer.count("True") + answer.count("False") for answer in answers] == [20] * CREATORS
    for number in range(20):
        winners = [
            letter for letter, answer in zip(letters, answers, strict=True) if answer[number] == "True"
        ]
        assert len(winners) == 1
        assert files.read(f"t/savepoint-{number}")[:1] == winners[0].encode()
    assert sorted(files.names("t")) == sorted(f"savepoint-{number}" for number in range(20))


def test_a_reader_sees_the_old_or_the_new_bytes_while_a_file_is_replaced(tmp_path: Path) -> None:
    program = (
        "import sys; from paimark.core.storage.local import LocalFiles; files = LocalFiles(sys.argv[1])\n"
        "for number in range(60): files.replace('t/LATEST', str(number % 10).encode() * (1 << 18))"
    )
    files = LocalFiles(str(tmp_path))
    files.replace("t/LATEST", b"0" * (1 << 18))
    writer = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
    seen = 0
    while writer.poll() is None:
        data = files.read("t/LATEST")
        assert data == data[:1] * (1 << 18)
        seen += 1
    assert (writer.returncode, seen > 0) == (0, True)
    assert files.names("t") == ["LATEST"]


def test_a_file_being_written_has_a_name_that_no_engine_takes_for_metadata(tmp_path: Path) -> None:
    program = (
        "import os, sys; from paimark.core.storage.local import LocalFiles\n"
        "os.link = lambda *_, **__: os._exit(9)\n"
        "LocalFiles(sys.argv[1]).create('t/tag/tag-x', b'{}')"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == 9
    (left,) = (tmp_path / "t/tag").iterdir()
    assert left.name.startswith(".tag-x.")
    assert left.read_bytes() == b"{}"


def test_a_home_directory_and_a_file_uri_are_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_files("~/warehouse").uri == f"{tmp_path}/warehouse"
    assert open_files(f"file://{tmp_path}/a b").uri == f"{tmp_path}/a b"
    assert open_files(f"file:{tmp_path}/").uri == str(tmp_path)


def test_what_the_system_forbids_is_one_sentence_with_a_hint() -> None:
    with pytest.raises(NotWritten, match=about("kernel/x", "permission denied")) as caught:
        LocalFiles("/sys").create("kernel/x", b"")
    assert about("owns", "user").search(caught.value.hint)


def test_a_file_that_may_be_there_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr("paimark.core.storage.local._sync_directory", broken)
    with pytest.raises(Unavailable, match="input/output error") as caught:
        LocalFiles(str(tmp_path)).create("x", b"")
    assert not isinstance(caught.value, NotWritten) and (tmp_path / "x").exists()


def test_a_failing_disk_is_one_sentence() -> None:
    files = LocalFiles("/proc/self")
    for reading in (lambda: files.read("mem"), lambda: list(files.read_many(["mem"]))):
        with pytest.raises(Unavailable, match=r"^mem can't be used: input/output error$"):
            reading()


def test_a_loop_of_links_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    files = LocalFiles(str(tmp_path))
    with pytest.raises(Unavailable, match="too many levels of symbolic links"):
        files.read("a")
    with pytest.raises(Unavailable):
        files.names("a")


def test_a_link_to_nowhere_is_an_entry_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    files = LocalFiles(str(tmp_path))
    assert [entry[:3] for entry in files.entries("")] == [("dangling", False, 0)]
    assert not files.exists("dangling")


def test_a_name_longer_than_the_system_takes_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        LocalFiles(str(tmp_path)).read("x" * 300)


def test_a_file_longer_than_one_read_comes_whole(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "big").write_bytes(data)
    files = LocalFiles(str(tmp_path))
    assert files.read("big") == data
    assert list(files.read_many(["big", "big"])) == [data, data]


def test_files_tell_when_they_were_written(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    before = int(time.time() * 1000)
    files.create("t/a", b"")
    (entry,) = files.entries("t")
    # The kernel stamps files with a clock that may lag by a tick.
    assert before - 100 <= entry.modified <= int(time.time() * 1000) + 100


def test_reading_many_closes_what_it_opened(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path))
    for number in range(5):
        files.create(f"d{number}/a", b"x")
    before = open_below(tmp_path)
    reading = files.read_many(f"d{number}/a" for number in range(5))
    assert next(reading) == b"x"
    reading.close()  # type: ignore[attr-defined]
    assert list(files.read_many(f"d{number}/a" for number in range(5))) == [b"x"] * 5
    assert open_below(tmp_path) == before


def open_below(place: Path) -> list[str]:
    """What this process has open there, as Linux lists it. Its threads may open others meanwhile."""
    opened = (os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))
    return [path for path in opened if path.startswith(f"{place}/")]


def test_no_address_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=about("no warehouse")):
        open_files(" ")


def test_a_warehouse_that_was_moved_away_is_not_begun_anew(tmp_path: Path) -> None:
    """Its disk may be unmounted: what is written then would lie below the mount point, and hide."""
    files = LocalFiles(str(tmp_path / "warehouse"))
    for writing in (files.create, files.replace):
        with pytest.raises(FileMissing):
            writing("shop.db/orders/branch/ACTION", b"{}")
    assert not (tmp_path / "warehouse").exists()
