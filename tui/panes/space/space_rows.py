"""The rows of the space pane: the holders of files, then the buckets with the most small files."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.figures import counted, size
from paimark.core.space.report import BucketRow, FirstFigure, SpaceReport, SpaceRow
from paimark.core.table.layout import MAIN, Root, TablePath
from paimark.tui.named_keys import delete_key, key
from paimark.tui.records.row_actions import (
    DELETE,
    RowAction,
    RowActions,
    by_thing,
    can_act_on,
    on_branch,
    on_tag,
    why_not_saved,
)
from paimark.tui.records.sources import GridColumn, RecordKey, Records
from paimark.tui.widgets.detail_strip import Detail, Fact

SpaceLine = SpaceRow | BucketRow

COLUMNS = (
    GridColumn("name", style="accent", most=36),
    GridColumn("what", style="second", most=10),
    GridColumn("holds", "bytes"),
    GridColumn("alone", "bytes"),
    GridColumn(""),
    GridColumn("files", "number"),
    GridColumn("small", "number"),
    GridColumn("level 0", "number"),
    GridColumn("branch", style="quiet", most=18),
    GridColumn("files alone", "number", "quiet"),
)
_BAR = 10
_ALONE, _SHARED = "━", "┄"
_MEANING = {
    "main": "the present rows: only a change of the rows frees them",
    "older": "the rows of earlier versions: {delete} expires them",
    "changelogs": "changes that streaming readers may still read",
    "consumer": "older snapshots that stock expiry leaves to this reader; part of them",
    "guards": "copies of main's tags, while a branch is main",
    "past": "what main was before it was replaced",
    "records": "the files that name snapshots, tags and schemas",
    "iceberg": "Iceberg metadata, and files that only its readers still need",
    "orphans": "no version needs them: a writer died, or an engine lost track",
    "young": "no version needs them yet: a writer may be about to commit them",
    "leftover": "of a change that runs, or that `{palette}` recover finishes",
}


# Elsewhere records are what metadata counts.
_WHAT = {"records": "metadata"}


class SpaceRows(Records[SpaceLine]):
    """`report` is None while only the size of main's newest snapshot is known."""

    def __init__(
        self, table: TablePath, lines: Sequence[SpaceLine], report: SpaceReport | None = None
    ) -> None:
        super().__init__(lines, self._values_of, lambda line: _key(table, line))
        self.report = report
        self._largest = max((each.bytes for each in lines), default=0)

    @classmethod
    def of_report(cls, table: TablePath, report: SpaceReport) -> SpaceRows:
        return cls(table, [*_ordered(report.rows), *report.buckets], report)

    @classmethod
    def of_first(cls, root: Root, first: FirstFigure) -> SpaceRows:
        if not first.files:
            return cls(root.table, [])
        name = f"{root.label}, newest snapshot"
        row = SpaceRow(kind="main", name=name, branch=root.branch, files=first.files, bytes=first.bytes or 0)
        return cls(root.table, [row])

    def find(self, key: Hashable) -> int | None:
        return next((index for index in range(len(self)) if self.key(index) == key), None)

    def _values_of(self, line: SpaceLine) -> Sequence[object]:
        if isinstance(line, BucketRow):
            bar = _bar(0, line.bytes, self._largest)
            return (
                line.name,
                "bucket",
                line.bytes,
                None,
                bar,
                line.files,
                line.small,
                line.level_0,
                None,
                None,
            )
        is_known = self.report is not None
        return (
            f"  {line.name}" if line.is_part else line.name,
            f"{line.kind}, part" if line.is_part else _WHAT.get(line.kind, line.kind),
            line.bytes or None if not is_known else line.bytes,
            line.alone_bytes if is_known else None,
            _bar(line.alone_bytes, line.bytes, self._largest) if is_known else None,
            line.files,
            None,
            None,
            line.branch,
            line.alone_files if is_known else None,
        )


