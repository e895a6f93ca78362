"""`recover`: finish interrupted changes, or take them back.

It touches only files that a journal or a claim names, and half-written files that are older than a day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from paimark.core.actions import audit
from paimark.core.actions.bulk.applying import describe_interrupted
from paimark.core.actions.change import driver, journal
from paimark.core.actions.change.change import Done, Landed
from paimark.core.actions.change.driver import change_named
from paimark.core.actions.change.journal import JournaledChange
from paimark.core.actions.change.landing import left_readers
from paimark.core.actions.change.owner import Owner, Standing, is_this_process, running, silent, standing
from paimark.core.actions.change.taking_back import describe_wait, wait_for_claims
from paimark.core.actions.checks import fingerprint, require_allowed, require_unmoved, text_argument
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.plan_wording import nothing_lost, savepoints_said
from paimark.core.actions.repair.cut_off_overwrites import CutOff, cut_off, finish
from paimark.core.actions.replace import point_main
from paimark.core.actions.replace.table_directory import Misdirected, misdirected, redirect
from paimark.core.actions.roots import savepoint_claim
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot
from paimark.core.actions.savepoints.create_savepoint import log_finished
from paimark.core.actions.savepoints.unprotected import Unprotected, protect_all, unprotected, warning
from paimark.core.actions.tags.delete_tag import left_reads, remove_left_read
from paimark.core.actions.temp_files import abandoned, store_now
from paimark.core.errors import Corrupt, FileMissing, NotFound, Refused
from paimark.core.figures import age, counted
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import Root, TablePath, savepoint_tag
from paimark.core.table.records import Snapshot
from paimark.core.text import capitalised, lowered

ACTION = "recover"
COMMIT_UNKNOWN = "commit-unknown"
_HOW = {Landed.YES: "Finish", Landed.NO: "Take back", Landed.UNKNOWN: "Recover"}
_ASSUMED = {"committed": Landed.YES, "not-committed": Landed.NO}


@dataclass(frozen=True)
class Findings:
    """Interrupted changes, and files left by them.

    `interrupted` is a journal whose holder is dead, `claims` are those with dead owners; `alive` describes
    changes that are left alone. `watched` are the tokens of holders on other machines, which may be dead.
    `stale` are files of changes without a journal; `reads` are stale read tags; `untagged` are savepoints
    whose tag another engine deleted; `abandoned` are half-written files; `misdirected` is a main-branch file
    that names another main than the table directory does; `cut_off` are overwrites in a chain.
    """

    interrupted: JournaledChange | None
    is_held: bool
    claims: tuple[savepoint_claim.Claim, ...]
    alive: tuple[str, ...]
    watched: frozenset[str]
    stale: tuple[str, ...]
    reads: tuple[tuple[Root, str], ...]
    untagged: tuple[Unprotected, ...]
    abandoned: tuple[str, ...]
    misdirected: Misdirected | None
    cut_off: tuple[CutOff, ...]

    @property
    def unfinished(self) -> tuple[CutOff, ...]:
        """The overwrites that it finishes."""
        return tuple(each for each in self.cut_off if not each.doubt)

    @property
    def interruptions(self) -> list[str]:
        """What a recovery finishes or takes back."""
        return [
            *([self.interrupted.journal.action] if self.interrupted else []),
            *(f"savepoint {claim.id}" for claim in self.claims),
            *(f"tag of savepoint {each.savepoint.id}" for each in self.untagged),
            *(each.operation.description for each in self.unfinished),
            *([str(self.misdirected)] if self.misdirected else []),
        ]

    @property
    def is_empty(self) -> bool:
        return not (self.interruptions or self.reads or self.is_littered)

    @property
    def is_littered(self) -> bool:
        return bool(self.stale or self.abandoned)

    @property
    def fingerprint(self) -> str:
        journaled = []
        if self.interrupted:
            journaled = [self.interrupted.journal.token, str(len(self.interrupted.entries))]
        reads = [root.tag(name) for root, name in self.reads]
        untagged = [each.path for each in self.untagged]
        tokens = (claim.token for claim in self.claims)
        wrong = [] if self.misdirected is None else [str(self.misdirected)]
        wrong += [each.fingerprint for each in self.cut_off]
        return fingerprint(*journaled, *tokens, *self.stale, *self.abandoned, *reads, *untagged, *wrong)


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `assume`, `committed` or `not-committed`, for a change whose commit is unknown; `main`, the
    branch to make main if the one that was main is gone.

    Raises `Corrupt` for a journal or claim that this version can't read.
    """
    assumed = text_argument(arguments, "assume")
    if (main := text_argument(arguments, "main")) is not None:
        return point_main.plan(context, table, main)
    if (claim := journal.current(context, table)) and (of := journal.claimed_for(context, table, claim)):
        reason = f"{claim.journal.action} of {of.full_name} is moving it to {table.full_name}"
        hint = f"Run `paimark recover {of.word}`."
        return Plan(headline=f"{reason}.", arguments={}, refusals=(Refusal(reason, hint),))
    # Holders on other machines count as dead here: applying the plan watches them first.
    unwatched = look(context, table)
    findings = look(context, table, dead=unwatched.watched)
    refusals = []
    if findings.is_held and not findings.is_empty:
        refusals.append(
            Refusal(findings.alive[0], "If it still works, wait for its end, then run recover again.")
        )
    steps: list[Step] = []
    if unwatched.watched:
        seconds = f"{context.watch_for:g} s"
        steps.append(Step("check", "who holds it on another machine", f"watched for {seconds}: alive or not"))
    claimed = [(each.id, each.token) for each in findings.claims]
    waits = [] if findings.is_held else describe_wait(context, table, findings.interrupted, claimed)
    if waits:
        longest = f"none can come {context.late.longest} after its last sign of life"
        steps.append(Step("check", "requests that the store may still carry out", longest))
    if findings.interrupted:
        steps += _journal_steps(context, table, findings.interrupted)
    steps += [_claim_step(context, table, claim) for claim in findings.claims]
    steps += [Step("delete", path, "left by a change that has ended") for path in findings.stale]
    steps += [Step("delete", path, "half-written, for more than a day") for path in findings.abandoned]
    steps += [Step("delete", root.tag(name), "left by a read that is over") for root, name in findings.reads]
    if findings.misdirected:
        steps.append(findings.misdirected.step(table))
    for each in findings.untagged:
        steps.append(Step("create", each.path, f"protects savepoint {each.savepoint.id} again"))
    steps += [each.step for each in findings.unfinished]
    of_many = "" if findings.is_held else describe_interrupted(context, table, findings.interrupted)
    landed, becomes = _prospect(context, table, findings)
    return Plan(
        headline=_headline(context, table, findings, landed),
        arguments={"assume": assumed},
        fingerprint=findings.fingerprint,
        steps=tuple(steps),
        items=tuple(_items(context, findings, becomes, (*unwatched.alive, *waits, of_many))),
        refusals=tuple(refusals),
        empty=findings.is_empty,
    )


