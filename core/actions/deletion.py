"""Deleting a savepoint or a tag: what both do, and how an interrupted one goes on.

Up to the first file that goes it can be undone by doing nothing; from then on it is finished, the references
read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from core.actions import audit, claims, guards, journal
from core.actions.checks import (
    fingerprint,
    read_only_refusals,
    require_allowed,
    require_unmoved,
    undone_on_failure,
)
from core.actions.context import Context, Progress
from core.actions.dependents import dependents
from core.actions.features import feature_refusals
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.actions.reclaim import Freed, freed_by
from core.actions.references import Leaving, identity
from core.actions.removal import Removed, only_forward, remove, said, stranger
from core.errors import FileMissing, Refused
from core.storage.files import Files
from core.table.catalog import parse_table_name
from core.table.files import StoredFile
from core.table.layout import Root, TablePath
from core.table.main_branch import main_root
from core.table.records import Savepoint, Tag

# Names shown of many.
_SHOWN = 5


@dataclass(frozen=True)
class Target:
    """A savepoint with its tags, or a tag. `home` is the root it belongs to first.

    `tag` is None for a savepoint whose tag is gone; `roots` are those that hold the tag and lose it.
    """

    table: TablePath
    tag_name: str
    home: Root
    roots: tuple[Root, ...]
    tag: Tag | None
    savepoint: Savepoint | None
    fingerprint: str

    @property
    def paths(self) -> list[str]:
        """The files that go before any other, in this order."""
        own = [] if self.savepoint is None else [self.table.savepoint(self.savepoint.id)]
        return [*own, *(root.tag(self.tag_name) for root in self.roots)]

    @property
    def leaving(self) -> Leaving:
        """The target while its files are still there."""
        kept = self.savepoint.schema_id if self.savepoint else 0
        full_list = self.table.savepoint_file(self.savepoint.full_manifest_list) if self.savepoint else None
        return Leaving(
            roots=self.roots or (self.home,),
            schema_id=self.tag.schema_id if self.tag else kept,
            records=(self.tag,) if self.tag else (),
            paths=frozenset(self.paths),
            full_list=full_list,
        )

    def to_json(self) -> dict[str, Any]:
        """What the journal keeps of it."""
        return {
            "tagName": self.tag_name,
            "home": self.home.branch,
            "roots": [root.branch for root in self.roots],
            "tag": self.tag.as_written() if self.tag else None,
            "savepoint": self.savepoint.as_written() if self.savepoint else None,
        }

    @classmethod
    def from_journal(cls, table: TablePath, begun: journal.Journal) -> Target:
        """Raises `Corrupt`."""
        fields, source = begun.leaving or {}, table.journal
        tag, savepoint = fields.get("tag"), fields.get("savepoint")
        return cls(
            table=table,
            tag_name=str(fields.get("tagName")),
            home=table.root(fields.get("home")),
            roots=tuple(table.root(each) for each in fields.get("roots", ())),
            tag=Tag.from_json(msgspec.json.encode(tag), source) if tag else None,
            savepoint=Savepoint.from_json(msgspec.json.encode(savepoint), source) if savepoint else None,
            fingerprint="",
        )


def tags_named(files: Files, roots: Sequence[Root], name: str) -> dict[Root, tuple[Tag, bytes]]:
    """The tag of this name in each root that holds one. Raises `Corrupt`."""
    paths = [root.tag(name) for root in roots]
    return {
        root: (Tag.from_json(data, path), data)
        for root, path, data in zip(roots, paths, files.read_many(paths), strict=True)
        if data is not None
    }


def seen(savepoint: bytes, tags: dict[Root, tuple[Tag, bytes]]) -> str:
    """The fingerprint of what a deletion found."""
    parts: list[str | bytes] = [savepoint]
    for root, (_, data) in tags.items():
        parts += [root.directory, data]
    return fingerprint(*parts)


def dependents_refusals(files: Files, target: Target, what: str) -> list[Refusal]:
    """Why a tag of main stays: a branch each; `what` is what a person calls it. Raises `Corrupt`."""
    main, name = main_root(files, target.table), target.tag_name
    if target.tag is None or main not in target.roots:
        return []
    found = dependents(files, target.table, target.tag, [root.tag(name) for root in target.roots])
    hint = "Without it stock expiry on main can delete files of the branch: delete that first."
    return [Refusal(f"{each} {what}", hint) for each in found]


def plan_deletion(
    context: Context,
    action: str,
    target: Target,
    what: str,
    arguments: dict[str, Any],
    refusals: list[Refusal],
) -> Plan:
    """The plan; `what` is the target as a person calls it."""
    files, table = context.files, target.table
    refusals = [*read_only_refusals(context), *refusals, *feature_refusals(files, target.home)]
    if held := journal.refusal(context, table):
        refusals.append(held)
    freed, repair = what_goes(files, table, target.leaving, refusals)
    total = sum(each.size or 0 for each in freed.files)
    return Plan(
        action=action,
        table=table.full_name,
        summary=f"Delete {what} of {table.full_name}: {said(len(freed.files), 'file')}, {total} bytes",
        arguments=arguments,
        fingerprint=target.fingerprint,
        steps=(
            *(each for each in repair.steps if each.target != table.root().tag(target.tag_name)),
            *(Step("delete", path) for path in target.paths),
            Step("check", "every root", "what else needs its files, read again before any goes"),
            *freed_steps(freed),
        ),
        kept=kept_by(table, freed),
        warnings=() if target.tag else (f"{what} has no tag: files of it may be gone already",),
        refusals=tuple(refusals),
        freed_files=len(freed.files),
        freed_bytes=total,
    )


def what_goes(
    files: Files, table: TablePath, leaving: Leaving, refusals: list[Refusal]
) -> tuple[Freed, guards.Repair]:
    """The files, and the guards to be put right first. Why they can't go is added to the refusals."""
    freed, repair = Freed(), guards.repair_needed(files, table)
    try:
        freed = freed_by(files, table, replace(leaving, paths=leaving.paths | repair.paths))
    except Refused as error:
        refusals.append(Refusal(error.message, error.hint))
    return freed, repair