def _ordered(rows: Sequence[SpaceRow]) -> list[SpaceRow]:
    """Main's rows, then the others by bytes held alone, each with its parts; unneeded files come last."""
    last = ("records", "iceberg", "orphans", "young", "leftover")
    groups: list[list[SpaceRow]] = []
    for row in rows:
        if row.is_part and groups:
            groups[-1].append(row)
        else:
            groups.append([row])
    places = {"main": 0, "older": 1, "changelogs": 2, **{kind: 4 for kind in last}}
    groups.sort(key=lambda group: (places.get(group[0].kind, 3), -group[0].alone_bytes, -group[0].bytes))
    return [row for group in groups for row in group]


def _bar(alone: int, held: int, largest: int) -> str | None:
    """`━━━┄┄┄┄`: its length shows the bytes held, the heavy part those held alone."""
    if not held:
        return None
    long = max(1, round(held / max(largest, 1) * _BAR))
    heavy = max(1, round(alone / held * long)) if alone else 0
    return _ALONE * heavy + _SHARED * (long - heavy)


def _key(table: TablePath, line: SpaceLine) -> RecordKey:
    if isinstance(line, BucketRow):
        return RecordKey(table.root(), "space", line.name, "bucket")
    made = line.snapshot_id if line.kind in ("tag", "savepoint") else None
    return RecordKey(table.root(line.branch), "space", line.name, (line.kind, made))


def version_of(line: SpaceLine, main: str) -> RowVersion | None:
    """The version of a row, or None; `main` is the name of the branch that is main."""
    if isinstance(line, BucketRow):
        return None
    branch = MAIN if line.branch in (None, main) else line.branch
    if line.kind == "main" or line.kind in ("branch", "past"):
        return RowVersion(branch=branch)
    if line.kind in ("tag", "savepoint"):
        return RowVersion(version=line.name, branch=branch, tag=line.name, snapshot_id=line.snapshot_id)
    return None


def actions_of(action: str, line: SpaceLine, main: str) -> RowActions | None:
    """The object that the key of an action acts on; None if the row does not define it."""
    if isinstance(line, BucketRow):
        return _nothing(action)
    branch = None if line.branch in (None, main) else line.branch
    if line.kind in ("tag", "savepoint") and "tag" in by_thing(action):
        if not can_act_on(action, line.name):
            return RowActions((), why_not_saved(action, [line.name]))
        return RowActions([on_tag(action, line.name, branch)])
    if line.kind in ("branch", "past") and "branch" in by_thing(action):
        return RowActions([on_branch(action, line.name)])
    if line.kind == "older" and action == DELETE:
        return RowActions([RowAction("expire-snapshots", {}, line.name)])
    return _nothing(action)


def _nothing(action: str) -> RowActions | None:
    if action != DELETE:
        return None
    return RowActions((), f"{delete_key()} works on a branch, tag, savepoint or older snapshots: go to one")


def detail_of(line: SpaceLine, report: SpaceReport | None, *, is_counting: bool = False) -> Detail:
    if isinstance(line, BucketRow):
        return _detail_of_bucket(line, report)
    facts = [Fact("holds", f"{size(line.bytes)} in {counted(line.files, 'file')}")]
    if report is None:
        return Detail(line.name, (*facts, Fact("alone", "being counted" if is_counting else "not counted")))
    name = f"{delete_key()} frees" if line.kind in ("branch", "past", "tag", "savepoint") else "alone"
    alone = f"{size(line.alone_bytes)} in {counted(line.alone_files, 'file')}"
    facts.append(Fact(name, alone if line.alone_files else "nothing: others need all of it"))
    if line.kind in _MEANING:
        meaning = _MEANING[line.kind].format(delete=delete_key(), palette=key("app.palette"))
        facts.append(Fact("what", meaning))
    if line.is_part and line.kind == "tag":
        facts.append(Fact("part of", f"branch {line.branch}, whose row has these bytes too"))
    return Detail(line.name, tuple(facts))


def _detail_of_bucket(line: BucketRow, report: SpaceReport | None) -> Detail:
    facts = [Fact("holds", f"{size(line.bytes)} in {counted(line.files, 'data file')}")]
    if report is not None:
        below = f"under {size(report.small_below)}, 70 % of target-file-size"
        facts.append(Fact("small", f"{counted(line.small, 'file')} {below}"))
    if line.level_0 is not None:
        facts.append(Fact("level 0", f"{counted(line.level_0, 'file')} that no compaction has taken yet"))
    return Detail(line.name, tuple(facts))
