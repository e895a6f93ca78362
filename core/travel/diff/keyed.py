"""The SQL of a difference by keys: a row is compared with the row of the same key in the other version."""

from __future__ import annotations

from paimark.core.quoting import literal, quoted
from paimark.core.table.definition.column_types import NUMBERS, ColumnType, type_text
from paimark.core.text import distinct
from paimark.core.travel.diff.columns import SIDE, Sides, field_of, one_type, ordered
from paimark.core.travel.diff.rows import CHANGE, LINES, TIMES, Page

_KIND = f"CASE WHEN o.{SIDE} IS NULL THEN 'added' WHEN n.{SIDE} IS NULL THEN 'removed' ELSE 'changed' END"
_BOTH = f"o.{SIDE} AND n.{SIDE}"
_ONLY = {"added": f"o.{SIDE} IS NULL", "removed": f"n.{SIDE} IS NULL", "changed": _BOTH}


def wide_sql(sides: Sides) -> str:
    """Its columns: `change`, the keys, `changed_columns`, then `old_x` and `new_x` for each other column."""
    which = [f"IF({_same(sides, each)}, NULL, {literal(sides.pairs[each].name)})" for each in sides.compared]
    named = f"IF({_BOTH}, concat_ws(', ', {', '.join(which)}), NULL)" if which else "NULL"
    columns = [_KIND, *_keys(sides), named, *_values(sides)]
    return (
        f"SELECT {_listed(columns, _wide_names(sides))}\n{_joined(sides)}\nORDER BY {', '.join(_keys(sides))}"
    )


def totals_sql(sides: Sides) -> str:
    """One row per kind of change: `change`, `times`, `lines`, then the number of changes of each column."""
    flags = [f"{_BOTH} AND NOT ({_same(sides, each)}) AS c{each}" for each in sides.compared]
    counts = [f"count_if(c{each}) AS c{each}" for each in sides.compared]
    return (
        f"SELECT {', '.join([CHANGE, f'count(*) AS {TIMES}', f'count(*) AS {LINES}', *counts])}\n"
        f"FROM (SELECT {', '.join([f'{_KIND} AS {CHANGE}', *flags])}\n{_joined(sides)})\n"
        f"GROUP BY {CHANGE}"
    )


def page_sql(sides: Sides, page: Page) -> str:
    """Its columns: `change`, the keys, an array with the indexes of changed columns, values (old before new).

    The array is null for a row that only one of the two has.
    """
    which = ", ".join(f"IF({_same(sides, each)}, NULL, {each})" for each in sides.compared)
    changed = f"IF({_BOTH}, array_compact(array({which})), NULL)" if which else "NULL"
    columns = [_KIND, *_keys(sides), changed, *_values(sides)]
    listed = _listed(columns, [CHANGE, *(f"p{place}" for place in range(len(columns) - 1))])
    return f"SELECT {listed}\n{_joined(sides, page)}\nORDER BY {', '.join(_order(sides, page))}{page.end}"


def _order(sides: Sides, page: Page) -> list[str]:
    keys = _keys(sides)
    if not page.by_most:
        return keys
    differing = [f"IF({_same(sides, each)}, 0, 1)" for each in sides.compared]
    most = [f"IF({_BOTH}, {' + '.join(differing)}, 0) DESC"] if differing else []
    if isinstance(page.only, int) and _is_number(sides, page.only):
        by = f"abs(CAST(n.c{page.only} AS DOUBLE) - CAST(o.c{page.only} AS DOUBLE))"
        return [f"{by} DESC NULLS LAST", *most, *keys]
    return [*most, *keys]


def _is_number(sides: Sides, place: int) -> bool:
    pair = sides.pairs[place]
    fields = (pair.old, pair.new)
    return all(field is not None and ColumnType.of(type_text(field.type)).name in NUMBERS for field in fields)


def _joined(sides: Sides, page: Page | None = None) -> str:
    """The clauses FROM to WHERE: the rows that differ."""
    joined = " AND ".join(f"o.k{index} <=> n.k{index}" for index in range(len(sides.keys)))
    same = " AND ".join(_same(sides, index) for index in sides.compared) or "true"
    only = page.only if page is not None else None
    if isinstance(only, int):
        where = f"{_BOTH} AND NOT ({_same(sides, only)})"
    else:
        where = f"o.{SIDE} IS NULL OR n.{SIDE} IS NULL\n   OR NOT ({same})"
        where = where if only is None else f"{_ONLY[only]} AND ({where})"
    return (
        f"FROM ({_side(sides, new=False)}) o\n"
        f"FULL OUTER JOIN ({_side(sides, new=True)}) n\n"
        f"  ON {joined}\n"
        f"WHERE {where}"
    )


def _side(sides: Sides, *, new: bool) -> str:
    """A version's rows, with columns renamed so that their names can't clash."""
    keys = [f"{name} AS k{index}" for index, name in enumerate(sides.keys_of(new))]
    values = [(index, field_of(sides.pairs[index], new)) for index in sides.others]
    named = [f"{quoted(field.name)} AS c{index}" for index, field in values if field is not None]
    return f"SELECT {', '.join([*keys, *named, f'true AS {SIDE}'])}\n      FROM {sides.source(new)}"


def _keys(sides: Sides) -> list[str]:
    return [f"coalesce(n.k{index}, o.k{index})" for index in range(len(sides.keys))]


def _values(sides: Sides) -> list[str]:
    values = []
    for index in sides.others:
        pair = sides.pairs[index]
        values += [f"o.c{index}"] if pair.old else []
        values += [f"n.c{index}"] if pair.new else []
    return values


def _wide_names(sides: Sides) -> list[str]:
    names = [CHANGE, *(pair.name for pair in sides.keys), "changed_columns"]
    for index in sides.others:
        pair = sides.pairs[index]
        names += [f"old_{pair.name}"] if pair.old else []
        names += [f"new_{pair.name}"] if pair.new else []
    return distinct(names, str.lower)


def _listed(columns: list[str], names: list[str]) -> str:
    return ",\n       ".join(f"{text} AS {quoted(name)}" for text, name in zip(columns, names, strict=True))


def _same(sides: Sides, index: int) -> str:
    pair = sides.pairs[index]
    before = "NULL" if pair.old is None else ordered(f"o.c{index}", pair.old)
    after = "NULL" if pair.new is None else ordered(f"n.c{index}", pair.new)
    return f"{one_type(before, pair)} <=> {one_type(after, pair)}"
