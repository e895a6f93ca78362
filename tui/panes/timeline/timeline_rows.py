"""The rows of the timeline's grid, and their texts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.errors import Corrupt
from paimark.core.figures import counted, distance, exact_time
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, TablePath
from paimark.core.table.operations import Operation, read_operations
from paimark.core.table.records import Point
from paimark.core.table.timeline.lane_data import LaneData, PastEvent, newborn_branches
from paimark.core.table.timeline.lanes import FOLDED, Lane, LaneCommit, Opened
from paimark.core.table.timeline.row_pages import RecordReader, Row, covers, unfold_around
from paimark.tui.named_keys import delete_key, key
from paimark.tui.panes.record_pane import COUNTED
from paimark.tui.records.row_actions import (
    DELETE,
    PROTECTING,
    RowAction,
    RowActions,
    by_thing,
    can_act_on,
    on_branch,
    on_tag,
    why_not_saved,
)
from paimark.tui.records.sources import (
    CommitKey,
    GridColumn,
    RecordKey,
    Records,
    ShortText,
    commit_of_row,
    snapshot_key,
    user_cell,
)
from paimark.tui.widgets.detail_strip import Detail, Fact, described

_NO_BRANCH = "Go to a row of a branch: main is expired by its own options"
COLUMNS = (
    GridColumn("", style="accent", most=24),
    GridColumn("id", "id", "accent"),
    GridColumn("branch", style="quiet", most=18),
    GridColumn("what", style="second", most=34),
    GridColumn("age", "age", "quiet"),
    GridColumn("added", "number"),
    GridColumn("", style="quiet"),
    GridColumn("committed", "time"),
    GridColumn(COUNTED, "number"),
    GridColumn("kind", most=9),
    GridColumn("schema", "id", "quiet"),
    GridColumn("commit user", style="quiet"),
)
# The key of the row that stands for all rows that are not shown yet.
OLDER = "older"
_BAR = 6
_ADDED, _HALF, _REMOVED = "━", "╸", "┄"


# The number of commits that are unfolded on each side of one that is to be shown.
_AROUND = 4


@dataclass(frozen=True, slots=True)
class View:
    """The part of a history that is shown: the unfolded runs, and the number of rows."""

    limit: int
    unfolded: tuple[Opened, ...] = ()
    until: LaneCommit | None = None

    def including(self, lane: Lane, commit: LaneCommit) -> View:
        """The view with a commit of this lane unfolded."""
        return replace(self, unfolded=(*self.unfolded, unfold_around(lane, commit.id, _AROUND)), until=commit)


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """The rows of a view, the number of all rows, and the data to make other rows of the same history.

    `main_moved`: another branch was main in the rows before these.
    """

    data: LaneData
    reader: RecordReader
    rows: Sequence[Row]
    total: int
    view: View
    main_moved: bool = False


class TimelineRows(Records[Row | None]):
    """The last row is None if there are more."""

    def __init__(self, page: TimelinePage) -> None:
        rows: list[Row | None] = [*page.rows]
        if page.total > len(rows):
            rows.append(None)
        super().__init__(rows, self._values_of, _key)
        self.page = page
        self._newborn = newborn_branches(page.data.lanes)
        self._largest = max((abs(row.change or 0) for row in page.rows if not row.run.is_folded), default=0)

    def find(self, key: Hashable) -> int | None:
        index = self._indexes.get(key)
        return self._find_commit(key) if index is None and self.page.main_moved else index

    def _find_commit(self, key: Hashable) -> int | None:
        """The index of the commit on any branch: a replacement of main gives it to another branch."""
        if not isinstance(key, RecordKey) or key.made is None:
            return None
        keys = (known for known in self._indexes if isinstance(known, RecordKey))
        same = (known for known in keys if (known.kind, known.made) == (key.kind, key.made))
        return next((self._indexes[known] for known in same), None)

    def index_of(self, commit: LaneCommit) -> int | None:
        """The index of the row of a commit, or of the run that it is folded into."""
        at = (index for index, row in enumerate(self.records) if row is not None and covers(row.run, commit))
        return next(at, None)

    @cached_property
    def _indexes(self) -> Mapping[Hashable, int]:
        return {_key(row): index for index, row in enumerate(self.records)}

    def _values_of(self, row: Row | None) -> Sequence[object]:
        if row is None:
            left = self.page.total - len(self.page.rows)
            return (FOLDED, None, None, f"… {counted(left, 'older row')} …", *[None] * (len(COLUMNS) - 4))
        newest = row.newest
        shown = None if row.run.is_folded else newest
        return (
            row.graph,
            None if row.run.is_folded else row.run.newest,
            _branch(row),
            _words(row, self._newborn.get(row.run.newest_commit, ())),
            newest.commit_time if newest else None,
            row.change,
            bar(shown.delta_record_count, self._largest) if shown else None,
            newest.commit_time if newest else None,
            newest.total_record_count if newest else None,
            shown.commit_kind if shown else None,
            shown.schema_id if shown else None,
            user_cell(shown.commit_user) if shown else None,
        )


def unfolded_for(key: Hashable, view: View, data: LaneData, reader: RecordReader) -> View:
    """The view with the commit of a row's key unfolded, on the branch that has it."""
    key_commit = key.made if isinstance(key, RecordKey) and key.kind == "snapshot" else None
    if not isinstance(key_commit, CommitKey):
        return view
    commits = [
        LaneCommit(index, key_commit.id) for index, lane in enumerate(data.lanes) if lane.has(key_commit.id)
    ]
    reader.read(commits)
    rows = ((commit, reader.at(commit)) for commit in commits)
    here = (commit for commit, row in rows if row is not None and commit_of_row(row) == key_commit)
    return next((view.including(data.lanes[commit.lane], commit) for commit in here), view)


