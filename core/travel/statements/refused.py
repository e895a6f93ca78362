"""The refusals of statements, and of parts of them, that are not supported: each says what to use instead."""

from __future__ import annotations

from itertools import pairwise

from paimark.core.errors import Refused
from paimark.core.table.system_tables import SYSTEM_TABLES
from paimark.core.travel.parse.sql import classify, cte_list_end
from paimark.core.travel.parse.statement import Statement, TokenCursor
from paimark.core.travel.parse.tokens import Token, keywords
from paimark.core.travel.statements.shows import ENGINE_VIEWS, created_view

_OTHER_ENGINE = "Use Spark or Flink with Paimon's own connector, or pypaimon."
_NO_COPY = "Leave it out: each statement reads a table as it is then."
_VIEWS = "WITH v AS (SELECT ...) names a query; in the console CREATE TEMPORARY VIEW does so for its session."
_FUNCTIONS = "Use Spark's own functions: SHOW FUNCTIONS lists them."
_CREATE_OPTIONS = keywords("OR REPLACE EXTERNAL GLOBAL MATERIALIZED")
_EXPLAIN_OPTIONS = keywords("EXTENDED CODEGEN COST FORMATTED")
# The longest of the words below, with all options of CREATE.
_MOST_WORDS = 8
# By the first words. The more specific ones come first.
_HINTS: tuple[tuple[str, str], ...] = (
    *((word, f"Write {word} as a statement of its own.") for word in ("DELETE", "UPDATE", "MERGE")),
    ("CREATE TABLE", "CREATE TABLE makes a new one; DROP TABLE takes an old one out of the way."),
    ("CREATE VIEW", _VIEWS),
    ("CREATE TEMPORARY FUNCTION", _FUNCTIONS),
    ("CREATE FUNCTION", _FUNCTIONS),
    ("DROP FUNCTION", _FUNCTIONS),
    ("DROP VIEW", "DROP VIEW drops temporary views of the console's session only."),
    ("DROP", _OTHER_ENGINE),
    ("ALTER VIEW", "In the console CREATE OR REPLACE TEMPORARY VIEW replaces a view of its session."),
    ("ALTER", "ALTER TABLE alters the columns and options of a table."),
    ("ANALYZE TABLES", "ANALYZE TABLE db.t COMPUTE STATISTICS FOR ALL COLUMNS describes one table."),
    ("MSCK REPAIR", "Leave it out: the partitions are those of the snapshot."),
    ("REPAIR TABLE", "Leave it out: the partitions are those of the snapshot."),
    ("COMMENT ON", _OTHER_ENGINE),
    ("LOAD DATA", "INSERT INTO db.t SELECT * FROM parquet.`/path` writes the rows of files."),
    ("CLEAR CACHE", "UNCACHE TABLE view drops the rows that CACHE TABLE view AS SELECT ... keeps."),
    ("REFRESH", _NO_COPY),
    ("ADD", "Name the jars at the start: --spark-conf spark.jars=/path.jar."),
    ("EXECUTE IMMEDIATE", "Run the statement itself."),
    ("CALL", "Write CALL sys.action(table => 'db.t') as a statement of its own."),
    ("INSERT", "Write INSERT as a statement of its own, with the rows as a query or VALUES."),
)
# Statements of other table formats. Spark can't parse them, or takes the word for a table's name.
_FOREIGN: tuple[tuple[str, str], ...] = (
    ("DESCRIBE HISTORY", "SELECT * FROM db.`t$snapshots` lists the snapshots of a table."),
    ("DESC HISTORY", "SELECT * FROM db.`t$snapshots` lists the snapshots of a table."),
    ("DESCRIBE DETAIL", "SHOW CREATE TABLE db.t has the definition, db.`t$files` the files."),
    ("DESC DETAIL", "SHOW CREATE TABLE db.t has the definition, db.`t$files` the files."),
    ("RESTORE TABLE", "CALL sys.rollback(table => 'db.t', to => 'savepoint.1') does the same."),
    ("VACUUM", "CALL sys.expire_snapshots(table => 'db.t') deletes old snapshots and their files."),
    ("OPTIMIZE", "CALL sys.compact(table => 'db.t') merges the files of a table."),
    ("GRANT", "The store of the warehouse decides who may read and write."),
    ("REVOKE", "The store of the warehouse decides who may read and write."),
)
_JAVA_CALLS = keywords("java_method reflect try_reflect")
_OF_FILES = keywords("input_file_name input_file_block_start input_file_block_length")
_DETAILS = keywords("EXTENDED FORMATTED")
_QUERIES = keywords("SELECT WITH FROM VALUES MAP REDUCE")
_OTHER_OBJECTS = keywords("FUNCTION DATABASE SCHEMA NAMESPACE CATALOG PROCEDURE QUERY")
# Symbols directly before a colon that takes a field out of a value: `column:field`.
_VALUE_ENDS = keywords(") ]")
_DETAILS_HINT = "DESCRIBE db.t lists the columns, SHOW CREATE TABLE db.t has the keys and options too."


