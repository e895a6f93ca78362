"""`merge-branch`: main, or another branch, gets the commits of a branch since their fork, or the last merge.

If the target has not moved, it goes on along the branch; else the rows are merged and written as one commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paimark.core.actions.checks import integer_argument, required_text, text_argument
from paimark.core.actions.context import Context
from paimark.core.actions.merge.base import place_of
from paimark.core.actions.merge.conflicts import chosen, conflicting
from paimark.core.actions.merge.divergence import Divergence, find_divergence
from paimark.core.actions.merge.fast_forward import new_tags
from paimark.core.actions.merge.resolution import Resolution, undecided
from paimark.core.actions.merge.rows import merged_rows, result_of, rewriting
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.plan_wording import may_be_overwritten, streams_skip
from paimark.core.actions.rewrite.columns import columns_change, columns_lost, lost_columns
from paimark.core.actions.rewrite.spark_rewrite import PlannedSafety, QueryRows, planned_safety, version_of
from paimark.core.actions.row_checks.checking import CheckedRows, Verdict, rows_at, verdict
from paimark.core.errors import FileMissing, UsageError
from paimark.core.figures import counted
from paimark.core.figures import size as file_size
from paimark.core.storage.files import Files
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.definition.row_changes import takes_any_change
from paimark.core.table.layout import TablePath, merge_tag
from paimark.core.table.manifests.files import size_of
from paimark.core.table.records import point_of
from paimark.core.text import lowered
from paimark.core.working_directory import absolute

__all__ = ["conflicting", "plan"]

# The arguments with which a merge by choices is redone.
_REQUEST = ("name", "into", "resolve", "resolve_digest", "up_to", "check")


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name` of the branch; `into`, another branch as the target in place of main; `up_to`, the
    last snapshot to merge; `check`, a file of checks of the rows that the target will have; `on_conflict`,
    `fail` unless `branch` or `main`, the target, wins; `resolve`, a file of choices, whose digest a redo
    gives as `resolve_digest`; `drop_columns`, to let the target lose columns too that the branch dropped, or
    made narrower.
    """
    name = required_text(arguments, "name")
    choice = text_argument(arguments, "on_conflict") or "fail"
    resolve = text_argument(arguments, "resolve") or None
    if resolve is not None and choice != "fail":
        raise UsageError(f"resolve decides every key in conflict, so on_conflict can't be {choice}")
    up_to = integer_argument(arguments, "up_to")
    divergence = find_divergence(context.files, table, name, text_argument(arguments, "into"), up_to=up_to)
    main, place = divergence.start.head.snapshot, divergence.start.place
    given: dict[str, str | int | bool | None] = {"name": name, "on_conflict": choice, "kind": divergence.kind}
    if up_to is not None:
        given["up_to"] = up_to
    if not divergence.start.is_main:
        given["into"] = divergence.start.root.label
    if divergence.kind == "nothing":
        return Plan(
            headline=f"{place} of {table.full_name} has all of branch {name}{_up_to(up_to)} already.",
            arguments=given,
            fingerprint=divergence.fingerprint,
            empty=True,
        )
    resolution, has_moved = None, list[Refusal]()
    if resolve is not None:
        path, digest = (
            absolute(os.path.expanduser(resolve)),
            text_argument(arguments, "resolve_digest"),
        )
        divergence, resolution, has_moved = chosen(context, divergence, path, digest)
        given |= {"resolve": path, "resolve_digest": resolution.digest, "resolved": _resolved(resolution)}
    safety = planned_safety(context.files, divergence.start) if divergence.start.is_main else None
    lost = lost_columns(divergence.start.schema, divergence.target.schema)
    drops = arguments.get("drop_columns") is True
    if drops and not lost:
        raise UsageError(f"Branch {name} of {table.full_name} dropped no column", "Leave --drop-columns out.")
    steps = list[Step]() if safety is None else [*safety.steps]
    steps += [
        Step("copy", divergence.start.root.schema(number), f"of {name}")
        for number, _ in divergence.new_schemas
    ]
    further, more = (
        forward(context, divergence) if divergence.kind == "fast-forward" else rewriting(context, divergence)
    )
    refusals = (
        *divergence.schema_refusals,
        *([] if drops else _would_lose(divergence, lost)),
        *more,
        *has_moved,
        *undecided(resolution),
    )
    checked = Verdict()
    if not refusals:
        checked = verdict(
            context, table, arguments, lambda: merged_state(context, divergence, choice, resolution)
        )
        given |= checked.arguments
    return Plan(
        change=divergence.kind if divergence.kind == "fast-forward" else "",
        headline=_headline(context.files, table, divergence, up_to),
        arguments=given,
        fingerprint=divergence.fingerprint,
        lasting=divergence.lasting,
        main_at=point_of(main),
        steps=(*steps, *further, *([] if resolution is None else [_resolving(resolution)])),
        checks=checked.results,
        items=(
            *checked.items,
            *_lost(divergence, choice, resolution),
            *columns_lost(divergence.start, divergence.target.schema),
            *([] if checked.results else _unknown(divergence, choice)),
            *may_be_overwritten(context.files, divergence.start.root, context.clock()),
            *_affected(context, divergence),
            Item("keeps", f"{_kept(divergence, safety)}; {place_of(context.files, divergence.branch.root)}"),
        ),
        phrase=name,
        cost=_cost(context, divergence),
        refusals=(*refusals, *checked.refusals),
        undo=table.undo,
        until=f"{place} has a new commit",
        request=_request(given, drops=drops) if resolution else checked.request(arguments),
    )


