"""The files of a snapshot, made from those of another: the same as read from its manifests alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.errors import Corrupt
from paimark.core.spark.incremental.live_files import DecodedManifests, KeptFiles, ManifestId
from paimark.core.spark.merging.single_versions import overlap_groups
from paimark.core.spark.native.columns import NotNative
from paimark.core.spark.native.state import TableFile, TableState, table_state
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import find_table
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import data_manifests, live_entries
from paimark.core.table.manifests.manifests import ManifestEntry, read_manifest_list
from tests.actions.histories import TABLE, History
from tests.paimon import commit, create_table
from tests.wording import about

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string())])
NAME = "shop.t"


class Watched(LocalFiles):
    """Notes which manifests are read."""

    def __init__(self, warehouse: Path) -> None:
        super().__init__(str(warehouse))
        self.seen: list[str] = []

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        asked = list(paths)
        self.seen += [path.rpartition("/")[2] for path in asked]
        return super().read_many(asked)


@dataclass(frozen=True)
class FileStub:
    entry: ManifestEntry
    address: str = ""
    file_format: str = "parquet"
    schema_id: int = 0


@pytest.mark.parametrize("seed", range(4))
def test_every_state_is_as_if_read_from_its_manifests_alone(tmp_path: Path, seed: int) -> None:
    """Of all roots, in any order: forwards, backwards, over manifests that were merged meanwhile."""
    random = Random(seed)
    history = History(tmp_path, random)
    for number in range(50):
        branch = random.choice(list(history.lines))
        history.commit(branch)
        if number % 15 == 14:
            history.tag(f"t{number}", max(id_ for root, id_ in history.heads if root is None))
            history.fork(f"b{number}", f"t{number}")
    kept: KeptFiles[FileStub] = KeptFiles()
    heads = [(branch, number) for branch, number in history.heads if number > 1]
    for branch, number in random.sample(heads, len(heads)):
        snapshot = Lineage(history.files, TABLE.root(branch)).snapshot(number)
        metas = data_manifests(history.files, TABLE, snapshot)
        live = kept.at("one", history.files, TABLE, map(ManifestId.of, metas), FileStub)
        expected = live_entries(history.files, TABLE, metas)
        assert {each.entry.facts for each in live.files} == {each.facts for each in expected}
        assert len(live.files) == len(expected) == len(live)


def test_a_file_that_is_added_twice_is_told(tmp_path: Path) -> None:
    history = History(tmp_path, Random(1))
    entries = [(0, "data-1.parquet", 0)]
    manifests = [history._manifest(entries), history._manifest(entries)]
    metas = read_manifest_list(history.files, TABLE.manifest(history._list(manifests)))
    kept: KeptFiles[FileStub] = KeptFiles()
    for _ in range(2):
        with pytest.raises(Corrupt, match="added twice"):
            kept.at("one", history.files, TABLE, map(ManifestId.of, metas), FileStub)
    (only,) = kept.at("one", history.files, TABLE, map(ManifestId.of, metas[:1]), FileStub).files
    assert only.entry.facts.name == "data-1.parquet"


def test_what_was_used_longest_ago_is_decoded_again(tmp_path: Path) -> None:
    history = History(tmp_path, Random(1))
    names = [history._manifest([(0, f"data-{number}.parquet", 0)]) for number in range(3)]
    first, second, third = map(
        ManifestId.of, read_manifest_list(history.files, TABLE.manifest(history._list(names)))
    )
    watched, few = Watched(tmp_path), DecodedManifests(4_000)
    for asked in ([first], [second], [first], [third], [first], [second]):
        ((_, entries),) = few.read(watched, TABLE, asked)
        assert len(entries) == 1
    assert watched.seen == [names[0], names[1], names[2], names[1]]


def test_a_manifest_of_the_same_name_and_another_size_is_another(tmp_path: Path) -> None:
    """As after somebody put a copy of another table in the place of this one."""
    history, kept = History(tmp_path, Random(1)), DecodedManifests(1 << 20)
    name = history._manifest([(0, "data-1.parquet", 0)])
    other = history._manifest([(0, "data-2.parquet", 0), (0, "data-3.parquet", 0)])
    found = []
    for _ in range(2):
        metas = read_manifest_list(history.files, TABLE.manifest(history._list([name])))
        ((_, entries),) = kept.read(history.files, TABLE, [ManifestId.of(metas[0])])
        found.append([each.facts.name for each in entries])
        manifests = tmp_path / TABLE.manifests
        (manifests / name).write_bytes((manifests / other).read_bytes())
        history._counts[name] = (2, 0)
    assert found == [["data-1.parquet"], ["data-2.parquet", "data-3.parquet"]]


@dataclass
class Table:
    """A table with a key that pypaimon writes, and what is kept of it."""

    warehouse: Path
    kept: KeptFiles[TableFile] = field(default_factory=KeptFiles)

    def __post_init__(self) -> None:
        self.files = Watched(self.warehouse)

    def create(self) -> None:
        create_table(self.warehouse, NAME, SCHEMA, primary_keys=["id"], options={"bucket": "2"})

    def commit(self, first: int, count: int) -> None:
        ids = range(first, first + count)
        commit(self.warehouse, NAME, pa.table([ids, [f"{first}"] * count], schema=SCHEMA))

    def state(self, snapshot_id: int | None = None, branch: str | None = None) -> TableState:
        """What is kept tells the same as the files alone."""
        lineage = Lineage(self.files, find_table(self.files, NAME).root(branch))
        snapshot = lineage.latest() if snapshot_id is None else lineage.snapshot(snapshot_id)
        schema = lineage.latest_schema()
        assert schema is not None
        alone = table_state(LocalFiles(str(self.warehouse)), lineage.root, snapshot, schema)
        self.files.seen.clear()
        state = table_state(self.files, lineage.root, snapshot, schema, None, self.kept)
        self.seen = [name for name in self.files.seen if name.startswith("manifest-")]
        assert {each.address: each for each in state.files} == {each.address: each for each in alone.files}
        assert len(state.files) == len(alone.files)
        assert set(map(repr, state.merged)) == set(map(repr, alone.merged))
        assert (state.names, state.columns, state.schemas) == (alone.names, alone.columns, alone.schemas)
        return state


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table(tmp_path)
    table.create()
    return table


def test_a_commit_costs_what_it_adds(table: Table) -> None:
    for number in range(3):
        table.commit(10 * number, 10)
    before = table.state()
    assert len(table.seen) == 3
    table.commit(5, 1)
    after = table.state()
    assert len(table.seen) == 1
    made = {id(each) for each in before.files}
    assert sum(id(each) not in made for each in after.files) == 1
    groups = {id(each) for each in before.merged}
    assert sum(id(each) not in groups for each in after.merged) == 1 < len(after.merged)
    # Back, and there again: nothing is read.
    assert {each.address for each in table.state(3).files} == {each.address for each in before.files}
    table.state(4)
    assert table.seen == []


def test_ids_that_are_given_again_are_other_snapshots(table: Table) -> None:
    for number in range(3):
        table.commit(10 * number, 10)
    before = table.state(3)
    directory = table.warehouse / "shop.db" / "t"
    (directory / "snapshot" / "snapshot-3").unlink()
    (directory / "snapshot" / "LATEST").write_text("2")
    table.commit(500, 4)
    after = table.state(3)
    assert {each.address for each in before.files} != {each.address for each in after.files}


def test_a_table_that_is_made_again_under_its_name_is_another(table: Table) -> None:
    table.commit(0, 10)
    before = table.state(1)
    CatalogFactory.create({"warehouse": str(table.warehouse)}).drop_table(NAME)
    table.create()
    table.commit(0, 10)
    after = table.state(1)
    assert not {each.address for each in before.files} & {each.address for each in after.files}
    assert {id(each) for each in before.files}.isdisjoint(map(id, after.files))


def test_a_branch_has_files_of_its_own(table: Table) -> None:
    table.commit(0, 10)
    table.commit(5, 10)
    directory = table.warehouse / "shop.db" / "t"
    branch = directory / "branch" / "branch-b"
    for part in ("schema", "snapshot"):
        shutil.copytree(directory / part, branch / part)
    (branch / "snapshot" / "snapshot-2").unlink()
    (branch / "snapshot" / "LATEST").write_text("1")
    main = table.state(2)
    assert len(table.state(1, "b").files) < len(main.files)
    # There the same entries tell of files in another place.
    schema = branch / "schema" / "schema-0"
    schema.write_text(
        schema.read_text().replace('"options": {', '"options": {"data-file.path-directory": "d",')
    )
    assert all("/t/d/bucket-" in each.address for each in table.state(1, "b").files)
    table.commit(100, 3)
    assert len(table.state(3).files) > len(table.state(1, "b").files)
    assert {each.address for each in table.state(2).files} == {each.address for each in main.files}


def test_columns_and_keys_of_another_schema_are_read_anew(table: Table) -> None:
    table.commit(0, 10)
    table.commit(5, 10)
    old = table.state()
    catalog = CatalogFactory.create({"warehouse": str(table.warehouse)})
    catalog.alter_table(NAME, [SchemaChange.update_comment("other")])
    assert len(table.state().files) == len(old.files)
    catalog.alter_table(NAME, [SchemaChange.add_column("more", AtomicType("INT"))])
    new = table.state()
    assert new.names == ("id", "note", "more")
    # Of files that were written with the new schema, and with the old one.
    wider = SCHEMA.append(pa.field("more", pa.int32()))
    commit(table.warehouse, NAME, pa.table([[7, 8], ["a", "b"], [1, 2]], schema=wider))
    newest = table.state()
    assert len(newest.schemas) == 2
    assert {len(group.rules.columns) for group in newest.merged} == {2}


def test_only_some_of_the_files_are_nobody_elses(table: Table) -> None:
    table.commit(0, 10)
    table.commit(5, 10)
    whole = table.state()
    lineage = Lineage(table.files, find_table(table.files, NAME).root(None))
    schema = lineage.latest_schema()
    assert schema is not None
    one = whole.files[0]
    some = table_state(
        table.files, lineage.root, lineage.latest(), schema, [one.entry.facts.name], table.kept
    )
    assert some.files == (one,)
    assert len(table.state().files) == len(whole.files)


def test_a_file_that_no_reader_takes_is_told_each_time(table: Table) -> None:
    table.commit(0, 10)
    table.state()
    catalog = CatalogFactory.create({"warehouse": str(table.warehouse)})
    moment = SchemaChange.add_column("moment", AtomicType("TIMESTAMP(6)"))
    catalog.alter_table(NAME, [SchemaChange.set_option("file.format", "avro"), moment])
    wide = SCHEMA.append(pa.field("moment", pa.timestamp("us")))
    commit(table.warehouse, NAME, pa.table([[5], ["5"], [None]], schema=wide))
    for _ in range(2):
        with pytest.raises(NotNative, match=about("rows", "avro", "replace")):
            table.state()
    assert table.state(1).files


def test_groups_are_those_of_their_buckets(table: Table) -> None:
    for first, count in ((0, 100), (200, 100), (50, 10), (150, 100), (400, 5)):
        table.commit(first, count)
        state = table.state()
        for bucket in {each.entry.bucket for each in state.files}:
            addresses = {each.address for each in state.files if each.entry.bucket == bucket}
            groups = [group for group in state.merged if group.files[0].path in addresses]
            files = [file for group in groups for file in group.files]
            groups.sort(key=lambda each: each.files[0].min_key)
            assert overlap_groups(groups[0].rules, files) == groups
