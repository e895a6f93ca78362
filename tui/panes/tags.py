"""Tab 4: the tags of a branch, including those of savepoints, without those by which Paimark reads."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.figures import counted
from paimark.core.storage.files import read_if_there
from paimark.core.table.layout import Root
from paimark.core.table.lineage.protected import reasons
from paimark.core.table.read_tags import is_of_read, is_read_tag, kept_until_ms
from paimark.core.table.records import Tag
from paimark.tui.named_keys import key
from paimark.tui.panes.pane import PaneRows
from paimark.tui.panes.record_pane import COUNTED, RecordPane
from paimark.tui.panes.snapshots import snapshot_facts, tags_fingerprint
from paimark.tui.records.sources import GridColumn, RecordKey, Records, commit_of, values_by
from paimark.tui.session import Opened
from paimark.tui.widgets.detail_strip import Detail, Fact, described
from paimark.tui.work.background import ThreadReport

# The mark of what no action lets go: its record has the reason.
PROTECTED = "protected"


class TagLine(NamedTuple):
    """`protected` is why no action may delete it."""

    name: str
    tag: Tag
    protected: str

    @property
    def kept_until(self) -> int | None:
        return kept_until_ms(self.tag)

    @property
    def mark(self) -> str | None:
        if self.protected:
            return PROTECTED
        # Spark leaves such a tag if a batch read is cut off. It holds files, so it is shown.
        return "left by a Spark read" if is_of_read(self.name) else None

    def key(self, root: Root) -> RecordKey:
        return RecordKey(root, "tag", self.name, commit_of(self.tag))


class TagRows(Records[TagLine]):
    """`of_reads` is the number of tags that are not shown: they go when the statement that reads ends."""

    def __init__(self, root: Root, tags: Sequence[TagLine], of_reads: int) -> None:
        super().__init__(tags, values_by(TagsPane.COLUMNS), lambda line: line.key(root))
        self.of_reads = of_reads


class TagsPane(RecordPane[TagRows]):
    """The tags, that of the newest snapshot first."""

    TITLE = "Tags"
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = (
        GridColumn("tag", style="accent", of=lambda line: line.name),
        GridColumn("snapshot", "id", of=lambda line: line.tag.id),
        GridColumn("committed", "time", of=lambda line: line.tag.time_millis),
        GridColumn("age", "age", "quiet", of=lambda line: line.tag.time_millis),
        GridColumn(COUNTED, "number", of=lambda line: line.tag.total_record_count),
        GridColumn("schema", "id", "quiet", of=lambda line: line.tag.schema_id),
        GridColumn("kept until", "time", "quiet", of=lambda line: line.kept_until),
        GridColumn("", style="warn", of=lambda line: line.mark),
    )

    def empty_note(self) -> str:
        return f"No tags. {key('act.tag')} on a snapshot makes one."

    def read(self, opened: Opened, report: ThreadReport[PaneRows[TagRows]]) -> None:
        fingerprint = self.fingerprint(opened)
        every = opened.lineage.tags()
        left_out = tuple(opened.lineage.unreadable.values())
        why = reasons(self.session.files, opened.root, "tag")
        tags = [TagLine(name, tag, why.get(name, "")) for name, tag in every if not is_read_tag(name)]
        tags.sort(key=lambda line: (-line.tag.id, line.name))
        rows = TagRows(opened.root, tags, len(every) - len(tags))
        report(PaneRows(opened, rows, fingerprint, left_out=left_out))

    def fingerprint(self, opened: Opened) -> Hashable:
        protected = read_if_there(self.session.files, opened.root.table.protected)
        return opened.root, tags_fingerprint(opened), protected

    @property
    def position(self) -> str:
        of_reads = 0 if self.loaded is None else self.loaded.rows.of_reads
        reads = f"+ {counted(of_reads, 'tag')} of reads" if of_reads else ""
        return "  ".join(part for part in (super().position, reads) if part)

    def detail(self, index: int) -> Detail:
        line = self.rows.records[index]
        now_ms, until = int(time.time() * 1000), line.kept_until
        facts = [
            Fact.id("snapshot", line.tag.id),
            Fact(PROTECTED, line.protected),
            *([] if until is None else [Fact.moment("kept until", until, now_ms)]),
            *snapshot_facts(line.tag, now_ms, self.counted),
        ]
        return described(f"tag {line.name}", facts)

    def version(self, index: int) -> RowVersion | None:
        name, tag, _ = self.rows.records[index]
        return RowVersion(version=name, tag=name, snapshot_id=tag.id, commit_time=tag.time_millis)