def unsupported(statement: Statement) -> Refused:
    """The refusal of a statement that Spark can parse, but that is not run here."""
    head = _head(statement)
    for words, hint in _HINTS:
        if _begins(head, words):
            shown = words if " " in words else _shown(head)
            return Refused(f"{shown} is not supported here", hint)
    return Refused(
        f"{head[0] if head else 'This'} is not supported here",
        "Queries, INSERT, DELETE, UPDATE, MERGE, ALTER TABLE and CALL sys.action(...) are.",
    )


def foreign(statement: Statement) -> Refused | None:
    """The refusal of a statement of another table format, which Spark does not know; None for others."""
    head = _head(statement)
    for words, hint in _FOREIGN:
        if _begins(head, words):
            return Refused(f"{words} is not supported here", hint)
    return None


def require_query_explained(statement: Statement) -> None:
    """Raises `SqlRefused` for an EXPLAIN of anything but a query."""
    start = 1
    while start < len(statement.tokens) and statement.tokens[start].upper in _EXPLAIN_OPTIONS:
        start += 1
    explained = statement.tokens[start:]
    # Spark reports a misspelt word, and where it is.
    if classify(explained).kind not in ("query", "other", "empty"):
        raise statement.refused(
            f"EXPLAIN shows how a query is read, and {explained[0].upper} is none",
            "An action shows its plan before it runs; --dry-run shows it alone.",
            explained[0].start,
        )


def _head(statement: Statement) -> list[str]:
    """The first words, without those that may stand within CREATE."""
    tokens = statement.tokens
    start = cte_list_end(tokens) if tokens and tokens[0].upper == "WITH" else 0
    words = [token.upper or token.text for token in tokens[start : start + _MOST_WORDS]]
    return [word for word in words if word not in _CREATE_OPTIONS] if words[:1] == ["CREATE"] else words


def _begins(head: list[str], words: str) -> bool:
    expected = words.split()
    return head[: len(expected)] == expected


def _shown(head: list[str]) -> str:
    """`DROP TABLE` of `DROP TABLE a`; `DELETE` of `DELETE FROM a`."""
    return " ".join(head[:2]) if head[0] in ("DROP", "ALTER", "ADD") else head[0]


def require_supported(statement: Statement) -> None:
    """Raises `SqlRefused`, with its position, for the first such part."""
    _require_known_session(statement)
    _require_no_catalog(statement)
    _require_known_show(statement)
    _require_plain_describe(statement)
    _require_own_view(statement)
    for index in range(len(statement.tokens)):
        _require_known(statement, index)


def _require_known_session(statement: Statement) -> None:
    cursor = TokenCursor.of(statement)
    if cursor.takes("SET", "CATALOG"):
        raise statement.refused(
            "SET CATALOG is not supported here",
            "USE db chooses a database of the warehouse.",
            statement.tokens[0].start,
        )
    if (cursor.takes("SET") or cursor.takes("RESET")) and cursor.upper(cursor.index) == "PAIMARK":
        start = cursor.position
        name = statement.sql[start : statement.tokens[-1].end].partition("=")[0].strip()
        raise statement.refused(f"There is no setting {name}", f"It may be spark.{name}.", start)


def _require_no_catalog(statement: Statement) -> None:
    """Refuse DESCRIBE CATALOG: Spark has a catalog of its own, and takes another's name for a column's."""
    cursor = TokenCursor.of(statement)
    if not (cursor.takes("DESCRIBE") or cursor.takes("DESC")) or not cursor.takes("CATALOG"):
        return
    if cursor.is_name(cursor.index):
        raise statement.refused(
            "DESCRIBE CATALOG is not supported here",
            "DESCRIBE DATABASE db describes a database of the warehouse.",
            statement.tokens[0].start,
        )


def _require_known_show(statement: Statement) -> None:
    cursor = TokenCursor.of(statement)
    if cursor.takes("SHOW") and (name := cursor.upper(1).lower()) in SYSTEM_TABLES and name != "schemas":
        raise statement.refused(
            f"SHOW {name.upper()} is not supported here",
            f"SELECT * FROM db.`t${name}` lists them.",
            statement.tokens[0].start,
        )


