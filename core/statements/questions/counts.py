"""How many rows of a condition the versions of a root have.

Without a key a commit that only adds files leaves all earlier rows as they are. So of such commits in a row
only the new files are read: all of them at once, and in halves as long as they have rows of the condition.
Any other version is read whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from paimark.core.errors import Corrupt, NotFound
from paimark.core.statements.questions.one_version import VersionQuery, snapshot_of
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import delta_facts
from paimark.core.table.read_tags import is_of_read
from paimark.core.table.records import Snapshot, TableSchema, commit_key
from paimark.core.travel.when import Version, of_rows_alone

Counted = tuple[Snapshot, int]
# The most commits and files that are counted at once: the names of the files are sent with every task.
_MOST_COMMITS, _MOST_FILES = 256, 5000


class _Addition(NamedTuple):
    """A commit, and the names of the files that it added to those of the commit before."""

    snapshot: Snapshot
    names: tuple[str, ...]


class _Gone(Exception):
    """A version has expired meanwhile."""


def may_step(schema: TableSchema, condition: str) -> bool:
    """Whether a count follows from that of the commit before, and from the rows of the new files."""
    return (
        not schema.primary_keys
        and not is_on(schema.options, "data-evolution.enabled")
        and of_rows_alone(condition, [field.name for field in schema.fields])
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts in one root. `known` has those of commits that were counted with the same columns."""

    query: VersionQuery
    known: dict[tuple[int, str, str], int]
    steps: bool

    def of_snapshots(self) -> list[Counted]:
        """By id, without those that expire meanwhile."""
        found, left = list[Counted](), self._lineage.snapshot_ids()
        while left:
            run = self._additions(found[-1][0], left) if found and self.steps else []
            if run:
                found += self._of_run(found[-1][1], run)
            elif (counted := self._count(Version(left[0], f"snapshot.{left[0]}"))) is not None:
                found.append(counted)
            left = left[len(run) or 1 :]
        return found

    def of_tags(self) -> Iterator[tuple[str, Counted]]:
        for name, tag in self._lineage.tags():
            if not is_of_read(name) and (found := self._count(Version(tag.id, name), tag)) is not None:
                yield name, found

    @property
    def _lineage(self) -> Lineage:
        return Lineage(self.query.context.files, self.query.root)

    def _count(self, version: Version, snapshot: Snapshot | None = None) -> Counted | None:
        if snapshot is not None and (rows := self.known.get(commit_key(snapshot))) is not None:
            return snapshot, rows
        if (found := self._read(version)) is not None:
            self.known[commit_key(found[0])] = found[1]
        return found

    def _read(self, version: Version, only: tuple[str, ...] | None = None) -> Counted | None:
        if (found := self.query.rows(version, only)) is None:
            return None
        snapshot, [answer] = found
        return snapshot, int(msgspec.json.decode(answer)["n"])

    def _additions(self, before: Snapshot, ids: Sequence[int]) -> list[_Addition]:
        """The commits right after it, up to the first that does more than add files."""
        run, names = list[_Addition](), 0
        for number in ids[:_MOST_COMMITS]:
            snapshot = snapshot_of(self.query.context, self.query.root, Version(number, f"snapshot.{number}"))
            if snapshot is None or (added := self._added(before, snapshot)) is None:
                break
            names += len(added)
            if run and names > _MOST_FILES:
                break
            run.append(_Addition(snapshot, added))
            before = snapshot
        return run

    def _added(self, before: Snapshot, snapshot: Snapshot) -> tuple[str, ...] | None:
        """The files that it adds to those of the one before; None if it does more, or that is not certain."""
        if snapshot.id != before.id + 1 or snapshot.index_manifest or before.index_manifest:
            return None
        if snapshot.schema_id != before.schema_id:
            # A column may be another one of that name from here on.
            return None
        total, earlier, delta = (
            snapshot.total_record_count,
            before.total_record_count,
            snapshot.delta_record_count,
        )
        if total is None or earlier is None or delta is None or total != earlier + delta:
            return None
        try:
            changed = [*delta_facts(self.query.context.files, self.query.root.table, snapshot)]
        except (NotFound, Corrupt):
            return None
        if not all(each.is_added for each in changed) or sum(each.rows for each in changed) != delta:
            return None
        return tuple(each.name for each in changed)

    def _of_run(self, rows: int, run: Sequence[_Addition]) -> list[Counted]:
        """`rows` are those of the version before the run."""
        try:
            found = [*self._halved(rows, run, self._rows_of(run))]
        except _Gone:
            each_whole = (
                self._count(Version(each.snapshot.id, f"snapshot.{each.snapshot.id}")) for each in run
            )
            return [each for each in each_whole if each is not None]
        self.known.update({commit_key(snapshot): count for snapshot, count in found})
        return found

    def _halved(self, rows: int, run: Sequence[_Addition], more: int) -> Iterator[Counted]:
        """`more` are the rows in the new files of the run."""
        if not more or len(run) == 1:
            yield from ((each.snapshot, rows + more) for each in run)
            return
        half = len(run) // 2
        of_first = self._rows_of(run[:half])
        yield from self._halved(rows, run[:half], of_first)
        yield from self._halved(rows + of_first, run[half:], more - of_first)

    def _rows_of(self, run: Sequence[_Addition]) -> int:
        names = tuple(name for each in run for name in each.names)
        if not names:
            return 0
        last = run[-1].snapshot.id
        if (found := self._read(Version(last, f"snapshot.{last}"), names)) is None:
            raise _Gone
        return found[1]
