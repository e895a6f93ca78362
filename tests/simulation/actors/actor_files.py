"""The storage of one actor: the actor may lose the turn, or die, at each operation.

`create`, `replace`, `delete` and the other methods do what `paimark.core.storage` promises on each kind of
store; stock Paimon calls `put` and `rename`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator

from paimark.core.errors import FileMissing
from paimark.core.storage.files import DirectoryEntry, Unanswered, delete_if_own, is_taken
from tests.simulation.actors.scheduler import Actor, Death, Fate
from tests.simulation.world import World


class ActorFiles:
    """Implements `paimark.core.storage.files.Files` on the world's store.

    If the world has a real store too, all changes are repeated there; with `reads_server`, all reads as well.
    """

    def __init__(self, world: World, actor: Actor, *, reads_server: bool = False) -> None:
        self._world = world
        self._actor = actor
        self._read_server = world.server if reads_server else None

    @property
    def uri(self) -> str:
        return "s3://lake" if self._world.store.kind == "s3" else "/lake"

    def entries(self, directory: str) -> list[DirectoryEntry]:
        self._turn()
        entries = self._world.store.entries(directory)
        if self._read_server:
            self._read_server.entries(directory, entries)
        return entries

    def names(self, directory: str) -> list[str]:
        self._turn()
        names = self._world.store.names(directory)
        if self._read_server:
            self._read_server.names(directory, names)
        return names

    def etags(self, directory: str) -> dict[str, str | None]:
        return {each.name: each.etag for each in self.entries(directory)}

    def links(self, directories: Iterable[str]) -> list[str]:
        return []

    def read(self, path: str) -> bytes:
        data = self._read(path)
        if data is None:
            raise FileMissing(path)
        return data

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        return (self._read(path) for path in paths)

    def exists(self, path: str) -> bool:
        return self.size(path) is not None

    def size(self, path: str) -> int | None:
        self._turn()
        data = self._world.store.files.get(path)
        size = None if data is None else len(data)
        if self._read_server:
            self._read_server.size(path, size)
        return size

    def create(self, path: str, data: bytes) -> bool:
        fate = self._begin("create", path, data)
        created = self._create(path, data)
        self._end(fate, "create" if created else "create (there is one)", path)
        return created

    def replace(self, path: str, data: bytes) -> None:
        fate = self._begin("replace", path, data)
        if self._world.store.kind == "hdfs" and self._world.hdfs_replaces_in_two_steps:
            # The wrapper of libhdfs deletes the target first, and then renames.
            self._set(path, None)
            self._turn()
            if fate == "die between":
                self._die(f"dies between the delete and the rename of {path}")
        self._set(path, data)
        self._end(fate, "replace", path)

    def delete(self, path: str) -> None:
        fate = self._begin("delete", path)
        self._set(path, None)
        self._end(fate, "delete", path)

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        # A model of stores that ignore the conditions of deletes.
        delete_if_own(self, path, is_own)

    def prune(self, directory: str) -> None:
        fate = self._begin("prune", directory)
        self._world.store.prune(directory)
        if self._world.server:
            self._world.server.prune(directory)
        self._end(fate, "prune", directory)

    def make_directory(self, directory: str) -> None:
        raise AssertionError(f"no actor makes {directory}")

    def move(self, directory: str, to: str) -> None:
        fate, store = self._begin("move", directory), self._world.store
        assert store.kind != "s3", "an object store moves no directory"
        if not (moved := store.below(directory)):
            raise FileMissing(directory)
        if store.below(to):
            raise is_taken(to)
        for path in moved:
            data, target = store.files[path], f"{to}{path.removeprefix(directory)}"
            store.move(path, target, self._now)
            self._world.changed(self._actor, path, data, None)
            self._world.changed(self._actor, target, None, data)
        store.prune(directory)
        if self._world.server:
            self._world.server.move(directory, to)
        self._end(fate, "move", directory)

    def copy(self, path: str, to: str, size: int) -> None:
        data = self._world.store.files.get(path)
        if data is None:
            raise FileMissing(path)
        fate = self._begin("copy", to, data)
        self._set(to, data, copy_of=path)
        self._end(fate, "copy", to)

    def put(self, path: str, data: bytes) -> None:
        """Write or overwrite, as stock engines write data files, manifests and hints."""
        fate = self._begin("put", path, data)
        self._set(path, data)
        self._end(fate, "put", path)

    def rename(self, source: str, target: str) -> bool:
        """False if the target exists. On S3 the check comes first, and the move later.

        Stock engines lock each other out, so they can overwrite only commits of Paimark.
        """
        fate = self._begin("rename", target)
        store = self._world.store
        may_overwrite = False
        if store.kind == "s3" and self._world.s3_overwrites and target not in store.files:
            self._turn()
            may_overwrite = self._world.is_of_ours(target)
        if target in store.files and not may_overwrite:
            self._end(fate, "rename (there is one)", target)
            return False
        data = store.files[source]
        store.drop(source)
        if self._world.server:
            self._world.server.delete(source)
        self._set(target, data)
        self._end(fate, "rename", target)
        return True

    def _turn(self) -> None:
        if self._actor.is_dead:
            raise Death
        self._world.scheduler.turn(self._actor)
        self._land()

    def _land(self) -> None:
        """Carry out the late requests that are due: their clients gave up on them."""
        for each in self._world.late.due():
            self._world.tell(
                each.actor, f"comes late: {'delete' if each.data is None else 'put'} {each.path}"
            )
            files = ActorFiles(self._world, each.actor)
            if each.is_creation and each.data is not None:
                files._create(each.path, each.data)
            else:
                files._set(each.path, each.data)

    def _read(self, path: str) -> bytes | None:
        self._turn()
        data = self._world.store.files.get(path)
        if self._read_server:
            self._read_server.read(path, data)
        return data

    def _begin(self, call: str, path: str, data: bytes | None = None) -> Fate:
        """The fate of a write. Raises `Death` or `Unanswered` if the write is not done now."""
        self._turn()
        actor, world = self._actor, self._world
        actor.writes += 1
        fate: Fate = actor.fate if actor.writes == actor.dies_at else "done"
        if fate == "die half" and data is not None and world.store.kind != "s3":
            directory, _, name = path.rpartition("/")
            part = f"{directory}/.{name}.{uuid.uuid4()}"
            self._put(part, data[: len(data) // 2])
            world.litter.add(part)
        if fate in ("late", "die late", "again"):
            world.late.add(actor, path, data, is_creation=call == "create")
        if fate in ("die before", "die half", "die late"):
            self._die(f"dies before {call} {path}")
        if fate in ("fail before", "late"):
            when = "not done" if fate == "fail before" else "done later"
            world.tell(actor, f"{call} {path}: no answer, and {when}")
            raise Unanswered("the store does not answer")
        return fate

    def _end(self, fate: Fate, call: str, path: str) -> None:
        self._world.tell(self._actor, f"{call} {path}")
        if fate == "die after":
            self._die("dies")
        if fate == "lost":
            self._world.tell(self._actor, "the answer is lost")
            raise Unanswered("the store does not answer")

    def _die(self, line: str) -> None:
        self._actor.is_dead = True
        self._world.tell(self._actor, line)
        raise Death

    def _create(self, path: str, data: bytes) -> bool:
        is_new, server = path not in self._world.store.files, self._world.server
        if server:
            server.create(path, data, is_new)
        if is_new:
            self._world.store.put(path, data, self._now)
            self._world.changed(self._actor, path, None, data)
        return is_new

    def _set(self, path: str, data: bytes | None, copy_of: str = "") -> None:
        store, server = self._world.store, self._world.server
        before = store.files.get(path)
        if copy_of and data is not None:
            store.put(path, data, self._now)
            if server:
                server.copy(copy_of, path, len(data))
        elif data is not None:
            self._put(path, data)
        else:
            store.drop(path)
            if server:
                server.delete(path)
        if before != data:
            self._world.changed(self._actor, path, before, data)

    def _put(self, path: str, data: bytes) -> None:
        self._world.store.put(path, data, self._now)
        if self._world.server:
            self._world.server.replace(path, data)

    @property
    def _now(self) -> int:
        # An object store's own clock, which nobody sets.
        scheduler = self._world.scheduler
        return scheduler.now_ms() - (scheduler.jump if self._world.may_be_late else 0)
