"""What a repair will change, as a plan says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimark.core.actions.plan import Item, Refusal
from paimark.core.actions.repair.changes import BACK, CHANGED, CONFLICT, GO
from paimark.core.figures import counted
from paimark.core.text import cut_middle, quoted_if_unclear

# What decides over rows that somebody changed since.
FAIL, KEEP_NOW, TAKE_THEN = CHOICES = ("fail", "now", "then")
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
    def of(cls, answer: Mapping[str, Any]) -> Example:
        return cls(answer["k"], answer.get("then"), answer.get("now"))

    @property
    def label(self) -> str:
        return ", ".join(f"{quoted_if_unclear(name)}={_shown(value)}" for name, value in self.key.items())

    @property
    def change(self) -> str:
        """`order_id=7: price -1.0 -> 5.0`: from the row of now to that of then."""
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

    `lost` are rows that can't be taken out, because they are no longer there; they have no key.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, Example] = field(default_factory=dict)
    conflicts: Sequence[Example] = ()
    lost: int = 0
    words: Words = _OF_REPAIRS

    @classmethod
    def of(cls, answers: Sequence[Mapping[str, Any]]) -> Found:
        return cls(
            {each["kind"]: each["n"] for each in answers},
            {each["kind"]: Example.of(each["example"]) for each in answers if each.get("example")},
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
    return cut_middle(quoted_if_unclear(value) if isinstance(value, str) else str(value), _LONGEST)
