"""The present main, and the version to which it goes back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from paimark.core.actions.change.change import Work
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Refusal
from paimark.core.actions.plan_wording import commits_between
from paimark.core.actions.rewrite.columns import with_columns_of
from paimark.core.actions.rewrite.rewrite_main import as_planned_or_gone_on
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, start_of
from paimark.core.errors import UsageError
from paimark.core.figures import age, minute
from paimark.core.storage.files import Files
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.names import is_safe_name
from paimark.core.table.records import TableSchema
from paimark.core.travel.version import Resolved, resolve_time, resolve_version

_TIME = re.compile(r"\d{4}-\d\d-\d\d.*", re.DOTALL)


@dataclass(frozen=True)
class RollbackTarget:
    """The present main and the version.

    `definition` has the columns again that main dropped, or made narrower, since; None if there are none.
    `misfits` are the reasons why some can't come back.
    """

    start: RewriteBase
    version: Resolved
    definition: TableSchema | None = None
    misfits: tuple[Refusal, ...] = ()

    @property
    def target(self) -> RewriteBase:
        """Main with the definition in which the rows are written."""
        return self.start.defined_as(self.definition)

    @property
    def fingerprint(self) -> str:
        return fingerprint(
            self.start.fingerprint, self.version.root.directory, self.version.snapshot.to_json()
        )

    @property
    def label(self) -> str:
        """`savepoint.3 (snapshot 5)`; only `snapshot.5` where that is the version's name."""
        name, number = self.version.name, self.version.snapshot.id
        return name if name == f"snapshot.{number}" else f"{name} (snapshot {number})"

    @property
    def dated(self) -> str:
        """`month-end (snapshot 11, 2026-11-22 17:12)`."""
        name, number = self.version.name, self.version.snapshot.id
        when = minute(self.version.snapshot.time_millis)
        return f"{name} ({when})" if name == f"snapshot.{number}" else f"{name} (snapshot {number}, {when})"

    @property
    def lasting(self) -> str:
        """The fingerprint of all but main's newest snapshot, which jobs may replace with a later one."""
        definition = (self.start.root.directory, self.start.schema_text)
        return fingerprint(*definition, self.version.root.directory, self.version.snapshot.to_json())


def lost_since(context: Context, target: RollbackTarget, whence: str) -> Item:
    """The loss of main's commits after the version; `whence` says of what they are gone then."""
    head, unit = target.start.head.snapshot, unit_of(target.start.schema)
    commits = commits_between(target.version.snapshot, head)
    if commits.number <= 0:
        text = f"main's rows of snapshot {head.id} ({age(head.time_millis, context.clock())}), {whence}"
        return Item("loses", text, "commits-leave-main", is_grave=True, newest=head.time_millis)
    said = commits.said("main's", unit, context.clock())
    return commits.item(f"{said}, {whence}", "commits-leave-main", unit)


def rollback_target(files: Files, table: TablePath, version: str) -> RollbackTarget:
    """`version` is a version of main, or a local date and time. Raises `NotFound` and `UsageError`."""
    start = start_of(files, table)
    resolved = version_at(files, start.root, version.strip())
    then = Lineage(files, resolved.root).schema(resolved.snapshot.schema_id)
    definition, misfits = with_columns_of(start, then)
    return RollbackTarget(start, resolved, definition, tuple(misfits))


def version_at(files: Files, root: Root, version: str) -> Resolved:
    """A version of the root, or a local date and time. Raises `NotFound` and `UsageError`."""
    is_tag = is_safe_name(version) and Lineage(files, root).has_tag(version)
    if is_tag or not _TIME.fullmatch(version):
        return resolve_version(files, root, version)
    try:
        moment = datetime.fromisoformat(version)
    except ValueError as error:
        raise UsageError(f"{version!r} is not a time", "Write it like 2026-05-01 12:00.") from error
    zone = moment.astimezone().tzinfo
    assert zone is not None
    # A time in whole seconds means the beginning of that second.
    return resolve_time(files, root, int(moment.timestamp() * 1000), version, zone=zone)


def target_as_planned(work: Work) -> RollbackTarget:
    """Find the target again. Raises `Refused` when the version changed, or main did not merely go on."""
    return as_planned_or_gone_on(
        work, lambda: rollback_target(work.files, work.table, str(work.plan.arguments["to"]))
    )