def _headline(context: Context, table: TablePath, findings: Findings, landed: Landed) -> str:
    """What is ended, and how."""
    now, claims = findings.interrupted, findings.claims
    if now is not None and not claims:
        cut_off = f"on {table.full_name}, cut off {age(now.acting[0].since, context.clock())}"
        if not now.is_checked:
            return f"End {now.journal.action} {cut_off}: it had not begun."
        return f"{_HOW[landed]} {now.journal.action} {cut_off}."
    count = (now is not None) + len(claims)
    parts = [counted(count, "interrupted change") if count else "nothing interrupted"]
    if findings.reads:
        parts.append(f"{counted(len(findings.reads), 'tag')} left by reads that are over")
    if findings.misdirected:
        parts.append(str(findings.misdirected))
    if findings.abandoned:
        parts.append(f"{counted(len(findings.abandoned), 'half-written file')} older than a day")
    if findings.untagged:
        numbers = [str(each.savepoint.id) for each in findings.untagged]
        parts.append(f"{savepoints_said(numbers)} without a tag")
    if findings.cut_off:
        parts.append(f"{counted(len(findings.cut_off), 'overwrite')} without effect")
    return f"{table.full_name} has {' and '.join(parts)}."


def _prospect(context: Context, table: TablePath, findings: Findings) -> tuple[Landed, Item | None]:
    """Whether the interrupted change was committed, and what its recovery comes to."""
    now = findings.interrupted
    if now is None or now.journal.change == ACTION:
        return Landed.NO, None
    landed, becomes = driver.prospect(context, table, now)
    if landed is Landed.NO:
        return landed, nothing_lost("it was not committed")
    text = "whether it was committed, and no file tells: --assume committed or not-committed does"
    return landed, becomes or Item("unknown", text, COMMIT_UNKNOWN)


