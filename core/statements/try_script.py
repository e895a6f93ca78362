"""`try`: a branch from main's head, a script on it, the checks; and only if all is right, it is published.

Each step is a change of its own, so that a killed one is recovered as always. Until the last one, main is as
it was.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from paimark.core.actions.checks import (
    fingerprint,
    integer_argument,
    read_only_refusals,
    require_allowed,
    require_unmoved,
    required_text,
    text_argument,
)
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.declared.kinds import Choice, FileName, Text
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal, Step, raise_first
from paimark.core.actions.registry import Action, action, with_note
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, engine_of, start_in, start_of
from paimark.core.actions.row_checks.check_file import file_of_table, placed, read_check_file
from paimark.core.actions.row_checks.checking import verdict, version_to_check
from paimark.core.errors import PaimarkError, Refused, Unavailable, UsageError
from paimark.core.figures import counted
from paimark.core.quoting import quoted, shell_line
from paimark.core.spark.protocol import Failed
from paimark.core.statements.call import TRY
from paimark.core.statements.run import CallMode, action_call, is_action, require_runnable, run_statement
from paimark.core.statements.script import ScriptStatement, naming, read_script
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.main_branch import branch_names, branch_root, main_root
from paimark.core.table.operations import CheckResult, checks_said
from paimark.core.table.records import Snapshot, is_same_commit
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.parse.tokens import iter_tokens
from paimark.core.travel.version import resolve_latest
from paimark.core.working_directory import absolute, as_text, read_named

_SUMMARY = "Run a script on a branch of main, check it, and publish it only if all of that is right."
_PUBLISH = {"merge": ", and merge it", "replace": ", and make that main", "no": ""}
_ARGUMENTS = (
    FileName("file", "The script: statements with ; between them, on {this}.", required=True),
    FileName("check", "File of checks, SELECTs that must return no row; else the table's own file of them."),
    Choice(
        "publish",
        "merge (the default), replace, or no: the branch stays.",
        default="merge",
        among=("merge", "replace", "no"),
    ),
    Text("name", "Name of the branch; else try- with the time."),
)
_WRITE_THIS = "It runs on a branch: write {this} for that, and {main} to read main."
_NOT_RUN = "No statement was run."


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `file`, the script; `check`; `publish`; `name` of the branch.

    All statements and checks are read first. Raises the error of the first that may not run.
    """
    file = absolute(os.path.expanduser(required_text(arguments, "file")))
    publish = text_argument(arguments, "publish") or "merge"
    made_name = f"try-{datetime.fromtimestamp(context.clock() / 1000, UTC):%Y%m%dT%H%M%S}"
    name = text_argument(arguments, "name") or made_name
    text = as_text(read_named(file), file)
    script = script_on(text, table, name)
    check = text_argument(arguments, "check") or file_of_table(table)
    checks = None if check is None else read_check_file(check)
    start = start_of(context.files, table)
    head = start.head.snapshot.id
    refusals = read_only_refusals(context)
    if name in branch_names(context.files, table):
        refusals.append(Refusal(f"{table.full_name} has a branch {name} already", "Choose another --name."))
    steps = [Step("create", f"branch {name}", f"of main's snapshot {head}")]
    commit = f"a commit on branch {name}"
    steps += [Step("create", commit, each.place.label or "of the statement") for each in script]
    if checks is not None:
        steps.append(Step("check", f"branch {name}", counted(len(checks.checks), "check")))
    if publish != "no":
        steps.append(Step("replace", "main", f"{publish}, if nothing failed"))
    return Plan(
        action=TRY,
        table=table.full_name,
        headline=f"Try {os.path.basename(file)} on branch {name} of {table.full_name}{_PUBLISH[publish]}.",
        arguments={
            "file": file,
            "check": None if checks is None else checks.path,
            "publish": publish,
            "name": name,
            "head": head,
            "digest": fingerprint(text, "" if checks is None else checks.digest),
        },
        fingerprint=start.fingerprint,
        items=(Item("keeps", f"main as it is until all is right; branch {name} stays in any case"),),
        steps=tuple(steps),
        cost=f"{counted(len(script), 'statement')}, each a commit through Spark",
        refusals=tuple(refusals),
        undo="" if publish == "no" else table.undo,
        until="main has a new commit" if publish == "merge" else "",
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Do all of it. If a statement or a check fails, the branch stays, and the error says where it was.

    The branch is of the snapshot that the plan saw, on which jobs may have committed since.
    """
    require_allowed(context, plan)
    table = parse_table_name(plan.table)
    head = integer_argument(plan.arguments, "head")
    start = start_in(context.files, main_root(context.files, table), at=head)
    require_unmoved(table, plan, start.fingerprint)
    with engine_of(context) as engine:
        attempt = _Attempt(dataclasses.replace(context, engine=lambda: engine), table, plan, start, progress)
        return attempt.outcome()


@dataclasses.dataclass
class _Attempt:
    context: Context
    table: TablePath
    plan: Plan
    start: RewriteBase
    progress: Progress

    def outcome(self) -> Outcome:
        arguments, name = self.plan.arguments, self.name
        file = str(arguments["file"])
        text = as_text(read_named(file), file)
        script = script_on(text, self.table, name)
        check = arguments["check"]
        digest = "" if check is None else read_check_file(str(check)).digest
        if fingerprint(text, digest) != arguments["digest"]:
            raise Refused("The script or its checks changed since the plan was made", "Make a new plan.")
        self._do("create-branch", name=name, snapshot=self.start.head.snapshot.id)
        with self._staying():
            head = self._run(script)
            done, results = self._publish(head)
        said = counted(len(script), "statement")
        if head == self.start.head.snapshot.id:
            said += ", no commit of rows"
        if results:
            said += f", {checks_said(results)}"
        snapshot = head if done is None else done.result.get("snapshot_id")
        return Outcome(
            action=self.plan.action,
            table=self.plan.table,
            message=f"{f'Tried on branch {name}' if done is None else done.message}: {said}",
            result={"branch_name": name, "snapshot_id": snapshot, "publish": arguments["publish"]},
            items=(
                *(() if done is None else done.items),
                *self._left(done),
            ),
            undo="" if done is None else done.undo,
            until="" if done is None else done.until,
            falls_short=done is not None and done.falls_short,
        )

    @property
    def name(self) -> str:
        return str(self.plan.arguments["name"])

    def _left(self, done: Outcome | None) -> list[Item]:
        """What to do with the branch."""
        if self.plan.arguments["publish"] == "replace":
            return []
        merge = shell_line(["paimark", "merge-branch", self.table.word, "--name", self.name])
        then = f"`{merge}` publishes it" if done is None else f"`{self._drop}` drops it"
        return [Item("keeps", f"branch {self.name}: {then}")]

    @property
    def _drop(self) -> str:
        return shell_line(["paimark", "delete-branch", self.table.word, "--name", self.name])

    def _run(self, script: Sequence[ScriptStatement]) -> int:
        """The branch's newest snapshot after it."""
        newest = self.start.head.snapshot
        for each in script:
            self.progress(each.place.label or "the statement")
            mode = CallMode(lambda called, plan: None, self.progress, note=self.context.note, asks=False)
            with naming(each.place, each.place.rest()):
                for event in run_statement(self.context, each.statement, call=mode):
                    if isinstance(event, Failed):
                        raise event.error()
            newest = self._gone_on(newest)
        return newest.id

    def _gone_on(self, before: Snapshot) -> Snapshot:
        """The newest snapshot of the branch. Raises `Refused` if another branch has its name by now."""
        files, root = self.context.files, branch_root(self.context.files, self.table, self.name)
        [data] = files.read_many([root.snapshot(before.id)])
        newest = resolve_latest(files, root)
        if data is None or newest is None or not is_same_commit(Snapshot.from_json(data, root.label), before):
            raise Refused(
                f"Branch {self.name} of {self.table.full_name} is another one now: it lacks snapshot "
                f"{before.id}",
                "Try it again, under a name that nobody else gives.",
            )
        return newest.snapshot

    def _publish(self, head: int) -> tuple[Outcome | None, tuple[CheckResult, ...]]:
        """Publish the branch's snapshot `head` and no other. Raises `Refused` for a check that fails."""
        arguments = self.plan.arguments
        given: dict[str, object] = {"check": arguments["check"]} if arguments["check"] else {}
        if arguments["publish"] == "no":
            return None, self._checked(given)
        if arguments["publish"] == "merge":
            return self._do("merge-branch", name=self.name, up_to=head, **given)
        now = start_of(self.context.files, self.table)
        if not is_same_commit(now.head.snapshot, self.start.head.snapshot):
            raise Refused(
                f"main of {self.table.full_name} moved meanwhile, and would lose its new commits",
                f"`paimark merge-branch {self.table.word} --name {self.name}` brings both together.",
            )
        return self._do("replace-main-branch", name=self.name, up_to=head, **given)

    def _checked(self, given: Mapping[str, object]) -> tuple[CheckResult, ...]:
        """What the checks say of the branch. Raises `Refused` for one that fails."""
        made = verdict(
            self.context,
            self.table,
            given,
            lambda: version_to_check(self.context, self.table, f"branch.{self.name}"),
        )
        raise_first(made.refusals)
        return made.results

    def _do(self, step: str, /, **arguments: object) -> tuple[Outcome, tuple[CheckResult, ...]]:
        context = dataclasses.replace(self.context, progress=self.progress)
        made = action(step).plan(context, self.table, arguments)
        raise_first(made.refusals)
        # With nothing to merge, the plan has checked nothing: a repair that found no row must not pass.
        checks = self._checked(arguments) if made.empty else made.checks
        try:
            return action(step).apply(context, made, self.progress), checks
        except Refused:
            now = start_of(self.context.files, self.table).head.snapshot
            if made.arguments.get("kind") != "fast-forward" or is_same_commit(now, self.start.head.snapshot):
                raise
        # A job committed during the checks: main can't take the branch's commits, and gets its rows.
        return self._do(step, **arguments)

    @property
    def _main(self) -> str:
        """A sentence if main is as it was: a job may have committed, or a recovery have ended the change."""
        with suppress(PaimarkError):
            now = start_of(self.context.files, self.table)
            if is_same_commit(now.head.snapshot, self.start.head.snapshot):
                return "main is as it was. "
        return ""

    @contextmanager
    def _staying(self) -> Iterator[None]:
        """Say of a failure that the branch is there."""
        stays = f"Branch {self.name} stays: `{self._drop}` drops it."
        try:
            yield
        except Unavailable:
            self.progress(Remark(stays))
            raise
        except PaimarkError as error:
            error.hint = f"{error.hint} {self._main}{stays}".strip()
            raise
        except KeyboardInterrupt:
            self.progress(Remark(f"Interrupted. {stays}"))
            raise


TRY_SCRIPT = with_note(Action(TRY, _SUMMARY, _ARGUMENTS, plan, apply))


def script_on(text: str, table: TablePath, branch: str) -> list[ScriptStatement]:
    """The statements of a text, on this branch. Raises an error, which names the statement, for one that may
    not run, or that writes anything but the branch.
    """
    this = f"{quoted(table.database)}.{quoted(f'{table.name}$branch_{branch}')}"
    main = f"{quoted(table.database)}.{quoted(table.name)}"
    script = read_script(placed(text, list(iter_tokens(text)), this, main))
    for each in script:
        with naming(each.place, _NOT_RUN):
            _require_on_branch(each.statement, table, branch)
    if not any(is_action(each.statement) for each in script):
        raise UsageError("No statement of the script changes a row", _WRITE_THIS)
    return script


def _require_on_branch(statement: Statement, table: TablePath, branch: str) -> None:
    require_runnable(statement)
    if not is_action(statement):
        if statement.writes and statement.kind != "other":
            raise UsageError("It writes something besides rows of the branch", _WRITE_THIS)
        return
    called, rows = action_call(statement, None)
    on = called.arguments.get("branch") if rows is None else rows.branch
    if called.table != table or on != branch or (rows is None and statement.kind != "alter"):
        what = called.action.name if statement.kind == "call" else statement.tokens[0].upper
        raise UsageError(f"{what} is not on {{this}}", _WRITE_THIS)
