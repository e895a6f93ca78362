"""The check at rest that Paimark's own reads of the table agree with the model."""

from __future__ import annotations

import msgspec

from paimark.core.errors import PaimarkError
from paimark.core.table.layout import Root, savepoint_tag
from paimark.core.travel.version import resolve_latest, resolve_time, resolve_version
from paimark.core.verify.verify import verify
from tests.simulation.actors.actor_files import ActorFiles
from tests.simulation.actors.ours import context_of
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import Identity
from tests.simulation.judging import view
from tests.simulation.judging.judge import Judge
from tests.simulation.judging.watch import describe
from tests.simulation.world import TABLE, Violation, World

_TIMES = 4


class OurEyes:
    """Reads with the product's own code. Raises `Violation`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._store = world.store

    def look(self, judge: Judge) -> None:
        """Check reads of main, and `verify` against the result of `judge`, which must have run."""
        self._files = ActorFiles(self._world, Actor("reader"))
        main = view.main_root(self._store)
        try:
            self._newest(main)
            self._savepoints(main)
            self._times(main)
        except PaimarkError as error:
            raise Violation(f"main can't be read by us: {error.message}") from error
        self._verify(judge)

    def _newest(self, main: Root) -> None:
        found = resolve_latest(self._files, main)
        ours = _identity(found.snapshot) if found else None
        there = view.head(self._store, main)
        if ours != there:
            raise Violation(f"we read main at {describe(ours)}, and its newest is {describe(there)}")

    def _savepoints(self, main: Root) -> None:
        for name, found in view.tags(self._store, main).items():
            number = name.removeprefix(savepoint_tag(0)[:-1])
            if f"{TABLE.savepoints}/savepoint-{number}" in self._store.files:
                ours = _identity(resolve_version(self._files, main, name).snapshot)
                if ours != found:
                    raise Violation(f"we read {name} at {describe(ours)}, and it holds {describe(found)}")

    def _times(self, main: Root) -> None:
        """Check reads as of a time: the newest state committed at or before it."""
        held = {*view.snapshots(self._store, main).values(), *view.tags(self._store, main).values()}
        states = sorted((self._world.commits[each].time, each.id) for each in held)
        for time, _ in self._world.random.sample(states, min(_TIMES, len(states))):
            asked = time + self._world.random.randint(0, 50)
            wanted = max(each for each in states if each[0] <= asked)
            found = resolve_time(self._files, main, asked).snapshot
            if (found.time_millis, found.id) != wanted:
                raise Violation(f"as of {asked} we read snapshot {found.id}, not {wanted[1]}")

    def _verify(self, judge: Judge) -> None:
        """Check that `verify` finds the same orphans as the judge, and problems exactly if the judge does."""
        report = verify(context_of(self._world, Actor("verify")), TABLE, older_than=0)
        # What the expiry of another root took is said apart from what is lost.
        # Of a commit that a stock engine overwrote it says so: no reference needs that any more.
        known = [each for each in report.problems if each.cause == "lost" and judge.knows_overwritten]
        said = [each for each in (*report.problems, *report.expired) if each not in known]
        if bool(said) != judge.has_holes:
            found = said[0] if said else "nothing wrong"
            raise Violation(f"verify finds {found}, and the judge differs")
        for root in judge.strays:
            if not any(each.path.startswith(root.schemas) for each in report.problems):
                raise Violation(f"verify does not say that {root.label} lacks its schema")
        if judge.has_holes:
            return
        orphans = {each.path for each in (*report.orphans, *report.young, *report.leftovers)}
        counted = {
            each for each in orphans if each.startswith((TABLE.manifests, f"{TABLE.directory}/bucket-"))
        }
        if differing := counted ^ judge.unowned:
            raise Violation(f"verify and the judge differ on orphans: {sorted(differing)[:3]}")


def _identity(snapshot: msgspec.Struct) -> Identity:
    found = msgspec.to_builtins(snapshot)
    return Identity(found["id"], found["baseManifestList"], found["deltaManifestList"])
