"""Every action with its name and arguments, for the command, the palette, `:` and `?`.

Importing it imports no action: each is loaded when it is planned.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Literal, cast

from msgspec.structs import replace

from paimark.core.actions.checks import read_only_refusals
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.moved_files import read_again_if_moved
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal
from paimark.core.errors import UsageError
from paimark.core.storage.files import Files, told_of_leftovers
from paimark.core.storage.no_follow import link_in_the_way
from paimark.core.table.catalog import find_table, parse_table_name
from paimark.core.table.follow_ups.options import Event
from paimark.core.table.layout import TablePath
from paimark.core.table.links import linked_directories, require_no_links
from paimark.core.table.names import near_names

__all__ = ["ACTIONS", "Action", "Argument", "Progress", "action"]

_LAYOUTS = "pointer (the default): readers are led to the branch; overwrite: main gets the branch's rows."
_ASSUMED = "committed or not-committed: whether the commit was made, if no file shows it any more."
MakePlan = Callable[[Context, TablePath, Mapping[str, object]], Plan]
ApplyPlan = Callable[[Context, Plan, Progress], Outcome]


@dataclass(frozen=True)
class Argument:
    """One argument; its command-line option is `--<name>`. One with `many` also takes a list.

    The action needs it `unless` it is given the argument of that name, and takes only one of both.
    """

    name: str
    kind: Literal["text", "int", "flag", "choice"]
    help: str
    required: bool = False
    default: str | int | bool | None = None
    many: bool = False
    unless: str = ""


@dataclass(frozen=True)
class Action:
    """An action: its plan says whether something is lost, and a person then agrees before it is applied.

    `asks` tells beforehand that it usually is: a script that nobody watches is refused before it begins.
    One that may change main's newest snapshot is followed by an automatic savepoint, if one is due.
    One that is `of_no_table` takes a table out of the trash, or makes one.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    plan: MakePlan
    apply: ApplyPlan
    asks: bool = False
    of_no_table: bool = False

    def table(self, files: Files, name: str) -> TablePath:
        """The table that it is for. Raises `UsageError`, and `NotFound` if there is none of that name."""
        return parse_table_name(name) if self.of_no_table else find_table(files, name)


def action(name: str) -> Action:
    """The action called `name`. Raises `UsageError`, with names spelled like it as the hint."""
    known = ACTIONS.get(name)
    if known is None:
        raise UsageError(f"There is no action {name}", near_names(name, ACTIONS))
    return known


def _defined(
    module: str,
    summary: str,
    arguments: tuple[Argument, ...] = (),
    *,
    asks: bool = False,
    moves_main: bool = False,
    follows: Event | None = None,
    of_no_table: bool = False,
) -> Action:
    """Define the action of a `module` below `paimark.core.actions`, with the module's name."""
    name = module.rpartition(".")[2].replace("_", "-")
    varied = next((each.name for each in arguments if each.many), "")

    def plan(context: Context, table: TablePath, given: Mapping[str, object]) -> Plan:
        if isinstance(given.get(varied), list | tuple):
            from paimark.core.actions.many.planning import plan_each

            of_all = plan_each(context, table, plan, varied, given)
            return replace(of_all, action=name, table=table.full_name)
        make = cast(MakePlan, _loaded(module).plan)
        made = read_again_if_moved(lambda: make(context, table, given))
        return replace(
            made,
            items=(*made.items, *_not_followed(context, table, made, follows)),
            action=made.action or name,
            table=table.full_name,
            refusals=_refusals(context, table, module, made),
            request=made.request or _plain(given),
        )

    def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
        with told_of_leftovers(lambda line: progress(Remark(line))):
            return carry_out(context, plan, progress)

    def carry_out(context: Context, plan: Plan, progress: Progress) -> Outcome:
        # Without a table each action would miss something else first: its tag, its branch, main's head.
        defined.table(context.files, plan.table)
        if plan.parts:
            from paimark.core.actions.many.applying import apply_each

            return apply_each(
                context, plan, progress, lambda part: action(part.action).apply(context, part, progress)
            )
        require_no_links(context.files, parse_table_name(plan.table))
        outcome = _apply_of(module)(context, plan, progress)
        if moves_main and not plan.empty:
            from paimark.core.actions.savepoints.auto_savepoint import after_commit

            after_commit(context, parse_table_name(plan.table), None, progress)
        return outcome

    defined = Action(name, summary, arguments, plan, apply, asks, of_no_table)
    return defined


