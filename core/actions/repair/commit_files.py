"""What one commit did to a table without a key, by files: what to take out, and the rows to write again.

A file that a later commit took away never comes back by its name: an expiry may delete it. So the rows of a
file that the commit took away are written again, and only what it added can leave as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, version_of
from paimark.core.quoting import literal, quoted
from paimark.core.spark.protocol import Version
from paimark.core.storage.files import Files
from paimark.core.table.definition.column_types import FRACTIONS, ColumnType, nullable, type_text
from paimark.core.table.manifests.files import delta_facts, snapshot_facts
from paimark.core.table.manifests.manifests import FileFacts, read_deletion_vectors
from paimark.core.table.records import Snapshot

# Rows before the commit of files that it changed, and those of them that it left; what it added.
_BEFORE, _LEFT, _ADDED = "__paimark_before", "__paimark_left", "__paimark_added"
# Rows that it added in files that are no longer there as they were; all rows of its state in such files, and
# the rows that took their place.
_GONE, _REPLACED, _WITHIN = "__paimark_gone_rows", "__paimark_replaced", "__paimark_within"
# Rows that it added in files that are there as they were.
_INTACT = "__paimark_intact"


@dataclass(frozen=True)
class CommitFiles:
    """Files that the commit `added` and `removed`; `marked` are those of which it deleted rows by vectors.

    `intact` are those added that are there as they were. `within` are the present files that may have the
    rows of the others, after a compaction for example, in place of `replaced`; `has_vectors`: rows of
    `within` are marked as deleted.
    """

    start: RewriteBase
    before: Snapshot | None
    commit: Snapshot
    added: tuple[FileFacts, ...]
    removed: tuple[FileFacts, ...]
    marked: frozenset[str]
    intact: frozenset[str]
    within: tuple[FileFacts, ...]
    replaced: tuple[FileFacts, ...]
    has_vectors: bool

    @property
    def gone(self) -> tuple[FileFacts, ...]:
        """What it added that is not there as it was."""
        return tuple(each for each in self.added if each.name not in self.intact)

    @property
    def out(self) -> tuple[str, ...]:
        """The files that leave the table."""
        return (*sorted(self.intact), *(each.name for each in self.within))

    @property
    def is_mixed(self) -> bool:
        """Whether later commits wrote files again in which this one carried on rows of others beside its own.

        Those stay as they are now.
        """
        return bool(self.gone and (self.removed or self.marked))

    @property
    def written(self) -> tuple[FileFacts, ...]:
        """The files whose rows are written again."""
        mixed = [each for each in self.added if self.is_mixed and each.name in self.intact]
        return (*self.within, *mixed, *self.removed)

    @property
    def needs_counting(self) -> bool:
        """Whether only a query tells how many rows come and go."""
        return bool(self.gone or self.marked or (self.added and self.removed))

    @property
    def versions(self) -> dict[str, Version]:
        of, removed, head = self.commit, self.removed, self.start.head.snapshot
        changed = {*_names(removed), *self.marked}
        return {
            # The first commit removed nothing.
            _BEFORE: self._version(self.before or of, changed),
            _LEFT: self._version(of, self.marked),
            _ADDED: self._version(of, _names(self.added)),
            _GONE: self._version(of, _names(self.gone)),
            _INTACT: self._version(of, self.intact),
            _REPLACED: self._version(of, _names(self.replaced)),
            _WITHIN: self._version(head, _names(self.within)),
        }

    @property
    def counts_sql(self) -> str:
        """How many rows the commit took away, `back`, and added, `go`; how many of these are `lost` now."""
        before, after = f"({self._rows_of(_BEFORE)})", self._after
        return (
            f"SELECT {_count(f'{before} EXCEPT ALL {after}')} AS back, "
            f"{_count(f'{after} EXCEPT ALL {before}')} AS go, "
            f"{_count(self._sought)} - {_count(self._taken)} AS lost"
        )

    @property
    def rows_sql(self) -> str:
        """The rows that are written, of which some columns are text; empty for none."""
        of, parts = self._rows_of, []
        if self.is_mixed:
            there = f"{of(_WITHIN)} UNION ALL {of(_INTACT)}"
            return f"({there}) EXCEPT ALL ({self._taken}) UNION ALL ({of(_BEFORE)} EXCEPT ALL {self._after})"
        if self.within:
            parts.append(f"({of(_WITHIN)} EXCEPT ALL ({self._taken}))")
        if self.marked:
            parts.append(f"({of(_BEFORE)} EXCEPT ALL {of(_LEFT)})")
        elif self.removed:
            parts.append(f"({of(_BEFORE)})")
        return " UNION ALL ".join(parts)

    @property
    def _after(self) -> str:
        return f"({self._rows_of(_LEFT)} UNION ALL {self._rows_of(_ADDED)})"

    @property
    def _sought(self) -> str:
        """The commit's own rows, some of which may be gone."""
        of = self._rows_of
        return f"{self._after} EXCEPT ALL ({of(_BEFORE)})" if self.is_mixed else of(_GONE)

    @property
    def _taken(self) -> str:
        """A row that went since may be a copy of one that was there before: then that one stays."""
        of = self._rows_of
        return f"({self._sought}) EXCEPT ALL ({of(_REPLACED)} EXCEPT ALL {of(_WITHIN)})"

    def _rows_of(self, view: str) -> str:
        """With text for floating numbers: EXCEPT ALL takes 0.0 for -0.0, and gives either."""
        cells = []
        for field in self.start.schema.fields:
            name = quoted(field.name)
            cell = _with_texts(field.type, name)
            cells.append(name if cell == name else f"{cell} AS {name}")
        return f"SELECT {', '.join(cells)} FROM {view}"

    def _version(self, snapshot: Snapshot, names: Iterable[str]) -> Version:
        return replace(version_of(self.start.root, snapshot), only=tuple(sorted(names)))


