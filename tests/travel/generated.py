"""Statements made up by Hypothesis whose tables are known."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

PLAIN_NAMES = [
    "orders",
    "t1",
    "version",
    "timestamp",
    "of",
    "system_time",
    "date",
    "values_",
    "tabelle",
    "Ünïcode",
]
QUOTED_NAMES = ["a b", "ba``ck", "o$branch_b$snapshots", "it's", '"', "--x", "/*", "from", "a.b", "JOIN u"]
GAPS = [" ", "\n", "\t ", " /* from x */ ", " -- join y, z\n", "/* a /* nested */ 'b */", " /**/\r\n"]
VERSIONS = ["5", "'5'", "'savepoint.3'", '"v2"', "'a''b'", r"'a\'b'", "'-- /* x'", "R'raw\\'"]
TIMES = [
    "'2026-05-01 00:00:00'",
    "TIMESTAMP '2026-05-01'",
    "CURRENT_TIMESTAMP - INTERVAL '1' DAY",
    "now() /* ) */ - INTERVAL 1 DAY",
    "(current_date() - 1)",
    "to_timestamp('2026-05-01')",
    "1700000000",
]
VERSION_WORDS = [["VERSION"], ["FOR", "VERSION"], ["FOR", "SYSTEM_VERSION"], ["SYSTEM_VERSION"]]
TIME_WORDS = [["TIMESTAMP"], ["FOR", "TIMESTAMP"], ["FOR", "SYSTEM_TIME"], ["SYSTEM_TIME"]]
EXPRESSIONS = [
    # With a space: Spark takes `*/` for the end of a hint.
    "* ",
    "a, b AS from_x",
    "version, timestamp AS `from`",
    "extract(YEAR FROM ts)",
    "trim(BOTH 'x' FROM y)",
    "substring(x FROM 1)",
    "a IS NOT DISTINCT FROM b",
    "'from x join y' AS s",
    "count(*), `from t`",
    "CASE WHEN a THEN 'version as of 5' END",
    "o.x, p.`y z`",
]
CONDITIONS = [
    "1 = 1",
    "a IS DISTINCT FROM b",
    "x = 'it''s from'",
    "version = 5 AND timestamp > '2026'",
    "o.a IN (1, 2)",
]
JOINS = [["JOIN"], ["LEFT", "OUTER", "JOIN"], ["CROSS", "JOIN"], ["FULL", "JOIN"], ["LEFT", "SEMI", "JOIN"]]
SET_OPERATIONS = [["UNION", "ALL"], ["UNION"], ["EXCEPT"], ["INTERSECT"]]


def unhurried(examples: int) -> settings:
    """So many examples, however slow the machine is."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples, deadline=None, suppress_health_check=slow)


@dataclass
class Table:
    """A table as written; `clause` and `alias_text` begin with a gap, `clause_text` does not."""

    parts: tuple[str, ...]
    name: str
    clause: str = ""
    clause_text: str = ""
    asked: str | None = None
    alias: str | None = None
    alias_text: str = ""

    @property
    def written(self) -> str:
        return self.name + self.clause + self.alias_text

    def at(self, version: str) -> str:
        """The text with another clause in place of its own."""
        gap = self.clause[: len(self.clause) - len(self.clause_text)]
        return f"{self.name}{gap} VERSION AS OF '{version}'{self.alias_text}"


@dataclass
class Script:
    """Pieces of a statement, in order; `head` (EXPLAIN, INSERT INTO, ...) is the first when there is one."""

    head: str = ""
    pieces: list[str | Table] = field(default_factory=list)

    @property
    def tables(self) -> list[Table]:
        return [piece for piece in self.pieces if isinstance(piece, Table)]

    @property
    def sql(self) -> str:
        return "".join(piece if isinstance(piece, str) else piece.written for piece in self.pieces)

    def at(self, versions: list[str]) -> str:
        """The text with other clauses in place of those of its tables."""
        names = iter(versions)
        return "".join(piece if isinstance(piece, str) else piece.at(next(names)) for piece in self.pieces)