def version_of(row: Row | None) -> RowVersion | None:
    """The version of a row, on its own branch; None for a folded run, or if it can't be read."""
    if row is None or row.run.is_folded or row.newest is None:
        return None
    number, tag = row.run.newest, row.tags[0] if row.tags else None
    if row.is_expired and tag is None:
        return None
    return RowVersion(
        version=tag if row.is_expired else f"snapshot.{number}",
        branch=MAIN if row.is_main else row.lane.root.label,
        tag=tag,
        snapshot_id=number,
        commit_time=row.newest.commit_time,
    )


def actions_of(action: str, row: Row, data: LaneData) -> RowActions | None:
    """The objects that the key of an action may act on; None if the row does not define them."""
    things = by_thing(action)
    if not things:
        return None
    branch = None if row.is_main else row.lane.root.label
    choices = [on_tag(action, name, branch) for name in row.tags if can_act_on(action, name)]
    if "branch" in things:
        choices += _branches(action, row, data, ends=action == DELETE)
    return RowActions(choices, _why_none(action, row))


def _why_none(action: str, row: Row) -> str:
    if action == DELETE:
        return f"No tag or savepoint is here, and no branch ends here: {delete_key()} deletes those"
    return _NO_BRANCH if action == PROTECTING else why_not_saved(action, row.tags)


def _branches(action: str, row: Row, data: LaneData, *, ends: bool = False) -> Iterator[RowAction]:
    """The branch of the row (with `ends` only at its newest commit), and the branches without a commit of
    their own that begin here."""
    lane = row.lane
    is_newest = row.run.newest == max([*lane.ids[-1:], *lane.tags])
    if not row.is_main and (is_newest or not ends):
        yield on_branch(action, lane.root.label)
    for name in newborn_branches(data.lanes).get(row.run.newest_commit, ()):
        yield on_branch(action, name)


def detail_of(row: Row | None, now_ms: int, counted_as: str) -> Detail:
    if row is None:
        return Detail("older rows", (Fact(key("pane.query"), "shows more of them"),))
    run, newest, oldest = row.run, row.newest, row.oldest
    facts = [Fact("branch", str(_branch(row)))]
    if run.is_folded:
        facts += [Fact("snapshots", f"{run.oldest} to {run.newest}")]
        facts += [Fact(key("pane.query"), "shows the newest of them")]
        facts += [Fact("from", exact_time(oldest.commit_time, now_ms))] if oldest else []
        facts += [Fact("to", exact_time(newest.commit_time, now_ms))] if newest else []
    elif newest is None:
        facts += [Fact("unreadable", f"its record can't be read: {key('browse.log')} says why")]
    else:
        facts += [
            Fact.moment("committed", newest.commit_time, now_ms),
            Fact("kind", newest.commit_kind),
            Fact.number(counted_as, newest.total_record_count),
            Fact.id("schema", newest.schema_id),
            Fact("user", newest.commit_user),
        ]
        if said := newest.said:
            facts += [Fact("message", said.message or ""), Fact("author", said.author or "")]
    if row.change is not None:
        facts.append(Fact("added", f"{row.change:+,}", row.change))
    facts.append(Fact("kept by", ", ".join(row.tags)))
    if row.is_expired:
        facts.append(Fact("expired", "its snapshot file is gone: the tag keeps its rows"))
    facts += [Fact("history", words) for words in row.lane.notes.get(run.newest, ())]
    title = f"{counted(run.length, 'commit')}" if run.is_folded else f"snapshot {run.newest}"
    return described(title, facts)