def _not_followed(context: Context, table: TablePath, made: Plan, event: Event | None) -> tuple[Item, ...]:
    """What a stock engine would do after such a change, and nobody does after this one."""
    if event is None or made.empty:
        return ()
    from paimark.core.actions.follow_ups.left_out import items

    return items(context.files, table, "rows" if made.commits_rows else event)


def _loaded(module: str) -> ModuleType:
    return importlib.import_module(f"paimark.core.actions.{module}")


def _refusals(context: Context, table: TablePath, module: str, made: Plan) -> tuple[Refusal, ...]:
    """The plan's own refusals, and reasons why no action, or none that locks the table, is possible now."""
    from paimark.core.actions.change import journal

    refusals = read_only_refusals(context)
    if not made.empty and (made.change or not hasattr(_loaded(module), "apply")):
        refusals += journal.refusals(context, table)
    links = map(link_in_the_way, linked_directories(context.files, table))
    refusals += [*made.refusals, *(Refusal(each.message, each.hint) for each in links)]
    return tuple(dict.fromkeys(refusals))


def _apply_of(module: str) -> ApplyPlan:
    """The `apply` of an action's module, if it has one; else the driver's, for a `Change`."""
    own = getattr(_loaded(module), "apply", None)
    if own is not None:
        return cast(ApplyPlan, own)
    from paimark.core.actions.change import driver

    return driver.apply


def _plain(given: Mapping[str, object]) -> dict[str, str | int | bool | None]:
    """The arguments of an action in the form for the log."""
    return {
        name: value if isinstance(value, str | int | bool) else str(value)
        for name, value in given.items()
        if value is not None
    }


_SNAPSHOT = Argument("snapshot", "int", "Id of the snapshot; the newest when left out.", many=True)
_BRANCH = Argument("branch", "text", "Branch of the table; main when left out.")
_TAG = Argument("name", "text", "Name of the tag.", required=True)
_TAGS_TO_DELETE = Argument("name", "text", "Name of the tag.", required=True, many=True)
_BRANCHES_TO_DELETE = Argument("name", "text", "Name of the branch.", required=True, many=True)
_OF_BRANCH = Argument("name", "text", "Name of the branch.", required=True)

_DROPPED = Argument("id", "text", "Which one, if several of the name were dropped; the newest when left out.")

_moving_main = partial(_defined, moves_main=True, follows="commit")
_on_tags = partial(_defined, follows="tag")

