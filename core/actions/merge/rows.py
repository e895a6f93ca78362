"""The rows that main gets from a merge of two sides that both moved, and the reasons for none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.divergence import Divergence
from paimark.core.actions.merge.resolution import Resolution
from paimark.core.actions.merge.sql import (
    BASE,
    BASE_NOW,
    CHOICES,
    NOW,
    THEN,
    Carried,
    Choices,
    Unkeyed,
)
from paimark.core.actions.plan import Refusal, Step
from paimark.core.actions.rewrite.spark_rewrite import (
    QueryRows,
    RewriteBase,
    comparing_refusals,
    rewriting_refusals,
    run_query,
    version_of,
)
from paimark.core.actions.row_checks.check_file import MAIN, THIS
from paimark.core.errors import FileMissing, Refused
from paimark.core.figures import counted
from paimark.core.quoting import literal, quoted
from paimark.core.spark.protocol import COMMON, GONE, Version
from paimark.core.storage.files import Files
from paimark.core.table.definition.column_types import UNPADDED_TEXTS, WHOLE, ColumnType
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.definition.kind_signs import merge_engine
from paimark.core.table.definition.kinds import merging_refusals
from paimark.core.table.definition.row_changes import all_change_rules, takes_any_change
from paimark.core.table.manifests.files import require_seen, size_of, snapshot_facts
from paimark.core.table.manifests.partitions import RowTexts
from paimark.core.table.records import TableSchema

# Why choices can't be applied, by the reasons that `Choices.wrong` finds.
_MISFITS = {
    "missing": "lacks {keys} in conflict",
    "none": "chooses for {keys} not in conflict",
    "whole": "chooses columns for {keys} that a side has no row of",
    "undecided": "leaves columns of {keys} open that both sides changed",
    "same": "chooses columns of {keys} in which both sides are the same",
    "base": "chooses base for columns of {keys} that base has no row of",
}
_AS_WRITTEN = "Change nothing but `choose` in what --conflicts-out wrote, or write it anew."
# All rows of main, where `NOW` may lack those that are the same in `BASE_NOW`.
_ALL_OF_MAIN = "__paimark_all_of_main"


def merged_rows(
    context: Context,
    divergence: Divergence,
    choice: str,
    progress: Progress,
    resolution: Resolution | None = None,
) -> QueryRows:
    """The rows that main gets. Raises `Refused` for undecided conflicts, for a resolution that does not fit
    them, and for removed rows that no key matches."""
    versions = versions_of(divergence)
    if divergence.kind == "append":
        unkeyed = Unkeyed(divergence.target.schema, where_changed(context.files, divergence))
        (answer,) = run_query(context, divergence.target, versions, unkeyed.count_removed, progress)
        if answer["removed"] and choice != "branch":
            raise Refused(
                f"Branch {divergence.branch.root.label} also removed {counted(answer['removed'], 'row')}, "
                f"and without a primary key {divergence.start.place}'s rows are not matched with them",
                f"With --on-conflict branch {divergence.start.place} loses them too, as one overwrite of it.",
            )
        sql = unkeyed.replayed if answer["removed"] else unkeyed.added
        return QueryRows(versions, sql, bool(answer["removed"]))
    head = divergence.start.head.snapshot
    # The plan has looked, but in a later try the head is another.
    require_seen(context.files, divergence.start.root.table, divergence.target.schema, head)
    queries = keyed_queries(context, divergence)
    texts = dict[str, tuple[str, ...]]()
    if resolution is not None:
        choices, texts = Choices(queries), {CHOICES: resolution.texts}
        require_fitting(context, divergence.target, versions, choices, resolution, progress, texts)
        sql = choices.upserts
    else:
        if choice == "fail":
            _require_no_conflict(context, divergence, versions, queries, progress)
        sql = queries.upserts(takes_all=choice == "branch")
    overwrites = not takes_any_change(divergence.target.schema)
    return QueryRows(versions, sql, overwrites, texts=texts, are_upserts=True)


def result_of(divergence: Divergence, rows: QueryRows) -> tuple[dict[str, Version], dict[str, str]]:
    """Versions, and queries by name, in order, that give all rows of main once these are committed, as
    `THIS`."""
    main = {MAIN: f"SELECT * FROM {NOW}"}
    if not rows.are_upserts:
        result = rows.sql if rows.overwrite else f"(SELECT * FROM {NOW}) UNION ALL ({rows.sql})"
        return {**rows.versions}, {**main, THIS: result}
    schema = divergence.target.schema
    versions = {
        **rows.versions,
        _ALL_OF_MAIN: version_of(divergence.start.root, divergence.start.head.snapshot),
    }
    names = ", ".join(quoted(field.name) for field in schema.fields)
    same = " AND ".join(f"m.{quoted(each)} = c.{quoted(each)}" for each in schema.primary_keys)
    others = f"SELECT m.* FROM {_ALL_OF_MAIN} m LEFT ANTI JOIN {COMMON} c ON {same}"
    come = f"SELECT {names} FROM {COMMON} WHERE NOT {GONE}"
    # The upserts come first: behind it, a check's name for main would hide their version of it.
    main = {MAIN: f"SELECT * FROM {_ALL_OF_MAIN}"}
    return versions, {COMMON: rows.sql, **main, THIS: f"({others}) UNION ALL ({come})"}


def _require_no_conflict(
    context: Context,
    divergence: Divergence,
    versions: Mapping[str, Version],
    queries: Carried,
    progress: Progress,
) -> None:
    if listed := run_query(context, divergence.target, versions, queries.conflicts, progress):
        count = listed[0]["conflicts"]
        first = ", ".join(each["key"] for each in listed) + (", ..." if count > len(listed) else "")
        raise Refused(
            f"{counted(count, 'key')} changed in {divergence.start.place} and in branch "
            f"{divergence.branch.root.label}, to different rows: {first}",
            "Say who wins with --on-conflict branch or --on-conflict main; or decide each, with `v` in the "
            "console, or in the file that --conflicts-out FILE writes, for --resolve FILE.",
        )


def require_fitting(
    context: Context,
    start: RewriteBase,
    versions: Mapping[str, Version],
    choices: Choices,
    resolution: Resolution,
    progress: Progress,
    texts: Mapping[str, tuple[str, ...]],
) -> None:
    """Raises `Refused` if the choices, in `texts`, are not those for the keys in conflict."""
    if found := run_query(context, start, versions, choices.wrong, progress, texts):
        reasons = "; ".join(_misfit(choices.columns, each) for each in found)
        raise Refused(f"{resolution.path} {reasons}", _AS_WRITTEN)


def _misfit(columns: Sequence[str], found: Mapping[str, Any]) -> str:
    key = msgspec.json.decode(found["first"], type=dict[str, msgspec.Raw])
    named = msgspec.json.encode({columns[int(place[1:])]: value for place, value in key.items()}).decode()
    return f"{_MISFITS[found['wrong']].format(keys=counted(found['keys'], 'key'))} (first {named})"


def keyed_queries(context: Context, divergence: Divergence) -> Carried:
    """The queries on versions of a table with a primary key. Raises `FileMissing` and `Corrupt`."""
    schema = divergence.target.schema
    # A key without its partition can move from one to another.
    stays = {*schema.partition_keys} <= {*schema.primary_keys}
    return Carried(schema=schema, where=where_changed(context.files, divergence) if stays else "")


def versions_of(divergence: Divergence) -> dict[str, Version]:
    """The versions that a merge compares, by their names in its queries.

    Rows that are the same on both ends of a side change nothing.
    """
    versions = {
        BASE: replace(version_of(divergence.base_root, divergence.base), beside=THEN),
        THEN: version_of(divergence.branch.root, divergence.branch.snapshot),
        NOW: version_of(divergence.start.root, divergence.start.head.snapshot),
    }
    if divergence.kind == "keyed":
        versions[BASE_NOW] = replace(version_of(divergence.main_base_root, divergence.main_base), beside=NOW)
    return versions


def rewriting(context: Context, divergence: Divergence) -> tuple[list[Step], list[Refusal]]:
    """The steps of a merge through Spark, and why it can't be made."""
    start, schema = divergence.start, divergence.target.schema
    name = start.root.table.full_name
    refusals = rewriting_refusals(context, divergence.target)
    refusals += [Refusal(f"{name} {each.reason}", each.hint) for each in merging_refusals(schema)]
    refusals += comparing_refusals(divergence.target, "Replace main instead.")
    engine = merge_engine(schema.options)
    if schema.primary_keys and engine != "deduplicate":
        refusals.append(
            Refusal(f"{name} merges rows of a key by {engine}", "Only deduplicate can be merged.")
        )
    rows = size = 0
    try:
        rows, size = size_of(context.files, start.root.table, divergence.branch.snapshot)
        for each in (divergence.base, divergence.main_base, start.head.snapshot):
            size_of(context.files, start.root.table, each)
    except FileMissing as error:
        refusals.append(Refusal(f"What is merged is not whole: {error.message}", "Repair it first."))
    what = "the rows that it added, as one APPEND"
    if divergence.kind == "keyed":
        what = "the rows of the keys that it changed, as one commit"
        if not takes_any_change(schema):
            what = overwriting(schema, "it changed")
    steps = [
        Step(
            "check",
            f"branch {divergence.branch.root.label}",
            f"compared with its base, through Spark: {counted(rows, unit_of(schema))}",
            size,
        ),
        Step("create", start.root.snapshot(start.head.snapshot.id + 1), what),
    ]
    return steps, refusals