def _with_texts(kind: object, value: str, depth: int = 0) -> str:
    """The value, with text for floating numbers, also in arrays and rows.

    Not in those with parts that are never null: a column does not take back a part that might be.
    """
    kind = nullable(kind)
    if not isinstance(kind, Mapping):
        return f"CAST({value} AS STRING)" if ColumnType.of(str(kind)).name in FRACTIONS else value
    if "NOT NULL" in type_text(kind):
        return value
    if kind["type"] in ("ARRAY", "VECTOR"):
        one = f"x{depth}"
        inner = _with_texts(kind["element"], one, depth + 1)
        return value if inner == one else f"transform({value}, {one} -> {inner})"
    if kind["type"] != "ROW":
        return value
    old = {str(each["name"]): f"{value}.{quoted(str(each['name']))}" for each in kind["fields"]}
    new = [_with_texts(each["type"], old[str(each["name"])], depth) for each in kind["fields"]]
    if new == [*old.values()]:
        return value
    parts = ", ".join(f"{literal(name)}, {part}" for name, part in zip(old, new, strict=True))
    return f"IF({value} IS NULL, NULL, named_struct({parts}))"


def files_of_commit(
    files: Files, start: RewriteBase, before: Snapshot | None, commit: Snapshot
) -> CommitFiles:
    """Reads the commit's own manifests, and the present files. Raises `FileMissing` and `Corrupt`."""
    table = start.root.table
    changed = _changed(files, start, commit)
    added = tuple(each for each in changed if each.is_added)
    removed = tuple(each for each in changed if not each.is_added)
    then, now = _vectors(files, start, before), _vectors(files, start, start.head.snapshot)
    after = _vectors(files, start, commit)
    marked = {name for name, vector in after.items() if then.get(name) != vector}
    marked -= {*_names(changed)}
    there = {each.identity: each for each in snapshot_facts(files, table, start.head.snapshot)}
    intact = frozenset(each.name for each in added if each.identity in there and each.name not in now)
    moved = {each.key.partition for each in added if each.name not in intact}
    within: tuple[FileFacts, ...] = ()
    replaced: tuple[FileFacts, ...] = ()
    if moved:
        state = {each.identity: each for each in snapshot_facts(files, table, commit)}
        # A file in which rows were marked since is there, and not as it was.
        same = (state.keys() & there.keys()) - {each.identity for each in added if each.name not in intact}
        within, replaced = (
            tuple(
                each
                for identity, each in side.items()
                if identity not in same and each.key.partition in moved
            )
            for side in (there, state)
        )
    has_vectors = any(each.name in now for each in within)
    return CommitFiles(
        start,
        before,
        commit,
        added,
        removed,
        frozenset(marked),
        intact,
        within,
        replaced,
        has_vectors,
    )


def _changed(files: Files, start: RewriteBase, commit: Snapshot) -> list[FileFacts]:
    """Files that the commit added and took away, without those that it only told again."""
    entries = list(delta_facts(files, start.root.table, commit))
    told = Counter(each.identity for each in entries)
    return [each for each in entries if told[each.identity] == 1]


def _vectors(files: Files, start: RewriteBase, snapshot: Snapshot | None) -> dict[str, object]:
    if snapshot is None or snapshot.index_manifest is None:
        return {}
    return {**read_deletion_vectors(files, start.root.table.manifest(snapshot.index_manifest))}


def _names(of: Iterable[FileFacts]) -> list[str]:
    return [each.name for each in of]


def _count(query: str) -> str:
    return f"(SELECT count(*) FROM ({query}))"
