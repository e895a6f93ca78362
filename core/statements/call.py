"""Translate `CALL sys.delete_tag(table => 'shop.orders', name => 'v1')` to its action.

All of `SparkProcedures` of Paimon 1.4 and 2.0 are here: ours under its arguments' names, or refused with
what to use.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paimark.core.actions.declared.declaration import NOTE
from paimark.core.actions.declared.kinds import Argument, Text
from paimark.core.actions.registry import ACTIONS, Action
from paimark.core.errors import failing_at
from paimark.core.figures import counted
from paimark.core.quoting import quoted
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.names import near_names, require_chosen, split_name
from paimark.core.travel.parse.sql import QUESTIONS
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.calls import SCHEMA, ArgumentValue, CallArgument, ProcedureCall, read_call
from paimark.core.travel.statements.tables import Condition

TRY = "try"
_TRYING = "paimark.core.statements.try_script"
_TABLE = Text("table", required=True)
# By the names of ours: what stock's named arguments are called here. All others are refused by name.
STOCK_NAMES: Mapping[str, Mapping[str, str]] = {
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
STOCK_REFUSED: Mapping[str, str] = {
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


@dataclass(frozen=True)
class ActionCall:
    """An action with its arguments, to begin its plan dialog with.

    `position` is the offset of the procedure's name in the statement, `table_position` that of the table.
    With a `condition` that does not hold there is nothing to do.
    """

    action: Action
    table: TablePath
    arguments: Mapping[str, object]
    position: int
    table_position: int
    condition: Condition = ""


def action_of_call(statement: Statement, database: str | None = None) -> ActionCall:
    """The action of a CALL; `database` is the current one. Raises `StatementFailed`."""
    call = _from_stock(read_call(statement))
    procedures = {name.replace("-", "_"): action for name, action in ACTIONS.items()}
    if call.procedure == TRY:
        # Loaded by its name, as actions are: it runs statements, among them such calls.
        procedures[TRY] = importlib.import_module(_TRYING).TRY_SCRIPT
    action = procedures.get(call.procedure)
    if action is None:
        names = sorted((*procedures, *QUESTIONS))
        hint = near_names(call.procedure, names) or f"There are {', '.join(names)}."
        raise call.refused(f"There is no procedure {SCHEMA}.{call.procedure}", hint, call.position)
    table, position, values = arguments_of(call, action.arguments, database)
    return ActionCall(action, table, values, call.position, position)


def arguments_of(
    call: ProcedureCall, taken: Sequence[Argument], database: str | None
) -> tuple[TablePath, int, dict[str, object]]:
    """The table, its position in the statement, and the values of the arguments that a procedure takes.

    Raises `StatementFailed` for one that it does not take, or that is no value for it.
    """
    parameters = {_parameter(each): each for each in (_TABLE, *taken)}
    arguments = _arguments_by_name(call, parameters)
    for name, parameter in parameters.items():
        if parameter.required and name not in arguments:
            reason = f"{SCHEMA}.{call.procedure} needs {name}"
            raise call.refused(reason, _signature(call.procedure, parameters), call.end)
    table = arguments.pop("table")
    values: dict[str, object] = {each.name: each.default for each in taken if each.default is not None}
    values |= {
        parameters[name].name: _value(call, parameters[name], each) for name, each in arguments.items()
    }
    return _table(call, table, database), table.value_position, values


def _arguments_by_name(call: ProcedureCall, parameters: Mapping[str, Argument]) -> dict[str, CallArgument]:
    """The arguments by parameter. An argument that is NULL counts as not given."""
    names = list(parameters)
    # A message is never meant without its name.
    in_order = [name for name in names if parameters[name] not in NOTE]
    by_name: dict[str, CallArgument] = {}
    for index, argument in enumerate(call.arguments):
        if argument.name is None and index >= len(in_order):
            reason = f"{SCHEMA}.{call.procedure} takes {counted(len(in_order), 'argument')}"
            raise call.refused(reason, _signature(call.procedure, parameters), argument.position)
        name = argument.name or in_order[index]
        if name not in parameters:
            hint = near_names(name, names) or _signature(call.procedure, parameters)
            raise call.refused(f"{SCHEMA}.{call.procedure} has no {name}", hint, argument.position)
        if name in by_name:
            raise call.refused(f"{name} is given twice", "Leave one of them out.", argument.position)
        by_name[name] = argument
    return {name: argument for name, argument in by_name.items() if argument.value is not None}


def _value(call: ProcedureCall, parameter: Argument, argument: CallArgument) -> ArgumentValue:
    """The value of a literal. A number stands for a text, and a text for a number."""
    value = argument.value
    if parameter.takes is not bool and not isinstance(value, bool) and str(value).strip():
        try:
            return parameter.read(str(value))
        except ValueError as error:
            problem, hint = str(error), parameter.help
    else:
        problem, hint = parameter.problem(value), parameter.hint(value)
    if problem:
        raise call.refused(f"{_parameter(parameter)} {problem}", hint, argument.value_position)
    return value


def _table(call: ProcedureCall, argument: CallArgument, database: str | None) -> TablePath:
    with failing_at(argument.value_position):
        parts = split_name(str(argument.value))
        require_chosen(parts, database)
        if len(parts) == 1 and database is not None:
            return parse_table_name(".".join(map(quoted, (database, *parts))))
        return parse_table_name(str(argument.value))


def _parameter(argument: Argument) -> str:
    return argument.name.replace("-", "_")


def _signature(procedure: str, parameters: Mapping[str, Argument]) -> str:
    shown = (name if each.required else f"[{name}]" for name, each in parameters.items())
    return f"It is {SCHEMA}.{procedure}({', '.join(shown)})."


def _from_stock(call: ProcedureCall) -> ProcedureCall:
    """The call with our names for stock's arguments. Raises `SqlRefused` for one that has no equal here."""
    if (instead := STOCK_REFUSED.get(call.procedure)) is not None:
        reason = f"Paimark does not have {SCHEMA}.{call.procedure} of Paimon's Spark"
        raise call.refused(reason, instead, call.position)
    names = STOCK_NAMES.get(call.procedure, {})
    return replace(call, arguments=tuple(_argument_from_stock(each, names) for each in call.arguments))


def _argument_from_stock(argument: CallArgument, names: Mapping[str, str]) -> CallArgument:
    name = names.get(argument.name or "")
    if name is None:
        return argument
    value = (
        _version(argument.value)
        if argument.name in STOCK_NAMES["rollback"] and name == "to"
        else argument.value
    )
    return replace(argument, name=name, value=value)


def _version(value: ArgumentValue) -> ArgumentValue:
    """A number is a snapshot's id: no tag of ours consists of digits alone."""
    is_id = isinstance(value, int) and not isinstance(value, bool)
    return f"snapshot.{value}" if is_id or (isinstance(value, str) and value.isdecimal()) else value