ACTIONS: dict[str, Action] = {
    each.name: each
    for each in (
        _on_tags(
            "savepoints.create_savepoint",
            "Keep the full state of a table at one snapshot, through expiry and clean-up.",
            (_SNAPSHOT, _BRANCH, Argument("comment", "text", "Why it is kept.")),
        ),
        _on_tags(
            "savepoints.auto_savepoint",
            "Make the savepoint that the table's option savepoint.create-interval says is due.",
            (_BRANCH,),
        ),
        _on_tags(
            "tags.create_tag",
            "Name a snapshot with a stock tag.",
            (
                Argument("name", "text", "Name of the tag; {id} in it is the snapshot's id.", required=True),
                _SNAPSHOT,
                _BRANCH,
                Argument("retain", "text", "How long it is kept (7 d, 12 h); for good when left out."),
            ),
        ),
        _on_tags(
            "tags.rename_tag",
            "Give a tag another name; its snapshot is kept all the time.",
            (_TAG, Argument("to", "text", "Its new name.", required=True), _BRANCH),
        ),
        _defined(
            "branches.create_branch",
            "Create a branch from a snapshot, tag or savepoint of main.",
            (
                _OF_BRANCH,
                Argument("tag", "text", "Tag of main; a savepoint is one: savepoint.3.", unless="snapshot"),
                Argument("snapshot", "int", "Snapshot of main, in place of a tag: one is made for it."),
            ),
        ),
        _defined(
            "schema.alter_branch_schema",
            "Change the columns or options of a table, on any branch.",
            (
                Argument("add", "text", "Columns to add: c INT, d STRING COMMENT 'why' AFTER c."),
                Argument("drop", "text", "Columns to drop: a, b."),
                Argument("rename", "text", "A column's new name: a TO b."),
                Argument("widen", "text", "A column's wider type: c BIGINT."),
                Argument("nullable", "text", "Columns that may be null from now on: c."),
                Argument("set", "text", "Table options: 'option' = 'value'."),
                Argument("unset", "text", "Table options to take out: 'option'."),
                _BRANCH,
            ),
        ),
        _on_tags(
            "savepoints.delete_savepoint",
            "Delete a savepoint, and every file that only it keeps.",
            (Argument("id", "int", "Id of the savepoint.", required=True, many=True),),
            asks=True,
        ),
        _on_tags(
            "tags.delete_tag",
            "Delete a tag, and every file that only it keeps.",
            (_TAGS_TO_DELETE, _BRANCH),
            asks=True,
        ),
        _defined(
            "garbage.expire_snapshots",
            "Delete the oldest snapshots, and every file that only they keep.",
            (
                Argument("retain_last", "int", "How many of the newest stay."),
                Argument("older_than", "text", "Only those older than this (7 d, 2026-05-01 12:00)."),
                _BRANCH,
            ),
            asks=True,
        ),
        _defined(
            "compaction.compact",
            "Merge a table's files; the rows stay the same.",
            (
                Argument("full", "flag", "Merge all files of a bucket, not only what Paimon's rules choose."),
                Argument(
                    "partition", "text", "Only these partitions, by some of their values: day=2026-05-01."
                ),
                _BRANCH,
            ),
        ),
        _defined(
            "branches.delete_branch",
            "Delete a branch, and every file that only it keeps.",
            (
                _BRANCHES_TO_DELETE,
                Argument("keep", "flag", "Only retire it: it keeps its files under another name."),
            ),
            asks=True,
        ),
        _moving_main(
            "replace.replace_main_branch",
            "Make a branch main; its jobs keep running.",
            (
                _OF_BRANCH,
                Argument("layout", "text", _LAYOUTS, default="pointer"),
                Argument("drop_previous", "flag", "Do not keep the previous main as a branch."),
            ),
            asks=True,
        ),
        _defined(
            "branches.rescue_commits",
            "Make a branch of what a stale writer left in the table directory while a branch is main.",
            (Argument("name", "text", "Name of the branch to make.", required=True),),
        ),
        _moving_main(
            "undo.undo",
            "Take back the last change that can be taken back.",
            (Argument("replacement", "flag", "The last replacement, though main moved on since a merge."),),
        ),
        _moving_main(
            "undo.redo",
            "Do again what the last undo took back.",
        ),
        _moving_main(
            "undo.restore",
            "Undo or redo until an operation of the log is the last that counts.",
            (Argument("to", "int", "Number of the operation; 0 for before all of them.", required=True),),
        ),
        _moving_main(
            "merge.merge_branch",
            "Bring into main what a branch changed since its fork, or its last merge.",
            (
                _OF_BRANCH,
                Argument("on_conflict", "text", "Who wins: fail (nobody), branch or main.", default="fail"),
                Argument("resolve", "text", "File of conflicts with what is chosen for each."),
                Argument("drop_columns", "flag", "Main loses columns too that the branch dropped."),
            ),
        ),
        _moving_main(
            "rollback.rollback",
            "Give main the rows of an earlier version, as one new commit.",
            (
                Argument("to", "text", "snapshot.N, savepoint.N, a tag, or a time.", required=True),
                Argument("truncate", "flag", "Let main end there: what came later becomes a branch."),
            ),
            asks=True,
        ),
        _defined(
            "tables.rename_table",
            "Give a table another name, with its branches, tags, savepoints and log.",
            (Argument("to", "text", "Its new name, or database.name.", required=True),),
            asks=True,
        ),
        _defined(
            "tables.drop_table",
            "Move a table to the trash of its database; undrop takes it out again.",
            asks=True,
        ),
        _defined(
            "tables.undrop",
            "Take a dropped table out of the trash, with its branches, tags, savepoints and log.",
            (_DROPPED,),
            of_no_table=True,
        ),
        _defined(
            "tables.delete_dropped",
            "Delete a dropped table for good, with all its files.",
            (_DROPPED,),
            asks=True,
            of_no_table=True,
        ),
        _defined(
            "recover",
            "Finish or undo a change that was interrupted.",
            (
                Argument("assume", "text", _ASSUMED),
                Argument("main", "text", "The branch to make main, if the branch that is main was lost."),
            ),
            moves_main=True,
        ),
    )
}
