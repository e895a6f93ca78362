"""What a repair will change, as a plan says it, and what decides over rows that somebody changed since."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from paimark.core.actions.checks import fingerprint, text_argument
from paimark.core.actions.context import Context
from paimark.core.actions.merge.conflict_lines import header_of
from paimark.core.actions.merge.resolution import Between, Resolution, moved, resolved, undecided
from paimark.core.actions.merge.rows import require_fitting
from paimark.core.actions.merge.sql import (
    BACK,
    CHANGED,
    CHOICES,
    CONFLICT,
    GO,
    Choices,
    KeyedChanges,
)
from paimark.core.actions.plan import Item, Refusal
from paimark.core.actions.rewrite.json_rows import typed
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase
from paimark.core.errors import UsageError
from paimark.core.figures import counted
from paimark.core.spark.protocol import Repair, Version
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.text import cut_middle, plain_text, quoted_if_unclear
from paimark.core.working_directory import absolute

# What decides over rows that somebody changed since: one word for all, or a file with a choice for each.
FAIL, TAKE_THEN = "fail", "then"
# The word for those that a person edited.
_EDITED = "edited"
_LONGEST = 40
_MOST_CELLS = 3

Row = Mapping[str, Any] | None


@dataclass(frozen=True)
class Example:
    """A key, or all values of a row without one; its rows then and now."""

    key: Mapping[str, Any]
    then: Row = None
    now: Row = None

    @classmethod
    def of(cls, schema: TableSchema, answer: Mapping[str, Any]) -> Example:
        """Of the columns `k`, `then` and `now` of a query."""
        key, then, now = (typed(schema, answer.get(each) or {}) for each in ("k", "then", "now"))
        return cls(key, then or None, now or None)

    @property
    def label(self) -> str:
        return ", ".join(f"{quoted_if_unclear(name)}={_shown(value)}" for name, value in self.key.items())

    @property
    def change(self) -> str:
        """`order_id=7: price -1.0 -> 5.0`: from the present row to the earlier one."""
        if self.then is None or self.now is None:
            return f"{self.label}{': no row now' if self.then else ': no row then' if self.now else ''}"
        names = [each for each in {**self.now, **self.then} if self.now.get(each) != self.then.get(each)]
        cells = [
            f"{quoted_if_unclear(each)} {_shown(self.now.get(each))} -> {_shown(self.then.get(each))}"
            for each in names[:_MOST_CELLS]
        ]
        return f"{self.label}: {', '.join(cells)}{', …' if len(names) > _MOST_CELLS else ''}"


@dataclass(frozen=True)
class Words:
    """What one row does that changes, several rows; the same of rows that are not there now; and how a person
    decides over rows in conflict."""

    changes: tuple[str, str]
    comes: tuple[str, str]
    hint: str


_OF_REPAIRS = Words(
    ("becomes what it was", "become what they were"),
    ("comes back", "come back"),
    "Say which with --on-conflict: now keeps the current rows, then takes the earlier ones; or choose for "
    "each, with `v` in the console, or in the file of --conflicts-out.",
)


@dataclass(frozen=True)
class Found:
    """How many rows come back, go, become others and are in conflict, with an example of each kind.

    `lost` are rows that can't be taken out, because they are no longer there; they have no key. Of the kinds
    in `older` a row that is added may not replace the one that is there.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, Example] = field(default_factory=dict)
    conflicts: Sequence[Example] = ()
    lost: int = 0
    older: Collection[str] = ()
    words: Words = _OF_REPAIRS

    @classmethod
    def of(cls, schema: TableSchema, answers: Sequence[Mapping[str, Any]]) -> Found:
        return cls(
            {each["kind"]: each["n"] for each in answers},
            {each["kind"]: Example.of(schema, each["example"]) for each in answers if each.get("example")},
            older=[each["kind"] for each in answers if each["older"]],
        )

    def number(self, kind: str) -> int:
        return self.counts.get(kind, 0)

    def changes(self, choice: str) -> bool:
        """Whether any row is to change."""
        takes = (BACK, GO, CHANGED, *([CONFLICT] if choice == TAKE_THEN else []))
        return any(self.number(each) for each in takes)

    def items(self, choice: str, since: str) -> Iterator[Item]:
        """`since`: when the rows in conflict changed, `since snapshot 4`."""
        if count := self.number(GO):
            yield _lost(f"{_rows(count)} {'goes' if count == 1 else 'go'}{self._for(GO)}", count)
        if count := self.number(CHANGED):
            verb = self.words.changes[count > 1]
            yield _lost(f"{_rows(count)} {verb}{self._for(CHANGED)}", count)
        if count := self.number(CONFLICT):
            that = f"{_rows(count)} changed {since}"
            if choice == TAKE_THEN:
                yield _lost(f"{that}: what is there now{self._for(CONFLICT)}", count)
            else:
                stay = "stays as it is" if count == 1 else "stay as they are"
                yield Item("not", f"{that}: {stay}{self._for(CONFLICT)}", "later-change-stays", count=count)
        if self.lost:
            text = f"{_rows(self.lost)} of this commit changed or went since"
            yield Item("not", text, "later-change-stays", count=self.lost)
        if count := self.number(BACK):
            text = f"{_rows(count)} {self.words.comes[count > 1]}{self._for(BACK)}"
            yield Item("affects", text, "rows-appear", count=count, unit="rows")

    def refusals(self, choice: str, since: str) -> list[Refusal]:
        """That rows are in conflict, if nothing decides over them."""
        if choice != FAIL:
            return []
        if count := self.number(CONFLICT):
            first = "; ".join(each.change for each in self.conflicts)
            more = "; ..." if count > len(self.conflicts) else ""
            return [
                Refusal(
                    f"{counted(count, 'key')} changed {since}, to other rows: {first}{more}",
                    self.words.hint,
                    "conflicts",
                )
            ]
        if self.lost:
            return [
                Refusal(
                    f"{_rows(self.lost)} of this commit changed or went since, and without a primary key "
                    "nobody knows to what",
                    "With --on-conflict now those that are still there go.",
                    "conflicts",
                )
            ]
        return []

    def _for(self, kind: str) -> str:
        if (example := self.examples.get(kind)) is None:
            return ""
        return f": {example.change if kind in (CHANGED, CONFLICT) else example.label}" + (
            ", …" if self.number(kind) > 1 else ""
        )