def bar(change: int | None, largest: int) -> str | None:
    """`+━━━╸`, `-┄┄`: as long as the square root of the change, so that small ones stay visible."""
    if not change:
        return None
    whole, half = divmod(max(1, round(sqrt(abs(change) / max(largest, 1)) * 2 * _BAR)), 2)
    if change < 0:
        return "-" + _REMOVED * (whole + half)
    return "+" + _ADDED * whole + _HALF * half


def _key(row: Row | None) -> RecordKey | str:
    if row is None:
        return OLDER
    root, run = row.lane.root, row.run
    if run.is_folded:
        oldest = commit_of_row(row.oldest) if row.oldest is not None else None
        return RecordKey(root, "run", f"run to snapshot {run.oldest}", oldest)
    if row.newest is None:
        return RecordKey(root, "snapshot", f"snapshot.{run.newest}")
    return snapshot_key(root, commit_of_row(row.newest))


def _branch(row: Row) -> str | ShortText:
    label = row.lane.root.label
    return ShortText(f"MAIN {label}", (label,)) if row.is_main and label != MAIN else label


def _words(row: Row, newborn: Sequence[str]) -> str | ShortText | None:
    if row.run.is_folded:
        return f"… {counted(row.run.length, 'commit')}{_span(row)} …"
    kept = ", ".join(row.tags) + (" (expired, kept)" if row.is_expired else "")
    words = [*([kept] if kept else []), *row.lane.notes.get(row.run.newest, ())]
    words += [f"{name} is of another history" for name in row.others]
    if row.newest is None:
        words.append("! can't be read")
    elif row.newest.said and row.newest.said.message:
        words.append(f'"{row.newest.said.message}"')
    text = ", ".join(words)
    return ShortText(text, tuple(newborn)) if newborn else text or None


def _span(row: Row) -> str:
    """The time between the ends of a folded run: `, 3 d`."""
    if row.newest is None or row.oldest is None:
        return ""
    times = sorted((row.newest.commit_time, row.oldest.commit_time))
    took = distance(times[0], times[1])
    return "" if took == "now" else f", {took}"


# The newest records of each kind that are read.
_MOST = 200


def read_past_events(files: Files, table: TablePath) -> tuple[list[PastEvent], list[str]]:
    """The newest merges and operations, and a sentence for each record that can't be read."""
    events: list[PastEvent] = []
    left_out: list[str] = []
    for read in (_merges, lambda files, table: _of_operations(_operations(files, table))):
        try:
            events += read(files, table)
        except Corrupt as error:
            left_out.append(error.message)
    return events, left_out


def _merges(files: Files, table: TablePath) -> list[PastEvent]:
    from paimark.core.actions.merge import history

    return [
        PastEvent(
            each.root,
            each.main,
            f"{'fast-forward to' if each.is_forward else 'merge of'} {each.branch}",
            source=each.branch,
            head=None if each.is_forward else each.head,
        )
        for each in history.events(files, table)[-_MOST:]
        if each.kind == "merge"
    ]


def _operations(files: Files, table: TablePath) -> list[Operation]:
    return read_operations(files, table, _MOST)


def _of_operations(operations: Sequence[Operation]) -> list[PastEvent]:
    undone: set[str | None] = set()
    for each in operations:
        undone.add(each.undoes)
        undone.discard(each.redoes)
    entries = [each for each in operations if each.is_undoable and each.token not in undone]
    return [event for each in entries for event in _of_entry(each)]


def _of_entry(entry: Operation) -> list[PastEvent]:
    main, head = entry.turned.main, entry.turned.head
    if main is not None and main.head is not None:
        moved = entry.turned.moved
        before = main.before or (moved.after if moved and not main.was_dropped else MAIN)
        at = Point(id=main.head, delta_manifest_list="")
        return [PastEvent(main.after, at, f"became main in place of {before}", entry.time)]
    # Merges have a record of their own with more data.
    if head is not None and entry.action != "merge-branch":
        return [PastEvent(head.root, head.after, entry.description)]
    return []
