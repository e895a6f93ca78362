"""What all moves of a table's directory have in common: what prevents them, who notices, the move.

Where directories can be renamed, that is the move. An object store copies each file: `copying`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from paimark.core.actions.change.change import Change, Landed, S, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import fingerprint, require_unmoved
from paimark.core.actions.context import Context
from paimark.core.actions.plan import NO_DATA_FILE, Item, Refusal, Step, raise_first
from paimark.core.actions.plan_wording import job_that_writes, streaming_readers, unit_in
from paimark.core.actions.tables.copying import CopiedMove
from paimark.core.actions.tables.places import walked
from paimark.core.errors import Corrupt, NotFound
from paimark.core.figures import counted, duration, listed, size
from paimark.core.storage.files import Files
from paimark.core.storage.open import moves_directories
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names, main_root
from paimark.core.table.savepoints import SavepointManager

# Of a copy inside a store, with many at once; for the time that a plan says.
_COPY_SECONDS, _COPIED_A_SECOND = 0.005, 500_000_000


def move_refusals(context: Context, table: TablePath) -> list[Refusal]:
    """Why the table's directory can't be moved; empty if it can."""
    files = context.files
    if not moves_directories(files.uri) and not files.names(table.root().schemas):
        return [
            Refusal(
                f"{table.directory} has no schema: nobody could tell whether the move is done",
                "If a move of it was interrupted, run `paimark recover` first.",
            )
        ]
    _, _, name = table.directory.rpartition("/")
    entries = files.entries(table.directory.rpartition("/")[0])
    if any(each.name == name and each.is_link for each in entries):
        return [
            Refusal(
                f"{table.directory} is a link: what it leads to would stay where it is",
                "Put the directory itself in its place.",
            )
        ]
    return []


def what_it_has(files: Files, table: TablePath) -> str:
    """`6,600 records, 2 branches and 1 savepoint`."""
    main = main_root(files, table)
    try:
        newest = Lineage(files, main).latest()
    except (Corrupt, NotFound):
        newest = None
    records = newest.total_record_count if newest is not None else 0
    parts = ["its rows" if records is None else counted(records, unit_in(files, main))]
    branches = len(branch_names(files, table))
    savepoints = len(SavepointManager(files, table).ids())
    if branches:
        parts.append(counted(branches, "branch", "branches"))
    if savepoints:
        parts.append(counted(savepoints, "savepoint"))
    return listed(parts)


def noticed_by(context: Context, table: TablePath) -> Iterator[Item]:
    """Who else notices that the table is no longer there."""
    files = context.files
    roots = all_roots(files, table)
    writers = [each for root in roots if (each := job_that_writes(files, root)) is not None]
    if writers:
        newest = max(writers, key=lambda each: each.time)
        yield Item(
            "affects",
            f"{newest.said(table.full_name, context.clock())}: stop it first. A job that goes on writes "
            "into a new directory of the old name",
            "jobs-lose-table",
            newest=newest.time,
        )
    yield from streaming_readers(files, roots)


def state_of(files: Files, table: TablePath) -> str:
    """The fingerprint of what a plan of a move stands on: the newest snapshot and schema of each root.

    Their contents count: a table that was made anew under the name may have the same numbers.
    """
    return fingerprint(*(part for root in all_roots(files, table) for part in _newest(files, root)))


def _newest(files: Files, root: Root) -> Iterator[str | bytes]:
    lineage = Lineage(files, root)
    newest, schemas = lineage.latest_id(), lineage.schema_ids()
    yield f"{root.label} {newest}"
    paths = [] if newest is None else [root.snapshot(newest)]
    paths += [root.schema(number) for number in schemas[-1:]]
    yield from (data or b"" for data in files.read_many(paths))


def moves(files: Files, source: TablePath, to: TablePath) -> Moving:
    """What moving a table's directory comes to."""
    if moves_directories(files.uri):
        step = Step("move", source.directory, f"to {to.directory}: {NO_DATA_FILE}")
        return Moving((step,), "one move, no data file", ())
    count = bytes_ = 0
    for below in walked(files, source.directory):
        count, bytes_ = count + len(below.files), bytes_ + sum(below.sizes.values())
    what = f"{counted(count, 'file')} with {size(bytes_)}"
    longest = duration(round(max(count * _COPY_SECONDS, bytes_ / _COPIED_A_SECOND, 1)) * 1000)
    return Moving(
        (
            Step("copy", source.directory, f"to {to.directory}: {what}, inside the store", bytes_),
            Step("delete", source.directory, "once the copy was compared"),
        ),
        f"{what} copied inside the store: about {longest}",
        (
            Item(
                "affects",
                "jobs must be stopped: if one commits during the copy, the table stays where it is",
                "jobs-stop-copy",
            ),
        ),
    )


class Moving(NamedTuple):
    """The steps of a move, their cost, and who has to know."""

    steps: tuple[Step, ...]
    cost: str
    items: tuple[Item, ...]


class TableMove(Change[S]):
    """The table's directory is moved by one rename, which is the point of no return; or see `copying`.

    By a rename the journal moves with it and is ended there: whoever recovers the change finds it at one of
    the places.
    """

    _move: CopiedMove | None = None

    @property
    def _from(self) -> TablePath:
        """The place where it is."""
        return self.work.table

    @property
    @abstractmethod
    def _to(self) -> TablePath:
        """The place to which it goes."""

    def _refusals(self) -> list[Refusal]:
        return move_refusals(self.work.context, self._from)

    def check(self, hold: Hold) -> None:
        raise_first(self._refusals())
        require_as_planned(self.work)

    def prepare(self, hold: Hold) -> None:
        if (copied := self._copied(hold)) is not None:
            copied.prepare()

    def commit(self, hold: Hold) -> None:
        if (copied := self._copied(hold)) is not None:
            copied.commit()
        else:
            self.work.files.move(self._from.directory, self._to.directory)
            hold.table = self._to
            if not hold.is_current:
                # It stood still right before the move, and another process ended the change meanwhile.
                self.work.files.move(self._to.directory, self._from.directory)
                hold.table = self._from
                hold.require()

    def landed(self, hold: Hold) -> Landed:
        if (copied := self._copied(hold)) is not None:
            return copied.landed()
        return Landed.YES if hold.table == self._to else Landed.NO

    def finish(self, hold: Hold) -> None:
        if (copied := self._copied(hold)) is not None:
            copied.finish()

    def take_back(self, hold: Hold) -> None:
        if (copied := self._copied(hold)) is not None:
            copied.take_back()

    def logs_at(self, hold: Hold) -> TablePath:
        return self._to

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        if not moves_directories(self.work.files.uri):
            # The recovery says whether it goes on or back.
            goes = self._from if interrupted.is_committed else self._to
            return [Step("delete", goes.directory, "what is left of the move there")]
        is_moved = self.work.table == self._to
        return [Step("check", self.work.table.directory, "it was moved" if is_moved else "it was not moved")]

    def _copied(self, hold: Hold) -> CopiedMove | None:
        if moves_directories(self.work.files.uri):
            return None
        if self._move is None:
            self._move = CopiedMove(hold, self._from, self._to, self.work.progress)
        return self._move


def require_as_planned(work: Work) -> None:
    """Raises `Refused` if somebody committed since the plan."""
    require_unmoved(work.table, work.plan, state_of(work.files, work.table))
