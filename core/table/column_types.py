"""A column's type as Paimon writes it in a schema: `DECIMAL(10, 2) NOT NULL`."""

from __future__ import annotations

import re
from typing import NamedTuple

_WORDS = re.compile(r"\s*([A-Z_]+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?(.*)", re.DOTALL)


class ColumnType(NamedTuple):
    """`name` is empty for what is no type. `first` and `second` are the numbers in brackets."""

    name: str
    first: int | None
    second: int | None
    is_local: bool

    @classmethod
    def of(cls, text: str) -> ColumnType:
        matched = _WORDS.match(text.upper())
        if matched is None:
            return cls("", None, None, False)
        name, first, second, rest = matched.groups()
        is_local = name == "TIMESTAMP_LTZ" or "LOCAL" in rest
        # Java writes `TIMESTAMP(6) WITH LOCAL TIME ZONE`, pypaimon this.
        name = "TIMESTAMP_LTZ" if is_local else name
        return cls(name, int(first) if first else None, int(second) if second else None, is_local)

    @property
    def decimal(self) -> tuple[int, int]:
        """Precision and scale of a DECIMAL."""
        return self.first or 10, self.second or 0

    @property
    def fraction(self) -> int:
        """Digits after the second of a TIMESTAMP."""
        return 6 if self.first is None else self.first

    @property
    def is_wide(self) -> bool:
        """Whether a serialised row keeps it apart: a DECIMAL over a long, a TIMESTAMP finer than 1 ms."""
        if self.name == "DECIMAL":
            return self.decimal[0] > 18
        return self.name in ("TIMESTAMP", "TIMESTAMP_LTZ") and self.fraction > 3
