"""The procedures of Paimon's own Spark: ours under its arguments' names, or refused with what to use.

All of `SparkProcedures` of Paimon 1.4 and 2.0 are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from paimark.core.travel.statements.calls import SCHEMA, ArgumentValue, CallArgument, ProcedureCall

# By the names of ours: what stock's named arguments are called here. All others are refused by name.
OURS: Mapping[str, Mapping[str, str]] = {
    "rollback": {"version": "to", "snapshot": "to", "tag": "to"},
    "create_tag": {"tag": "name", "time_retained": "retain"},
    "rename_tag": {"tag": "name", "target_tag": "to"},
    "delete_tag": {"tag": "name"},
    "create_branch": {"branch": "name"},
    "delete_branch": {"branch": "name"},
    "rename_branch": {"from_branch": "name", "to_branch": "to"},
    "merge_branch": {"source_branch": "name", "target_branch": "into"},
    "compact": {"partitions": "partition"},
    "expire_snapshots": {},
    "reset_consumer": {"consumerid": "name", "nextsnapshotid": "snapshot"},
}
_AS_QUERY = "Write the rows anew: INSERT OVERWRITE t SELECT * FROM t."
_FULL = "CALL sys.compact(table => 't', full => true) merges all files."
_ROLLBACK = "CALL sys.rollback(table => 't', to => '2026-05-01 12:00') takes a time, a tag or snapshot.N."
_NO_CATALOG = "Functions and views are kept by no catalog of Paimark: run it in the engine that reads them."
_VERIFY = (
    "`paimark verify` names what is missing, and `--orphans` what nobody needs; neither deletes anything."
)
_MIGRATE = "CREATE TABLE t AS SELECT * FROM parquet.`/path` copies the rows, and leaves the source."
_FORWARD = (
    "CALL sys.merge_branch(table => 't', name => 'b') goes forward if main has no commits of its own; "
    "sys.replace_main_branch makes the branch main."
)
_INDEX = "Create and drop global indexes with the engine that reads them."
REFUSED: Mapping[str, str] = {
    "rollback_to_timestamp": _ROLLBACK,
    "rollback_to_watermark": _ROLLBACK,
    "purge_files": "TRUNCATE TABLE t empties it and can be undone; sys.expire_snapshots deletes files.",
    "replace_tag": "CALL sys.delete_tag, then sys.create_tag: each says what goes with the old one.",
    "create_tag_from_timestamp": "CALL sys.create_tag(table => 't', name => 'n', snapshot => 12).",
    "expire_tags": "Paimon's commits delete tags whose time is over; sys.delete_tag deletes one at once.",
    "trigger_tag_automatic_creation": "CALL sys.create_tag, or sys.auto_savepoint by the clock.",
    "create_global_index": _INDEX,
    "drop_global_index": _INDEX,
    "fast_forward": _FORWARD,
    "materialize_deletion_vectors": _FULL,
    "compact_database": "CALL sys.compact of each table: each has its own plan and undo.",
    "compact_chain_table": "Compact a chain table with the engine that writes it.",
    "compact_manifest": "Paimon's commits merge manifests by themselves: option manifest.merge-min-count.",
    "rescale": "CREATE TABLE t2 ... TBLPROPERTIES ('bucket' = '8'), and INSERT INTO t2 SELECT * FROM t.",
    "rewrite_file_index": _AS_QUERY,
    "reassign_row_id": "Tables with row tracking are changed by Paimon's own engines.",
    "migrate_database": _MIGRATE,
    "migrate_table": _MIGRATE,
    "copy": "CREATE TABLE copy AS SELECT * FROM t.",
    "remove_orphan_files": _VERIFY,
    "remove_unexisting_files": f"{_VERIFY} sys.rollback and sys.restore_rows bring rows back.",
    "repair": "A warehouse of files has no metastore to repair.",
    "repair_earliest_snapshot": f"{_VERIFY} Hints are found anew by each reader.",
    "expire_partitions": "DELETE FROM t WHERE day < '2026-01-01' shows which rows go, and can be undone.",
    "mark_partition_done": "Call it in a stock engine: its commits mark partitions, ours do not.",
    "clear_consumers": "CALL sys.reset_consumer(table => 't', name => 'job') for each.",
    "alter_view_dialect": _NO_CATALOG,
    "create_function": _NO_CATALOG,
    "alter_function": _NO_CATALOG,
    "drop_function": _NO_CATALOG,
}


def as_ours(call: ProcedureCall) -> ProcedureCall:
    """The call with our names for stock's arguments. Raises `SqlRefused` for one that has no equal here."""
    if (instead := REFUSED.get(call.procedure)) is not None:
        reason = f"Paimark does not have {SCHEMA}.{call.procedure} of Paimon's Spark"
        raise call.refused(reason, instead, call.position)
    names = OURS.get(call.procedure, {})
    return replace(call, arguments=tuple(_as_ours(each, names) for each in call.arguments))


def _as_ours(argument: CallArgument, names: Mapping[str, str]) -> CallArgument:
    name = names.get(argument.name or "")
    if name is None:
        return argument
    value = _version(argument.value) if argument.name in OURS["rollback"] and name == "to" else argument.value
    return replace(argument, name=name, value=value)


def _version(value: ArgumentValue) -> ArgumentValue:
    """A number is a snapshot's id: no tag of ours consists of digits alone."""
    is_id = isinstance(value, int) and not isinstance(value, bool)
    return f"snapshot.{value}" if is_id or (isinstance(value, str) and value.isdecimal()) else value
