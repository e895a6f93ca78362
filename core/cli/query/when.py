"""`paimark when`: since when a table has rows that satisfy a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import click
import msgspec

from paimark.core.actions.context import Context, Progress, open_context
from paimark.core.actions.rewrite.spark_rewrite import engine_of
from paimark.core.cli.completing import TABLE
from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.cli.output import row_writer, show
from paimark.core.cli.query.answering import Narrator, ended_by_signals, open_engine
from paimark.core.errors import NotFound
from paimark.core.figures import age, counted, moment
from paimark.core.statements.one_version import VersionQuery
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.travel.when import (
    Count,
    Found,
    Version,
    first_with_rows,
    require_condition,
    versions,
)

_EACH = ("snapshot_id", "version", "time_millis", "rows")
_FOUND = (*_EACH, "before_snapshot_id", "before_version", "expired_between")


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.argument("condition", metavar="CONDITION")
@click.option("--branch", metavar="NAME", help="Search this branch; main when not given.")
@click.option("--from", "old", metavar="V", help="The oldest version to look at.")
@click.option("--to", "new", metavar="V", help="The newest version to look at.")
@click.option("--all", "every", is_flag=True, help="Count each version, instead of a search by halves.")
@click.pass_context
def when(
    ctx: click.Context,
    table: str,
    condition: str,
    branch: str | None,
    old: str | None,
    new: str | None,
    every: bool,
) -> None:
    """Find the first version of TABLE with rows that satisfy CONDITION.

    \b
      paimark when shop.orders "price < 0"

    The versions are the snapshots, and those that only a tag or savepoint keeps. The search goes by halves:
    of 10,000 versions it counts 15. It finds one version with such rows behind one without. If they came,
    went and came again, there are more: --all looks at each version. A column is called as it is now; in a
    version without it, it is null.
    """
    options = global_options(ctx)
    settings = options.settings()
    narrator = Narrator()
    with ended_by_signals(), closing(open_engine(settings)) as engine:
        context = open_context(settings.warehouse, settings.options, True, lambda: engine)
        path = find_table(context.files, table)
        search = When(context, path, branch, condition, old, new)
        narrator.wait("Starting Spark")
        if every:
            writer = row_writer(options, _EACH)
            for each in search.every(narrator.wait):
                narrator.clear()
                writer.write([_row(each)])
            writer.close()
            return
        found = search.find(narrator.wait, lambda each: narrator.say(_told(each)))
    narrator.clear()
    if options.as_json:
        writer = row_writer(options, _FOUND)
        before = (None, None) if found.before is None else _row(found.before)[:2]
        writer.write([(*_row(found.first), *before, found.gone)])
        writer.close()
        return
    for line in sentences(found, condition, path, context.clock()):
        show(line)


def _row(count: Count) -> tuple[int, str, int, int]:
    return count.version.snapshot_id, count.version.name, count.time_millis, count.rows


def _told(count: Count) -> str:
    return f"  {count.version.label}, {moment(count.time_millis)}: {counted(count.rows, 'row')}"


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
        """Search by halves; `told` is called with each count. Raises `NotFound` if no row is there now.

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
