"""A store that only pretends to keep the conditions of writes is found out by a race, and takes no change."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from paimark.core.errors import Refused, Unavailable
from paimark.core.storage.open import open_files
from paimark.core.storage.remote import RemoteFiles
from tests.long import long_but
from tests.storage.pretending import PRETENDING, Mode, PretendingServer
from tests.storage.stores import BUCKET, S3Server
from tests.wording import about

WHY = {
    "ignores": ("8 writers", "created", "8 won"),
    "looks first": ("8 writers", "created", "won"),
    "looks first to replace": ("8 writers", "replaced", "won"),
    "ignores If-Match": ("ignores If-Match",),
    "gives no etag": ("no etag",),
    "lets nobody win": ("none wins",),
}


def address() -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[PretendingServer]:
    with PretendingServer(request.param) as server:
        yield server


@pytest.mark.parametrize(("server", "mode"), [(mode, mode) for mode in PRETENDING], indirect=["server"])
def test_a_server_that_pretends_takes_no_file(server: PretendingServer, mode: Mode) -> None:
    files = open_files(address(), server.options())
    with pytest.raises(Refused, match=about(files.uri, "safely", *WHY[mode])) as caught:
        files.create("t/a", b"x")
    assert "If-None-Match" in caught.value.hint
    assert server.objects == {}


@pytest.mark.parametrize(
    ("server", "mode"),
    [(mode, mode) for mode in ("looks first", "looks first to replace")],
    indirect=["server"],
)
def test_a_server_that_writes_soon_after_it_looked_takes_no_file(
    server: PretendingServer, mode: Mode, is_long: bool
) -> None:
    """Fewer rounds of fewer writers find nothing in one of six tries."""
    server.looks_seconds = 0.001
    for _ in range(8 if is_long else 2):
        with pytest.raises(Refused, match=about(*WHY[mode])):
            open_files(address(), server.options()).create("t/a", b"x")


@pytest.mark.parametrize(
    "server", ["deletes anyway", pytest.param("looks first to delete", marks=pytest.mark.long)], indirect=True
)
def test_a_server_without_conditional_deletion_takes_changes(server: PretendingServer) -> None:
    files = open_files(address(), server.options())
    assert isinstance(files, RemoteFiles)
    assert files.race(deletions=True).weakness
    assert files.create("t/a", b"x")


@pytest.mark.parametrize("server", ["keeps"], indirect=True)
def test_another_server_at_the_address_is_raced_as_well(
    server: PretendingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_files(f"s3://{BUCKET}/a", server.options()).create("t/a", b"x")
    server.mode = "ignores"
    assert open_files(f"s3://{BUCKET}/a", server.options()).create("t/b", b"x")
    later = time.monotonic() + 601
    monkeypatch.setattr("paimark.core.storage.conditions.time", SimpleNamespace(monotonic=lambda: later))
    with pytest.raises(Refused, match=about(*WHY["ignores"])):
        open_files(f"s3://{BUCKET}/a", server.options()).create("t/c", b"x")


@pytest.mark.parametrize("server", ["keeps"], indirect=True)
def test_an_honest_store_is_raced_once_a_process_and_nothing_stays(server: PretendingServer) -> None:
    assert open_files(address(), server.options()).create("t/a", b"x")
    assert 0 < len([each for each in server.requests if ".paimark-scratch" in each]) < 250
    assert [key for key in server.objects if not key.endswith("/t/a")] == []
    before = len(server.requests)
    assert open_files(address(), server.options()).create("t/b", b"x")
    assert len(server.requests) == before + 1


@pytest.mark.parametrize("server", ["ignores"], indirect=True)
def test_a_server_that_was_mended_is_noticed(server: PretendingServer) -> None:
    files = open_files(address(), server.options())
    with pytest.raises(Refused):
        files.create("t/a", b"x")
    server.mode = "keeps"
    assert files.create("t/a", b"x")


@pytest.mark.parametrize("server", ["ignores"], indirect=True)
def test_an_endpoint_from_the_environment_is_raced_too(
    server: PretendingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    options = {name: value for name, value in server.options().items() if name != "s3.endpoint"}
    with pytest.raises(Refused, match="8 won"):
        open_files(address(), options).create("t/a", b"x")


def test_a_real_server_keeps_conditions(s3: S3Server) -> None:
    files = open_files(address(), s3.options())
    assert isinstance(files, RemoteFiles)
    assert files.race().fault == ""
    assert files.create("t/a", b"x")
    assert files.names("") == ["t"]


@pytest.mark.parametrize("server", ["keeps"], indirect=True)
@pytest.mark.parametrize("times", long_but([1, 2, 3], "2"))
@pytest.mark.parametrize("winner", ["nobody", "another", "another program", "ourselves"])
def test_what_became_of_a_conflict_is_looked_up(server: PretendingServer, winner: str, times: int) -> None:
    """S3 answers 409 while another request for the object is under way, and not who wins."""
    files = open_files(address(), server.options())
    assert isinstance(files, RemoteFiles)

    def meanwhile(key: str, data: bytes, mark: str) -> None:
        if winner != "nobody" and not server.conflicts:
            server.objects[key] = data if winner == "ourselves" else b"theirs"
            server.marks[key] = {"ourselves": mark, "another": "theirs"}.get(winner, "")

    server.conflicts, server.meanwhile = times, meanwhile
    wins = winner in ("nobody", "ourselves")
    assert files.put_new("t/a", b"ours") is wins
    assert files.read("t/a") == (b"ours" if wins else b"theirs")


@pytest.mark.parametrize("server", ["keeps"], indirect=True)
def test_a_conflict_that_does_not_end_is_no_answer(
    server: PretendingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimark.core.storage.s3.s3_files._CONFLICT_SECONDS", (0.01, 0.01))
    files = open_files(address(), server.options())
    assert isinstance(files, RemoteFiles)
    server.conflicts = 100
    with pytest.raises(Unavailable, match=about("unknown", "t/a", "created")):
        files.put_new("t/a", b"ours")
    assert server.objects == {}


class LooksFirst(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """What a client does that has no condition to send: it looks, and then writes."""

    cachable = False
    store: ClassVar[dict[str, Any]] = {}

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **how: object) -> None:
        if mode == "create" and self.exists(path):
            raise FileExistsError(path)
        time.sleep(0.01)
        super().pipe_file(path, value)


def test_google_is_raced_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(import_module("fsspec.registry")._registry, "gs", LooksFirst)
    files = open_files(f"gs://{uuid.uuid4().hex}/warehouse")
    with pytest.raises(Refused, match=about(files.uri, "safely", "8 writers", "won")):
        files.create("t/a", b"x")
    assert not [path for path in LooksFirst.store if "scratch" in path]


def test_oss_takes_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clients know a condition, and nobody has tried whether the store keeps it."""
    monkeypatch.setitem(import_module("fsspec.registry")._registry, "oss", LooksFirst)
    files = open_files("oss://lake/warehouse")
    with pytest.raises(Refused, match=about("oss://lake/warehouse", "safely", "x-oss-forbid-overwrite")):
        files.create("t/a", b"x")


def test_what_races_left_that_were_killed_is_swept_after_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(import_module("fsspec.registry")._registry, "gs", LooksFirst)
    files = open_files(f"gs://{uuid.uuid4().hex}/warehouse")
    assert isinstance(files, RemoteFiles)
    old, young = (f".paimark-scratch/{uuid.uuid4()}/race-0" for _ in range(2))
    others = [".paimark-scratch/notes/race-0", f".paimark-scratch/{uuid.uuid4()}/mine"]
    for path in (old, young, *others):
        files.replace(path, b"")
        place = next(each for each in LooksFirst.store if each.endswith(path))
        LooksFirst.store[place].created -= timedelta(hours=23 if path == young else 25)
    assert files.entries(young.rpartition("/")[0])[0].modified > 0
    files.race()
    assert [path for path in (old, young, *others) if files.exists(path)] == [young, *others]
