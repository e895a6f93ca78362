"""The judge at rest: every reference reads as the model says, and a reference needs every file."""

from __future__ import annotations

import json
from collections.abc import Iterator

from paimark.core.table.layout import Root
from tests.simulation.formats import DataFile, Identity, Rows, live_files, merged_rows
from tests.simulation.judging import view
from tests.simulation.judging.watch import Watch, describe
from tests.simulation.world import TABLE, Violation, World, list_manifests, manifest_entries


class Unreadable(Exception):
    """A file that a reference needs is missing."""


class Judge:
    """Reads the store as stock readers do, from the files alone."""

    def __init__(self, world: World, watch: Watch) -> None:
        self._world = world
        self._store = world.store
        self._watch = watch
        # Unneeded files at the last check, without those of dead writers.
        self._unowned: set[str] = set()
        # Unneeded files, including those of dead writers.
        self.unowned: set[str] = set()
        # Whether an expiry that died left snapshots without their files.
        self.has_holes = False
        self._had_holes = False
        # Branches without a schema, to which jobs committed after they had been moved or deleted.
        self.strays: set[Root] = set()

    def judge(self) -> None:
        """Raises `Violation`."""
        needed = set[str]()
        # Once such snapshots expire too, the files that only they kept are unknown.
        self._had_holes, self.has_holes = self.has_holes, False
        self.strays = set()
        for root in view.roots(self._store):
            for name, path, found in self._references(root):
                needed |= self._read(root, name, path, found)
        needed |= self._savepoints()
        self._watch.protection.judge()
        self._promised()
        self._acknowledged()
        self._owned(needed)

    @property
    def knows_overwritten(self) -> bool:
        """Whether a stock engine has overwritten a commit of Paimark."""
        return bool(self._watch.overwritten)

    def rows(self, root: Root, path: str) -> tuple[Rows, set[str]]:
        """The rows of a snapshot or tag, and the files needed to read them. Raises `Unreadable`."""
        record = json.loads(self._store.files[path])
        lists = [TABLE.manifest(record[key]) for key in ("baseManifestList", "deltaManifestList")]
        manifests = [
            TABLE.manifest(each.name) for path in lists for each in list_manifests(self._bytes(path))
        ]
        live = live_files(entry for path in manifests for entry in manifest_entries(self._bytes(path)))
        # Stray commits in the table directory are read with the schemas of the previous main.
        if root.branch is not None or view.main_root(self._store) == root:
            for number in {record["schemaId"], *(each.schema_id for each in live)}:
                self._bytes(root.schema(number))
        return self._rows_of(live), {*lists, *manifests, *map(_data_path, live)}

    def _references(self, root: Root) -> Iterator[tuple[str, str, Identity]]:
        for number, found in view.snapshots(self._store, root).items():
            yield f"snapshot {number}", root.snapshot(number), found
        is_guard = root.branch is None and view.main_root(self._store) != root
        for name, found in view.tags(self._store, root).items():
            if not is_guard:
                yield f"tag {name}", root.tag(name), found

    def _read(self, root: Root, name: str, path: str, found: Identity) -> set[str]:
        try:
            rows, needed = self.rows(root, path)
        except Unreadable as error:
            is_unproven = name.removeprefix("tag ") in self._watch.unproven
            is_stray = found in self._watch.strays
            if is_stray:
                self.strays.add(root)
            # Only stock engines create tags without a check for a concurrent expiry.
            is_stock = name.startswith(("snapshot ", "tag stock"))
            if is_unproven or is_stray or (is_stock and found in self._world.expiring):
                self.has_holes = True
                return self._as_far_as_there(path)
            raise Violation(f"{name} of {root.label} can't be read: {error} is gone") from error
        expected = self._world.commits[found].rows
        if rows != expected:
            raise Violation(f"{name} of {root.label} has rows {rows}, not {expected}")
        return needed

    def _as_far_as_there(self, path: str) -> set[str]:
        """The files that a snapshot names, as far as a dead expiry left its lists and manifests."""
        record, found = json.loads(self._store.files[path]), set[str]()
        for key in ("baseManifestList", "deltaManifestList"):
            lists = TABLE.manifest(record[key])
            found.add(lists)
            for each in list_manifests(self._store.files[lists]) if lists in self._store.files else ():
                manifest = TABLE.manifest(each.name)
                found.add(manifest)
                if manifest in self._store.files:
                    found |= {_data_path(e.file) for e in manifest_entries(self._store.files[manifest])}
        return found

    def _savepoints(self) -> set[str]:
        """Each savepoint must have its list, with the same rows as its tag. Returns the needed files."""
        needed = set[str]()
        for name in self._store.names(TABLE.savepoints):
            if not name.startswith("savepoint-"):
                continue
            record = json.loads(self._store.files[f"{TABLE.savepoints}/{name}"])
            path = TABLE.savepoint_file(record["fullManifestList"])
            try:
                manifests = [TABLE.manifest(each.name) for each in list_manifests(self._bytes(path))]
                live = live_files(
                    entry for each in manifests for entry in manifest_entries(self._bytes(each))
                )
                rows = self._rows_of(live)
            except Unreadable as error:
                raise Violation(f"{name} can't be read from its list: {error} is gone") from error
            tag = f"savepoint.{record['id']}"
            held = {view.tags(self._store, root).get(tag) for root in view.roots(self._store)} - {None}
            if not any(each and self._world.commits[each].rows == rows for each in held):
                raise Violation(f"{name} has rows {rows}, and its tags hold {sorted(map(str, held))}")
            needed |= {*manifests, *map(_data_path, live)}
        return needed

    def _promised(self) -> None:
        for (root, name), found in self._watch.promised.items():
            there = [view.tags(self._store, each).get(name) for each in view.roots(self._store)]
            if found not in there:
                raise Violation(f"tag {name}, made in {root.label} of {describe(found)}, is gone")

    def _acknowledged(self) -> None:
        """Every acknowledged commit must be in the history of some root."""
        heads = (view.head(self._store, root) for root in view.roots(self._store))
        held = {each for head in heads for each in self._world.ancestors(head)}
        for found, commit in self._world.commits.items():
            lost = (
                found not in held
                and found not in self._watch.overwritten
                and found not in self._watch.dropped
            )
            if commit.is_acknowledged and lost:
                raise Violation(f"{describe(found)}, which was acknowledged, is in no root")

    def _owned(self, needed: set[str]) -> None:
        """No unneeded file is left, except those of dead writers and stock engines."""
        there = {
            path
            for path in self._store.below(TABLE.directory)
            if path.startswith((f"{TABLE.manifests}/", f"{TABLE.directory}/bucket-"))
        }
        unowned = there - needed - self._world.litter
        self.unowned = unowned | (there & self._world.litter - needed)
        new = unowned - self._unowned
        self._unowned = unowned
        if new and not (self._world.has_leaked or self._world.always_leaks or self._had_holes):
            raise Violation(f"nobody needs {', '.join(sorted(new)[:3])} ({len(new)} files) any more")
        self._world.has_leaked = False

    def _rows_of(self, live: list[DataFile]) -> Rows:
        world = self._world
        changes = (
            change
            for file in live
            for change in world.format.changes(self._bytes(_data_path(file)), keyed=world.keyed)
        )
        return merged_rows(changes, keyed=world.keyed)

    def _bytes(self, path: str) -> bytes:
        data = self._store.files.get(path)
        if data is None:
            raise Unreadable(path)
        return data


def _data_path(file: DataFile) -> str:
    return TABLE.data_file("", 0, file.name)