def _require_plain_describe(statement: Statement) -> None:
    """Refuse what `DESCRIBE t` can't have behind or before the name: Spark knows only a table's columns."""
    cursor = TokenCursor.of(statement)
    if not (cursor.takes("DESCRIBE") or cursor.takes("DESC")):
        return
    if cursor.upper(cursor.index) in _OTHER_OBJECTS and cursor.is_name(cursor.index + 1):
        return
    cursor.takes("TABLE")
    word, position = cursor.upper(cursor.index), cursor.position
    if word in _DETAILS and cursor.is_name(cursor.index + 1):
        raise statement.refused(f"DESCRIBE {word} is not supported here", _DETAILS_HINT, position)
    if not cursor.is_name(cursor.index) or word in _QUERIES:
        return
    _, cursor.index = cursor.read_name(cursor.index)
    behind = statement.tokens[cursor.index :]
    if behind and behind[0].upper == "PARTITION":
        hint = "SHOW PARTITIONS db.t lists the partitions, SELECT * FROM db.`t$files` their files."
        raise statement.refused("DESCRIBE ... PARTITION is not supported here", hint, behind[0].start)
    if [token.upper for token in behind[-2:]] == ["AS", "JSON"]:
        raise statement.refused("DESCRIBE ... AS JSON is not supported here", _DETAILS_HINT, behind[-2].start)


def _require_own_view(statement: Statement) -> None:
    """Refuse a view with a name that the engine gives its own: a later statement would replace it.

    Also one of the source that reads our tables in other Sparks.
    """
    view = created_view(statement)
    if view is None:
        return
    if view.parts[-1].lower().startswith(ENGINE_VIEWS):
        raise statement.refused(
            f"{view.parts[-1]} is kept for Paimark's own views", "Choose another name.", view.position
        )
    for word, source in pairwise(statement.tokens):
        if word.upper == "USING" and source.text.strip("`").lower() == "paimark":
            raise statement.refused(
                "USING paimark is for a Spark of your own",
                "CREATE TEMPORARY VIEW v AS SELECT * FROM db.t VERSION AS OF 2 does the same here.",
                word.start,
            )


def _require_known(statement: Statement, index: int) -> None:
    """Refuse a parameter, a computed name, or a call that would end Spark, if it begins at this token."""
    tokens, token = statement.tokens, statement.tokens[index]
    follower = tokens[index + 1] if index + 1 < len(tokens) else None
    if follower is None or follower.text != "(" or not token.is_name:
        if (written := _parameter(token, tokens[index - 1] if index else None, follower)) is not None:
            raise statement.refused(
                f"{written} is a parameter, and there are no values for parameters here",
                "Write the value itself.",
                token.start,
            )
    elif token.upper == "IDENTIFIER":
        raise statement.refused(
            "IDENTIFIER(...) is not supported here", "Write the name itself.", token.start
        )
    elif token.value.lower() in _JAVA_CALLS and _second_argument(tokens[index + 2 : index + 5]) == "exit":
        raise statement.refused(
            f"{token.value} can't call exit: it would end Spark", "Leave it out.", token.start
        )


def require_rows_of_files(statement: Statement) -> None:
    """Raises `SqlRefused` for a function that names the file of a row: tables have other files."""
    for token, follower in pairwise(statement.tokens):
        if follower.text == "(" and token.is_name and token.value.lower() in _OF_FILES:
            raise statement.refused(
                f"{token.value}() is not supported here",
                "SELECT * FROM db.`t$files` lists the files of a table.",
                token.start,
            )


def _parameter(token: Token, before: Token | None, follower: Token | None) -> str | None:
    """A parameter as it is written: `?`, or the `:name` that begins here; None if there is none."""
    if token.text == "?":
        # `value?::type` is a cast.
        return None if follower is not None and follower.text == "::" else "?"
    if token.text != ":" or follower is None or not follower.is_name or follower.start != token.end:
        return None
    ends_value = before is not None and (
        before.is_name or before.kind == "string" or before.text in _VALUE_ENDS
    )
    touches = before is not None and before.end == token.start
    return None if ends_value and touches else f":{follower.text}"


def _second_argument(tokens: tuple[Token, ...]) -> str:
    """The text of the second of two literals: `'java.lang.System', 'exit'`."""
    is_pair = [token.kind for token in tokens] == ["string", "symbol", "string"]
    return tokens[2].value.strip() if is_pair else ""
