"""What plans say alike: commits and versions that are lost, who else uses the table, its records.

A reader of a plan knows a table by its rows, names and times. So nothing here names a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from paimark.core.actions.plan import Item
from paimark.core.errors import Corrupt, NotFound, Refused
from paimark.core.figures import MOST_NAMES, age, counted, listed, minute
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.storage.open import keeps_from_stock
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.layout import CONSUMER_PREFIX, SAVEPOINT_TAG_PREFIX, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import lost_newest
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.records import COMMIT_USER, STREAM_USER, Snapshot, query_of
from paimark.core.text import lowered

NEVER = "this can't be taken back"
# The consumer that a person makes to let expiry wait.
_HOLDING = "hold"
# How many of the newest commits are looked at for other engines.
_LOOKED_AT = 20
_UUID = re.compile(r"[-_]?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ENGINES = {"python": "pypaimon", "java": "Paimon for Java"}


def place_of(root: Root, *, is_main: bool) -> str:
    """`main`, or `branch fix`."""
    return "main" if is_main else f"branch {root.label}"


def unit_in(files: Files, root: Root) -> str:
    """What metadata counts in a root, by its newest schema."""
    return unit_of(Lineage(files, root).latest_schema() if files.names(root.schemas) else None)


def final(otherwise: str = "") -> Item:
    """There is no way back; `otherwise` says what would leave one."""
    return Item("final", f"{NEVER}. {otherwise}" if otherwise else NEVER, "final", is_grave=True)


def go(count: int) -> str:
    """The verb: one file goes, two files go."""
    return "goes" if count == 1 else "go"


def nothing_lost(why: str = "") -> Item:
    """Where somebody would fear a loss, and there is none."""
    return Item("loses", f"nothing: {why}" if why else "nothing")


def otherwise(what: str) -> Item:
    """An interrupted change comes to something else than it was to, because of what others did since."""
    return Item("not", what, "recovers-otherwise")


def name_lost(name: str, why: str) -> Item:
    """What has this name stays, but is not found by it."""
    return Item("loses", f"the name only: {why}", "name-gone", names=(name,))


def end_unknown(files: Files, root: Root) -> list[Item]:
    """That a root has lost its newest snapshots: what is said of its newest one is of an earlier one."""
    lost = lost_newest(files, root)
    return [] if lost is None else [Item("unknown", lowered(lost.reason), "history-unclear")]


class Commits(NamedTuple):
    """Commits of one root since a snapshot: their number, the records that they added, the newest's time.

    `added` is None if the counts do not say it, or nothing was added.
    """

    number: int
    since: int
    added: int | None
    newest: int

    def said(self, whose: str, unit: str, now: int) -> str:
        """`main's 7 commits since snapshot 11 (4,200 records, newest 2 h ago)`."""
        facts = [counted(self.added, unit)] if self.added else []
        facts.append(f"newest {age(self.newest, now)}" if self.number > 1 else age(self.newest, now))
        return f"{whose} {counted(self.number, 'commit')} since snapshot {self.since} ({', '.join(facts)})"

    def item(self, text: str, code: str, unit: str) -> Item:
        """A loss of these commits."""
        return Item(
            "loses",
            text,
            code,
            is_grave=True,
            count=self.number,
            unit="commits",
            newest=self.newest,
            names=() if self.added is None else (counted(self.added, unit),),
        )


def commits_between(start: Snapshot, end: Snapshot) -> Commits:
    """The commits after `start` up to `end`, of one history."""
    before, after = start.total_record_count, end.total_record_count
    added = after - before if before is not None and after is not None and after > before else None
    return Commits(end.id - start.id, start.id, added, end.time_millis)


def version_of(snapshot: Snapshot, unit: str) -> str:
    """`the version of 2026-11-15 11:08 (snapshot 2, 6,600 records)`."""
    total = snapshot.total_record_count
    records = "" if total is None else f", {counted(total, unit)}"
    return f"the version of {minute(snapshot.time_millis)} (snapshot {snapshot.id}{records})"


class Writer(NamedTuple):
    """An engine other than Paimark that committed, or a stream of Paimark.

    `engine` with its version, the job's name, epoch ms.
    """

    engine: str
    job: str
    time: int

    def said(self, table: str, now: int) -> str:
        """`pypaimon 2.1.0 wrote to shop.orders 2 h ago (order-load)`."""
        return f"{self.engine} wrote to {table} {age(self.time, now)}" + (
            f" ({self.job})" if self.job else ""
        )

    def briefly(self, now: int) -> str:
        """`pypaimon 2.1.0 did 2 h ago: order-load`."""
        return f"{self.engine} did {age(self.time, now)}" + (f": {self.job}" if self.job else "")


def stock_writer(files: Files, root: Root) -> Writer | None:
    """The newest commit by another engine, among the latest; None without one, or if they can't be read."""
    return _newest_writer(files, root, lambda user: not user.startswith(COMMIT_USER))


def job_that_writes(files: Files, root: Root, after: int = 0) -> Writer | None:
    """As `stock_writer`, also a stream of Paimark: what goes on writing while nobody looks.

    Commits up to the snapshot `after` do not count: a branch was made with them.
    """
    return _newest_writer(
        files, root, lambda user: user.startswith(STREAM_USER) or not user.startswith(COMMIT_USER), after
    )


