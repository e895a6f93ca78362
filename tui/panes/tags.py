"""Tab 4: the tags of a branch, including those of savepoints, without those by which Paimark reads."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.figures import counted, exact_moment, exact_time
from paimark.core.storage.files import read_if_there
from paimark.core.table.layout import Root
from paimark.core.table.lineage.protected import reasons
from paimark.core.table.read_tags import is_of_read, is_read_tag, kept_until_ms
from paimark.core.table.records import Tag
from paimark.tui.named_keys import key
from paimark.tui.panes.pane import PaneRows
from paimark.tui.panes.record_pane import COUNTED, RecordPane
from paimark.tui.panes.snapshots import snapshot_facts, snapshot_values, tags_fingerprint
from paimark.tui.records.sources import GridColumn, RecordKey, Records, commit_of
from paimark.tui.session import Opened, Target
from paimark.tui.widgets.detail_strip import Detail, with_values
from paimark.tui.work.background import ThreadReport

NamedTag = tuple[str, Tag]
# The mark of what no action lets go: its record has the reason.
PROTECTED = "protected"


class TagRows(Records[NamedTag]):
    """`of_reads` is the number of tags that are not shown: they go when the statement that reads ends.

    `why` are the reasons of those that are protected.
    """

    def __init__(self, root: Root, tags: Sequence[NamedTag], of_reads: int, why: Mapping[str, str]) -> None:
        super().__init__(tags, partial(_values, why), partial(_key, root))
        self.of_reads = of_reads
        self.why = why


class TagsPane(RecordPane[TagRows]):
    """The tags, that of the newest snapshot first."""

    TITLE = "Tags"
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = (
        GridColumn("tag", style="accent"),
        GridColumn("snapshot", "id"),
        GridColumn("committed", "time"),
        GridColumn("age", "age", "quiet"),
        GridColumn(COUNTED, "number"),
        GridColumn("schema", "id", "quiet"),
        GridColumn("kept until", "time", "quiet"),
        GridColumn("", style="warn"),
    )

    def empty_note(self) -> str:
        return f"No tags. {key('act.tag', 't')} on a snapshot makes one."

    def read(self, target: Target, report: ThreadReport[PaneRows[TagRows]]) -> None:
        opened = self.session.open(target)
        fingerprint = _seen(opened)
        every = opened.lineage.tags()
        tags = [named for named in every if not is_read_tag(named[0])]
        tags.sort(key=lambda named: (-named[1].id, named[0]))
        left_out = tuple(opened.lineage.unreadable.values())
        why = reasons(self.session.files, opened.root, "tag")
        rows = TagRows(opened.root, tags, len(every) - len(tags), why)
        report(PaneRows(opened, rows, (opened.root, fingerprint), left_out=left_out))

    def fingerprint(self, target: Target) -> Hashable:
        opened = self.session.open(target)
        return opened.root, _seen(opened)

    @property
    def position(self) -> str:
        of_reads = 0 if self.loaded is None else self.loaded.rows.of_reads
        reads = f"+ {counted(of_reads, 'tag')} of reads" if of_reads else ""
        return "  ".join(part for part in (super().position, reads) if part)

    def detail(self, index: int) -> Detail:
        name, tag = self.rows.records[index]
        now_ms = int(time.time() * 1000)
        facts = [("snapshot", str(tag.id)), *snapshot_facts(tag, now_ms, self.counted)]
        values = {**snapshot_values(tag, self.counted), "snapshot": tag.id}
        until = kept_until_ms(tag)
        if until is not None:
            facts.insert(1, ("kept until", exact_time(until, now_ms)))
            values["kept until"] = exact_moment(until)
        if name in self.rows.why:
            facts.insert(1, (PROTECTED, self.rows.why[name]))
        return Detail(f"tag {name}", tuple(facts), values=with_values(facts, values))

    def version(self, index: int) -> RowVersion | None:
        name, tag = self.rows.records[index]
        return RowVersion(version=name, tag=name, snapshot_id=tag.id, commit_time=tag.time_millis)


def _seen(opened: Opened) -> Hashable:
    return tags_fingerprint(opened), read_if_there(opened.lineage.files, opened.root.table.protected)


def _key(root: Root, named: NamedTag) -> RecordKey:
    name, tag = named
    return RecordKey(root, "tag", name, commit_of(tag))


def _values(why: Mapping[str, str], named: NamedTag) -> Sequence[object]:
    name, tag = named
    return (
        name,
        tag.id,
        tag.time_millis,
        tag.time_millis,
        tag.total_record_count,
        tag.schema_id,
        kept_until_ms(tag),
        PROTECTED if name in why else _label(name),
    )


def _label(name: str) -> str | None:
    # Spark leaves such a tag if a batch read is cut off. It holds files, so it is shown.
    return "left by a Spark read" if is_of_read(name) else None
