"""`when`: since when a table has rows of a condition, as command, call and in the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.rewrite.spark_rewrite import engine_of
from paimark.core.errors import NotFound
from paimark.core.figures import age, counted, moment
from paimark.core.statements.questions.one_version import VersionQuery
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.travel.when import Count, Found, Version, first_with_rows, require_condition, versions


@dataclass(frozen=True, slots=True)
class When:
    """A search in one root. `old` and `new` are the versions between which it looks, None for all."""

    context: Context
    table: TablePath
    branch: str | None
    condition: str
    old: str | None = None
    new: str | None = None

    def find(self, progress: Progress, told: Callable[[Count], None] = lambda count: None) -> Found:
        """Binary search; `told` is called with each count. Raises `NotFound` if no row is there now.

        Each version is read with the columns that the table has now.
        """
        looked = self._versions()
        with self._counting(progress, told) as count:
            found = first_with_rows(looked, count)
        if found is None:
            raise NotFound(f"The versions of {self._label} expired while they were read", "Run it again.")
        if isinstance(found, Count):
            raise NotFound(
                f"No row of {self._label} satisfies that at {found.version.label}",
                "Search up to an earlier version with --to, or look at each version with --all.",
            )
        return found

    def every(self, progress: Progress) -> Iterator[Count]:
        """The count of each version, oldest first, without those that expire meanwhile."""
        looked = self._versions()
        with self._counting(progress, lambda count: None) as count:
            yield from (each for version in looked if (each := count(version)) is not None)

    @property
    def root(self) -> Root:
        return branch_root(self.context.files, self.table, self.branch)

    @property
    def _label(self) -> str:
        name = self.table.full_name
        return name if self.branch is None else f"{self.root.label} of {name}"

    def _versions(self) -> list[Version]:
        return versions(self.context.files, self.root, self.old, self.new)

    @contextmanager
    def _counting(
        self, progress: Progress, told: Callable[[Count], None]
    ) -> Iterator[Callable[[Version], Count | None]]:
        condition, root = require_condition(self.condition), self.root
        schema = Lineage(self.context.files, root).require_schema()
        with engine_of(self.context) as engine:
            query = VersionQuery(self.context, engine, root, schema, "count(*) AS n", condition, progress)

            def count(version: Version) -> Count | None:
                if (found := query.rows(version)) is None:
                    return None
                snapshot, [answer] = found
                counted = Count(version, snapshot.time_millis, int(msgspec.json.decode(answer)["n"]))
                told(counted)
                return counted

            yield count


def sentences(found: Found, condition: str, table: TablePath, now_ms: int) -> Iterator[str]:
    """What a search found, for a person: since when, what is not known, and where to look."""
    first, before = found.first, found.before
    since = f"{first.version.label}, {moment(first.time_millis)} ({age(first.time_millis, now_ms)})"
    rows = counted(first.rows, "row")
    if before is None:
        yield f"{rows} with {condition} in {since}, and no older version is left."
        yield "It may have begun earlier."
        return
    yield f"It began with {since}: {rows} with {condition}."
    yield f"There was none in {before.version.label}, {moment(before.time_millis)}."
    if found.gone:
        some = counted(found.gone, "snapshot")
        yield f"Between them {some} expired: it may have begun in one of them."
    yield f"See the change: paimark diff {table.word} {before.version.name} {first.version.name}"
