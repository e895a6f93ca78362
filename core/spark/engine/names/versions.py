"""Name the states that a statement reads, for Spark's catalog: the text stays, but for time-travel clauses.

A clause becomes `VERSION AS OF 'name'`, by which the catalog finds the table at that state: Spark's grammar
has not all of our clauses, and a time is evaluated once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise

from paimark.core.quoting import literal, quoted
from paimark.core.spark.engine.names.edits import Edit, Edited
from paimark.core.spark.launch.settings import CATALOG_NAME
from paimark.core.travel.parse.tokens import Token
from paimark.core.travel.parse.uses import Statement, TableUse


def with_versions(
    statement: Statement,
    versions: Mapping[TableUse, str],
    *,
    pins: bool,
    database: str | None,
    catalogs: Container[str],
) -> Edited:
    """The text with the names of its tables' states. `pins`: also of tables without a clause.

    A database called like one of the `catalogs` (in lower case) is written behind the name of ours.
    """
    # A table that is written twice may be read in two ways.
    written = Counter(_full_name(use, database) for use in versions if use.clause is None)
    # `TABLE t` by the start of its table: Spark's grammar has no place for a clause behind it.
    bare = {name.start: word for word, name in pairwise(statement.tokens) if word.upper == "TABLE"}
    # Nor behind the source of a MERGE.
    is_merge = statement.kind == "merge"
    sources = {name.start for word, name in pairwise(statement.tokens) if is_merge and word.upper == "USING"}
    edits = [
        edit
        for use, version in versions.items()
        if use.clause is not None or pins or written[_full_name(use, database)] > 1
        for edit in _edits(
            use, f" VERSION AS OF {literal(version)}", bare.get(use.position), use.position in sources
        )
    ]
    edits += [
        Edit(use.position, use.position, f"{CATALOG_NAME}.")
        for use in versions
        if len(use.parts) > 1 and use.parts[0].lower() in catalogs
    ]
    edits += _quoted_words(statement, edits)
    # At one place what is put in comes before what is replaced.
    return Edited.of(statement.sql, sorted(edits, key=lambda edit: (edit.start, edit.end)))


def _full_name(use: TableUse, database: str | None) -> tuple[str, ...]:
    return use.parts if len(use.parts) > 1 or database is None else (database, *use.parts)


def _edits(use: TableUse, version: str, bare: Token | None, is_source: bool) -> Iterator[Edit]:
    if is_source:
        yield Edit(use.position, use.position, "(SELECT * FROM ")
        version += ")" if use.alias else f") AS {quoted(use.parts[-1])}"
    if bare is not None:
        yield Edit(bare.start, bare.end, "SELECT * FROM")
    behind = use.name_span[1]
    span = use.clause_span or (behind, behind)
    if span[0] < behind:
        # The options of a hint, which is behind SELECT.
        yield Edit(*span, "")
        span = behind, behind
    yield Edit(*span, version)


def _quoted_words(statement: Statement, edits: Sequence[Edit]) -> Iterator[Edit]:
    """Backticks around words with `$`, which is in no word of Spark's, but begins a variable: `${a}`."""
    if "$" not in statement.sql:
        return
    replaced = [(edit.start, edit.end) for edit in edits if edit.end > edit.start]
    for token in statement.tokens:
        is_whole = "$" in token.upper and not statement.sql.startswith("{", token.end)
        if is_whole and not any(start <= token.start < end for start, end in replaced):
            yield Edit(token.start, token.end, quoted(token.text))
