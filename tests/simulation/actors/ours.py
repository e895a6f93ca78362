"""One actor that calls Paimark's actions through the registry, as the console and the command do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from paimark.core.actions.context import NO_AUDIT, Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import Action
from paimark.core.actions.temp_files import meant_for
from paimark.core.errors import Corrupt, PaimarkError, Unavailable
from paimark.core.storage.late_requests import LateRequests
from tests.simulation.actors.actor_files import ActorFiles
from tests.simulation.actors.engine import StandInEngine
from tests.simulation.actors.late_writes import WAITED_SECONDS
from tests.simulation.actors.operations import Operation, References
from tests.simulation.actors.scheduler import Actor, Death
from tests.simulation.actors.statements import action_called
from tests.simulation.judging.outcomes import OPPOSITES, Outcomes
from tests.simulation.judging.watch import Watch
from tests.simulation.world import TABLE, Violation, World

_VERIFY_WAIT_SECONDS = 5.0
_NEVER_SECONDS = 1e6


def context_of(world: World, actor: Actor) -> Context:
    """The context of an actor: its own storage, clock and engine."""
    return Context(
        files=ActorFiles(world, actor, reads_server=True),
        read_only=False,
        user=actor.name,
        host="here",
        audit_path=NO_AUDIT,
        clock=lambda: world.scheduler.now_ms(actor),
        options={},
        verify_wait=_VERIFY_WAIT_SECONDS,
        # Heartbeats are for other machines, and all actors are on one.
        beat_every=_NEVER_SECONDS,
        late=LateRequests(WAITED_SECONDS if world.may_be_late else 0),
        engine=lambda: StandInEngine(world, actor),  # type: ignore[arg-type, return-value]
    )


class Planned(NamedTuple):
    """A plan of an action, its arguments, and the references when it was begun and when it was made."""

    plan: Plan
    action: Action
    arguments: dict[str, object]
    seen: References
    shown: References


class Ours:
    """Plans and applies actions, and reports them to the judges."""

    def __init__(self, world: World, watch: Watch, outcomes: Outcomes, actor: Actor) -> None:
        self.world = world
        self.actor = actor
        self._watch = watch
        self._outcomes = outcomes
        # Whether the last plan was empty.
        self.had_nothing_to_do = False
        # Whether a recovery needs a person to say if the change was committed.
        self.asks = False
        self._context = context_of(world, actor)

    def do(
        self, name: str, meanwhile: Callable[[], object] = lambda: None, /, **arguments: object
    ) -> Operation | None:
        """Plan and apply; None if the plan is refused. Raises `Death` if the actor dies.

        `meanwhile` runs between the two: others act while somebody reads the plan.
        """
        planned = self.plan(name, **arguments)
        if planned is None:
            return None
        meanwhile()
        return self.apply(planned)

    def plan(self, name: str, /, **arguments: object) -> Planned | None:
        """Plan an action; None if the plan is refused."""
        said = ", ".join(f"{key} {value}" for key, value in arguments.items())
        self.world.tell(self.actor, f"plans {name} {said}")
        before = References.now(self.world.store)
        self.world.checked.pop(self.actor, None)
        try:
            called, given = action_called(name, arguments)
            plan = called.plan(self._context, TABLE, given)
        except PaimarkError as error:
            self._require_undamaged(error)
            self.world.tell(self.actor, f"can't plan it: {error.message}")
            return None
        for refusal in plan.refusals:
            self.world.tell(self.actor, f"may not: {refusal.reason}")
            return None
        # If this machine's clock is ahead of the store's, the store's new files look old in every plan.
        names = [each.target.rpartition("/")[2] for each in plan.steps]
        self.had_nothing_to_do = plan.empty or (bool(names) and all(map(meant_for, names)))
        shown = References.now(self.world.store)
        return Planned(plan, called, arguments, replace(before, tags=shown.tags), shown)

    def apply(self, planned: Planned) -> Operation:
        """Apply a plan, which may be outdated."""
        plan, is_recovery = planned.plan, planned.plan.action == "recover"
        if is_recovery:
            now = References.now(self.world.store)
            operation = self._watch.interrupted or Operation(
                self.actor, plan.action, planned.arguments, planned.seen, now
            )
        else:
            operation = self._operation(plan, planned.arguments, planned.seen)
            operation.shown = planned.shown
        self._watch.operations[self.actor] = operation
        # Though it die before anybody judges it.
        self.world.merges_between |= bool(operation.arguments.get("into"))
        self._apply(operation, planned, is_recovery=is_recovery)
        return operation

    def _operation(self, plan: Plan, arguments: dict[str, object], planned: References) -> Operation:
        undone = self._outcomes.by_token.get(plan.undoes) if plan.undoes else None
        action, given = plan.action, arguments
        if plan.redoes:
            given = dict(plan.request)
        elif undone is not None and undone.action == "rename-tag":
            action, given = undone.action, {"name": undone.arguments["to"], "to": undone.name}
        elif (taken_back := undone.action if undone else self._logged(plan.undoes)) in OPPOSITES:
            action, argument, planned_as = OPPOSITES[taken_back]
            given = {argument: plan.arguments.get(planned_as)}
        return Operation(self.actor, action, given, planned, References.now(self.world.store), undone)

    def _logged(self, token: str | None) -> str:
        """The action of an operation that no actor recorded: a recovery that finishes a savepoint logs it."""
        ends = f"-{token}"
        logged = [data for path, data in self.world.store.files.items() if path.endswith(ends)]
        return str(json.loads(logged[0])["action"]) if token and logged else ""

    def _apply(self, operation: Operation, planned: Planned, *, is_recovery: bool) -> None:
        plan = planned.plan
        self.world.tell(self.actor, f"applies {plan.action}: {plan.summary}")
        try:
            outcome = planned.action.apply(self._context, plan, self._report)
        except Unavailable as error:
            self.world.tell(self.actor, f"does not know how it ended: {error.message}")
            self._doubt(operation, is_recovery=is_recovery)
        except PaimarkError as error:
            self._require_undamaged(error)
            self.world.tell(self.actor, f"refused: {error.message}")
            self.asks = is_recovery and "--assume" in error.hint
            if not is_recovery:
                operation.state = "refused"
                self._outcomes.refused(operation)
        except (Death, Violation):
            self._doubt(operation, is_recovery=is_recovery)
            raise
        else:
            self.world.tell(self.actor, f"done: {outcome.message}")
            if not is_recovery:
                operation.outcome, operation.state = outcome, "acknowledged"
                if not plan.empty:
                    self._outcomes.acknowledged(operation)

    def _require_undamaged(self, error: PaimarkError) -> None:
        """No file is ever damaged here: who finds one damaged read what was being moved.

        A branch that is half made has no schema.
        """
        if isinstance(error, Corrupt) and not error.message.endswith("has no schema"):
            raise Violation(f"{self.actor} takes the table for damaged: {error.message}")

    def _doubt(self, operation: Operation, *, is_recovery: bool) -> None:
        if not is_recovery:
            operation.state = "in doubt"
            self._watch.doubts.append(operation)
            if operation.action == "create-tag":
                self._watch.unproven.add(str(operation.arguments["name"]))

    def _report(self, line: str) -> None:
        self.world.tell(self.actor, f"  {line}")
