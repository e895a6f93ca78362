"""`holders`: which versions still have rows of a condition, and the commands after which no file has them.

The commands are in the order in which they can be run: branches stand on tags, and an expiry frees what
nothing else keeps. Each is an action with a plan of its own, which says what else goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec
from msgspec.structs import replace

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Taken
from paimark.core.actions.plan_wording import consumers_of
from paimark.core.actions.protection_guard import against, unprotect
from paimark.core.actions.repair.row_condition import values_condition
from paimark.core.actions.rewrite.spark_rewrite import engine_of
from paimark.core.actions.savepoints.auto_savepoint import OPTION
from paimark.core.errors import Refused, UsageError
from paimark.core.figures import some_of
from paimark.core.quoting import shell_line
from paimark.core.statements.questions.counts import Counts, may_step
from paimark.core.statements.questions.one_version import VersionQuery
from paimark.core.table.definition.column_types import nullable
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.layout import MAIN, PIN_PREFIXES, SAVEPOINT_TAG_PREFIX, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.records import TableSchema
from paimark.core.travel.when import require_condition

UNSEARCHED = "unsearched"


@dataclass(frozen=True, slots=True)
class Holder:
    """A version with `rows` of the condition. `commands` let it go.

    `what` is branch, tag, savepoint, newest (main's newest rows), snapshots (some of main, the last of them
    `snapshot_id`, the most rows of one), files: what holds rows that are deleted in all versions, or
    unsearched: a branch with other keys than main, of which nothing is known.
    """

    what: str
    name: str
    snapshot_id: int
    rows: int
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Holders:
    """A search in all roots: by a condition, or by the values of columns (`{"order_id": "42"}`)."""

    context: Context
    table: TablePath
    where: str | None = None
    key: Mapping[str, str] | None = None

    def find(self, progress: Progress) -> Iterator[Holder]:
        """Those that have such rows, in the order in which they can be let go. Each commit is counted once.

        The columns are called as in main. A branch with other keys is not searched: its rows are others.
        Raises `UsageError` unless one of both is given, and `Refused`.
        """
        if (self.where is None) == (not self.key):
            raise UsageError("The rows are given by a condition or by a key", "Write --where, or --key C=V.")
        files = self.context.files
        main, known = main_root(files, self.table), dict[bytes, dict[tuple[int, str, str], int]]()
        of_main = Lineage(files, main).require_schema()
        others = [each for each in all_roots(files, self.table) if each != main]
        if self.table.root() in others:
            hint = f"Run `paimark rescue-commits {self.table.word} --name BRANCH` first: it is searched then."
            raise Refused(f"A stale writer left commits in the directory of {self.table.full_name}", hint)
        staying = [main]
        is_held = False
        with engine_of(self.context) as engine:
            for root in (*others, main):
                own = Lineage(files, root).require_schema()
                if _keys(own) != _keys(of_main):
                    yield Holder(UNSEARCHED, root.label, Lineage(files, root).latest_id() or 0, 0)
                    continue
                schema = _called_as_in(of_main, own)
                condition = values_condition(schema, self.key) if self.key else (self.where or "").strip()
                bracketed = require_condition(condition)
                query = VersionQuery(self.context, engine, root, schema, "count(*) AS n", bracketed, progress)
                alike = known.setdefault(msgspec.json.encode(schema.fields), {})
                counts = Counts(query, alike, may_step(schema, condition))
                found = self._of_main(counts, condition) if root == main else self._of_branch(root, counts)
                stays = True
                for each in found:
                    is_held, stays = True, False
                    yield each
                staying += [root] if stays and root != main else []
        if is_held:
            newest = Lineage(files, main).latest_id() or 0
            emptied = (each for root in staying for each in self._emptied(root, is_main=root == main))
            yield Holder("files", MAIN, newest, 0, (*emptied, *self._by_the_clock(main, is_on_again=True)))

    def _of_branch(self, root: Root, counts: Counts) -> Iterator[Holder]:
        """A branch goes as a whole: its own versions stand on those that it was made from."""
        found = [*counts.of_snapshots(), *(each for _, each in counts.of_tags())]
        if rows := max((count for _, count in found), default=0):
            taken, newest = Taken("root", root.label), Lineage(self.context.files, root).latest_id() or 0
            yield Holder(
                "branch", root.label, newest, rows, self._freed(taken, "delete-branch", "--name", root.label)
            )

    def _of_main(self, counts: Counts, condition: str) -> Iterator[Holder]:
        for name, (snapshot, rows) in counts.of_tags():
            # A pin goes with its branch.
            if not rows or name.startswith(PIN_PREFIXES):
                continue
            is_savepoint = name.startswith(SAVEPOINT_TAG_PREFIX)
            taken = Taken("savepoint" if is_savepoint else "tag", name.removeprefix(SAVEPOINT_TAG_PREFIX))
            words = ("delete-savepoint", "--id") if is_savepoint else ("delete-tag", "--name")
            commands = self._freed(taken, *words, taken.name)
            yield Holder(taken.what, taken.name, snapshot.id, rows, commands)
        snapshots = counts.of_snapshots()
        if snapshots and snapshots[-1][1]:
            newest, rows = snapshots[-1]
            delete = f"DELETE FROM {self.table.full_name} WHERE {condition}"
            commands = (*self._by_the_clock(counts.query.root), shell_line(["paimark", "sql", delete]))
            yield Holder("newest", MAIN, newest.id, rows, commands)
        for has, group in groupby(snapshots, lambda each: each[1] > 0):
            run = list(group)
            first, last = run[0][0].id, run[-1][0].id
            if has:
                name = f"{first}" if first == last else f"{first} to {last}"
                yield Holder("snapshots", name, last, max(count for _, count in run))

    def _emptied(self, root: Root, *, is_main: bool) -> Iterator[str]:
        """Deleted rows stay in files with keys or deletion vectors until all of a bucket are merged."""
        files, on = self.context.files, () if is_main else ("--branch", root.label)
        schema = Lineage(files, root).require_schema()
        if schema.primary_keys or is_on(schema.options, "deletion-vectors.enabled"):
            yield self._command("compact", "--full", *on)
        for each in consumers_of(files, root):
            yield self._command("reset-consumer", "--name", each, *on)
        taken = Taken("branch", MAIN if is_main else root.label)
        yield from self._freed(taken, "expire-snapshots", "--retain-last", "1", *on)

    def _by_the_clock(self, main: Root, *, is_on_again: bool = False) -> Iterator[str]:
        """No automatic savepoint comes between the deletion and the compaction: its files have the rows."""
        interval = Lineage(self.context.files, main).require_schema().options.get(OPTION)
        if interval is not None:
            change = ("--set", f"'{OPTION}' = '{interval}'") if is_on_again else ("--unset", f"'{OPTION}'")
            yield self._command("alter-branch-schema", *change)

    def _freed(self, taken: Taken, *words: str) -> tuple[str, ...]:
        """The command, behind those that end a protection of it."""
        stand = against(self.context.files, self.table, [taken])
        return *(unprotect(self.table, each) for each in stand), self._command(*words)

    def _command(self, verb: str, *words: str) -> str:
        return shell_line(["paimark", verb, self.table.full_name, *words])


def _keys(schema: TableSchema) -> tuple[Sequence[str], Sequence[str]]:
    return schema.primary_keys, schema.partition_keys


def _called_as_in(main: TableSchema, schema: TableSchema) -> TableSchema:
    """The columns of a branch under main's names: its own of that name, else the same one by another name.

    One that it lacks is there, and null.
    """
    names = {field.name.lower() for field in schema.fields}
    lacking = {field.id: field.name for field in main.fields if field.name.lower() not in names}
    shown = {field.name.lower() for field in main.fields}
    fields = [
        replace(field, name=lacking.pop(field.id))
        if field.id in lacking and field.name.lower() not in shown
        else field
        for field in schema.fields
    ]
    unused = max(schema.highest_field_id, main.highest_field_id) + 1
    nulls = [
        replace(field, id=unused + field.id, type=nullable(field.type))
        for field in main.fields
        if field.id in lacking
    ]
    return (
        schema
        if not nulls and fields == schema.fields
        else replace(schema, id=schema.id + 1, fields=[*fields, *nulls])
    )


_BETWEEN = (
    "A savepoint or tag from between a deletion and a full compaction may have deleted rows in its files all "
    "the same."
)


def sentence(found: Sequence[Holder], table: TablePath) -> str:
    """What was found, for a person."""
    unsearched = [each.name for each in found if each.what == UNSEARCHED]
    more = ""
    if unsearched:
        names = f"{'branches' if unsearched[1:] else 'branch'} {some_of(unsearched)}"
        keys = f"{'have' if unsearched[1:] else 'has'} other keys than main, and may have such rows"
        more = f" Not searched: {names} {keys} (paimark schemas {table.word})."
    if len(found) == len(unsearched):
        which = "searched version" if unsearched else "version"
        return f"No {which} of {table.full_name} has such rows.{more} {_BETWEEN}"
    return (
        f"Run the commands in this order: each shows first what else goes. Then ask again.{more} {_BETWEEN}"
    )