def outrun(files: Files, root: Root, message: str, *, snapshots_gone: bool = False) -> Refused:
    """The error of a change that others came before: who they are, and what to do.

    With `snapshots_gone` an expiry took snapshots that it needed.
    """
    if snapshots_gone:
        name = f"{root.label} of {root.table.full_name}"
        return Refused(
            f"Snapshots of {name} expired while it was changed",
            f"Nothing was committed. {holding_expiry(files, root)}",
        )
    writer = job_that_writes(files, root)
    if writer is None:
        return Refused(message, "Nothing was committed: make a new plan.")
    who = writer.job or writer.engine
    return Refused(message, f"Nothing was committed. {who} writes to it: try again, or pause that meanwhile.")


def holding_expiry(files: Files, root: Root) -> str:
    """How a person makes the expiry of a root wait: running jobs of stock engines look for it each time."""
    on = [] if root == main_root(files, root.table) else ["--branch", root.label]
    words = ["paimark", "reset-consumer", root.table.full_name, "--name", _HOLDING]
    begin, end = (shell_line([*words, *more, *on]) for more in (("--snapshot", "1"), ()))
    return f"Let expiry wait meanwhile, by `{begin}`, and end that by `{end}`."


def may_be_overwritten(files: Files, root: Root, now: int) -> list[Item]:
    """Before a commit: that nothing protects it from another engine that was seen writing to the root."""
    if keeps_from_stock(files.uri):
        return []
    writer = stock_writer(files, root)
    if writer is None:
        return []
    name = root.table.full_name
    text = (
        f"{writer.said(name, now)}. In this store nothing keeps its next commit from overwriting this one: "
        f"let it rest meanwhile. `paimark verify {root.table.word}` tells afterwards"
    )
    return [Item("affects", text, "stock-overwrites", newest=writer.time)]


def _newest_writer(files: Files, root: Root, counts: Callable[[str], bool], after: int = 0) -> Writer | None:
    lineage = Lineage(files, root)
    try:
        for row in lineage.newest(_LOOKED_AT):
            if row.snapshot_id > after and counts(row.commit_user):
                return _writer_of(lineage.snapshot(row.snapshot_id))
    except (Corrupt, NotFound):
        # Whoever repairs a damaged table plans, too.
        return None
    return None


def _writer_of(commit: Snapshot) -> Writer:
    query = query_of(commit.commit_user)
    is_stream = query != commit.commit_user
    engine = "a Paimark stream" if is_stream else engine_of(commit.writer_version)
    return Writer(engine, job_of(query), commit.time_millis)


def engine_of(writer_version: str | None) -> str:
    """`pypaimon 2.1.0` for `python-2.1.0-<commit>`; `an engine` for one that does not say what it is."""
    language, _, rest = (writer_version or "").partition("-")
    version = rest.partition("-")[0]
    known = _ENGINES.get(language)
    return f"{known} {version}" if known and version else "an engine"


def job_of(commit_user: str) -> str:
    """A commit user without its UUID: `order-load`; empty if it is nothing else."""
    return _UUID.sub("", commit_user)[:40]


def streams_skip(files: Files, root: Root) -> Item:
    """Who reads a root as a stream, and does not see rows that an overwrite changes."""
    names = consumers_of(files, root)
    known = f"consumer {listed(names)}" if 0 < len(names) <= MOST_NAMES else f"{len(names)} consumers"
    text = (
        f"streaming readers of {root.label} skip an overwrite; {known if names else 'no consumer'} is known"
    )
    return Item("affects", text, "streaming-readers", count=len(names), names=tuple(names))


def streaming_readers(files: Files, roots: Iterable[Root]) -> list[Item]:
    """Who reads these roots as a stream, and notices that they go."""
    names = sorted({name for root in roots for name in consumers_of(files, root)})
    if not names:
        return []
    text = f"streaming readers: {listed(names, 'consumer')}"
    return [Item("affects", text, "streaming-readers", count=len(names), names=tuple(names))]


def consumers_of(files: Files, root: Root) -> list[str]:
    """The names of the registered readers of a root."""
    names = sorted(name for name in files.names(root.consumers) if name.startswith(CONSUMER_PREFIX))
    return [each.removeprefix(CONSUMER_PREFIX) for each in names]


def savepoints_said(numbers: Sequence[str]) -> str:
    """`savepoint 1`, `savepoints 1 and 2`, `5 savepoints`."""
    if len(numbers) == 1:
        return f"savepoint {numbers[0]}"
    text = listed(numbers, "savepoint")
    return text if text.endswith("savepoints") else f"savepoints {text}"


def tags_said(names: Sequence[str]) -> str:
    """`savepoint 1, tag a`, `tags a and b`, `5 tags`."""
    saved = [
        each.removeprefix(SAVEPOINT_TAG_PREFIX) for each in names if each.startswith(SAVEPOINT_TAG_PREFIX)
    ]
    others = [each for each in names if not each.startswith(SAVEPOINT_TAG_PREFIX)]
    parts = [savepoints_said(saved)] if saved else []
    if len(others) == 1:
        parts.append(f"tag {others[0]}")
    elif others:
        text = listed(others, "tag")
        parts.append(text if text.endswith(" tags") else f"tags {text}")
    return ", ".join(parts)
