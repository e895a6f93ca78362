"""The SQL of a difference without keys. It counts whole rows, because a table may contain a row twice."""

from __future__ import annotations

from paimark.core.quoting import quoted
from paimark.core.text import distinct
from paimark.core.travel.diff.columns import SIDE, Sides, field_of, one_type, ordered
from paimark.core.travel.diff.rows import CHANGE, LINES, TIMES, Page

_ONLY = {"added": "> 0", "removed": "< 0", "changed": "IS NULL"}


def wide_sql(sides: Sides) -> str:
    """Its columns: `change`, `times` (how many more or fewer of that row there are), the table's columns."""
    return page_sql(sides, Page())


def totals_sql(sides: Sides) -> str:
    """One row per kind of change: `change`, `times` (number of rows), `lines` (number of different rows)."""
    rows = f"SELECT {_kind()} AS {CHANGE}, abs(sum({SIDE})) AS {TIMES}\n{_grouped(sides, Page())}"
    return f"SELECT {CHANGE}, sum({TIMES}) AS {TIMES}, count(*) AS {LINES}\nFROM ({rows})\nGROUP BY {CHANGE}"


def page_sql(sides: Sides, page: Page) -> str:
    """As `wide_sql`, for the rows of one page. `page.only` has no effect if it is a column."""
    kept = sides.compared
    names = distinct([CHANGE, TIMES, *(sides.pairs[index].name for index in kept)], str.lower)
    values = [f"first(c{index})" if _is_grouped_apart(sides, index) else f"c{index}" for index in kept]
    selected = zip([_kind(), f"abs(sum({SIDE}))", *values], names, strict=True)
    listed = ",\n       ".join(f"{text} AS {quoted(name)}" for text, name in selected)
    most = [f"abs(sum({SIDE})) DESC"] if page.by_most else []
    order = ", ".join([*most, *_groups(sides)])
    return f"SELECT {listed}\n{_grouped(sides, page)}\nORDER BY {order}{page.end}"


def _kind() -> str:
    return f"IF(sum({SIDE}) > 0, 'added', 'removed')"


def _grouped(sides: Sides, page: Page) -> str:
    """The clauses FROM to HAVING: the rows whose counts differ between the two versions."""
    only = _ONLY[page.only] if isinstance(page.only, str) else "<> 0"
    both = f"{_counted(sides, new=False)}\n      UNION ALL\n      {_counted(sides, new=True)}"
    if apart := [index for index in sides.compared if _is_grouped_apart(sides, index)]:
        made = ", ".join(f"{_form(sides, index)} AS g{index}" for index in apart)
        both = f"SELECT *, {made} FROM ({both})"
    return f"FROM ({both})\nGROUP BY {', '.join(_groups(sides))}\nHAVING sum({SIDE}) {only}"


def _groups(sides: Sides) -> list[str]:
    return [f"g{index}" if _is_grouped_apart(sides, index) else f"c{index}" for index in sides.compared]


def _is_grouped_apart(sides: Sides, index: int) -> bool:
    """Whether rows are grouped by another form of the column, because Spark can't compare its values."""
    return _form(sides, index) != f"c{index}"


def _form(sides: Sides, index: int) -> str:
    field = sides.pairs[index].new
    assert field is not None
    return ordered(f"c{index}", field)


def _counted(sides: Sides, *, new: bool) -> str:
    values = []
    for index in sides.compared:
        pair = sides.pairs[index]
        field = field_of(pair, new)
        text = "NULL" if field is None else quoted(field.name)
        values.append(f"{one_type(text, pair)} AS c{index}")
    side = 1 if new else -1
    return f"SELECT {', '.join([*values, f'{side} AS {SIDE}'])} FROM {sides.source(new)}"
