"""Find the tables of a statement in one pass over its tokens.

The scanner knows only as much of Spark's grammar as it needs to find the names of tables: after FROM, JOIN,
TABLE and MERGE's USING, after the commas of a FROM list, and at the head of commands. It ignores the rest, so
new expressions in Spark can't confuse it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from paimark.core.travel.parse.clauses import starts_clause
from paimark.core.travel.parse.ctes import CteNames
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.hints import is_options, read_hint, refuse_hint
from paimark.core.travel.parse.names import NameReader, with_clause
from paimark.core.travel.parse.tokens import Token, keywords
from paimark.core.travel.parse.uses import Clause, TableUse

_QUERY_STARTS = keywords("SELECT WITH FROM VALUES TABLE")
_SET_OPERATIONS = keywords("UNION INTERSECT EXCEPT MINUS")
_BEHIND_SET_OPERATION = keywords("SELECT FROM TABLE VALUES MAP REDUCE ALL DISTINCT (")
# Words that are not the name of a function before a parenthesis.
_NOT_FUNCTIONS = keywords(
    "IN EXISTS ANY ALL SOME AS ON AND OR NOT WHEN THEN ELSE WHERE HAVING BY SELECT FROM"
)
_EXPLAIN_MODES = keywords("EXTENDED CODEGEN COST LOGICAL FORMATTED")
_NOT_TABLES = keywords("FUNCTION DATABASE SCHEMA NAMESPACE CATALOG PROCEDURE")
_CLAUSE_HINT = "A clause stands directly behind the name of a table."


@dataclass
class _Frame:
    """One pair of parentheses, or the statement itself."""

    block: int
    ctes: CteNames = field(default_factory=CteNames)
    is_query: bool = False
    in_from: bool = False
    # After `|>`, where JOIN needs no FROM before it.
    in_pipe: bool = False
    is_call: bool = False
    # Whether a query may still begin after AS (CREATE), or with TABLE (INSERT).
    query_after_as: bool = False
    query_may_start: bool = False


class Scanner(NameReader):
    """Scans the tokens of one statement into the lists below. `scan` raises `SqlRefused`."""

    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        super().__init__(sql, tokens)
        self.uses: list[TableUse] = []
        self.target: TableUse | None = None
        # The block of each use, and how many relations each block has.
        self._blocks: list[int] = []
        self._relations: list[int] = []
        self._in_hint = False
        # The options behind a SELECT, by its block: the clause, and the index of the hint.
        self._options: dict[int, tuple[Clause, int]] = {}

    def scan(self) -> None:
        frame = _Frame(self._new_block())
        index = self._head(0, frame)
        while (index := self._group(index, frame)) < len(self.tokens):
            # Spark reports a closing parenthesis too many.
            index += 1
        for block, (clause, hint) in self._options.items():
            self._apply(block, clause, hint)

    # Heads of statements. Each method returns the index after the head.

    def _head(self, index: int, frame: _Frame) -> int:
        match self.upper(index), self.upper(index + 1):
            case ("EXPLAIN", mode):
                return self._head(index + 2 if mode in _EXPLAIN_MODES else index + 1, frame)
            case ("WITH", _):
                behind = self._ctes(index, frame)
                return self._head(behind, frame) if behind > index + 1 else behind
            case ("DESCRIBE" | "DESC", _):
                return self._described(index + 1, frame)
            case ("INSERT", "INTO" | "OVERWRITE"):
                return self._insert(index + 2, frame)
            case ("INSERT", _):
                return index + 1
            case ("DELETE", "FROM"):
                return self._insert_target(index + 2, frame)
            case ("UPDATE", _):
                return self._insert_target(index + 1, frame)
            case ("MERGE", _):
                while index < len(self.tokens) and self.upper(index) != "INTO":
                    index += 1
                behind = self._insert_target(index + 1, frame)
                return self._relation(behind + 1, frame) if self.upper(behind) == "USING" else behind
            case ("CREATE" | "REPLACE" | "ALTER" | "CACHE", _):
                frame.query_after_as = True
                return index + 1
            case ("SELECT" | "FROM" | "VALUES" | "TABLE" | "MAP" | "REDUCE" | "", _):
                frame.is_query = True
                return self._query_start(index, frame)
            case ("SET", "VAR" | "VARIABLE") | ("DECLARE", _):
                return index + 2
        # No other statement reads a table, and some contain free text.
        return len(self.tokens)

    def _described(self, index: int, frame: _Frame) -> int:
        if self.upper(index) == "QUERY" or self.upper(index) in _QUERY_STARTS - {"TABLE"}:
            return self._head(index + (self.upper(index) == "QUERY"), frame)
        if self.text(index) == "(":
            return index
        if self.upper(index) in _NOT_TABLES and self.is_name(index + 1):
            return len(self.tokens)
        for word in (("TABLE",), ("EXTENDED", "FORMATTED")):
            if self.upper(index) in word and self.is_name(index + 1):
                index += 1
        if self.is_name(index):
            self._record(self.read_table(index, with_alias=False)[0], frame)
        return len(self.tokens)

    def _insert(self, index: int, frame: _Frame) -> int:
        frame.is_query = frame.query_may_start = True
        if self.upper(index) in ("DIRECTORY", "LOCAL"):
            return index
        if self.upper(index) == "TABLE" and self.is_name(index + 1):
            index += 1
        if not self.is_name(index):
            return index
        self.target, index = self.read_table(index, with_alias=False)
        self._refuse_past_target()
        return self._query_start(index, frame)

    def _insert_target(self, index: int, frame: _Frame) -> int:
        if not self.is_name(index):
            return index
        self.target, index = self.read_table(index)
        self._refuse_past_target()
        self._relations[frame.block] += 1
        return index

    def _refuse_past_target(self) -> None:
        if self.target is not None and self.target.clause is not None:
            words, span = self.target.clause.words, self.target.clause.span
            raise SqlRefused(
                f"{words} can't follow the table that is written: the past can't be changed",
                "Read the past state, and write what comes of it to the table as it is now.",
                self.sql,
                span[0],
            )

    # Inside a statement.

    def _group(self, index: int, frame: _Frame) -> int:
        """Scan up to the parenthesis that closes the frame, or the end; return its index."""
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.text == ")":
                return index
            if token.text == "(":
                is_call = self.is_name(index - 1) and self.upper(index - 1) not in _NOT_FUNCTIONS
                index = self._parenthesis(index, frame, is_call=is_call)
            elif token.is_name:
                index = self._word(index, frame)
            elif token.text == "," and frame.in_from:
                index = self._relation(index + 1, frame)
            else:
                if token.text == "|>":
                    frame.in_from, frame.in_pipe = False, True
                elif is_options(self.tokens, index):
                    index = self._select_options(index, frame)
                    continue
                elif token.text in ("/*+", "*/"):
                    self._in_hint = token.text == "/*+"
                index += 1
        return index

    def _word(self, index: int, frame: _Frame) -> int:
        """Scan a word of an expression or clause, or a dotted name; return the index after what it begins."""
        if self.text(index - 1) in (".", ":"):
            return index + 1
        dotted = self.text(index + 1) == "." and (self.is_name(index + 2) or self.text(index + 2) == "*")
        if dotted or self._in_hint:
            return self.read_name(index)[1]
        match self.upper(index):
            case "SELECT":
                frame.is_query, frame.in_from = True, False
            case "WITH":
                behind = self._ctes(index, frame)
                return self._query_start(behind, frame) if behind > index + 1 else behind
            case "FROM" if frame.is_query and not self._is_distinct_from(index):
                frame.in_from = True
                return self._relation(index + 1, frame)
            case "JOIN" if frame.in_from or frame.in_pipe:
                return self._relation(index + 1, frame)
            case "TABLE" if frame.query_may_start:
                return max(self._query_start(index, frame), index + 1)
            case "TABLE" if frame.is_call and self.text(index - 1) in ("(", ",", "=>"):
                return self._table_argument(index, frame)
            case "AS" if frame.query_after_as:
                frame.query_after_as, frame.is_query = False, True
                return self._query_start(index + 1, frame)
            case "AS" if self.is_name(index + 1):
                # The next word is a column's alias, even if it is a keyword.
                return index + 2
            case word if word in _SET_OPERATIONS and self._is_set_operation(index):
                frame.in_from, frame.is_query = False, True
                frame.block = self._new_block()
                quantified = self.upper(index + 1) in ("ALL", "DISTINCT")
                return self._query_start(index + 1 + quantified, frame)
            case "LATERAL" if self.upper(index + 1) == "VIEW":
                frame.in_from = False
            case _ if self.ends_from(index):
                frame.in_from = False
        return index + 1

    def _select_options(self, index: int, frame: _Frame) -> int:
        """Read the hint with options at `index`, which must follow SELECT; return the index after it."""
        if self.upper(index - 1) != "SELECT":
            refuse_hint(self.sql, self.tokens, index)
        clause, behind = read_hint(self.sql, self.tokens, index)
        self._options[frame.block] = clause, index
        return behind

    def _apply(self, block: int, clause: Clause, hint: int) -> None:
        """Give the options behind a SELECT to its table."""
        numbers = [number for number, its in enumerate(self._blocks) if its == block]
        if len(numbers) != 1 or self._relations[block] != 1:
            reason = "behind SELECT is obeyed where it reads one table, and no more"
            refuse_hint(self.sql, self.tokens, hint, reason)
        (number,) = numbers
        if self.uses[number].clause is not None:
            refuse_hint(self.sql, self.tokens, hint, "can't stand beside a time-travel clause")
        self.uses[number] = with_clause(self.sql, self.uses[number], clause)

    def _query_start(self, index: int, frame: _Frame) -> int:
        """Scan the beginning of a query: `TABLE t` and WITH have their meaning only here."""
        if self.upper(index) == "WITH" and (behind := self._ctes(index, frame)) > index + 1:
            return self._query_start(behind, frame)
        if self.upper(index) == "TABLE" and self._is_table_query(index + 1):
            use, index = self.read_table(index + 1, with_alias=False)
            self._record_or_pass(use, frame)
        return index

    def _parenthesis(self, index: int, frame: _Frame, *, is_call: bool) -> int:
        begins_query = self.upper(index + 1) in _QUERY_STARTS - ({"FROM", "TABLE"} if is_call else set())
        ctes = CteNames(frame.ctes)
        inner = _Frame(self._new_block(), ctes, is_query=begins_query, is_call=is_call)
        return self._enclosed(index, inner)

    def _enclosed(self, opening: int, inner: _Frame) -> int:
        start = self._query_start(opening + 1, inner) if inner.is_query else opening + 1
        return min(self._group(start, inner) + 1, len(self.tokens))

    def _ctes(self, index: int, frame: _Frame) -> int:
        """Scan the queries that WITH names; return index + 1 if WITH means something else (WITH CUBE)."""
        recursive = self.upper(index + 1) == "RECURSIVE" and self.is_name(index + 2)
        start = index + 1 + recursive
        while (body := self.cte_body(start)) is not None:
            name = self.tokens[start].value.lower()
            ctes = CteNames(frame.ctes)
            if recursive:
                ctes.add(name)
            index = self._enclosed(body, _Frame(self._new_block(), ctes, is_query=True)) - 1
            frame.ctes.add(name)
            start = index + 2
            if self.text(index + 1) != ",":
                break
        return index + 1

    def _relation(self, index: int, frame: _Frame) -> int:
        """Scan one relation of FROM or JOIN; return the index after its alias."""
        if self.upper(index) == "LATERAL":
            index += 1
        if self.text(index) == "(":
            return self._unnamed(self._relation_group(index, frame), frame)
        if self.upper(index) == "VALUES" and not self.is_name(index + 1):
            return self._unnamed(self.values_end(index + 1), frame)
        if not self.is_table_name(index):
            return index
        _, behind = self.read_name(index)
        if self.text(behind) == "(":
            return self._unnamed(self._parenthesis(behind, frame, is_call=True), frame)
        use, behind = self.read_table(index)
        self._record_or_pass(use, frame)
        return behind

    def _relation_group(self, index: int, frame: _Frame) -> int:
        """Scan a query or a join in parentheses. The names in a join are visible outside it."""
        if self.upper(index + 1) in _QUERY_STARTS:
            return self._parenthesis(index, frame, is_call=False)
        inner = replace(frame, in_from=True, ctes=CteNames(frame.ctes))
        return min(self._group(self._relation(index + 1, inner), inner) + 1, len(self.tokens))

    def _unnamed(self, index: int, frame: _Frame) -> int:
        """Move past the sample and alias after a relation that is no table. Refuses a time-travel clause."""
        if starts_clause(self.tokens, index):
            raise SqlRefused("Only a table has past states", _CLAUSE_HINT, self.sql, self.tokens[index].start)
        alias, index = self.read_alias(self.sample_end(index))
        self._relations[frame.block] += alias is not None
        return index

    def _table_argument(self, index: int, frame: _Frame) -> int:
        """Scan `TABLE t` or `TABLE(t)` in a call."""
        start = index + 2 if self.text(index + 1) == "(" else index + 1
        if self.upper(start) in _QUERY_STARTS or not self._is_table_query(start):
            return index + 1
        use, behind = self.read_table(start, with_alias=False)
        self._record_or_pass(use, frame)
        return behind + (start == index + 2)

    def _record_or_pass(self, use: TableUse, frame: _Frame) -> None:
        """Record a table as a use. The name of a WITH query is not a use."""
        if len(use.parts) > 1 or use.parts[0].lower() not in frame.ctes:
            self._record(use, frame)
        elif use.clause is not None:
            raise SqlRefused(
                f"{use.parts[0]} is a query named by WITH, which has no past states",
                "Put the clause behind the tables inside it.",
                self.sql,
                use.clause.span[0],
            )
        else:
            self._relations[frame.block] += 1

    def _record(self, use: TableUse, frame: _Frame) -> None:
        self._relations[frame.block] += 1
        self._blocks.append(frame.block)
        self.uses.append(use)

    def _new_block(self) -> int:
        self._relations.append(0)
        return len(self._relations) - 1

    def _is_distinct_from(self, index: int) -> bool:
        return self.upper(index - 1) == "DISTINCT" and self.upper(index - 2) in ("IS", "NOT")

    def _is_set_operation(self, index: int) -> bool:
        """Whether the word is a set operation, not a column of that name nor `* EXCEPT (columns)`."""
        if self.text(index - 1) == "*" and self.text(index + 1) == "(":
            return False
        return self.text(index + 1).upper() in _BEHIND_SET_OPERATION

    def _is_table_query(self, index: int) -> bool:
        """Whether a table's name follows TABLE here. Otherwise `table` is the name of a column."""
        if not self.is_table_name(index):
            return False
        _, behind = self.read_name(index)
        after = self.text(behind)
        return (
            after in ("", ")", ",", "|>")
            or self.upper(behind) in _SET_OPERATIONS | {"PARTITION", "WITH"}
            or self.ends_from(behind)
            or starts_clause(self.tokens, behind)
        )
