"""The script of a `try`: `{this}` is the branch on which it runs, and `{main}` is main."""

from __future__ import annotations

from paimark.core.actions.row_checks.check_file import placed
from paimark.core.errors import UsageError
from paimark.core.quoting import quoted
from paimark.core.statements.run import action_call, is_action, require_runnable
from paimark.core.statements.script import ScriptStatement, naming, read_script
from paimark.core.table.layout import TablePath
from paimark.core.travel.parse.tokens import iter_tokens
from paimark.core.travel.parse.uses import Statement

_WRITE_THIS = "It runs on a branch: write {this} for that, and {main} to read main."
_NOT_RUN = "No statement was run."


def script_on(text: str, table: TablePath, branch: str) -> list[ScriptStatement]:
    """The statements of a text, on this branch. Raises an error, which names the statement, for one that may
    not run, or that writes anything but the branch.
    """
    this = f"{quoted(table.database)}.{quoted(f'{table.name}$branch_{branch}')}"
    main = f"{quoted(table.database)}.{quoted(table.name)}"
    script = read_script(placed(text, list(iter_tokens(text)), this, main))
    for each in script:
        with naming(each.place, _NOT_RUN):
            _require_on_branch(each.statement, table, branch)
    if not any(is_action(each.statement) for each in script):
        raise UsageError("No statement of the script changes a row", _WRITE_THIS)
    return script


def _require_on_branch(statement: Statement, table: TablePath, branch: str) -> None:
    require_runnable(statement)
    if not is_action(statement):
        if statement.writes and statement.kind != "other":
            raise UsageError("It writes something besides rows of the branch", _WRITE_THIS)
        return
    called, rows = action_call(statement, None)
    on = called.arguments.get("branch") if rows is None else rows.branch
    if called.table != table or on != branch or (rows is None and statement.kind != "alter"):
        what = called.action.name if statement.kind == "call" else statement.tokens[0].upper
        raise UsageError(f"{what} is not on {{this}}", _WRITE_THIS)
