"""What there is to compact: the files of a root, or of some of its partitions, by their buckets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paimark.core.actions.checks import fingerprint
from paimark.core.errors import Refused
from paimark.core.figures import some_of
from paimark.core.storage.files import Files
from paimark.core.table.definition.file_sizes import small_below, target_size
from paimark.core.table.definition.kind_signs import is_on, leaves_out_new_files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.manifests.manifests import FileFacts
from paimark.core.table.manifests.partition_values import PartitionValues
from paimark.core.table.records import Snapshot, TableSchema

# So many small files of a partition are joined, unless the table's option says another number.
_MIN_FILES = 5
_OPTION = "compaction.min.file-num"


@dataclass
class Bucket:
    """The files of one bucket; of a table without buckets, those of one partition. In bytes."""

    files: int = 0
    size: int = 0
    small: int = 0
    small_size: int = 0
    level_0: int = 0


@dataclass(frozen=True)
class Candidates:
    """`partitions` are the chosen ones as manifests have them, or None; `head` is the newest snapshot."""

    root: Root
    schema: TableSchema
    head: Snapshot | None
    partitions: tuple[bytes, ...] | None
    buckets: Mapping[tuple[bytes, int], Bucket]

    @property
    def fingerprint(self) -> str:
        """Of what must stay: others may commit meanwhile."""
        return fingerprint(self.root.directory, self.schema.to_json())

    @property
    def files(self) -> int:
        return sum(each.files for each in self.buckets.values())

    @property
    def size(self) -> int:
        return sum(each.size for each in self.buckets.values())

    @property
    def level_0(self) -> int:
        return sum(each.level_0 for each in self.buckets.values())

    @property
    def joins_files(self) -> bool:
        """Whether files of no bucket are joined, by their size alone."""
        return not self.schema.primary_keys and self.schema.options.get("bucket", "-1").strip() == "-1"

    @property
    def has_vectors(self) -> bool:
        """Whether files may be rewritten because many of their rows are deleted."""
        return is_on(self.schema.options, "deletion-vectors.enabled")

    @property
    def hides_new_rows(self) -> bool:
        return leaves_out_new_files(self.schema.options, self.schema.primary_keys)

    def left(self, *, is_full: bool) -> int | None:
        """About how many files there will be; None if only Paimon's rules say it."""
        if self.joins_files:
            return sum(map(self._joined, self.buckets.values()))
        if not is_full:
            return None
        target = max(target_size(self.schema), 1)
        return sum(-(-max(each.size, 1) // target) for each in self.buckets.values())

    @property
    def joined(self) -> tuple[int, int]:
        """How many small files are joined, and their bytes; of a table without buckets."""
        worth = [each for each in self.buckets.values() if self._is_worth_it(each)]
        return sum(each.small for each in worth), sum(each.small_size for each in worth)

    def _joined(self, of: Bucket) -> int:
        if not self._is_worth_it(of):
            return of.files
        return of.files - of.small + -(-max(of.small_size, 1) // max(target_size(self.schema), 1))

    def _is_worth_it(self, of: Bucket) -> bool:
        named = self.schema.options.get(_OPTION, "").strip()
        return of.small >= max(int(named) if named.isdecimal() else _MIN_FILES, 2)


def find_candidates(files: Files, table: TablePath, branch: str | None, partition: str | None) -> Candidates:
    """Read all manifests of the newest snapshot. Raises `Refused` if there is no such partition."""
    root = branch_root(files, table, branch)
    lineage = Lineage(files, root)
    schema, head = lineage.require_schema(), lineage.latest()
    facts: Iterable[FileFacts] = () if head is None else snapshot_facts(files, table, head)
    small, wanted = small_below(schema), None if partition is None else _Wanted(schema, partition)
    buckets: dict[tuple[bytes, int], Bucket] = {}
    for each in facts:
        if wanted is not None and not wanted.has(each.key.partition):
            continue
        bucket = buckets.setdefault((each.key.partition, each.key.bucket), Bucket())
        bucket.files, bucket.size = bucket.files + 1, bucket.size + each.size
        bucket.level_0 += each.key.level == 0
        if each.size < small:
            bucket.small, bucket.small_size = bucket.small + 1, bucket.small_size + each.size
    if wanted is not None and not buckets:
        raise Refused(f"{root.label} of {table.full_name} has no files in {partition}", wanted.hint)
    chosen = None if wanted is None else tuple(sorted({key for key, _ in buckets}))
    return Candidates(root, schema, head, chosen, buckets)


class _Wanted:
    """Partitions by some of their values, as `SHOW PARTITIONS` writes them."""

    def __init__(self, schema: TableSchema, text: str) -> None:
        keys = schema.partition_keys
        if not keys:
            raise Refused("The table has no partitions", "Leave --partition out.")
        self._values = PartitionValues(schema)
        self._parts = frozenset(partition_parts(text, keys))
        self._known: dict[bytes, bool] = {}
        self._others: list[str] = []
        names = {each.partition("=")[0] for each in self._parts}
        if not names or not names <= set(keys):
            raise Refused(f"{text} names no partition", f"Write {'/'.join(f'{key}=...' for key in keys)}.")

    def has(self, partition: bytes) -> bool:
        if partition not in self._known:
            text = self._values.text(partition)
            self._known[partition] = self._parts <= set(text.split("/"))
            if not self._known[partition]:
                self._others.append(text)
        return self._known[partition]

    @property
    def hint(self) -> str:
        return f"It has {some_of(sorted(self._others))}." if self._others else "It has no files."


def partition_parts(text: str, keys: Sequence[str]) -> Iterable[str]:
    """`day=2026-05-01/kind=view`, or with a comma, each value perhaps in quotes."""
    names = "|".join(map(re.escape, keys))
    for each in re.split(rf"[/,]\s*(?=(?:{names})\s*=)", text.strip()):
        name, _, value = each.partition("=")
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        yield f"{name.strip()}={value}"
