"""What decides over rows that somebody changed since: one word for all, or a file with a choice for each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from paimark.core.actions.checks import fingerprint, text_argument
from paimark.core.actions.context import Context
from paimark.core.actions.merge.conflict_lines import header_of
from paimark.core.actions.merge.resolution import Between, Resolution, moved, resolved, undecided
from paimark.core.actions.merge.rows import decimals_of, require_fitting
from paimark.core.actions.merge.sql import CHOICES
from paimark.core.actions.plan import Item, Refusal
from paimark.core.actions.repair.changes import CONFLICT, Chosen, KeyedChanges
from paimark.core.actions.repair.found import FAIL, TAKE_THEN, Found
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase
from paimark.core.errors import UsageError
from paimark.core.figures import counted
from paimark.core.spark.protocol import Repair, Version
from paimark.core.table.records import Snapshot
from paimark.core.working_directory import absolute


@dataclass(frozen=True)
class KeyedRepair:
    """What a repair compares: `then` has the rows as they shall be, `base` those that both come from."""

    action: str
    start: RewriteBase
    base: Snapshot | None
    then: Snapshot
    versions: Mapping[str, Version]
    queries: KeyedChanges
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def between(self) -> Between:
        start, now = self.start, self.start.head.snapshot
        header = header_of(start, self.action, start.root.label, self.base, now, self.then)
        return Between(header, start, lambda: (self.versions, self.chosen), texts=self.texts)

    @property
    def chosen(self) -> Chosen:
        queries, schema = self.queries, self.start.schema
        return Chosen(
            queries.keys, queries.columns, [], decimals=decimals_of(schema), changes=queries.changes
        )


@dataclass(frozen=True)
class Decision:
    """`word` is that for all rows in conflict. `refusals` are why the choices are none for these rows."""

    word: str
    resolution: Resolution | None = None
    refusals: tuple[Refusal, ...] = ()

    @property
    def arguments(self) -> dict[str, str | int | bool | None]:
        """Those of the plan."""
        if self.resolution is None:
            return {"on_conflict": self.word}
        chosen = {"resolve": self.resolution.path, "resolve_digest": self.resolution.digest}
        return {"on_conflict": self.word, **chosen}

    def fingerprint(self, of: str) -> str:
        return of if self.resolution is None else fingerprint(of, self.resolution.digest)

    def refused(self, found: Found, since: str) -> list[Refusal]:
        return [] if self.resolution is not None else found.refusals(self.word, since)

    def changes(self, found: Found) -> bool:
        return self.resolution is not None or found.changes(self.word)

    def items(self, found: Found, since: str) -> list[Item]:
        if self.resolution is None:
            return [*found.items(self.word, since)]
        count = found.number(CONFLICT)
        said = (
            f"{counted(count, 'row')} changed {since}: what was chosen decides: {self.resolution.description}"
        )
        counts = {kind: n for kind, n in found.counts.items() if kind != CONFLICT}
        rest = Found(counts, found.examples, words=found.words)
        decided = Item("loses", said, "rows-replaced", is_grave=True, count=count, unit="rows")
        return [decided, *rest.items(self.word, since)]

    def ordered(self, order: Repair, repair: KeyedRepair) -> Repair:
        """The order with the rows."""
        if self.resolution is None:
            upserts = repair.queries.upserts(takes_all=self.word == TAKE_THEN)
            return replace(order, upserts_sql=upserts, texts=repair.texts)
        texts = {**repair.texts, CHOICES: self.resolution.texts}
        return replace(order, upserts_sql=repair.chosen.upserts, texts=texts)


def decision(context: Context, arguments: Mapping[str, object], repair: KeyedRepair | None) -> Decision:
    """Arguments: `on_conflict`, or `resolve`, a file of choices, with its digest as `resolve_digest` once it
    was planned. Without a `repair` the rows have no key. Raises as `resolved`."""
    word, path = text_argument(arguments, "on_conflict") or FAIL, text_argument(arguments, "resolve")
    if path is None:
        return Decision(word)
    if word != FAIL:
        raise UsageError(f"resolve decides every key in conflict, so on_conflict can't be {word}")
    if repair is None:
        raise UsageError("Without a primary key no row can be chosen", "Leave the choices out.")
    path, between = absolute(os.path.expanduser(path)), repair.between
    resolution = resolved(between, path, text_argument(arguments, "resolve_digest"))
    refusals = [*moved(between, path, resolution.header), *undecided(resolution)]
    if not refusals and not context.read_only:
        texts = {**repair.texts, CHOICES: resolution.texts}
        require_fitting(
            context, repair.start, repair.versions, repair.chosen, resolution, context.progress, texts
        )
    return Decision(word, resolution, tuple(refusals))
