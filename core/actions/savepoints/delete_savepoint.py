"""`delete-savepoint`: delete a savepoint, with every file that only it keeps."""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions.change.change import Work
from paimark.core.actions.checks import required_integer
from paimark.core.actions.context import Context
from paimark.core.actions.garbage import deletion
from paimark.core.actions.garbage.deletion import (
    DeleteReference,
    DeletionTarget,
    dependents_refusals,
    seen,
    tags_named,
)
from paimark.core.actions.garbage.references import roots_and_guards
from paimark.core.actions.plan import Plan, Refusal
from paimark.core.actions.roots import savepoint_claim
from paimark.core.errors import NotFound
from paimark.core.table.layout import Root, TablePath, savepoint_tag
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.records import Savepoint, Tag, commit_key
from paimark.core.table.savepoints import SavepointManager


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `id`. Raises `NotFound`, also if only another engine's tag has the savepoint's name."""
    number = required_integer(arguments, "id")
    target, refusals = _find(context, table, number)
    return deletion.plan_deletion(context, target, f"savepoint {number}", {"savepoint_id": number}, refusals)


class DeleteSavepoint(DeleteReference):
    """Delete the savepoint that the plan names."""

    @classmethod
    def find(cls, work: Work) -> tuple[DeletionTarget, list[Refusal]]:
        return _find(work.context, work.table, int(work.plan.arguments["savepoint_id"] or 0))


def _find(context: Context, table: TablePath, number: int) -> tuple[DeletionTarget, list[Refusal]]:
    files, name = context.files, savepoint_tag(number)
    tags = tags_named(files, roots_and_guards(files, table), name)
    path = table.savepoint(number)
    try:
        savepoint = SavepointManager(files, table).savepoint(number)
        data = files.read(path)
    except NotFound as error:
        if not tags:
            raise
        holder = next(iter(tags)).label
        hint = f"{holder} has a tag {name}, which another engine made: delete it with that."
        raise NotFound(error.message, hint) from error
    tag = next((tag for tag, _ in tags.values()), None)
    home = next(iter(tags), None) or _root_of(context, savepoint, table)
    target = DeletionTarget(table, name, home, tuple(tags), tag, savepoint, seen(data, tags))
    refusals = _refusals(context, table, savepoint, tags)
    return target, refusals + dependents_refusals(files, target, f"savepoint {number}")


def _root_of(context: Context, savepoint: Savepoint, table: TablePath) -> Root:
    """The root of a savepoint without a tag; main if its own root is gone."""
    root = table.root(savepoint.branch)
    return root if context.files.names(root.schemas) else main_root(context.files, table)


def _refusals(
    context: Context, table: TablePath, savepoint: Savepoint, tags: dict[Root, tuple[Tag, bytes]]
) -> list[Refusal]:
    number, name = savepoint.id, savepoint_tag(savepoint.id)
    refusals = []
    if savepoint_claim.read_claim(context, table, number):
        refusals.append(Refusal(f"Savepoint {number} is still being made", "Wait, or run `paimark recover`."))
    for other in SavepointManager(context.files, table).all():
        if other.id != number and other.full_manifest_list == savepoint.full_manifest_list:
            refusals.append(
                Refusal(
                    f"Savepoints {number} and {other.id} name the same manifest list",
                    f"Compare {table.savepoint(number)} with {table.savepoint(other.id)}, and delete the one "
                    "that somebody copied or edited.",
                )
            )
    for root, (tag, _) in tags.items():
        if tag.id != savepoint.saved_snapshot_id:
            reason = f"Tag {name} of {root.label} holds snapshot {tag.id}, not {savepoint.saved_snapshot_id}"
            refusals.append(
                Refusal(reason, f"Delete {root.tag(name)}, which another engine made, with that engine.")
            )
    if len({commit_key(tag) for tag, _ in tags.values()}) > 1:
        roots = ", ".join(root.label for root in tags)
        refusals.append(
            Refusal(
                f"Tag {name} holds different snapshots in {roots}",
                f"Find out which of {', '.join(root.tag(name) for root in tags)} is of savepoint {number}, "
                "and delete the other one with the engine that made it.",
            )
        )
    return refusals
