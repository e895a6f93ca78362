"""Find the partitions in which a branch differs from its base: rows of others need no comparison.

The manifests show it. If base and branch have the same files in a partition, they have the same rows there.
Only rows that the branch changed are merged, so main's rows are read only in those partitions, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.actions.merge.survey import Survey
from paimark.core.quoting import literal, quoted
from paimark.core.storage.files import Files
from paimark.core.table.definition.column_types import WHOLE, ColumnType
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.manifests.partitions import RowTexts

# A condition with more values saves little, and takes long to plan.
_MOST_VALUES = 500
# Spark makes a set of a longer list and skips no file by it, so the bounds are added.
_LISTED_VALUES = 10
# The types whose SQL literals mean the same as the values in the manifests.
_TEXTS = ("VARCHAR", "STRING")
_DATE = "DATE"


def where_changed(files: Files, survey: Survey) -> str:
    """A WHERE clause, after a space, that every row of a changed partition passes; empty if there is none.

    Raises `FileMissing` and `Corrupt`.
    """
    schema, table = survey.target.schema, survey.start.root.table
    kinds = {field.name: ColumnType.of(str(field.type)).name for field in schema.fields}
    columns = [kinds[each] for each in schema.partition_keys]
    if not columns or any(each not in (*WHOLE, *_TEXTS, _DATE) for each in columns):
        return ""
    base, head = (
        {each.identity: each.key.partition for each in snapshot_facts(files, table, at)}
        for at in (survey.base, survey.branch.snapshot)
    )
    texts = RowTexts(schema, schema.partition_keys, legacy=False)
    changed = [texts.of(each) for each in {(base | head)[each] for each in base.keys() ^ head.keys()}]
    conditions = []
    for place, (name, kind) in enumerate(zip(schema.partition_keys, columns, strict=True)):
        values = {partition[place] for partition in changed}
        if None not in values and 0 < len(values) <= _MOST_VALUES:
            conditions.append(_is_one_of(quoted(name), kind, [str(each) for each in values]))
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _is_one_of(column: str, kind: str, values: Sequence[str]) -> str:
    # Spark's order: texts by code points. Days sort like texts only if their years have four digits.
    values = sorted(values, key=int if kind in WHOLE else str)
    listed = [_literal(each, kind) for each in values]
    condition = f"{column} IN ({', '.join(listed)})"
    if len(listed) <= _LISTED_VALUES or (kind == _DATE and {*map(len, values)} != {10}):
        return condition
    return f"{condition} AND {column} BETWEEN {listed[0]} AND {listed[-1]}"


def _literal(text: str, kind: str) -> str:
    if kind in WHOLE:
        return text
    return f"DATE{literal(text)}" if kind == _DATE else literal(text)
