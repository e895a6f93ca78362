"""`recover`: finish or undo what was interrupted. It touches only what a journal or a claim names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.actions import (
    alter_schema,
    audit,
    branches,
    claims,
    delete_branch,
    delete_savepoint,
    delete_tag,
    deletion,
    expire,
    journal,
    left_reads,
    merge,
    replace_main,
    rescue,
    rollback,
    undo,
)
from core.actions.checks import fingerprint, read_only_refusals, require_allowed, require_unmoved
from core.actions.context import Context, Progress
from core.actions.holding import ChosenSnapshot
from core.actions.journal import Journal
from core.actions.owner import running, standing
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.errors import Corrupt, FileMissing, NotFound, Refused
from core.table.catalog import parse_table_name
from core.table.layout import RECOVERY_PREFIX, Root, TablePath, savepoint_tag
from core.table.records import Snapshot

ACTION = "recover"
_DELETIONS = (delete_savepoint.ACTION, delete_tag.ACTION)
_BRANCH_CHANGES = {
    each.ACTION: each for each in (alter_schema, replace_main, delete_branch, rescue, undo, rollback, merge)
}


@dataclass(frozen=True)
class Findings:
    """What was begun in a table and has not ended.

    `interrupted` is a journal whose holder is gone, `claims` those whose owners are; `alive` says what is
    left alone; `stale` are files of recoveries whose journal is no more; `reads` tags of readers that died.
    """

    interrupted: Journal | None
    is_held: bool
    claims: tuple[claims.Claim, ...]
    alive: tuple[str, ...]
    stale: tuple[str, ...]
    reads: tuple[tuple[Root, str], ...]

    @property
    def is_empty(self) -> bool:
        return not (self.interrupted or self.claims or self.stale or self.reads)

    @property
    def fingerprint(self) -> str:
        begun = [self.interrupted.token] if self.interrupted else []
        reads = [root.tag(name) for root, name in self.reads]
        return fingerprint(*begun, *(claim.token for claim in self.claims), *self.stale, *reads)


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """No arguments. Raises `Corrupt` for a journal or claim that this version can't read."""
    found = look(context, table)
    refusals = read_only_refusals(context)
    if found.is_held and not found.is_empty:
        refusals.append(Refusal(found.alive[0], "Wait for it to end, then run recover again."))
    steps: list[Step] = []
    if found.interrupted:
        steps += _journal_steps(context, table, found.interrupted)
    steps += [_claim_step(context, table, claim) for claim in found.claims]
    steps += [Step("delete", path, "left by an earlier recover") for path in found.stale]
    steps += [Step("delete", root.tag(name), "left by a read that died") for root, name in found.reads]
    count = (found.interrupted is not None) + len(found.claims)
    what = f"{count} interrupted change{'' if count == 1 else 's'}" if count else "nothing interrupted"
    if found.reads:
        left = len(found.reads)
        what += f" and {left} tag{'' if left == 1 else 's'} left by reads that died"
    return Plan(
        action=ACTION,
        table=table.full_name,
        summary=f"{table.full_name} has {what}",
        arguments={},
        fingerprint=found.fingerprint,
        steps=tuple(steps),
        kept=("Everything that no journal or claim of an interrupted change names",),
        warnings=found.alive,
        refusals=tuple(refusals),
        empty=found.is_empty,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Bring the table to the state before or after each interrupted change. A second time does nothing."""
    require_allowed(context, plan)
    started = context.clock()
    table, token = parse_table_name(plan.table), journal.new_token()
    found = look(context, table)
    require_unmoved(table, plan, found.fingerprint)
    if found.is_empty:
        return _outcome(plan, 0, f"{plan.table} has nothing to recover")
    with running(token):
        if found.interrupted:
            hold = journal.take_over(context, table, found.interrupted, token)
            _recover_journal(context, hold, progress)
        else:
            hold = journal.take(context, table, plan, token)
        for claim in found.claims:
            _recover_claim(context, table, claim, progress)
        for path in found.stale:
            context.files.delete(path)
        journal.release(context, hold)
    for root, name in found.reads:
        left_reads.remove(context, root, name, progress)
    done = (found.interrupted is not None) + len(found.claims)
    outcome = _outcome(plan, done, f"{plan.table} is whole again")
    begun = [found.interrupted.action] if found.interrupted else []
    begun += [f"savepoint {claim.id}" for claim in found.claims]
    before = f"interrupted: {', '.join(begun)}" if begun else "leftovers"
    audit.record(context, plan, outcome, started, progress, before=before, after="nothing interrupted")
    return outcome


def look(context: Context, table: TablePath) -> Findings:
    """Read what was begun. Raises `Corrupt`."""
    now = journal.current(context, table)
    alive = []
    is_held = False
    if now is not None:
        owner, state = journal.holder(context, table, now)
        is_held = state != "gone"
        if is_held:
            alive.append(f"{now.action} by {owner} {_said(state)}")
    dead = []
    for number in claims.claimed_ids(context, table):
        try:
            claim = claims.read_claim(context, table, number)
        except Corrupt as error:
            alive.append(f"{error.message}: left alone")
            continue
        if claim is None:
            continue
        state = standing(context, claim.owner, claim.token)
        if state == "gone":
            dead.append(claim)
        else:
            alive.append(f"Savepoint {claim.id}, by {claim.owner}, {_said(state)}")
    own = f"/{RECOVERY_PREFIX}{now.token}-" if now else None
    stale = [path for path in journal.recoveries(context, table) if own is None or own not in path]
    reads = tuple(left_reads.left_reads(context, table))
    return Findings(None if is_held else now, is_held, tuple(dead), tuple(alive), tuple(stale), reads)


def _said(state: str) -> str:
    if state == "running":
        return "is still running: left alone"
    return "may still be running on its machine: left alone for ten minutes"


def _journal_steps(context: Context, table: TablePath, begun: Journal) -> list[Step]:
    steps = [Step("delete", table.journal, f"of {begun.action} by {begun.owner}")]
    if begun.action == branches.ACTION:
        name = begun.planned().arguments["name"]
        if branches.can_finish(context, table, begun.planned()):
            return [Step("create", f"branch {name}", "what is missing of it"), *steps]
        return [Step("delete", f"branch {name}", "main lost what it needs"), *steps]
    if begun.action in _DELETIONS:
        return [*deletion.interrupted_steps(context, table, begun), *steps]
    if begun.action == expire.ACTION:
        return [*expire.interrupted_steps(context, table, begun), *steps]
    if begun.action in _BRANCH_CHANGES:
        return [*_BRANCH_CHANGES[begun.action].recovery_steps(context, table, begun), *steps]
    if begun.action == ACTION:
        return steps
    raise _unknown(begun)


def _recover_journal(context: Context, hold: journal.Hold, progress: Progress) -> None:
    if hold.journal.action == branches.ACTION:
        branches.recover(context, hold, progress)
    elif hold.journal.action in _DELETIONS:
        deletion.recover(context, hold, progress)
    elif hold.journal.action == expire.ACTION:
        expire.recover(context, hold, progress)
    elif hold.journal.action in _BRANCH_CHANGES:
        _BRANCH_CHANGES[hold.journal.action].recover(context, hold, progress)
    elif hold.journal.action != ACTION:
        raise _unknown(hold.journal)


def _unknown(begun: Journal) -> Refused:
    return Refused(
        f"This version can't recover {begun.action} of {begun.table}",
        "Recover it with the version of Paimark that began it.",
    )


def _claim_step(context: Context, table: TablePath, claim: claims.Claim) -> Step:
    path = table.savepoint_claim(claim.id)
    by = f"of savepoint {claim.id} by {claim.owner}"
    if context.files.exists(table.savepoint(claim.id)):
        return Step("delete", path, f"{by}: the savepoint is whole")
    if claims.tag_is_of(context.files, table.root(claim.root), claim):
        return Step("create", table.savepoint(claim.id), f"{by}: it holds snapshot {claim.snapshot_id}")
    return Step("delete", path, f"{by}: its tag was not written")


def _recover_claim(context: Context, table: TablePath, claim: claims.Claim, progress: Progress) -> None:
    now = claims.read_claim(context, table, claim.id)
    if now is None or now.token != claim.token:
        return
    files, root = context.files, table.root(claim.root)
    claims.clean(context, table, claim)
    if files.exists(table.savepoint(claim.id)):
        claims.close(context, table, claim)
        progress(f"savepoint {claim.id} is whole")
        return
    try:
        tag_path = root.tag(savepoint_tag(claim.id))
        if not claims.tag_is_of(files, root, claim):
            raise FileMissing(tag_path)
        data = files.read(tag_path)
        chosen = ChosenSnapshot(root, Snapshot.from_json(data, tag_path), data)
        claims.complete(context, chosen, claim, None, progress)
    except (Refused, Corrupt, NotFound) as error:
        progress(f"{error.message}: undoing savepoint {claim.id}")
        claims.undo(context, table, claim)


def _outcome(plan: Plan, recovered: int, message: str) -> Outcome:
    return Outcome(action=ACTION, table=plan.table, message=message, result={"recovered": recovered})
