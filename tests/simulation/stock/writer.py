"""A model of a stock engine's writer, from the source of Java 2.0 and from measurements.

It commits by `exists` and `rename`, and tries again on the newest snapshot if another writer was faster. It
ignores the main-branch file, journals and savepoints.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from paimark.core.errors import FileMissing
from paimark.core.table.layout import BARRIER_ID, Root
from tests.simulation.actors.actor_files import ActorFiles
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import ADD, DELETE, Change, DataFile, Entry, Identity, Rows, schema_json
from tests.simulation.stock.commit import CommitWriter, Prepared
from tests.simulation.world import TABLE, World

Kind = Literal["append", "overwrite", "compact", "delete"]
_ATTEMPTS = 5


class StockError(Exception):
    """An exception of a stock engine: the request was not carried out."""


class StockTable:
    """A root in a session, which reads the newest schema once, when it opens the root."""

    def __init__(self, world: World, actor: Actor, root: Root) -> None:
        self.world = world
        self.actor = actor
        self.root = root
        self.files = ActorFiles(world, actor)
        self.schema = self._newest_schema()

    def latest_id(self) -> int | None:
        """The newest id, found as Java does: the hint, unless the next snapshot exists; else a listing."""
        hint = self._hint("LATEST")
        if hint is not None and not self.files.exists(self.root.snapshot(hint + 1)):
            return hint
        return max(self.snapshot_ids(), default=None)

    def earliest_id(self) -> int | None:
        hint = self._hint("EARLIEST")
        if hint is not None and self.files.exists(self.root.snapshot(hint)):
            return hint
        return min(self.snapshot_ids(), default=None)

    def snapshot_ids(self) -> list[int]:
        names = self.files.names(self.root.snapshots)
        digits = (name.removeprefix("snapshot-") for name in names if name.startswith("snapshot-"))
        return sorted(int(each) for each in digits if each.isdigit())

    def snapshot(self, number: int) -> dict[str, Any]:
        """Raises `StockError` for a missing or damaged file, as Java raises its own errors."""
        return self._json(self.root.snapshot(number))

    def latest(self) -> dict[str, Any] | None:
        number = self.latest_id()
        return None if number is None else self.snapshot(number)

    def write_hint(self, name: str, number: int) -> None:
        self.files.put(f"{self.root.snapshots}/{name}", str(number).encode())

    def option(self, name: str, default: int) -> int:
        return int(self.schema["options"].get(name, default))

    def _hint(self, name: str) -> int | None:
        try:
            text = self.files.read(f"{self.root.snapshots}/{name}")
        except FileMissing:
            return None
        return int(text) if text.strip().isdigit() else None

    def _newest_schema(self) -> dict[str, Any]:
        names = self.files.names(self.root.schemas)
        ids = [int(each.removeprefix("schema-")) for each in names if each.startswith("schema-")]
        if not ids:
            raise StockError(f"{self.root.label} has no schema: table not found")
        return self._json(self.root.schema(max(ids)))

    def _json(self, path: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self.files.read(path))
        except (FileMissing, ValueError) as error:
            raise StockError(f"{path}: {error}") from error
        return found


class StockWriter(StockTable):
    """A job that writes to one root.

    With `names_newest` its snapshots name the newest schema at their time, as those of Java do; else the one
    that the job knows, as those of pypaimon do. Its data files name the latter.
    """

    def __init__(self, world: World, actor: Actor, root: Root, *, names_newest: bool = False) -> None:
        super().__init__(world, actor, root)
        self._names_newest = names_newest
        self._writer = CommitWriter(world, actor, self.files)

    def commit(self, kind: Kind = "append") -> Identity | None:
        """Make one commit, acknowledged when this returns; None if there is nothing to do.

        Raises `StockError` if others were faster each time, or the newest snapshot is unknown to the model.
        """
        for _ in range(_ATTEMPTS):
            base = self.latest()
            # Java writes the rows before it reads the newest snapshot; here their sequence numbers follow it.
            added = self._new_rows(kind)
            delta = self._delta(kind, base, added)
            if not delta:
                return None
            prepared = self._prepared(base, delta, kind)
            parent = _identity(base)
            if parent is not None and parent not in self.world.commits:
                raise StockError("an unknown snapshot is the newest")
            before = self.world.commits[parent].rows if parent else ()
            commit = self._writer.register(prepared, self._after(kind, before, added), parent)
            if self._landed(prepared):
                self.world.litter -= {*prepared.metadata}
                self.world.litter -= {self._path(each.file) for each in delta}
                self.write_hint("LATEST", prepared.identity.id)
                commit.is_acknowledged = True
                self.world.tell(self.actor, f"committed {kind} {prepared.identity.id} to {self.root.label}")
                return prepared.identity
            for path in (*prepared.metadata, *([self._path(added[0])] if added else [])):
                self.files.delete(path)
        raise StockError("others committed each time")

    def add_column(self) -> int:
        """ALTER TABLE ADD COLUMN: write the next schema, also by `exists` and `rename`."""
        self.schema = self._newest_schema()
        number = int(self.schema["id"]) + 1
        more = [field["name"] for field in self.schema["fields"][2:]]
        more.append(f"c{number}_{self.world.number()}")
        data = schema_json(number, keyed=self.world.keyed, options=self.schema["options"], more=more)
        if not self._write_new(self.root.schema(number), data):
            raise StockError("somebody else altered the table")
        self.schema = json.loads(data)
        return number

    def _new_rows(self, kind: Kind) -> tuple[DataFile, list[Change]] | None:
        if kind == "compact":
            return None
        world, changes = self.world, []
        for _ in range(world.random.randint(1, 2)):
            number = world.number()
            key = world.random.randint(1, 6) if world.keyed else number
            changes.append(Change(key, number, number, 3 if kind == "delete" else 0))
        if world.keyed:
            changes = list({each.key: each for each in changes}.values())
        return self._writer.data_file(changes, self.schema), changes

    def _delta(
        self, kind: Kind, base: dict[str, Any] | None, added: tuple[DataFile, list[Change]] | None
    ) -> list[Entry]:
        new = [Entry(ADD, added[0])] if added else []
        if base is None or kind in ("append", "delete"):
            return new
        try:
            live = self._writer.live(base)
            if kind == "overwrite":
                return [*(Entry(DELETE, each) for each in live), *new]
            return self.compacted(live)
        except FileMissing as error:
            raise StockError(str(error)) from error

    def compacted(self, live: list[DataFile]) -> list[Entry]:
        """Compact all files to one; a single file of a keyed table only moves to the last level."""
        if len(live) == 1 and live[0].level == 0 and self.world.keyed:
            [file] = live
            up = DataFile(**{**vars(file), "level": 5})
            return [Entry(DELETE, file), Entry(ADD, up)]
        if len(live) < 2:
            return []
        changes = [change for file in live for change in self._writer.changes(file)]
        if self.world.keyed:
            newest = {each.key: each for each in sorted(changes, key=lambda each: each.sequence)}
            changes = list(newest.values())
        file = self._writer.data_file(changes, self.schema, 5 if self.world.keyed else 0)
        return [*(Entry(DELETE, each) for each in live), Entry(ADD, file)]

    def _after(self, kind: Kind, before: Rows, added: tuple[DataFile, list[Change]] | None) -> Rows:
        """The rows after a commit, by the model."""
        if added is None:
            return before
        new = {each.key: each.value for each in added[1]}
        if kind == "overwrite":
            return tuple(sorted(new.items()))
        if kind == "delete":
            return tuple(row for row in before if row[0] not in new)
        if self.world.keyed:
            return tuple(sorted((dict(before) | new).items()))
        return tuple(sorted([*before, *new.items()]))

    def _prepared(self, base: dict[str, Any] | None, delta: list[Entry], kind: Kind) -> Prepared:
        words = {"overwrite": "OVERWRITE", "compact": "COMPACT"}
        number = self.world.number()
        schema = self._newest_schema() if self._names_newest else self.schema
        try:
            return self._writer.prepare(
                base, delta, schema["id"], words.get(kind, "APPEND"), self.actor.name, number
            )
        except FileMissing as error:
            raise StockError(str(error)) from error

    def _landed(self, prepared: Prepared) -> bool:
        path = self.root.snapshot(prepared.identity.id)
        # Java would commit under an id that has expired meanwhile, which is a fault of its own.
        others = [number for number in self.snapshot_ids() if number != BARRIER_ID]
        is_past = prepared.identity.id <= max(others, default=0)
        return not is_past and not self.files.exists(path) and self._write_new(path, prepared.data)

    def _write_new(self, path: str, data: bytes) -> bool:
        directory, _, name = path.rpartition("/")
        temporary = f"{directory}/.{name}.{self.world.number():08x}-0000-4000-8000-000000000000"
        self.files.put(temporary, data)
        if self.files.rename(temporary, path):
            return True
        self.files.delete(temporary)
        return False

    @staticmethod
    def _path(file: DataFile) -> str:
        return TABLE.data_file("", 0, file.name)


def _identity(snapshot: dict[str, Any] | None) -> Identity | None:
    if snapshot is None:
        return None
    return Identity(snapshot["id"], snapshot["baseManifestList"], snapshot["deltaManifestList"])