def _items(context: Context, findings: Findings, becomes: Item | None, said: Iterable[str]) -> Iterator[Item]:
    if becomes is not None:
        yield becomes
    for text in filter(None, said):
        yield Item("affects", lowered(text))
    for each in findings.untagged:
        if (risk := warning(context.files, each)) is not None:
            yield Item("unknown", lowered(risk))
    for cut in findings.cut_off:
        yield Item("affects", f"{cut.description}{cut.doubt and '; '}{cut.doubt}")
    if findings.misdirected:
        yield from findings.misdirected.items()
    if findings.is_empty:
        return
    if (now := findings.interrupted) is not None:
        yield Item("by", str(now.journal.owner))
    if findings.untagged:
        numbers = [str(each.savepoint.id) for each in findings.untagged]
        yield Item("keeps", f"{savepoints_said(numbers)}, by a tag again")
    yield Item("keeps", "whatever no interrupted change names")


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Bring the table to the state before or after each interrupted change. Idempotent."""
    if plan.change:
        return driver.apply(context, plan, progress)
    require_allowed(context, plan)
    started = context.clock()
    table, token = parse_table_name(plan.table), journal.new_token()
    findings = look(context, table)
    if findings.watched:
        progress(f"watching for {context.watch_for:g} s whether another machine's process still works")
        findings = look(context, table, dead=silent(context, table, findings.watched))
        if findings.alive and findings.is_empty:
            raise Refused(findings.alive[0], "If it still works, wait for its end.")
    require_unmoved(table, plan, findings.fingerprint)
    if findings.is_empty:
        message = f"{plan.table} has nothing to recover"
        return Outcome(action=ACTION, table=plan.table, message=message, result={"recovered": 0})
    became = None
    with running(context, table, token):
        if findings.interrupted:
            hold = journal.take_over(context, table, findings.interrupted, token)
            became = _recover_journal(hold, plan, progress)
        if findings.claims or findings.untagged or findings.misdirected or findings.is_littered:
            hold = journal.take(context, table, plan, token, ACTION, {})
            wait_for_claims(hold, [(each.id, each.token) for each in findings.claims], progress)
            for claim in findings.claims:
                _recover_claim(hold.context, table, claim, progress)
            for path in findings.stale:
                hold.context.files.delete(path)
            if findings.misdirected:
                redirect(hold.context.files, table, findings.misdirected)
            protect_all(hold.context.files, findings.untagged, progress, context.verify_wait)
            _sweep(hold.context, table, findings.abandoned, progress)
            hold.release()
    for root, name in findings.reads:
        remove_left_read(context, root, name, progress)
    finish(context, findings.unfinished, progress)
    is_of_many = findings.interrupted and findings.interrupted.journal.planned().group
    of_many = describe_interrupted(context, table, None) if is_of_many else ""
    said = [f"{plan.table} is whole again", became.message if became else "", of_many]
    message = ". ".join(capitalised(each) if number else each for number, each in enumerate(said) if each)
    ended = findings.interruptions
    # The facts of an interrupted change are told as if it had not been cut off.
    result = {"recovered": 0, **(became.result if became else {})} | {"recovered": len(ended)}
    done = Done(
        message,
        result,
        before=f"interrupted: {', '.join(ended)}" if ended else "leftovers",
        after="nothing interrupted",
        items=became.items if became else (),
    )
    return audit.finished(context, plan, done, started, progress)


def _sweep(context: Context, table: TablePath, paths: tuple[str, ...], progress: Progress) -> None:
    """Delete those that are old by the store's clock too: this machine's may be days ahead of it."""
    now = store_now(context.files, table) if paths else None
    old = {*abandoned(context.files, table, now)} & {*paths} if now is not None else set()
    for path in sorted(old):
        context.files.delete(path)
    if old:
        progress(Remark(f"removed {counted(len(old), 'half-written file')} older than a day"))
    if young := len(paths) - len(old):
        progress(Remark(f"kept {counted(young, 'half-written file')}, not a day old by the store's clock"))


def look(context: Context, table: TablePath, dead: frozenset[str] | set[str] = frozenset()) -> Findings:
    """Find interrupted changes. `dead` are tokens of holders that were watched. Raises `Corrupt`."""
    now = journal.current(context, table)
    alive: list[str] = []
    watched: set[str] = set()
    known: set[str] = set()

    def is_alive(owner: Owner, token: str, what: str) -> bool:
        known.add(token)
        state = "gone" if token in dead else standing(context, owner, token)
        if state == "unknown":
            watched.add(token)
        if state != "gone":
            alive.append(f"{what} {_description(state)}")
        return state != "gone"

    is_held = False
    if now is not None:
        owner, token = now.acting
        is_held = is_alive(owner, token, f"{now.journal.action} by {owner}")
    gone = []
    for number in savepoint_claim.claimed_ids(context, table):
        try:
            claim = savepoint_claim.read_claim(context, table, number)
        except Corrupt as error:
            alive.append(f"{error.message}: left alone")
            continue
        if claim and not is_alive(claim.owner, claim.token, f"Savepoint {claim.id}, by {claim.owner},"):
            gone.append(claim)
    if now is not None:
        known |= {now.journal.token, *(entry.token for entry in now.entries)}
    stale = [path for path in journal.leftovers(context, table) if not any(each in path for each in known)]
    stale += left_readers(context.files, table, known)
    reads = tuple(left_reads(context, table))
    half_written = abandoned(context.files, table, context.clock())
    return Findings(
        interrupted=None if is_held else now,
        is_held=is_held,
        claims=tuple(gone),
        alive=tuple(alive),
        watched=frozenset(watched),
        stale=tuple(stale),
        reads=reads,
        untagged=() if now is not None or gone else tuple(unprotected(context.files, table)),
        # While a change runs, only the change itself is examined.
        abandoned=() if is_held else tuple(each for each in half_written if each not in stale),
        misdirected=misdirected(context.files, table) if now is None else None,
        cut_off=() if now is not None else tuple(cut_off(context, table)),
    )


def has_left(context: Context, table: TablePath) -> bool:
    """Whether a change or a savepoint of this process has ended and waits for `recover`."""
    findings = look(context, table)
    owners = [claim.owner for claim in findings.claims]
    if findings.interrupted is not None:
        owners.append(findings.interrupted.acting[0])
    return any(is_this_process(context, owner) for owner in owners)


def _description(state: Standing) -> str:
    if state == "running":
        # Only that process knows whether its change goes on or has failed: it writes nothing any more then.
        then = "If it has failed there, run recover there, or quit that process"
        return f"is held by a living process: left alone. {then}"
    return "may still be running on its machine"


def _journal_steps(context: Context, table: TablePath, interrupted: JournaledChange) -> list[Step]:
    steps = [Step("delete", table.journal, f"of {interrupted.journal.action} by {interrupted.journal.owner}")]
    if interrupted.journal.change == ACTION:
        return steps
    change_named(interrupted.journal.change)
    return [*driver.recovery_steps(context, table, interrupted), *steps]


def _recover_journal(hold: journal.Hold, plan: Plan, progress: Progress) -> Done | None:
    """Recover the interrupted change; return what became of it, None if it was a recovery itself."""
    if hold.journal.change == ACTION:
        driver.end_unbegun(hold, progress)
        return None
    assumed = plan.arguments.get("assume")
    return driver.recover(hold, progress, _ASSUMED.get(str(assumed), Landed.UNKNOWN))


def _claim_step(context: Context, table: TablePath, claim: savepoint_claim.Claim) -> Step:
    path = table.savepoint_claim(claim.id)
    by = f"of savepoint {claim.id} by {claim.owner}"
    if context.files.exists(table.savepoint(claim.id)):
        return Step("delete", path, f"{by}: the savepoint is whole")
    if savepoint_claim.tag_is_of(context.files, table.root(claim.root), claim):
        return Step("create", table.savepoint(claim.id), f"{by}: it holds snapshot {claim.snapshot_id}")
    return Step("delete", path, f"{by}: its tag was not written")


def _recover_claim(
    context: Context, table: TablePath, claim: savepoint_claim.Claim, progress: Progress
) -> None:
    now = savepoint_claim.read_claim(context, table, claim.id)
    if now is None or now.token != claim.token:
        return
    files, root = context.files, table.root(claim.root)
    claim = savepoint_claim.take_over(context, table, now)
    savepoint_claim.clean(context, table, claim)
    if files.exists(table.savepoint(claim.id)):
        log_finished(context, table, claim)
        savepoint_claim.close(context, table, claim)
        progress(Remark(f"savepoint {claim.id} is whole"))
        return
    try:
        tag_path = root.tag(savepoint_tag(claim.id))
        if not savepoint_claim.tag_is_of(files, root, claim):
            raise FileMissing(tag_path)
        data = files.read(tag_path)
        chosen = ChosenSnapshot(root, Snapshot.from_json(data, tag_path), data)
        savepoint_claim.complete(context, chosen, claim, None, progress, log_finished)
    except journal.TakenOver:
        raise
    except (Refused, Corrupt, NotFound) as error:
        progress(Remark(f"{error.message}: undoing savepoint {claim.id}"))
        savepoint_claim.undo(context, table, claim)