def _request(given: Mapping[str, str | int | bool | None], *, drops: bool) -> dict[str, Any]:
    """The arguments with which a merge by choices is redone."""
    return {name: each for name, each in given.items() if name in _REQUEST} | (
        {"drop_columns": True} if drops else {}
    )


def _would_lose(divergence: Divergence, lost: Sequence[str]) -> list[Refusal]:
    if not lost:
        return []
    name, table, place = (
        divergence.branch.root.label,
        divergence.start.root.table.full_name,
        divergence.start.place,
    )
    return [
        Refusal(
            f"{place} of {table} would lose {' and '.join(lost)}, as branch {name} did",
            f"With --drop-columns {place} loses that too, and undo brings it back.",
            "columns-would-go",
        )
    ]


def _resolving(resolution: Resolution) -> Step:
    return Step(
        "check", resolution.path, f"what was chosen for {counted(resolution.keys, 'key')} in conflict"
    )


def forward(context: Context, divergence: Divergence) -> tuple[list[Step], list[Refusal]]:
    """The steps of a fast-forward, and what is in its way."""
    main, name = divergence.start.root, divergence.branch.root.label
    head = divergence.branch.snapshot
    tags, clashes = new_tags(context.files, divergence)
    steps = [
        Step(
            "create",
            main.tag(merge_tag(name, head.id)),
            f"pins what {divergence.start.place} and {name} share",
        ),
        *(
            Step("copy", main.snapshot(number), f"of {name}")
            for number in range(divergence.base.id + 1, head.id + 1)
        ),
        *(Step("copy", main.tag(tag), f"of {name}") for tag in tags),
    ]
    refusals = []
    if clashes:
        named = ", ".join(clashes)
        place = divergence.start.place
        reason = f"{place} and branch {name} have tags of one name at different snapshots: {named}"
        refusals.append(Refusal(reason, "Delete them on one side first."))
    return steps, refusals


def merged_state(
    context: Context,
    divergence: Divergence,
    choice: str,
    resolution: Resolution | None,
    rows: QueryRows | None = None,
) -> CheckedRows:
    """The rows that the target has after the merge: of a fast-forward, those of the branch. Raises `Refused`.

    `rows` are those that the merge writes, if they are known already.
    """
    name, head = divergence.branch.root.label, divergence.branch.snapshot
    if divergence.kind == "fast-forward":
        label = f"snapshot {head.id} of branch {name}"
        main = version_of(divergence.start.root, divergence.start.head.snapshot)
        return rows_at(label, divergence.branch.root, head, divergence.target.schema, main)
    if rows is None:
        rows = merged_rows(context, divergence, choice, context.progress, resolution)
    label = f"{divergence.start.place} with branch {name} up to snapshot {head.id}"
    versions, common = result_of(divergence, rows)
    return CheckedRows(
        label, divergence.start.root.table, divergence.target.schema, versions, common, texts=rows.texts
    )


def _up_to(number: int | None) -> str:
    return "" if number is None else f" up to snapshot {number}"


def _name_of(divergence: Divergence) -> str:
    return "main" if divergence.start.is_main else divergence.start.root.label


