"""The storage of one actor: each operation is a turn, and may be the actor's last.

`create`, `replace`, `delete` and the rest do what `core.storage` promises on each kind of store; `put` and
`rename` are what stock Paimon calls.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator

from core.errors import FileMissing, Unavailable
from core.storage.files import DirectoryEntry
from tests.simulation.actors.scheduler import Actor, Death, Fate
from tests.simulation.world import World


class ActorFiles:
    """Implements `core.storage.files.Files` on the world's store."""

    def __init__(self, world: World, actor: Actor) -> None:
        self._world = world
        self._actor = actor

    @property
    def uri(self) -> str:
        return "/lake"

    def entries(self, directory: str) -> list[DirectoryEntry]:
        self._turn()
        return self._world.store.entries(directory)

    def names(self, directory: str) -> list[str]:
        self._turn()
        return self._world.store.names(directory)

    def etags(self, directory: str) -> dict[str, str | None]:
        self._turn()
        return {each.name: each.etag for each in self._world.store.entries(directory)}

    def links(self, directories: Iterable[str]) -> list[str]:
        return []

    def read(self, path: str) -> bytes:
        self._turn()
        data = self._world.store.files.get(path)
        if data is None:
            raise FileMissing(path)
        return data

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        for path in paths:
            self._turn()
            yield self._world.store.files.get(path)

    def exists(self, path: str) -> bool:
        self._turn()
        return path in self._world.store.files

    def size(self, path: str) -> int | None:
        self._turn()
        data = self._world.store.files.get(path)
        return None if data is None else len(data)

    def create(self, path: str, data: bytes) -> bool:
        fate = self._begin("create", path, data)
        created = path not in self._world.store.files
        if created:
            self._set(path, data)
        self._end(fate, "create" if created else "create (there is one)", path)
        return created

    def replace(self, path: str, data: bytes) -> None:
        fate = self._begin("replace", path, data)
        if self._world.store.kind == "hdfs" and self._world.hdfs_replaces_in_two_steps:
            # As long as libhdfs's wrapper deletes what is to be overwritten, and then renames.
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

    def prune(self, directory: str) -> None:
        fate = self._begin("prune", directory)
        self._world.store.prune(directory)
        self._end(fate, "prune", directory)

    def put(self, path: str, data: bytes) -> None:
        """Write or overwrite, as stock engines write data files, manifests and hints."""
        fate = self._begin("put", path, data)
        self._set(path, data)
        self._end(fate, "put", path)

    def rename(self, source: str, target: str) -> bool:
        """False where the target is there. On S3 that is looked at first, and the move comes later.

        Stock engines have a lock among them; it is ours that they may overwrite.
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
        self._set(target, data)
        self._end(fate, "rename", target)
        return True

    def _turn(self) -> None:
        if self._actor.is_dead:
            raise Death
        self._world.scheduler.turn(self._actor)

    def _begin(self, call: str, path: str, data: bytes | None = None) -> Fate:
        """What is to become of a write. Raises for one that does not come about."""
        self._turn()
        actor, world = self._actor, self._world
        actor.writes += 1
        fate: Fate = actor.fate if actor.writes == actor.dies_at else "done"
        if fate == "die half" and data is not None and world.store.kind != "s3":
            directory, _, name = path.rpartition("/")
            part = f"{directory}/.{name}.{uuid.uuid4()}"
            world.store.put(part, data[: len(data) // 2], self._now)
            world.litter.add(part)
        if fate in ("die before", "die half"):
            self._die(f"dies before {call} {path}")
        if fate == "fail before":
            world.tell(actor, f"{call} {path}: no answer, and not done")
            raise Unavailable("the store does not answer")
        return fate

    def _end(self, fate: Fate, call: str, path: str) -> None:
        self._world.tell(self._actor, f"{call} {path}")
        if fate == "die after":
            self._die("dies")
        if fate == "lost":
            self._world.tell(self._actor, "the answer is lost")
            raise Unavailable("the store does not answer")

    def _die(self, line: str) -> None:
        self._actor.is_dead = True
        self._world.tell(self._actor, line)
        raise Death

    def _set(self, path: str, data: bytes | None) -> None:
        store = self._world.store
        before = store.files.get(path)
        if data is None:
            store.drop(path)
        else:
            store.put(path, data, self._now)
        if before != data:
            self._world.changed(self._actor, path, before, data)

    @property
    def _now(self) -> int:
        return self._world.scheduler.now_ms()