def _lost(text: str, count: int) -> Item:
    return Item("loses", text, "rows-replaced", is_grave=True, count=count, unit="rows")


def _rows(count: int) -> str:
    return counted(count, "row")


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        value = msgspec.json.encode(value).decode()
    return cut_middle(quoted_if_unclear(value) if isinstance(value, str) else plain_text(value), _LONGEST)


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
        return Between(header, start, lambda: (self.versions, Choices(self.queries)), texts=self.texts)


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

    def overwrites(self, found: Found) -> bool:
        """Whether single rows can't be written so that the table shows them."""
        decides = self.resolution is not None or self.word == TAKE_THEN
        return any(kind in found.older for kind in (BACK, CHANGED, *([CONFLICT] if decides else [])))

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
        return replace(order, upserts_sql=Choices(repair.queries).upserts, texts=texts)


def decision(context: Context, arguments: Mapping[str, object], repair: KeyedRepair | None) -> Decision:
    """Arguments: `on_conflict`, or `resolve`, a file of choices, with its digest as `resolve_digest` once it
    was planned. Without a `repair` the rows have no key. Raises as `resolved`."""
    word, path = text_argument(arguments, "on_conflict") or FAIL, text_argument(arguments, "resolve")
    word = TAKE_THEN if word == _EDITED else word
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
        choices = Choices(repair.queries)
        require_fitting(context, repair.start, repair.versions, choices, resolution, context.progress, texts)
    return Decision(word, resolution, tuple(refusals))
