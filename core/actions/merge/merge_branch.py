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
from paimark.core.actions.merge.fast_forward import new_tags
from paimark.core.actions.merge.resolution import Resolution, undecided
from paimark.core.actions.merge.rows import merged_rows, result_of, rewriting
from paimark.core.actions.merge.survey import Survey, survey_merge
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.rewrite.columns import columns_change, columns_lost, lost_columns
from paimark.core.actions.rewrite.spark_rewrite import QueryRows, version_of
from paimark.core.actions.roots import savepoint_claim
from paimark.core.actions.row_checks.checking import CheckedRows, Verdict, rows_at, verdict
from paimark.core.actions.said import may_be_overwritten, streams_skip
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
    survey = survey_merge(context.files, table, name, text_argument(arguments, "into"), up_to=up_to)
    main, place = survey.start.head.snapshot, survey.start.place
    given: dict[str, str | int | bool | None] = {"name": name, "on_conflict": choice, "kind": survey.kind}
    if up_to is not None:
        given["up_to"] = up_to
    if not survey.start.is_main:
        given["into"] = survey.start.root.label
    if survey.kind == "nothing":
        return Plan(
            headline=f"{place} of {table.full_name} has all of branch {name} already{_up_to(up_to)}.",
            arguments=given,
            fingerprint=survey.fingerprint,
            empty=True,
        )
    resolution, has_moved = None, list[Refusal]()
    if resolve is not None:
        path, digest = (
            absolute(os.path.expanduser(resolve)),
            text_argument(arguments, "resolve_digest"),
        )
        survey, resolution, has_moved = chosen(context, survey, path, digest)
        given |= {"resolve": path, "resolve_digest": resolution.digest, "resolved": _resolved(resolution)}
    safety = savepoint_claim.next_id(context.files, table) if survey.start.is_main else None
    lost = lost_columns(survey.start.schema, survey.target.schema)
    drops = arguments.get("drop_columns") is True
    if drops and not lost:
        raise UsageError(f"Branch {name} of {table.full_name} dropped no column", "Leave --drop-columns out.")
    steps = list[Step]()
    if safety is not None:
        kept = f"keeps snapshot {main.id} of main, as it is now"
        steps.append(Step("create", table.savepoint(safety), kept))
    steps += [
        Step("copy", survey.start.root.schema(number), f"of {name}") for number, _ in survey.new_schemas
    ]
    further, more = forward(context, survey) if survey.kind == "fast-forward" else rewriting(context, survey)
    refusals = (
        *survey.schema_refusals,
        *([] if drops else _would_lose(survey, lost)),
        *more,
        *has_moved,
        *undecided(resolution),
    )
    checked = Verdict()
    if not refusals:
        checked = verdict(
            context, table, arguments, lambda: merged_state(context, survey, choice, resolution)
        )
        given |= checked.arguments
    return Plan(
        change=survey.kind if survey.kind == "fast-forward" else "",
        headline=_headline(context.files, table, survey, up_to),
        arguments=given,
        fingerprint=survey.fingerprint,
        lasting=survey.lasting,
        main_at=point_of(main),
        steps=(*steps, *further, *([] if resolution is None else [_resolving(resolution)])),
        checks=checked.results,
        items=(
            *checked.items,
            *_lost(survey, choice, resolution),
            *columns_lost(survey.start, survey.target.schema),
            *([] if checked.results else _unknown(survey, choice)),
            *may_be_overwritten(context.files, survey.start.root, context.clock()),
            *_affected(context, survey),
            Item("keeps", f"{_kept(survey, safety)}; {place_of(context.files, survey.branch.root)}"),
        ),
        phrase=name,
        cost=_cost(context, survey),
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


def _would_lose(survey: Survey, lost: Sequence[str]) -> list[Refusal]:
    if not lost:
        return []
    name, table, place = survey.branch.root.label, survey.start.root.table.full_name, survey.start.place
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


def forward(context: Context, survey: Survey) -> tuple[list[Step], list[Refusal]]:
    """The steps of a fast-forward, and what is in its way."""
    main, name = survey.start.root, survey.branch.root.label
    head = survey.branch.snapshot
    tags, clashes = new_tags(context.files, survey)
    steps = [
        Step(
            "create", main.tag(merge_tag(name, head.id)), f"pins what {survey.start.place} and {name} share"
        ),
        *(
            Step("copy", main.snapshot(number), f"of {name}")
            for number in range(survey.base.id + 1, head.id + 1)
        ),
        *(Step("copy", main.tag(tag), f"of {name}") for tag in tags),
    ]
    refusals = []
    if clashes:
        named = ", ".join(clashes)
        reason = (
            f"{survey.start.place} and branch {name} have tags of one name at different snapshots: {named}"
        )
        refusals.append(Refusal(reason, "Delete them on one side first."))
    return steps, refusals


def merged_state(
    context: Context,
    survey: Survey,
    choice: str,
    resolution: Resolution | None,
    rows: QueryRows | None = None,
) -> CheckedRows:
    """The rows that the target has after the merge: of a fast-forward, those of the branch. Raises `Refused`.

    `rows` are those that the merge writes, if they are known already.
    """
    name, head = survey.branch.root.label, survey.branch.snapshot
    if survey.kind == "fast-forward":
        label = f"snapshot {head.id} of branch {name}"
        main = version_of(survey.start.root, survey.start.head.snapshot)
        return rows_at(label, survey.branch.root, head, survey.target.schema, main)
    if rows is None:
        rows = merged_rows(context, survey, choice, context.progress, resolution)
    label = f"{survey.start.place} with branch {name} up to snapshot {head.id}"
    versions, common = result_of(survey, rows)
    return CheckedRows(
        label, survey.start.root.table, survey.target.schema, versions, common, texts=rows.texts
    )


def _up_to(number: int | None) -> str:
    return "" if number is None else f" up to snapshot {number}"


def _name_of(survey: Survey) -> str:
    return "main" if survey.start.is_main else survey.start.root.label


def _kept(survey: Survey, safety: int | None) -> str:
    if safety is not None:
        return f"the current main as savepoint {safety}"
    return f"{survey.start.place} until now, as its snapshot {survey.start.head.snapshot.id}"


def _headline(files: Files, table: TablePath, survey: Survey, up_to: int | None) -> str:
    name = f"{place_of(files, survey.branch.root)}{_up_to(up_to)}"
    count = counted(survey.branch.snapshot.id - survey.base.id, "commit")
    if survey.base_root != survey.branch.root:
        # The base is a state that the branch has from others, whose ids count other commits.
        return f"Merge what {name} changed into {survey.start.place} of {table.full_name}."
    place = survey.start.place
    if survey.kind == "fast-forward":
        return f"Move {place} of {table.full_name} on along {name}, by {count}."
    return f"Merge {count} of {name} into {place} of {table.full_name}."


def _resolved(resolution: Resolution) -> str:
    return f"Keys in conflict: {resolution.description}"


def _lost(survey: Survey, choice: str, resolution: Resolution | None) -> list[Item]:
    """Whose rows give way where both sides changed one key."""
    name, target = survey.branch.root.label, _name_of(survey)
    if survey.kind == "append" and choice == "branch":
        text = f"{target}'s rows that {name} removed, by an overwrite of the whole table (--on-conflict)"
        return [Item("loses", text, "rows-replaced", is_grave=True)]
    if survey.kind != "keyed":
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


def _unknown(survey: Survey, choice: str) -> Iterator[Item]:
    for each in survey.warnings:
        yield Item("unknown", lowered(each), "history-unclear")
    if survey.choices is not None or choice != "fail":
        return
    if survey.kind == "keyed":
        text = (
            "whether both changed one key. If so, nothing is written: choose with --on-conflict branch or "
            "main, or one by one with --resolve"
        )
        yield Item("unknown", text, "conflicts-unknown")
    elif survey.kind == "append":
        text = "whether the branch removed rows. If so, nothing is written, but with --on-conflict branch"
        yield Item("unknown", text, "conflicts-unknown")


def _affected(context: Context, survey: Survey) -> Iterator[Item]:
    name, target = survey.branch.root.label, _name_of(survey)
    # Main keeps a tag of the last one, which every expiry heeds. A tag of another branch only Paimark heeds.
    shared = survey.branch.snapshot.id + (0 if survey.start.is_main else 1)
    between = range(survey.base.id + 1, shared)
    if survey.kind == "keyed" and not takes_any_change(survey.target.schema):
        yield streams_skip(context.files, survey.start.root)
    if survey.kind == "fast-forward" and between:
        first, last = between[0], between[-1]
        need = f"snapshot {last} of the other needs"
        if first < last:
            need = f"snapshots {first} to {last} of the other need"
        text = (
            f"an expiry on {target} or {name}: both share these commits, and it takes files that {need}. "
            f"Tag on {name} what is to stay"
        )
        yield Item("affects", text, "shared-commits")
    if survey.new_schemas:
        changes = columns_change(survey.start, survey.target.schema)
        definition = Item("affects", f"{target}'s definition: it follows that of {name}", "columns")
        yield from changes or [definition]


def _cost(context: Context, survey: Survey) -> str:
    if survey.kind == "fast-forward":
        return "no data file"
    head, unit = survey.branch.snapshot, unit_of(survey.start.schema)
    try:
        records, size = size_of(context.files, survey.start.root.table, head)
    except FileMissing:
        return "Spark compares both sides, one commit"
    return f"Spark compares {counted(records, unit)} ({file_size(size)}), one commit"
