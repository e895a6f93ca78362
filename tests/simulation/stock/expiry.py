"""A model of stock expiry and of stock tags: their reads and deletions, in the real order.

Expiry reads the tags once, on any branch those of the table directory. For each snapshot it spares only the
files of the nearest earlier tag. It deletes data files, then manifests and lists, then snapshot files, and
writes the EARLIEST hint. The deletion of a tag checks its two neighbours. Neither checks branches.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from paimark.core.errors import FileMissing
from tests.simulation.formats import DELETE, DataFile, Entry, live_files
from tests.simulation.judging import view
from tests.simulation.stock.writer import StockError, StockTable
from tests.simulation.world import TABLE, list_manifests, manifest_entries

_FOREVER = 2**31 - 1
_HOUR_MS = 3_600_000


class StockMaintenance(StockTable):
    """Expiry and tags of one root."""

    def expire_by_options(self) -> int:
        """Expire as a writer does at its commit, and as a CALL without arguments does."""
        minimum = self.option("snapshot.num-retained.min", 10)
        maximum = self.option("snapshot.num-retained.max", _FOREVER)
        return self.expire(minimum, maximum, self.world.scheduler.now_ms(self.actor) - _HOUR_MS)

    def expire(self, minimum: int, maximum: int, older_than: int) -> int:
        """Expire snapshots; returns how many. Raises `StockError`."""
        latest, earliest = self.latest_id(), self.earliest_id()
        if latest is None or earliest is None:
            return 0
        first = max(latest - maximum + 1, earliest)
        end = min(latest - minimum + 1, self._smallest_consumer())
        for number in range(first, end):
            exists = self.files.exists(self.root.snapshot(number))
            if exists and older_than <= self.snapshot(number)["timeMillis"]:
                return self._expire_until(earliest, number)
        return self._expire_until(earliest, end)

    def _smallest_consumer(self) -> int:
        """The smallest next snapshot of all consumers."""
        names = [each for each in self.files.names(self.root.consumers) if each.startswith("consumer-")]
        found = [_FOREVER]
        for name in names:
            try:
                found.append(json.loads(self.files.read(f"{self.root.consumers}/{name}"))["nextSnapshot"])
            except FileMissing:
                continue
        return min(found)

    def expire_consumers(self) -> None:
        """Delete all consumers, as `consumer.expiration-time` does with inactive ones."""
        for name in self.files.names(self.root.consumers):
            self.files.delete(f"{self.root.consumers}/{name}")

    def create_tag(self, name: str, number: int) -> None:
        """Copy the snapshot's file, without a check for a concurrent expiry."""
        path = self.root.tag(name)
        if self.files.exists(path):
            raise StockError(f"there is a tag {name}")
        data = json.dumps(self.snapshot(number), indent=2).encode()
        self.files.put(path, data)

    def roll_back(self, number: int) -> None:
        """Delete the later snapshots, newest first, and their tags. Their data files stay."""
        ids = [each for each in self.snapshot_ids() if each > number]
        self.write_hint("LATEST", number)
        for each in reversed(ids):
            self.files.delete(self.root.snapshot(each))
        for name in self.files.names(self.root.tags):
            path = f"{self.root.tags}/{name}"
            if name.startswith("tag-") and self._json(path)["id"] > number:
                self.files.delete(path)

    def fast_forward(self, name: str) -> None:
        """Replace main, from the branch's first snapshot on, by the branch, with its schemas and tags."""
        branch, store = TABLE.root(name), self.files
        first = StockTable(self.world, self.actor, branch).earliest_id()
        if first is None:
            raise StockError(f"branch {name} has no snapshot")
        # If EARLIEST does not name a snapshot, it fails here, with nothing changed.
        schema = self._json(branch.schema(self._json(branch.snapshot(first))["schemaId"]))["id"]
        tags = [each for each in store.names(self.root.tags) if each.startswith("tag-")]
        going = [self.root.snapshot(each) for each in self.snapshot_ids() if each >= first]
        ids = [each.removeprefix("schema-") for each in store.names(self.root.schemas)]
        going += [self.root.schema(int(each)) for each in ids if each.isdigit() and int(each) >= schema]
        paths = [f"{self.root.tags}/{each}" for each in tags]
        going += [path for path in paths if self._json(path)["id"] >= first]
        self.world.shares_snapshots = True
        self.world.always_leaks = True
        store.delete(f"{self.root.snapshots}/LATEST")
        for path in going:
            store.delete(path)
        for source, target in (
            (branch.snapshots, self.root.snapshots),
            (branch.schemas, self.root.schemas),
            (branch.tags, self.root.tags),
        ):
            for each in store.names(source):
                store.put(f"{target}/{each}", store.read(f"{source}/{each}"))

    def tag_by_itself(self) -> None:
        """Create an automatic tag, as a writer does after a commit: among main's tags, on any branch.

        It keeps only the newest of the tags that have the name of an automatic tag.
        """
        newest = self.latest_id()
        if self.schema["options"].get("tag.automatic-creation", "none") == "none" or newest is None:
            return
        main = StockMaintenance(self.world, self.actor, TABLE.root())
        data = json.dumps(self.snapshot(newest), indent=2).encode()
        self.files.put(main.root.tag(f"{self.world.number()}-05-01"), data)
        main.delete_own_tags(self.option("tag.num-retained-max", _FOREVER))

    def delete_own_tags(self, limit: int = 0) -> None:
        """Delete all automatic tags except the newest `limit`."""
        ids = {name: found.id for name, found in view.tags(self.world.store, self.root).items()}
        own = sorted((each for each in ids if view.is_of_engines(each)), key=ids.__getitem__)
        for name in own[: max(0, len(own) - limit)]:
            self.delete_tag(name)

    def delete_branch(self, name: str) -> None:
        """Delete the whole directory, without a check for dependents."""
        directory = TABLE.root(name).directory
        for path in self.world.store.below(directory):
            self.files.delete(path)
        self.files.prune(directory)

    def create_branch(self, name: str, tag: str) -> None:
        """Copy the tag, its snapshot, and the schemas up to the tag's. Expiry stays enabled."""
        branch, data = TABLE.root(name), self.files.read(self.root.tag(tag))
        found = json.loads(data)
        for number in range(found["schemaId"] + 1):
            self.files.put(branch.schema(number), self.files.read(self.root.schema(number)))
        self.files.put(branch.tag(tag), data)
        self.files.put(branch.snapshot(found["id"]), data)
        self.files.put(f"{branch.snapshots}/LATEST", str(found["id"]).encode())
        self.files.put(f"{branch.snapshots}/EARLIEST", str(found["id"]).encode())

    def delete_tag(self, name: str) -> None:
        path = self.root.tag(name)
        tagged = self._json(path)
        self.world.has_leaked = True
        if self.files.exists(self.root.snapshot(tagged["id"])):
            self.files.delete(path)
            return
        tags = self._tags()
        if not self.files.exists(path):
            # If two Java engines delete the tag at once, the second one deletes files of another tag.
            raise StockError(f"somebody deleted tag {name}")
        self.files.delete(path)
        if sum(each["id"] == tagged["id"] for each in tags) > 1:
            return
        others = [each for each in tags if each["id"] != tagged["id"]]
        earliest = self.earliest_id()
        rights = [each for each in others if each["id"] > tagged["id"]][:1]
        if earliest is not None:
            rights.append(self.snapshot(earliest))
        neighbours = [each for each in others if each["id"] < tagged["id"]][-1:]
        neighbours += sorted(rights, key=lambda each: int(each["id"]))[:1]
        held = {file.name for each in neighbours for file in self._live(each)}
        self._delete_data(file for file in self._live(tagged) if file.name not in held)
        self._delete_manifests(tagged, self._manifest_names(neighbours))

    def _expire_until(self, earliest: int, end: int) -> int:
        if end <= earliest:
            return 0
        begin = earliest
        for number in range(end - 1, earliest - 1, -1):
            if not self.files.exists(self.root.snapshot(number)):
                begin = number + 1
                break
        self._begin_deleting(range(begin, end))
        tags = self._tags_of_main()
        for number in range(begin + 1, end + 1):
            try:
                snapshot = self.snapshot(number)
            except StockError:
                begin = number + 1
                continue
            try:
                held = self._held_by_earlier_tag(tags, number)
            except FileMissing:
                # The tag can't be read, so the data files of this snapshot stay.
                continue
            self._delete_data(file for file in self._dropped_by(snapshot) if file.name not in held)
        before_end = [i for i, each in enumerate(tags) if each["id"] < end]
        at_begin = [i for i, each in enumerate(tags) if each["id"] <= begin]
        overlapping = tags[max(at_begin, default=0) : before_end[-1] + 1] if before_end else []
        try:
            spared = [*overlapping, self.snapshot(end)]
        except StockError:
            return 0
        try:
            names: set[str] | None = self._manifest_names(spared)
        except FileMissing:
            names = None
        going = [n for n in range(begin, end)]
        for number in going if names is not None else ():
            assert names is not None
            try:
                self._delete_manifests(self.snapshot(number), names)
            except StockError:
                continue
        for number in going:
            self.files.delete(self.root.snapshot(number))
        self.write_hint("EARLIEST", end)
        return len(going)

    def _begin_deleting(self, numbers: range) -> None:
        """Note that these snapshots may lose files: if this expiry dies, the next one deletes them."""
        world = self.world
        world.has_leaked = True
        there = view.snapshots(world.store, self.root)
        for each in numbers:
            if each in there:
                world.expiring[there[each]] = world.round

    def _tags_of_main(self) -> list[dict[str, Any]]:
        return self._read_tags(TABLE.root().tags)

    def _tags(self) -> list[dict[str, Any]]:
        return self._read_tags(self.root.tags)

    def _read_tags(self, directory: str) -> list[dict[str, Any]]:
        names = [each for each in self.files.names(directory) if each.startswith("tag-")]
        found = {}
        for name in names:
            try:
                tag = json.loads(self.files.read(f"{directory}/{name}"))
            except FileMissing:
                continue
            found[name] = tag
        return sorted(found.values(), key=lambda each: int(each["id"]))

    def _held_by_earlier_tag(self, tags: Sequence[dict[str, Any]], number: int) -> set[str]:
        earlier = [each for each in tags if each["id"] < number]
        return {file.name for file in self._live(earlier[-1])} if earlier else set()

    def _dropped_by(self, snapshot: dict[str, Any]) -> list[DataFile]:
        """The files that a commit deleted, except those that only moved to another level."""
        try:
            dropped: dict[str, DataFile] = {}
            for entry in self._delta(snapshot):
                if entry.kind == DELETE:
                    dropped[entry.file.name] = entry.file
                else:
                    dropped.pop(entry.file.name, None)
        except FileMissing:
            return []
        return list(dropped.values())

    def _delta(self, snapshot: dict[str, Any]) -> list[Entry]:
        manifests = list_manifests(self.files.read(TABLE.manifest(snapshot["deltaManifestList"])))
        return [
            entry
            for each in manifests
            for entry in manifest_entries(self.files.read(TABLE.manifest(each.name)))
        ]

    def _live(self, snapshot: dict[str, Any]) -> list[DataFile]:
        entries: list[Entry] = []
        for name in (snapshot["baseManifestList"], snapshot["deltaManifestList"]):
            for manifest in list_manifests(self.files.read(TABLE.manifest(name))):
                entries += manifest_entries(self.files.read(TABLE.manifest(manifest.name)))
        return live_files(entries)

    def _manifest_names(self, snapshots: Iterable[dict[str, Any]]) -> set[str]:
        found = set()
        for snapshot in snapshots:
            for name in (snapshot["baseManifestList"], snapshot["deltaManifestList"]):
                found.add(name)
                found |= {each.name for each in list_manifests(self.files.read(TABLE.manifest(name)))}
        return found

    def _delete_data(self, going: Iterable[DataFile]) -> None:
        for file in going:
            self.files.delete(TABLE.data_file("", 0, file.name))

    def _delete_manifests(self, snapshot: dict[str, Any], spared: set[str]) -> None:
        lists = (snapshot["baseManifestList"], snapshot["deltaManifestList"])
        for name in lists:
            try:
                manifests = list_manifests(self.files.read(TABLE.manifest(name)))
            except FileMissing:
                continue
            for manifest in manifests:
                if manifest.name not in spared:
                    self.files.delete(TABLE.manifest(manifest.name))
                    spared.add(manifest.name)
        for name in lists:
            if name not in spared:
                self.files.delete(TABLE.manifest(name))