def freed_steps(freed: Freed) -> list[Step]:
    """A line for each kind of files that go."""
    groups = (("data file", freed.data), ("manifest", freed.manifests), ("manifest list", freed.lists))
    return [_freed_step(noun, group) for noun, group in groups if group]


def _freed_step(noun: str, group: Sequence[StoredFile]) -> Step:
    return Step(
        "delete", said(len(group), noun), "kept by nothing else", sum(each.size or 0 for each in group)
    )


def kept_by(table: TablePath, freed: Freed) -> tuple[str, ...]:
    """Who needs what is shared, and what else stays."""
    found = [stranger(table, path) for path in freed.strangers[:_SHOWN]]
    if (more := len(freed.strangers) - _SHOWN) > 0:
        found.append(f"{more} more files that are none of {table.full_name}")
    if freed.keepers:
        shown = freed.keepers[:_SHOWN]
        more = len(freed.keepers) - len(shown)
        also = f" and {more} more" if more else ""
        found.append(f"What is shared stays, for it is needed by {', '.join(shown)}{also}")
    return tuple(found)


def apply_deletion(
    context: Context,
    plan: Plan,
    what: str,
    find: Callable[[], tuple[Target, list[Refusal]]],
    progress: Progress,
) -> Outcome:
    """Delete the target. Raises `Refused` when it, or what needs it, is no longer as planned."""
    require_allowed(context, plan)
    started = context.clock()
    table, token = parse_table_name(plan.table), journal.new_token()
    target, _ = find()
    require_unmoved(table, plan, target.fingerprint)
    with running(token):
        hold = journal.take(context, table, plan, token, target.to_json())
        with undone_on_failure(table, lambda: journal.release(context, hold)):
            target, refusals = find()
            require_unmoved(table, plan, target.fingerprint)
            for refusal in refusals:
                raise Refused(refusal.reason, refusal.hint)
        with only_forward(table):
            _, removed = _go(context, hold, target, progress)
            journal.release(context, hold)
    outcome = Outcome(
        action=plan.action,
        table=plan.table,
        message=f"Deleted {what} of {plan.table}: {said(removed.files, 'file')} "
        f"({removed.size} bytes) went with it",
        result={**plan.arguments, "freed_files": removed.files, "freed_bytes": removed.size},
    )
    audit.record(context, plan, outcome, started, progress, before=what, after=f"no {what}")
    return outcome


def interrupted_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted deletion does."""
    target = Target.from_journal(table, begun)
    if _is_untouched(context, begun, target):
        return []
    return [
        *(Step("delete", path) for path in target.paths if context.files.exists(path)),
        Step("delete", "the files that only it kept", "as far as they are still there"),
    ]


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted deletion, or leave all as it was. The caller ends it."""
    target = Target.from_journal(hold.table, hold.journal)
    if _is_untouched(context, hold.journal, target):
        progress("nothing was deleted yet: undone")
        return
    _, removed = _go(context, hold, target, progress)
    progress(f"finished {hold.journal.action}: {said(removed.files, 'file')} went now")


def _is_untouched(context: Context, begun: journal.Journal, target: Target) -> bool:
    return not begun.steps and context.files.exists(target.paths[0])


def _go(
    context: Context, hold: journal.Hold, target: Target, progress: Progress
) -> tuple[journal.Hold, Removed]:
    journal.require_hold(context, hold)
    files = context.files
    if target.savepoint is not None:
        # The id is never given again, though its file goes.
        claims.raise_hint(files, target.table, target.savepoint.id)
        files.delete(target.table.savepoint(target.savepoint.id))
    for root in target.roots:
        if _is_still(files, root, target):
            files.delete(root.tag(target.tag_name))
    # Not before: it would guard what is to go.
    guards.repair_held(files, target.table)
    progress(f"deleted {' and '.join(target.paths)}")
    return remove(context, hold, replace(target.leaving, paths=frozenset()), progress)


def _is_still(files: Files, root: Root, target: Target) -> bool:
    """Whether the tag is the one that was to go, and not a later one of its name."""
    path = root.tag(target.tag_name)
    try:
        found = Tag.from_json(files.read(path), path)
    except FileMissing:
        return False
    return target.tag is not None and identity(found) == identity(target.tag)
