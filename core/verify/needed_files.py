"""The files that versions of a table need. Each list and manifest is decoded once, even if many share it.

Versions that need the same files are one state. For data files, only the states that hold them are stored.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from paimark.core.actions.context import Progress, with_progress
from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.table.manifests.held_files import Fold, Runs, Uses, add
from paimark.core.table.manifests.manifests import file_facts, index_facts, manifest_facts, read_in_batches
from paimark.core.verify.versions import StoredVersion, Versions, same_state


@dataclass(slots=True)
class NeededState:
    """The needs of versions with the same files: `lists` by path with sizes in bytes, None if unknown.

    An `is_optional` state may have lost files: another engine keeps only a part of those that it names.
    """

    versions: list[StoredVersion]
    lists: dict[str, int | None] = field(default_factory=dict)
    index_manifest: str | None = None
    is_optional: bool = False


@dataclass
class TableNeeds:
    """`sizes` are of metadata files by path, None if unknown; `uses` has the states that need each.

    `marks` are hashes of lists by path: those of two lists add up to that of one with the manifests of both.
    `damaged` has by path the fault of its content. `is_whole`: all metadata could be read.
    """

    states: list[NeededState]
    uses: Uses
    sizes: dict[str, int | None]
    data: Fold
    indexes: Fold
    marks: dict[str, int] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    is_whole: bool = True

    @property
    def optional(self) -> Runs:
        numbers: list[int] = []
        for number, state in enumerate(self.states):
            if state.is_optional:
                add(numbers, number)
        return numbers


def needs_of(files: Files, table: TablePath, versions: Versions, progress: Progress) -> TableNeeds:
    """Read all metadata that names needed files."""
    uses = Uses()
    needs = TableNeeds([], uses, {}, Fold(uses), Fold(uses))
    _name_states(table, versions, needs)
    manifests = _read_lists(files, needs, progress)
    _read_manifests(files, table, needs, manifests, progress)
    _read_index_manifests(files, table, needs, progress)
    return needs


def _name_states(table: TablePath, versions: Versions, needs: TableNeeds) -> None:
    known: dict[tuple[object, ...], NeededState] = {}
    bare = _beginnings(versions) | _expired_beside(versions)
    for version in versions.all:
        key = same_state(version)
        state = known.get(key)
        if state is None:
            state = known[key] = _new_state(needs, version, keeps_deleted=version.kind == "changelog")
            _need_metadata(table, needs, state, version)
        else:
            state.versions.append(version)
        record = version.record
        if record is not None and record.changelog_manifest_list and version.kind != "tag":
            key = ("changes", record.changelog_manifest_list)
            changes = known.get(key)
            if changes is None:
                changes = known[key] = _new_state(needs, version, keeps_deleted=True)
                path = table.manifest(record.changelog_manifest_list)
                _need_list(needs, changes, path, record.changelog_manifest_list_size)
                changes.is_optional = True
            else:
                changes.versions.append(version)
            changes.is_optional &= version.kind == "changelog" or version.path in bare


def _beginnings(versions: Versions) -> set[str]:
    """The snapshots with which branches may begin: copies of one that a tag keeps, without its changelog.

    The tag may be another root's: main has one of the state at which a truncation cut. A branch whose
    snapshots expired up to one of its own that is tagged looks the same.
    """
    tagged = {same_state(each) for each in versions.all if each.kind == "tag"}
    first: dict[Root, StoredVersion] = {}
    for each in versions.all:
        if each.kind == "snapshot" and each.schemas.branch is not None:
            first.setdefault(each.schemas, each)
    return {each.path for each in first.values() if same_state(each) in tagged}


def _expired_beside(versions: Versions) -> set[str]:
    """The snapshots that another root expired too: its tag keeps their rows, without their changelog."""
    roots = {path: root for root in versions.roots for path in (root.snapshots, root.tags)}
    first: dict[Root, int] = {}
    tagged: list[tuple[Root, int, tuple[object, ...]]] = []
    for each in versions.all:
        root = roots.get(each.path.rpartition("/")[0])
        if root is not None and each.record is not None:
            if each.kind == "snapshot":
                first.setdefault(root, each.record.id)
            else:
                tagged.append((root, each.record.id, same_state(each)))
    gone = {state for root, number, state in tagged if number < first.get(root, 0)}
    return {each.path for each in versions.all if each.kind == "snapshot" and same_state(each) in gone}


def _new_state(needs: TableNeeds, version: StoredVersion, *, keeps_deleted: bool) -> NeededState:
    state = NeededState([version], is_optional=version.kind == "changelog")
    needs.uses.new_state(keeps_deleted=keeps_deleted)
    needs.states.append(state)
    return state


def _need_metadata(table: TablePath, needs: TableNeeds, state: NeededState, version: StoredVersion) -> None:
    record = version.record
    if version.savepoint is not None:
        _need_list(needs, state, table.savepoint_file(version.savepoint.full_manifest_list), None)
    if record is None:
        return
    sizes = (record.base_manifest_list_size, record.delta_manifest_list_size)
    for path, size in zip(manifest_list_paths(table, record), sizes, strict=True):
        _need_list(needs, state, path, size)
    if record.statistics:
        _need(needs, len(needs.states) - 1, table.statistics_file(record.statistics), None)
    if record.index_manifest:
        state.index_manifest = table.manifest(record.index_manifest)
        _need(needs, len(needs.states) - 1, state.index_manifest, None)


def _need_list(needs: TableNeeds, state: NeededState, path: str, size: int | None) -> None:
    state.lists[path] = size
    _need(needs, len(needs.states) - 1, path, size)


def _need(needs: TableNeeds, state: int, path: str, size: int | None) -> None:
    needs.uses.use(state, path)
    if needs.sizes.get(path) is None:
        needs.sizes[path] = size


def _read_lists(files: Files, needs: TableNeeds, progress: Progress) -> dict[str, tuple[int, int] | None]:
    """The manifests by path, with the numbers of files that each is recorded to add and delete."""
    entries: dict[str, tuple[int, int] | None] = {}
    wanted = [(number, path) for number, state in enumerate(needs.states) for path in state.lists]
    contents = files.read_many(path for _, path in wanted)
    with_contents = with_progress(zip(wanted, contents, strict=True), len(wanted), "manifest lists", progress)
    for (number, path), data in with_contents:
        if data is None:
            needs.is_whole = False
            continue
        directory = needs.states[number].versions[0].schemas.table.manifests
        try:
            mark = 0
            for meta in manifest_facts(data, path):
                mark += _mark(meta.file_name)
                manifest = f"{directory}/{meta.file_name}"
                _need(needs, number, manifest, meta.file_size)
                entries.setdefault(manifest, meta.entries)
                for extra in meta.extra_files:
                    _need(needs, number, f"{directory}/{extra}", None)
            needs.marks[path] = mark
        except Corrupt as error:
            needs.is_whole = False
            needs.damaged[path] = error.message
    return entries


def _mark(name: str) -> int:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16)
    return int.from_bytes(digest.digest(), "big")


def _read_manifests(
    files: Files,
    table: TablePath,
    needs: TableNeeds,
    manifests: dict[str, tuple[int, int] | None],
    progress: Progress,
) -> None:
    sizes = {path: needs.sizes[path] or 0 for path in manifests}
    reading = with_progress(read_in_batches(files, sizes), len(manifests), "manifests", progress)
    for path, data in reading:
        if data is None:
            needs.is_whole = False
            continue
        try:
            counted = needs.data.take(path, file_facts(data, path))
        except Corrupt as error:
            needs.is_whole = False
            needs.damaged[path] = error.message
            continue
        stated = manifests[path]
        if stated is not None and stated != counted:
            needs.damaged[path] = (
                f"{path} adds {counted[0]} files and deletes {counted[1]}, and is said to add {stated[0]} "
                f"and delete {stated[1]}"
            )


def _read_index_manifests(files: Files, table: TablePath, needs: TableNeeds, progress: Progress) -> None:
    paths = dict.fromkeys(each.index_manifest for each in needs.states if each.index_manifest)
    sizes = {path: 0 for path in paths if path}
    for path, data in with_progress(read_in_batches(files, sizes), len(sizes), "index manifests", progress):
        if data is None:
            needs.is_whole = False
            continue
        try:
            needs.indexes.take(path, index_facts(data, path))
        except Corrupt as error:
            needs.is_whole = False
            needs.damaged[path] = error.message
