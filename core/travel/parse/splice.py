"""Replace the tables and time-travel clauses of a statement by other names; the rest of the text stays.

A table without an alias gets the last part of its name as alias, so that `orders.price` still resolves, and
`shop.orders.price` becomes `orders.price`. If that alias would be ambiguous, the alias is the whole name:
`` `a.t` ``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimark.core.quoting import quoted
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.uses import ColumnReference, Relation, Statement, TableUse

# Only the last so many parts of a name are compared: no table's name has more.
_LONGEST_NAME = 8
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` replaces `[start, end)` of the original."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Spliced:
    """The edited statement, and the edits, which are in order and do not overlap."""

    sql: str
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, sql: str, edits: Sequence[Edit]) -> Spliced:
        """Apply the edits, which must be in order."""
        pieces, position = [], 0
        for edit in edits:
            pieces += [sql[position : edit.start], edit.text]
            position = edit.end
        return cls("".join(pieces) + sql[position:], tuple(edits))

    def original_position(self, position: int) -> int:
        """Map a position in `sql` to the original; new text maps to the start of the text it replaced."""
        shift = 0
        for edit in self.edits:
            start = edit.start + shift
            if position < start:
                break
            if position < start + len(edit.text):
                return edit.start
            shift += len(edit.text) - (edit.end - edit.start)
        return position - shift


def splice(statement: Statement, names: Mapping[TableUse, str], *, database: str | None = None) -> Spliced:
    """Replace each use by `names[use]` (a view's plain name).

    `database` is the current one: with it `shop.orders.price` resolves to `FROM orders`. Raises `SqlRefused`
    if `t.price` could be a column of two tables, because their aliases must differ now.
    """
    return _Splicer(statement, names, database).splice()


class _Splicer:
    def __init__(self, statement: Statement, names: Mapping[TableUse, str], database: str | None) -> None:
        self.statement = statement
        self.database = database
        self.names = [names.get(use) for use in statement.uses]
        self.full_names = [self._full_name(use) for use in statement.uses]
        self.named: list[dict[tuple[str, ...], list[Relation]] | None] = [None] * len(statement.blocks)
        self.resolved = [self._find(reference) for reference in statement.references]
        self.aliases = self._aliases()
        # The key is the identity of a list in `named`; many references share one list.
        self.meanings: dict[int, set[str | None]] = {}

    def splice(self) -> Spliced:
        edits: list[Edit] = []
        for number, (use, name) in enumerate(zip(self.statement.uses, self.names, strict=True)):
            if name is not None:
                edits += _table_edits(use, name, self.aliases.get(number))
        for reference, (length, relations) in zip(self.statement.references, self.resolved, strict=True):
            edits += self._reference_edits(reference, length, relations)
        return Spliced.of(self.statement.sql, sorted(edits, key=lambda edit: edit.start))

    def _full_name(self, use: TableUse) -> tuple[str, ...]:
        parts = use.parts if len(use.parts) > 1 or self.database is None else (self.database, *use.parts)
        return tuple(part.lower() for part in parts)

    def _find(self, reference: ColumnReference) -> tuple[int, list[Relation]]:
        """The number of parts that name a relation, and the matching relations of the nearest block."""
        block: int | None = reference.block
        parts = tuple(part.lower() for part in reference.parts)
        while block is not None:
            named = self._relations_by_name(block)
            longest = min(len(parts) - (not reference.is_relation), _LONGEST_NAME)
            for length in range(longest, 0, -1):
                if matching := named.get(parts[:length]):
                    return length, matching
            block = self.statement.blocks[block].parent
        return 0, []

    def _relations_by_name(self, block: int) -> dict[tuple[str, ...], list[Relation]]:
        """The relations of a block by each name that refers to them: `t`, without an alias also `db.t`."""
        named = self.named[block]
        if named is None:
            named = self.named[block] = {}
            for relation in self.statement.blocks[block].relations:
                for name in self._names_of(relation):
                    named.setdefault(name, []).append(relation)
        return named

    def _names_of(self, relation: Relation) -> list[tuple[str, ...]]:
        if relation.use is None or relation.has_alias:
            return [(relation.name.lower(),)]
        full = self.full_names[relation.use]
        return [full[start:] for start in range(max(0, len(full) - _LONGEST_NAME), len(full))]

    def _aliases(self) -> dict[int, str]:
        """The new aliases of the uses without one."""
        aliases = {}
        clashing = self._clashing_names()
        for number, (use, name) in enumerate(zip(self.statement.uses, self.names, strict=True)):
            if name is None or use.alias is not None:
                continue
            last = use.parts[-1]
            if use.alias_at is None:
                aliases[number] = name
            else:
                aliases[number] = ".".join(use.parts) if last.lower() in clashing else last
        return aliases

    def _clashing_names(self) -> set[str]:
        """Last parts that mean several relations, if a reference names one of these by more than that."""
        meanings: dict[str, set[object]] = {}
        for block in self.statement.blocks:
            for relation in block.relations:
                is_own = relation.use is not None and not relation.has_alias
                meaning = self.full_names[relation.use] if is_own and relation.use is not None else "other"
                meanings.setdefault(relation.name.lower(), set()).add(meaning)
        by_full_name = {
            relation.name.lower()
            for length, relations in self.resolved
            if length > 1
            for relation in relations
        }
        return {name for name in by_full_name if len(meanings[name]) > 1}

    def _reference_edits(
        self, reference: ColumnReference, length: int, relations: list[Relation]
    ) -> list[Edit]:
        aliases = self._aliases_of(relations)
        if not any(aliases):
            return []
        spans, use = reference.spans, self.statement.uses[relations[0].use or 0]
        if len(aliases) > 1:
            uses = [self.statement.uses[each.use or 0] for each in relations[:_MOST_NAMED]]
            raise SqlRefused(
                f"{'.'.join(reference.parts)} may mean a column of "
                f"{' or '.join('.'.join(each.parts) for each in uses)}",
                "Give the tables aliases, or write the column with its database.",
                self.statement.sql,
                spans[0][0],
            )
        (alias,) = aliases
        if alias is None or (length == 1 and alias == use.parts[-1]):
            return []
        if alias == use.parts[-1]:
            return [Edit(spans[0][0], spans[length - 1][0], "")]
        return [Edit(spans[0][0], spans[length - 1][1], quoted(alias))]

    def _aliases_of(self, relations: list[Relation]) -> set[str | None]:
        """The new aliases of the tables of a name; empty if the statement itself gives that alias."""
        aliases = self.meanings.get(id(relations))
        if aliases is None:
            is_given = any(each.use is None or each.has_alias for each in relations)
            aliases = set() if is_given else {self.aliases.get(each.use or 0) for each in relations}
            self.meanings[id(relations)] = aliases
        return aliases


def _table_edits(use: TableUse, name: str, alias: str | None) -> list[Edit]:
    new_alias = f"AS {quoted(alias)}" if alias is not None and use.alias_at is not None else ""
    edits = [Edit(*use.name_span, quoted(name))]
    if new_alias and use.alias_at == use.name_span[1]:
        edits, new_alias = [Edit(*use.name_span, f"{quoted(name)} {new_alias}")], ""
    if use.clause_span is not None:
        at_clause = use.alias_at == use.clause_span[1]
        edits.append(Edit(*use.clause_span, new_alias if at_clause else ""))
        new_alias = "" if at_clause else new_alias
    if new_alias and use.alias_at is not None:
        edits.append(Edit(use.alias_at, use.alias_at, f" {new_alias}"))
    return edits