def _kept(divergence: Divergence, safety: PlannedSafety | None) -> str:
    if safety is not None:
        return f"the current main as savepoint {safety.id}"
    return f"{divergence.start.place} until now, as its snapshot {divergence.start.head.snapshot.id}"


def _headline(files: Files, table: TablePath, divergence: Divergence, up_to: int | None) -> str:
    name = f"{place_of(files, divergence.branch.root)}{_up_to(up_to)}"
    count = counted(divergence.branch.snapshot.id - divergence.base.id, "commit")
    if divergence.base_root != divergence.branch.root:
        # The base is a state that the branch has from others, whose ids count other commits.
        return f"Merge what {name} changed into {divergence.start.place} of {table.full_name}."
    place = divergence.start.place
    if divergence.kind == "fast-forward":
        return f"Move {place} of {table.full_name} on along {name}, by {count}."
    return f"Merge {count} of {name} into {place} of {table.full_name}."


def _resolved(resolution: Resolution) -> str:
    return f"Keys in conflict: {resolution.description}"


def _lost(divergence: Divergence, choice: str, resolution: Resolution | None) -> list[Item]:
    """Whose rows give way where both sides changed one key."""
    name, target = divergence.branch.root.label, _name_of(divergence)
    if divergence.kind == "append" and choice == "branch":
        text = f"{target}'s rows that {name} removed, by an overwrite of the whole table (--on-conflict)"
        return [Item("loses", text, "rows-replaced", is_grave=True)]
    if divergence.kind != "keyed":
        return []
    if resolution is not None:
        text = f"where both changed one key, what was chosen decides: {resolution.description}"
        return [Item("loses", text, "rows-replaced", is_grave=True, count=resolution.keys, unit="keys")]
    if choice == "fail":
        return []
    winner, loser = (name, target) if choice == "branch" else (target, name)
    text = (
        f"{loser}'s rows where both changed one key: {winner} wins (--on-conflict). How many: not counted "
        "yet, `--conflicts` lists them"
    )
    return [Item("loses", text, "rows-replaced", is_grave=True)]


def _unknown(divergence: Divergence, choice: str) -> Iterator[Item]:
    for each in divergence.warnings:
        yield Item("unknown", lowered(each), "history-unclear")
    if divergence.choices is not None or choice != "fail":
        return
    if divergence.kind == "keyed":
        text = (
            "whether both changed one key. If so, nothing is written: choose with --on-conflict branch or "
            "main, or one by one with --resolve"
        )
        yield Item("unknown", text, "conflicts-unknown")
    elif divergence.kind == "append":
        text = "whether the branch removed rows. If so, nothing is written, but with --on-conflict branch"
        yield Item("unknown", text, "conflicts-unknown")


def _affected(context: Context, divergence: Divergence) -> Iterator[Item]:
    name, target = divergence.branch.root.label, _name_of(divergence)
    # Main keeps a tag of the last one, which every expiry heeds. A tag of another branch only Paimark heeds.
    shared = divergence.branch.snapshot.id + (0 if divergence.start.is_main else 1)
    between = range(divergence.base.id + 1, shared)
    if divergence.kind == "keyed" and not takes_any_change(divergence.target.schema):
        yield streams_skip(context.files, divergence.start.root)
    if divergence.kind == "fast-forward" and between:
        first, last = between[0], between[-1]
        need = f"snapshot {last} of the other needs"
        if first < last:
            need = f"snapshots {first} to {last} of the other need"
        text = (
            f"an expiry on {target} or {name}: both share these commits, and it takes files that {need}. "
            f"Tag on {name} what is to stay"
        )
        yield Item("affects", text, "shared-commits")
    if divergence.new_schemas:
        changes = columns_change(divergence.start, divergence.target.schema)
        definition = Item("affects", f"{target}'s definition: it follows that of {name}", "columns")
        yield from changes or [definition]


def _cost(context: Context, divergence: Divergence) -> str:
    if divergence.kind == "fast-forward":
        return "no data file"
    head, unit = divergence.branch.snapshot, unit_of(divergence.start.schema)
    try:
        records, size = size_of(context.files, divergence.start.root.table, head)
    except FileMissing:
        return "Spark compares both sides, one commit"
    return f"Spark compares {counted(records, unit)} ({file_size(size)}), one commit"
