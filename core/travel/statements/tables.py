"""Parse statements on a whole table, as CREATE and ALTER TABLE a RENAME TO b, or on a database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from paimark.core.quoting import quoted
from paimark.core.travel.parse.statement import SqlRefused, SqlText, Statement, TokenCursor

TableStatementKind = Literal["create", "drop", "undrop", "truncate", "rename", "analyze"]
Condition = Literal["", "if exists", "if not exists"]
_HEADS: tuple[tuple[tuple[str, ...], TableStatementKind], ...] = (
    (("CREATE", "TABLE"), "create"),
    (("DROP", "TABLE"), "drop"),
    (("UNDROP", "TABLE"), "undrop"),
    (("TRUNCATE", "TABLE"), "truncate"),
    (("ALTER", "TABLE"), "rename"),
    (("ANALYZE", "TABLE"), "analyze"),
)
_REFUSED_BEHIND = {
    "PURGE": (
        "DROP TABLE ... PURGE is not done here",
        "Leave PURGE out: CALL sys.delete_dropped(table => 'db.t') deletes what is in the trash.",
    ),
    "PARTITION": (
        "TRUNCATE TABLE ... PARTITION is not done here",
        "INSERT OVERWRITE db.t PARTITION (p = 'x') SELECT ... WHERE false leaves no row of it.",
    ),
}
_WORDS = ("DATABASE", "SCHEMA", "NAMESPACE")
_BEHIND = {
    "CASCADE": (
        "DROP DATABASE ... CASCADE is not done here",
        "DROP TABLE moves each table to the trash, and delete_dropped deletes it for good.",
    ),
    "COMMENT": ("A database has no comment here", "Leave it out."),
    "LOCATION": ("A database lies in the warehouse: LOCATION has no effect", "Leave it out."),
    "WITH": ("A database has no properties here", "Leave them out."),
}


@dataclass(frozen=True, slots=True)
class TableStatement(SqlText):
    """`parts` is the table's name as written; `to` is the new name of a RENAME.

    `like` is the table whose definition a CREATE takes, with its offset. The query of its AS begins at
    `query_position`, and its name ends at `name_end`. `condition` is IF EXISTS or IF NOT EXISTS: else a
    missing table, or one that is there, is an error. `columns` are those of an ANALYZE, `*` for all.
    """

    kind: TableStatementKind
    parts: tuple[str, ...]
    position: int
    to: tuple[str, ...] = ()
    like: tuple[str, ...] = ()
    like_position: int = 0
    condition: Condition = ""
    query_position: int | None = None
    name_end: int = 0
    columns: str | None = None

    @property
    def query(self) -> str:
        """That behind AS."""
        return self.sql[self.query_position :]

    def with_columns(self, columns: str) -> str:
        """The statement with columns, `a INT, b STRING`, in place of its AS and query."""
        behind = self.sql[self.name_end : self.query_position].rstrip()[: -len("AS")]
        return f"{self.sql[: self.name_end]} ({columns}){behind}"

    @property
    def emptying(self) -> str:
        """The INSERT OVERWRITE that a TRUNCATE is."""
        name = ".".join(map(quoted, self.parts))
        return f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE false"


def is_of_table(statement: Statement) -> bool:
    """Whether it is one of these statements, by its first words."""
    return _kind(statement) is not None


def read_table_statement(statement: Statement) -> TableStatement:
    """Raises `SqlRefused`, with its position, for a form that is not supported."""
    kind = _kind(statement)
    assert kind is not None
    return _Reader.of(statement, 2).read(kind)


def _kind(statement: Statement) -> TableStatementKind | None:
    cursor = TokenCursor.of(statement)
    kind = next((kind for words, kind in _HEADS if cursor.takes(*words)), None)
    if kind != "rename":
        return kind
    if not cursor.is_name(cursor.index):
        return None
    _, cursor.index = cursor.read_name(cursor.index)
    return kind if cursor.takes("RENAME", "TO") else None


class _Reader(TokenCursor):
    def read(self, kind: TableStatementKind) -> TableStatement:
        condition: Condition = ""
        if kind == "drop" and self.takes("IF", "EXISTS"):
            condition = "if exists"
        elif kind == "create" and self.takes("IF", "NOT", "EXISTS"):
            condition = "if not exists"
        position, parts = self.position, self._name()
        to: tuple[str, ...] = ()
        like, like_position = to, 0
        if kind == "rename":
            self.takes("RENAME", "TO")
            to = self._name()
        elif kind == "analyze":
            return TableStatement(self.sql, kind, parts, position, columns=self._analyzed())
        elif kind == "create" and self.takes("LIKE"):
            like_position, like = self.position, self._name()
        elif kind == "create":
            # Spark's parser reads what follows.
            end, query = self.tokens[self.index - 1].end, self._query_start()
            return TableStatement(
                self.sql, kind, parts, position, condition=condition, query_position=query, name_end=end
            )
        if word := self.text(self.index):
            known = _REFUSED_BEHIND.get(self.upper(self.index))
            self.refuse(*(known or (f"{word} can't follow here", "The statement ends with the name.")))
        return TableStatement(self.sql, kind, parts, position, to, like, like_position, condition)

    def _analyzed(self) -> str | None:
        """What stands behind the name of an ANALYZE: its columns."""
        form = "Write ANALYZE TABLE db.t COMPUTE STATISTICS, FOR ALL COLUMNS or FOR COLUMNS a, b behind it."
        if not self.takes("COMPUTE", "STATISTICS"):
            self.refuse("ANALYZE TABLE ... COMPUTE STATISTICS is the only form", form)
        columns: str | None = None
        if self.takes("FOR", "ALL", "COLUMNS"):
            columns = "*"
        elif self.takes("FOR", "COLUMNS"):
            columns = ", ".join(map(quoted, self.read_columns()))
        if self.text(self.index) or columns == "":
            self.refuse("ANALYZE TABLE ends with COMPUTE STATISTICS, or with columns", form)
        return columns

    def _query_start(self) -> int | None:
        depth, has_columns = 0, self.text(self.index) == "("
        for token in self.tokens[self.index :]:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0 and token.upper == "AS":
                if has_columns:
                    hint = "Leave the columns out, or the query."
                    raise SqlRefused("The query gives the columns of the table", hint, self.sql, token.start)
                return token.end
        return None

    def _name(self) -> tuple[str, ...]:
        if not self.is_name(self.index):
            self.refuse("The name of the table is missing", "Write it as db.t.")
        parts, self.index = self.read_name(self.index)
        return parts


@dataclass(frozen=True, slots=True)
class DatabaseStatement:
    """With `is_lenient`, IF EXISTS or IF NOT EXISTS, one that is as wanted is no error."""

    kind: Literal["create", "drop"]
    name: str
    position: int
    is_lenient: bool


def is_of_database(statement: Statement) -> bool:
    """Whether it is one of these statements, by its first words."""
    return _taken(TokenCursor.of(statement)) is not None


def read_database_statement(statement: Statement) -> DatabaseStatement:
    """Raises `SqlRefused`, with its position, for a form that is not supported."""
    cursor = TokenCursor.of(statement)
    kind = _taken(cursor)
    assert kind is not None
    is_lenient = cursor.takes(*(("IF", "NOT", "EXISTS") if kind == "create" else ("IF", "EXISTS")))
    position = cursor.position
    if not cursor.is_name(cursor.index):
        cursor.refuse("The name of the database is missing", "Write CREATE DATABASE shop.")
    parts, cursor.index = cursor.read_name(cursor.index)
    if len(parts) > 1:
        raise statement.refused("The name of a database has no dots", "Choose another one.", position)
    if kind == "drop":
        cursor.takes("RESTRICT")
    if word := cursor.text(cursor.index):
        known = _BEHIND.get(cursor.upper(cursor.index))
        cursor.refuse(*(known or (f"{word} can't follow here", "The statement ends with the name.")))
    return DatabaseStatement(kind, parts[0], position, is_lenient)


def _taken(cursor: TokenCursor) -> Literal["create", "drop"] | None:
    for word in _WORDS:
        if cursor.takes("CREATE", word):
            return "create"
        if cursor.takes("DROP", word):
            return "drop"
    return None
