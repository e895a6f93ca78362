"""The refusals of statements that are not supported: each names the statement, and what to use instead."""

from __future__ import annotations

from paimark.core.errors import Refused
from paimark.core.travel.parse.kinds import classify, cte_list_end
from paimark.core.travel.parse.tokens import keywords
from paimark.core.travel.parse.uses import Statement

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