def overwriting(schema: TableSchema, which: str) -> str:
    """That partitions are written again, and why single rows of a key can't become what they shall be."""
    # A key without its partition can be in any of them.
    is_within = schema.partition_keys and {*schema.partition_keys} <= {*schema.primary_keys}
    where = f"partitions {which}" if is_within else "whole table"
    reason = f"the table {rules[0].reason}" if (rules := all_change_rules(schema)) else ""
    if column := schema.options.get("sequence.field"):
        reason = f"a row may become older by {column} (sequence.field)"
    return f"the {where}, as one OVERWRITE: {reason}"


# A condition with more values saves little, and takes long to plan.
_MOST_VALUES = 500
# Spark makes a set of a longer list and skips no file by it, so the bounds are added.
_LISTED_VALUES = 10
# The types whose SQL literals mean the same as the values in the manifests.
_DATE = "DATE"


# The manifests show it. If base and branch have the same files in a partition, they have the same rows there.
# Only rows that the branch changed are merged, so main's rows are read only in those partitions, too.
def where_changed(files: Files, divergence: Divergence) -> str:
    """A WHERE clause, after a space, that every row of a changed partition passes; empty if there is none.

    Raises `FileMissing` and `Corrupt`.
    """
    schema, table = divergence.target.schema, divergence.start.root.table
    kinds = {field.name: ColumnType.of(str(field.type)).name for field in schema.fields}
    columns = [kinds[each] for each in schema.partition_keys]
    if not columns or any(each not in (*WHOLE, *UNPADDED_TEXTS, _DATE) for each in columns):
        return ""
    base, head = (
        {each.identity: each.key.partition for each in snapshot_facts(files, table, at)}
        for at in (divergence.base, divergence.branch.snapshot)
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