class Writer:
    """Draws one statement; `ctes` are the names that WITH defined around here."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.script = Script()

    def gap(self) -> str:
        return self.draw(st.sampled_from(GAPS))

    def one_of(self, options: list[str]) -> str:
        return self.draw(st.sampled_from(options))

    def words(self, words: list[str]) -> str:
        """Keywords in any case with any gaps, gaps at both ends."""
        cased = [self.draw(st.sampled_from([word, word.lower(), word.title()])) for word in words]
        return self.gap() + "".join(word + self.gap() for word in cased)

    def put(self, text: str) -> None:
        self.script.pieces.append(text)

    def query(self, depth: int, ctes: frozenset[str] = frozenset()) -> None:
        if depth and self.draw(st.integers(0, 4)) == 0:
            name = self.one_of(["c1", "orders", "t1"])
            self.put(self.words(["WITH"]) + name + self.words(["AS"]) + "(")
            self.query(depth - 1, ctes)
            self.put(")")
            ctes |= {name}
        self.select(depth, ctes)
        if self.draw(st.integers(0, 4)) == 0:
            self.put(self.words(self.draw(st.sampled_from(SET_OPERATIONS))))
            self.select(depth, ctes)

    def select(self, depth: int, ctes: frozenset[str]) -> None:
        self.put(self.words(["SELECT"]) + self.one_of(EXPRESSIONS))
        if depth and self.draw(st.integers(0, 3)) == 0:
            self.put(", (")
            self.query(depth - 1, ctes)
            self.put(")")
        self.put(self.words(["FROM"]))
        self.relation(depth, ctes)
        for _ in range(self.draw(st.integers(0, 2))):
            if self.draw(st.booleans()):
                self.put(self.gap() + "," + self.gap())
                self.relation(depth, ctes)
            else:
                self.put(self.words(self.draw(st.sampled_from(JOINS))))
                self.relation(depth, ctes)
                self.put(self.words(["ON"]) + self.one_of(CONDITIONS))
        if self.draw(st.booleans()):
            self.put(self.words(["WHERE"]) + self.one_of(CONDITIONS))
            if depth and self.draw(st.integers(0, 2)) == 0:
                self.put(self.words(["AND", "EXISTS"]) + "(")
                self.query(depth - 1, ctes)
                self.put(")")

    def relation(self, depth: int, ctes: frozenset[str]) -> None:
        kind = self.draw(st.integers(0, 9))
        if kind == 0 and depth:
            self.put("(")
            self.query(depth - 1, ctes)
            self.put(")" + self.gap() + "sub_query")
        elif kind == 1:
            self.put("range(5)" + self.gap() + "r")
        elif kind == 2:
            self.put("(VALUES (1, 2), (3, 4)) AS v(a, b)")
        elif kind == 3 and ctes:
            self.put(self.one_of(sorted(ctes)) + self.gap() + "AS" + self.gap() + "o")
        else:
            self.script.pieces.append(self.table(ctes))

    def table(self, ctes: frozenset[str]) -> Table:
        names = [self.name() for _ in range(self.draw(st.integers(1, 2)))]
        if len(names) == 1 and names[0][0].lower() in ctes:
            names.insert(0, ("shop", "shop"))
        dot = self.draw(st.sampled_from([".", " . ", "./* dot */"]))
        table = Table(tuple(part for part, _ in names), dot.join(text for _, text in names))
        if self.draw(st.booleans()):
            self.clause(table)
        if self.draw(st.booleans()):
            table.alias = self.one_of(["o", "p", "version", "of", "a b"])
            text = f"`{table.alias}`" if " " in table.alias or self.draw(st.booleans()) else table.alias
            needs_as = table.alias in ("version", "of")
            table.alias_text = (
                self.words(["AS"]) + text if needs_as or self.draw(st.booleans()) else self.gap() + text
            )
        return table

    def name(self) -> tuple[str, str]:
        if self.draw(st.booleans()):
            name = self.one_of(PLAIN_NAMES)
            return name, name
        quoted = self.one_of(QUOTED_NAMES)
        return quoted.replace("``", "`"), f"`{quoted}`"

    def clause(self, table: Table) -> None:
        if self.draw(st.booleans()):
            literal = self.one_of(VERSIONS)
            words = self.draw(st.sampled_from(VERSION_WORDS))
            table.asked = {"'a''b'": "a'b", r"'a\'b'": "a'b", "R'raw\\'": "raw\\"}.get(
                literal, literal.strip("'\"")
            )
        else:
            literal = table.asked = self.one_of(TIMES)
            words = self.draw(st.sampled_from(TIME_WORDS))
            if literal.startswith("TIMESTAMP") and self.draw(st.booleans()):
                words = []
        clause = self.words([*words, "AS", "OF"]) + literal
        table.clause_text = clause.lstrip(" \n\t\r")
        while table.clause_text.startswith(("/*", "--")):
            table.clause_text = without_comment(table.clause_text).lstrip(" \n\t\r")
        table.clause = clause


def without_comment(text: str) -> str:
    """The text behind one of the comments in GAPS, which it begins with."""
    for gap in GAPS:
        if text.startswith(gap.strip()) and gap.strip():
            return text[len(gap.strip()) :]
    raise AssertionError(text)


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    writer = Writer(draw)
    if draw(st.integers(0, 5)) == 0:
        writer.script.head = writer.one_of(["EXPLAIN ", "CREATE TEMP VIEW v AS ", "/* x */ INSERT INTO x.y "])
        writer.put(writer.script.head)
    writer.query(draw(st.integers(0, 2)))
    writer.put(writer.one_of(["", "\n", " ;", " -- end", " LIMIT 5"]))
    return writer.script
