"""Translate `CALL sys.delete_tag(table => 'shop.orders', name => 'v1')` to its action."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimark.core.actions.declared.declaration import NOTE
from paimark.core.actions.declared.kinds import Argument, Text
from paimark.core.actions.registry import ACTIONS, Action
from paimark.core.errors import failing_at
from paimark.core.figures import counted
from paimark.core.quoting import quoted
from paimark.core.statements.stock_procedures import as_ours
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.names import near_names, require_chosen, split_name
from paimark.core.travel.parse.kinds import QUESTIONS
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.calls import SCHEMA, ArgumentValue, CallArgument, ProcedureCall, read_call
from paimark.core.travel.statements.tables import Condition

TRY = "try"
_TRYING = "paimark.core.statements.trying.try_script"
_TABLE = Text("table", required=True)


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
    call = as_ours(read_call(statement))
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
